"""Time that a core was busy for us: what other programs do meanwhile hardly counts."""

import time
from collections.abc import Callable

busy = time.process_time
"""How long this process has kept cores busy, in seconds."""


def seconds(work: Callable[[], object]) -> float:
    """Return how long ``work`` kept one core busy.

    >>> seconds(lambda: None) >= 0
    True
    """
    begin = busy()
    work()
    return busy() - begin
