"""Compile a plain numeric function to machine code at its first call."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function``, compiled by numba when it is first called and kept on disk from then on.

    numba takes half a second to import, so nothing imports it before a number is asked for. The compiled
    code releases the interpreter's lock.

    >>> compiled(lambda a, b: a + b)(2, 3)
    5
    """

    @functools.cache
    def machine_code() -> Callable[P, R]:
        from numba import njit

        kernel: Callable[P, R] = njit(nogil=True, cache=_kept(function))(function)
        return kernel

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return machine_code()(*args, **kwargs)

    return call


def _kept(function: Callable[P, R]) -> bool:
    return "<" not in function.__qualname__
