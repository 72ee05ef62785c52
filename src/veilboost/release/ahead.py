"""Work on the next buckets while the last one is being written, and on no more than fit the cores."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ahead(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield ``work(item)`` in the order of ``items``, worked out by threads a few items ahead.

    >>> list(ahead(abs, [-3, 2, -1]))
    [3, 2, 1]
    """
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        left = iter(items)
        waiting: deque[Future[R]] = deque(pool.submit(work, item) for item in islice(left, threads))
        try:
            while waiting:
                done = waiting.popleft().result()
                waiting.extend(pool.submit(work, item) for item in islice(left, 1))
                yield done
        finally:
            pool.shutdown(cancel_futures=True)
