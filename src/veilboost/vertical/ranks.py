"""From noisy codes to ordinal numbers, and from a split between two of them to a raw value."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veilboost.domain import Domain
from veilboost.domain.categories import Categories
from veilboost.mechanisms import ValueMechanism
from veilboost.wire.packing import counted

Between = Literal["next", "middle"]
_FARTHEST = 1 << 20


@dataclass(frozen=True)
class Ranked:
    """Ordinal numbers from 1, dense; 0 where a value is missing. ``codes[r - 1]`` is the noisy code of rank r."""

    ranks: NDArray[Any]
    codes: NDArray[np.int64]


def rank(codes: NDArray[Any], domain: Domain) -> Ranked:
    """Replace noisy codes by their dense ranks, by counting; the code set aside for missing values gets 0.

    >>> rank(np.array([7, 3, 7, 9], np.uint8), Domain.integers(1, 9)).ranks.tolist()
    [2, 1, 2, 3]
    """
    if domain.size > len(codes) * 64:  # not worth a counter for every code
        seen, ranks = np.unique(codes, return_inverse=True)
        gap = int(domain.missing == "code" and len(seen) > 0 and seen[-1] == domain.size)
        ranks = np.where(codes > domain.value_codes, 0, ranks + 1)
        return Ranked(ranks.astype(_smallest(len(seen))), seen[: len(seen) - gap].astype(np.int64))
    present = counted(codes, domain.size + 1)[: domain.value_codes + 1] > 0
    found = np.flatnonzero(present)
    places = np.zeros(domain.size + 1, dtype=_smallest(len(found)))
    places[found] = np.arange(1, len(found) + 1)
    return Ranked(places[codes], found)


def rank_estimates(drawn: NDArray[Any], mechanism: ValueMechanism, domain: Domain) -> Ranked:
    """Replace unbiased estimates by their dense ranks, on the grid of the codes continued beyond both bounds.

    >>> from veilboost.mechanisms import Duchi
    >>> duchi, domain = Duchi(epsilon=1, size=5), Domain.numbers(0, 40, size=5)
    >>> found = rank_estimates(duchi.draw([1, 3, 5] * 9), duchi, domain)
    >>> found.codes.tolist(), cuts(found, domain, "next")
    ([-1, 7], array([50.]))
    """
    grid = np.rint((mechanism.values(drawn) + 1) / 2 * (domain.size - 1)) + 1
    codes, ranks = np.unique(grid.clip(-_FARTHEST, _FARTHEST).astype(np.int64), return_inverse=True)
    return Ranked((ranks + 1).astype(_smallest(len(codes))), codes)


def cuts(ranked: Ranked, domain: Domain, between: Between) -> NDArray[np.float64]:
    """Return, for each rank but the last, the largest raw value that goes with it.

    A code that does not occur between two that do goes with the lower one ("next": everything below the next code, as
    XGBoost splits), or with the nearer one ("middle", as LightGBM does).

    >>> spread = Ranked(np.array([1, 2, 3]), np.array([1, 4, 9]))
    >>> cuts(spread, Domain.numbers(0, 80, size=9), "next"), cuts(spread, Domain.numbers(0, 80, size=9), "middle")
    (array([20., 70.]), array([10., 50.]))
    """
    low, high = ranked.codes[:-1], ranked.codes[1:]
    last = high - 1 if between == "next" else (low + high) // 2
    if not len(last):
        return np.empty(0)
    if spoken(domain):
        return last.astype(np.float64) - 1
    if last[0] >= 1 and last[-1] <= domain.value_codes:
        return numbers(domain.decode(last))
    width = domain.unit_width or 1
    return np.array([float(domain.lower + (code - 1) * width) for code in last.tolist()])


def numbers(raw: NDArray[Any]) -> NDArray[np.float64]:
    """Return raw values as the numbers that a model compares: times as they are counted since 1970.

    >>> numbers(np.array(["1970-01-03"], "M8[D]"))
    array([2.])
    """
    if len(raw) and isinstance(raw[0], datetime):  # with a time zone, which is UTC
        raw = np.array([each.replace(tzinfo=None) for each in raw.tolist()], "M8[us]")
    if raw.dtype.kind == "M":
        gaps = np.isnat(raw)
        return np.where(gaps, np.nan, raw.astype(np.int64).astype(np.float64))
    return raw.astype(np.float64)


def spoken(domain: Domain) -> bool:
    """Whether a model compares values by their place in a list, from 0: ordered text, and numbers that do not rise.

    >>> spoken(Domain.ordered(["low", "high"])), spoken(Domain.ordered([1, 2, 5])), spoken(Domain.ordered([3, 1, 2]))
    (True, False, True)
    """
    if not domain.order or not isinstance(domain.kind, Categories):
        return False
    values = domain.kind.values
    return isinstance(values[0], str) or list(map(float, values)) != sorted(map(float, values))


def _smallest(most: int) -> np.dtype[Any]:
    return np.min_scalar_type(max(most, 1))
