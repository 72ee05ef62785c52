"""From noisy codes to ordinal numbers, and from a split between two of them to a raw value."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veilboost.domain import Domain

Between = Literal["next", "middle"]


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
    present = np.bincount(codes, minlength=domain.size + 1)[: domain.value_codes + 1] > 0
    seen = np.flatnonzero(present)
    places = np.zeros(domain.size + 1, dtype=np.min_scalar_type(len(seen)))
    places[seen] = np.arange(1, len(seen) + 1)
    return Ranked(places[codes], seen)


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
    return _numbers(domain.decode(last))


def _numbers(raw: NDArray[Any]) -> NDArray[np.float64]:
    """Return raw values as the numbers that a model compares: times as they are counted since 1970."""
    if raw.dtype.kind == "M":
        return raw.astype(np.int64).astype(np.float64)
    return raw.astype(np.float64)
