"""The paper's weighted Kendall coefficient (Definition 6.1): exact for two columns, expected for a table.

``w(i, j)`` is the distance of the ordinal numbers of r_i and r_j. Under ties an ordinal number is the dense
rank (equal values share a number, the next value has the next), so ``sgn(r_i - r_j) w(i, j)`` is the signed
difference of dense ranks: all sums come from sorting, none from looking at pairs.

Two norms are in use. ``norm="both"`` is the printed one, ``<r,s> / sqrt(<r,r> <s,s>)``; pairs that tie in the
noisy column leave its denominator too, so merging codes costs little. ``norm="raw"``, the default, is
``<r,s> / <r,r>``: a lost order counts as lost. In expectation it is the printed one with noisy ties broken at
random.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.privacy.order import Table, order_preserving_pairs

Integers = NDArray[np.int64]
Norm = Literal["raw", "both"]


def weighted_kendall(raw: NDArray[Any], noisy: NDArray[Any], *, norm: Norm = "raw") -> float:
    """Return the weighted Kendall coefficient of two columns, from exact integer sums, in O(n log n).

    A noisy column of a single value keeps no order: 0. A raw one of a single value has none to keep: refused.

    >>> raw = np.array([1, 2, 2, 5])
    >>> weighted_kendall(raw, raw), weighted_kendall(raw, -raw), weighted_kendall(raw, np.array([1, 1, 1, 2]))
    (1.0, -1.0, 0.6666666666666666)
    >>> weighted_kendall(raw, np.array([1, 1, 1, 2]), norm="both") == (4 / 6) ** 0.5
    True
    """
    rank, order = _dense_ranks("raw", raw), _dense_ranks("noisy", noisy)
    if len(rank) != len(order):
        raise SettingError("noisy", f"must hold {len(rank)} values as raw does", len(order))
    both = _agreement(rank, order)
    all_raw = _spread(np.sort(rank), np.array([len(rank)]))
    if all_raw == 0:
        raise SettingError("raw", "must hold two different values", np.unique(raw).tolist())
    if _checked_norm(norm) == "raw":
        return both / all_raw
    tied = _spread(rank[np.lexsort((rank, order))], np.bincount(order))
    untied = all_raw - tied
    return math.copysign(math.sqrt(both * both / (all_raw * untied)), both) if untied else 0.0


def expected_weighted_kendall(table: Table, *, norm: Norm = "raw", counts: Sequence[int] = ()) -> float:
    """Return what :func:`weighted_kendall` tends to for many codes sent through ``table``.

    Codes are uniform, or ``counts[x - 1]`` values hold code x; then, with ``norm="raw"``, it is the exact expectation
    over the noise for that very column.

    >>> round(expected_weighted_kendall(np.array([[0.75, 0.25], [0.25, 0.75]])), 3)
    0.5
    """
    right = order_preserving_pairs(table)
    held = np.asarray(list(counts) or [1] * len(right), dtype=np.float64)
    if held.shape != (len(right),) or not (held >= 0).all() or np.count_nonzero(held) < 2:
        raise SettingError("counts", f"must be {len(right)} numbers of values, two or more above 0", counts)
    rank = np.cumsum(held > 0)
    weight = np.triu(rank - rank[:, None]) * held * held[:, None]
    both = float((weight * (right - right.T)).sum())
    if _checked_norm(norm) == "raw":
        return both / float(weight.sum())
    untied = float((weight * (right + right.T)).sum())
    return both / math.sqrt(float(weight.sum()) * untied) if untied else 0.0


def _dense_ranks(name: str, values: NDArray[Any]) -> Integers:
    column = np.asarray(values)
    if column.ndim != 1 or column.dtype.kind not in "biufmM":
        found = f"shape {column.shape} of {column.dtype}"
        raise SettingError(name, "must be one column of numbers or times", found)
    if np.ma.is_masked(values) or (column != column).any():
        raise SettingError(name, "must be without missing values", "a column with some")
    ranks: Integers = np.unique(column, return_inverse=True)[1].astype(np.int64)
    return ranks


def _agreement(rank: Integers, order: Integers) -> int:
    """Sum of ``rank_j - rank_i`` over the pairs with ``order_j > order_i``.

    A value counts for every value below it and against for every value above it.
    """
    counts = np.bincount(order)
    through = np.cumsum(counts)
    below_less_above = (through - counts) - (len(order) - through)
    return _dot(rank, below_less_above[order])


def _spread(rank: Integers, group_sizes: Integers) -> int:
    """Sum of ``|rank_i - rank_j|`` over the pairs inside groups laid in a row, ranks ascending in each."""
    starts = np.repeat(np.cumsum(group_sizes) - group_sizes, group_sizes)
    place = np.arange(len(rank)) - starts
    return _dot(rank, 2 * place - np.repeat(group_sizes, group_sizes) + 1)


def _dot(ranks: Integers, factors: Integers) -> int:
    """Exact inner product: both are below the length, so a step of products fits 63 bits."""
    step = max(1, 2**62 // len(ranks) ** 2) if len(ranks) else 1
    return sum(int(ranks[i : i + step] @ factors[i : i + step]) for i in range(0, len(ranks), step))


def _checked_norm(norm: str) -> str:
    if norm not in ("raw", "both"):
        raise SettingError("norm", "must be 'raw' or 'both'", norm)
    return norm
