"""What other libraries take to desensitise the same values: 100,000 uniform codes from 1 to 100 (paper, Table 4)."""

import statistics
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.benchmarks.clock import own_seconds
from veilboost.mechanisms import DiscreteLaplace, GlobalMap, Mechanism

_COUNT = 100_000
_SIZE = 100
_EPSILON = 0.08


class Rival(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as fast the nearest of our mechanisms is, or why it was not measured."""

    library: str
    our_speed_over_theirs: float | None
    note: str


Setup = Callable[[list[int]], tuple[Callable[[], object], int]]


def rivals(repeats: int = 3) -> list[Rival]:
    """Measure each library that is installed, ours and theirs in turn."""
    codes, table = np.random.default_rng().integers(1, _SIZE + 1, _COUNT), GlobalMap(epsilon=_EPSILON, size=_SIZE)
    return [
        _against("opendp", "discrete Laplace, as ours", _opendp, DiscreteLaplace(epsilon=_EPSILON), codes, repeats),
        _against("pyope", "order-preserving encryption, our Global-map", _pyope, table, codes, repeats),
        _against("diffprivlib", "truncated geometric noise, our Global-map", _diffprivlib, table, codes, repeats),
    ]


def _against(library: str, note: str, setup: Setup, ours: Mechanism, codes: NDArray[Any], repeats: int) -> Rival:
    try:
        theirs, count = setup(codes.tolist())
    except ImportError as error:
        return Rival(library=library, our_speed_over_theirs=None, note=f"not measured: {error}")
    ours.draw(codes[:1])
    ratios = []
    for _ in range(repeats):
        slow = own_seconds(theirs) / count
        fast = own_seconds(lambda: ours.draw(codes, threads=1)) / len(codes)
        ratios.append(slow / fast)
    return Rival(library=library, our_speed_over_theirs=statistics.median(ratios), note=note)


def _opendp(codes: list[int]) -> tuple[Callable[[], object], int]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    noisy = dp.m.make_laplace(*space, scale=1 / _EPSILON)
    return lambda: noisy(codes), len(codes)


def _pyope(codes: list[int]) -> tuple[Callable[[], object], int]:
    from pyope.ope import OPE, ValueRange

    cipher = OPE(OPE.generate_key(), in_range=ValueRange(1, _SIZE), out_range=ValueRange(1, 2**31))
    some = codes[:200]
    return lambda: [cipher.encrypt(code) for code in some], len(some)


def _diffprivlib(codes: list[int]) -> tuple[Callable[[], object], int]:
    from diffprivlib.mechanisms import GeometricTruncated

    noisy = GeometricTruncated(epsilon=_EPSILON / 2, sensitivity=1, lower=1, upper=_SIZE)
    some = codes[:2000]
    return lambda: [noisy.randomise(code) for code in some], len(some)
