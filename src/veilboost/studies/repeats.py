"""The same work many times, on every core, each time from a seed of its own."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def each(work: Callable[[T], U], of: Sequence[T], progress: Callable[[float], None]) -> list[U]:
    """Return what ``work`` makes of every element, in order, and tell the share that is done.

    >>> each(lambda number: number**2, [1, 2, 3], lambda share: None)
    [1, 4, 9]
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(work, element) for element in of]
        try:
            for done, future in enumerate(as_completed(running), 1):
                future.result()
                progress(done / len(running))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in running]
