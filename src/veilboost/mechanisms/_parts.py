"""Run the parts of one draw on several threads."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from veilboost.settings import whole


def in_parts(work: Callable[[int], None], starts: Sequence[int], threads: int | None) -> None:
    """Call ``work`` with each of ``starts``, on as many ``threads``, or on as many as there are cores."""
    count = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1, 1024)
    if min(count, len(starts)) <= 1:
        for start in starts:
            work(start)
        return
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, starts))
