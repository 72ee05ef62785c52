"""The privacy loss of an integer table: per gap, per pair and per distance, read from the integers alone."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError
from veilboost.privacy.rounding import log_up
from veilboost.settings import whole

TOTAL_BITS = 63
"""Every row of a table sums to ``2**TOTAL_BITS``; so even a weight of the whole total fits the word."""
TOTAL = 1 << TOTAL_BITS

Weights = NDArray[np.uint64]
Floats = NDArray[np.float64]

LOG_MARGIN = 2.0**-42
"""What a difference of two float64 logarithms of weights may be wrong by, with room to spare.

A weight loses 2**-53 of itself on becoming a float; its logarithm, below 44, is good to four units in the
last place (2**-45); the difference rounds by 2**-48. Twice the first two and once the last is below 2**-43.
"""
_ROWS = 32  # rows compared at a time: what stays in the processor's cache


@dataclass(frozen=True)
class Profile:
    """The privacy loss of one table: what a looker-on may learn at worst, each figure rounded up.

    ``gaps``: worst loss of the neighbours (1, 2), (2, 3), …; exact.
    ``epsilon_by_distance``: worst loss over the pairs *exactly* 1, 2, … codes apart. Exact at distance 1,
    elsewhere above the truth by at most ``2 * LOG_MARGIN``, and above neither the sum of the gaps between nor
    ``worst``. It need not grow with the distance: ``within`` covers all pairs *at most* so far apart.
    ``worst``: over all pairs; exact.

    Make it with :func:`profile`.
    """

    gaps: tuple[float, ...]
    epsilon_by_distance: tuple[float, ...]
    worst: float
    weights: Weights = field(repr=False, compare=False)

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.weights)

    def pair(self, x: int, y: int) -> float:
        """Return the exact loss between the codes ``x`` and ``y`` (from 1), rounded up."""
        first, second = whole("x", x, 1, self.size), whole("y", y, 1, self.size)
        return _pair_loss(self.weights[first - 1], self.weights[second - 1])

    def pairs(self) -> Floats:
        """Return the exact loss of every pair as a symmetric matrix; meant for small tables."""
        losses = np.zeros((self.size, self.size))
        for x in range(self.size):
            for y in range(x):
                losses[x, y] = losses[y, x] = _pair_loss(self.weights[x], self.weights[y])
        return losses

    def within(self, distance: int) -> float:
        """Return the worst loss over the pairs at most ``distance`` codes apart."""
        return max(self.epsilon_by_distance[: whole("distance", distance, 0, self.size - 1)], default=0.0)


def profile(weights: Weights) -> Profile:
    """Compute the privacy loss of the table ``weights`` (row x - 1 belongs to the code x).

    An output that is impossible for both inputs tells nothing; one that is impossible for just one tells all.

    >>> table = np.array([[3, 1], [1, 3]], dtype=np.uint64) * np.uint64(TOTAL // 4)
    >>> loss = profile(table)
    >>> loss  # doctest: +NORMALIZE_WHITESPACE
    Profile(gaps=(1.0986122886681098,), epsilon_by_distance=(1.0986122886681098,),
    worst=1.0986122886681098)
    >>> loss.pair(2, 1) == loss.worst
    True
    >>> profile(table - np.uint64(1))
    Traceback (most recent call last):
    veilboost.errors.GuaranteeError: row 1 of the table does not sum to 2**63
    """
    table = _checked(weights)
    gaps = tuple(_pair_loss(table[x], table[x + 1]) for x in range(len(table) - 1))
    worst = _loss(table.max(axis=0), table.min(axis=0))
    return Profile(gaps, _by_distance(table, np.array(gaps), worst), worst, table)


def _checked(weights: Weights) -> Weights:
    table = np.array(weights, order="C")
    if table.dtype != np.uint64 or table.ndim != 2 or not table.shape[0] == table.shape[1] > 0:
        found = f"{table.dtype} of shape {table.shape}"
        raise GuaranteeError(f"a table must be a square array of uint64; found {found}")
    half, low_mask = np.uint64(32), np.uint64((1 << 32) - 1)
    low = (table & low_mask).sum(axis=1)
    high = (table >> half).sum(axis=1) + (low >> half)
    wrong = np.flatnonzero((high != TOTAL >> 32) | (low & low_mask != 0))
    if len(wrong):
        raise GuaranteeError(f"row {wrong[0] + 1} of the table does not sum to 2**{TOTAL_BITS}")
    table.flags.writeable = False
    return table


def _pair_loss(first: Weights, second: Weights) -> float:
    return _loss(np.maximum(first, second), np.minimum(first, second))


def _loss(high: Weights, low: Weights) -> float:
    """Logarithm of the largest ``high / low``: floats find the candidates, integers decide between them."""
    possible = high > 0
    high, low = high[possible], low[possible]
    if not low.all():
        return math.inf
    ratio = high / low  # wrong by at most 3 of 2**53, so the largest is within 2**-49 of the largest seen
    near = ratio >= ratio.max() * (1 - 2.0**-49)
    numerator, denominator = 1, 1
    for a, b in set(zip(high[near].tolist(), low[near].tolist(), strict=True)):
        if a * denominator > numerator * b:
            numerator, denominator = a, b
    return log_up(numerator, denominator)


def _by_distance(table: Weights, gaps: Floats, worst: float) -> tuple[float, ...]:
    possible = table > 0
    logs = np.zeros(table.shape)
    np.log(table, out=logs, where=possible)
    all_possible, path = bool(possible.all()), _PathSums(gaps)
    worst_at = []
    for distance in range(1, len(table)):
        if not all_possible and (possible[distance:] != possible[:-distance]).any():
            worst_at.append(math.inf)
            continue
        seen = _row_losses(logs[:-distance], logs[distance:]) + LOG_MARGIN
        worst_at.append(min(worst, float(np.minimum(seen, path.over(distance)).max())))
    return tuple(worst_at)


def _row_losses(left: Floats, right: Floats) -> Floats:
    """Largest absolute difference in each row, a few rows at a time."""
    losses = np.empty(len(left))
    room = np.empty((_ROWS, left.shape[1]))
    for start in range(0, len(left), _ROWS):
        stop = min(start + _ROWS, len(left))
        difference = np.subtract(left[start:stop], right[start:stop], out=room[: stop - start])
        np.maximum(difference.max(axis=1), -difference.min(axis=1), out=losses[start:stop])
    return losses


class _PathSums:
    """Sums of consecutive gaps, rounded up; two words, in steps of 2**-36 and 2**-86, hold them exactly.

    A finite gap is below 44, so the first word stays below 2**53 up to 2,900 gaps, the second below 2**63;
    only what a gap has below 2**-86 is rounded, upwards.
    """

    def __init__(self, gaps: Floats) -> None:
        finite = np.where(np.isinf(gaps), 0.0, gaps)
        coarse = np.floor(finite * 2.0**36)
        fine = np.ceil((finite - coarse * 2.0**-36) * 2.0**86)
        self._words = [_prefix(word.astype(np.int64)) for word in (coarse, fine, np.isinf(gaps))]

    def over(self, distance: int) -> Floats:
        """Return the sums of each ``distance`` gaps in a row."""
        coarse, fine, infinite = (word[distance:] - word[:-distance] for word in self._words)
        high = (coarse + (fine >> 50)) * 2.0**-36
        low = (fine & ((1 << 50) - 1)) * 2.0**-86
        total = high + low
        total = np.where(total - high < low, np.nextafter(total, np.inf), total)
        return np.where(infinite > 0, np.inf, total)


def _prefix(word: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(word)))
