"""Time one piece of work."""

import statistics
import time
from collections.abc import Callable, Sequence

from veilboost.errors import UsageError

_LARGEST_SPREAD = 2.0


def seconds(work: Callable[[], object]) -> float:
    """Return how long ``work`` took.

    >>> seconds(lambda: None) >= 0
    True
    """
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def own_seconds(work: Callable[[], object]) -> float:
    """Return how long this thread computed for ``work``: what else the machine did meanwhile does not count.

    >>> own_seconds(lambda: None) >= 0
    True
    """
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def refuse_if_busy(baseline: Sequence[float], what: str) -> None:
    """Refuse to report ratios to a ``baseline`` that varies too much between its first and last tenth.

    >>> refuse_if_busy([1.0, 1.1, 1.2, 1.1, 1.0], "the copy")
    >>> refuse_if_busy([1.0, 9.0, 1.0, 9.0, 1.0], "the copy")
    Traceback (most recent call last):
    veilboost.errors.UsageError: the machine is too busy to measure: the speed of the copy varies 9.0×; try again
    """
    tenths = statistics.quantiles(baseline, n=10, method="inclusive")
    if tenths[-1] > _LARGEST_SPREAD * tenths[0]:
        spread = max(baseline) / min(baseline)
        raise UsageError(f"the machine is too busy to measure: the speed of {what} varies {spread:.1f}×; try again")
