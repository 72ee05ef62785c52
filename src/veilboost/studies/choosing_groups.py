"""TightMap with groups by meaning: what a budget at their borders buys, and groups that lose what Adj-map loses."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import AdjMap, TableMechanism, TightMap
from veilboost.privacy import order_preserving_pairs

GROUPED, EVEN, PLAIN = (
    "TightMap in groups",
    "TightMap, as large a loss over the range",
    "TightMap, the inside budget alone",
)
INSIDE, BETWEEN = "order kept inside groups", "order kept between groups"


def by_border(lengths: Sequence[int], *, inside: float, border: float) -> Mapping[str, tuple[float, float]]:
    """Return the order kept inside and between groups: grouped, and evenly spread over all gaps.

    >>> {line: kept[0] < kept[1] for line, kept in by_border([2, 2], inside=0.1, border=1.0).items()}[GROUPED]
    True
    """
    size = sum(lengths)
    whole = inside * (size - len(lengths)) + border * (len(lengths) - 1)
    made = {
        GROUPED: TightMap.grouped(lengths, inside=inside, between=border),
        EVEN: TightMap(epsilon=whole / (size - 1), size=size),
        PLAIN: TightMap(epsilon=inside, size=size),
    }
    return {line: _kept(mechanism, lengths) for line, mechanism in made.items()}


def _kept(mechanism: TableMechanism, lengths: Sequence[int]) -> tuple[float, float]:
    """Return the weighted Kendall coefficient over the pairs of one group, and over those of two."""
    right = order_preserving_pairs(mechanism.table.weights)
    codes, group = np.arange(mechanism.size), np.repeat(np.arange(len(lengths)), lengths)
    weight = np.triu(codes - codes[:, None]).astype(np.float64)
    same = group[:, None] == group
    return _share(weight * same, right), _share(weight * ~same, right)


def _share(weight: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    return float((weight * (right - right.T)).sum() / weight.sum())


def with_exact_losses(rival: AdjMap) -> TightMap:
    """Return TightMap with Adj-map's worst exact loss inside partitions for those gaps, and that at borders for these.

    >>> with_exact_losses(AdjMap(epsilon=0.5, size=4, theta=2)).promised_gaps()[0] < 0.5
    True
    """
    at_border = np.array([code % rival.theta == 0 for code in range(1, rival.size)])
    losses = np.array(rival.profile().gaps)
    worst = np.where(at_border, losses[at_border].max(initial=0.0), losses[~at_border].max(initial=0.0))
    return TightMap(gaps=worst.tolist())
