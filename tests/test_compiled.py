"""Compiling late: the same answers, nothing imported before it is needed, and the lock released."""

import subprocess
import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled


@compiled
def total(values: NDArray[np.int64], factor: int) -> int:
    """Add up."""
    found = 0
    for value in values:
        found += value * factor
    return found


@compiled
def wait_for(flags: NDArray[np.int64], mine: int, other: int) -> int:
    """Raise one flag again and again, until another thread has raised the other."""
    for _ in range(20_000_000_000):
        flags[mine] += 1
        if flags[other]:
            return 1
    return 0


def test_the_answer_is_that_of_the_function() -> None:
    for values in ([1, 2, 3], [], [-5]):
        assert total(np.array(values, dtype=np.int64), 2) == 2 * sum(values)
    assert (total.__name__, total.__doc__) == ("total", "Add up.")


def test_without_a_place_to_keep_it_code_is_compiled_all_the_same() -> None:
    made: dict[str, Any] = {}
    exec("def double(a):\n    return 2 * a", made)
    assert compiled(made["double"])(21) == 42


def test_numba_is_not_imported_before_a_number_is_asked_for() -> None:
    code = "import sys, veilboost.mechanisms; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_compiled_code_lets_other_threads_run() -> None:
    flags, found = np.array([0, 1], dtype=np.int64), []
    wait_for(flags, 0, 1)  # compiled here
    flags[:] = 0
    other = threading.Thread(target=lambda: found.append(wait_for(flags, 0, 1)))
    other.start()
    while not flags[0]:
        pass
    flags[1] = 1  # too late, were the interpreter's lock not released
    other.join()
    assert found == [1]
