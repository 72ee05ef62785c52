"""Compile a plain numeric function to machine code at its first call."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function``, compiled by numba when it is first called, and kept on disk where possible.

    numba takes half a second to import, so nothing imports it before a number is asked for. The compiled
    code releases the interpreter's lock.

    >>> compiled(lambda a, b: a + b)(2, 3)
    5
    """

    @functools.cache
    def machine_code() -> Callable[P, R]:
        from numba import njit

        try:
            kernel: Callable[P, R] = njit(nogil=True, cache=True)(function)
        except RuntimeError:  # nowhere to keep it: a folder that is read-only, or no file at all
            kernel = njit(nogil=True)(function)
        return kernel

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return machine_code()(*args, **kwargs)

    return call
