"""AHEAD (Du et al., CCS 2021): range queries from an adaptive tree over the domain, under local differential privacy.

The owners are split over the levels of a binary tree. Level by level, those of one level say by optimised unary
encoding in which of the current intervals their value lies. An interval is halved only if it holds more than a
threshold, which balances the noise of two more estimates against the bias of taking an interval as level. Estimates are
made non-negative with sum one, and averaged with those of their halves.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import UnaryEncoding
from veilboost.privacy import TOTAL

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

FANOUT = 2


@dataclass(frozen=True)
class Tree:
    """The estimated share of the owners in every node; node i has the halves 2i and 2i+1, the root is node 1."""

    shares: Floats
    leaves: Whole

    def between(self, first: Whole, last: Whole) -> Floats:
        """Return the estimated share from each ``first`` code to its ``last``: the fewest nodes that cover it."""
        size = len(self.shares) // 2
        low, high = first - 1 + size, last + size
        found = np.zeros(len(low))
        while (low < high).any():
            open_ = low < high
            left, right = open_ & (low % 2 == 1), open_ & (high % 2 == 1)
            found += np.where(left, self.shares[low], 0.0) + np.where(right, self.shares[high - 1], 0.0)
            low, high = (low + left) // 2, (high - right) // 2
        return found


def variance(epsilon: float, owners: float) -> float:
    """Return the variance of the estimated share of a rare interval: about 4 e^ε / (n (e^ε - 1)²).

    >>> round(variance(1.0, 1000) * 1000 * (np.e - 1) ** 2 / (4 * np.e), 6)
    1.0
    """
    answers = UnaryEncoding(epsilon=epsilon, size=FANOUT, optimised=True).answers
    return answers.count_variance(0, 1) / owners


def grow(histogram: Whole, epsilon: float, chance: np.random.Generator) -> Tree:
    """Return the tree that owners with the codes of ``histogram``, a power of two of them, answer to."""
    size = len(histogram)
    levels = size.bit_length() - 1
    groups = chance.multinomial(histogram, [1 / levels] * levels).T
    threshold = sqrt((FANOUT + 1) * variance(epsilon, histogram.sum() / levels))
    sums, seen, leaves = np.zeros(2 * size), np.zeros(2 * size, np.int64), np.array([1])
    for level, group in enumerate(groups):
        newest = leaves >= 1 << level
        halved = leaves[newest & ((sums[leaves] >= threshold) | (level == 0))]
        leaves = np.sort(np.concatenate((np.setdiff1d(leaves, halved), 2 * halved, 2 * halved + 1)))
        sums[leaves] += non_negative(shares(_held(leaves, group), int(group.sum()), epsilon, chance))
        seen[leaves] += 1
    return Tree(averaged(sums, seen), leaves)


def _held(nodes: Whole, histogram: Whole) -> Whole:
    """Return how many owners each node holds."""
    before = np.concatenate(([0], np.cumsum(histogram)))
    depth = np.frexp(nodes)[1] - 1
    width = len(histogram) >> depth
    start = (nodes - (1 << depth)) * width
    held: Whole = before[start + width] - before[start]
    return held


def shares(held: Whole, owners: int, epsilon: float, chance: np.random.Generator) -> Floats:
    """Return unbiased estimates of the shares of intervals, from the sums of all owners' noisy bits.

    Bits are independent, so that their sums are binomial: the distribution is that of `UnaryEncoding`, optimised.
    """
    answers = UnaryEncoding(epsilon=epsilon, size=FANOUT, optimised=True).answers
    yes = chance.binomial(held, answers.kept / TOTAL) + chance.binomial(owners - held, answers.raised / TOTAL)
    return answers.counts(yes, owners) / max(1, owners)


def non_negative(estimates: Floats) -> Floats:
    """Return the estimates lowered by one amount, or raised, so that what stays above zero sums to one.

    >>> non_negative(np.array([0.9, 0.4, -0.2])).round(3).tolist()
    [0.75, 0.25, 0.0]
    """
    falling = np.sort(estimates)[::-1]
    amounts = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling > amounts)[-1])
    left: Floats = np.maximum(estimates - amounts[kept], 0.0)
    return left


def averaged(sums: Floats, seen: Whole) -> Floats:
    """Return each node's share: its own estimates and those of its halves, weighted by their variances, bottom up.

    A node that nobody was asked about is half of the one above.
    """
    found = np.divide(sums, seen, out=np.zeros(len(sums)), where=seen > 0)
    spread = np.divide(1.0, seen, out=np.zeros(len(sums)), where=seen > 0)
    for node in _inner(seen)[::-1]:
        halves = slice(2 * node, 2 * node + 2)
        own, theirs = spread[node], spread[halves].sum()
        found[node] = (theirs * found[node] + own * found[halves].sum()) / (own + theirs)
        spread[node] = own * theirs / (own + theirs)
    found[1] = 1.0
    for start in (1 << level for level in range(1, len(seen).bit_length() - 1)):
        here = np.arange(start, 2 * start)
        found[here] = np.where(seen[here] > 0, found[here], found[here // 2] / 2)
    return found


def _inner(seen: NDArray[Any]) -> list[int]:
    """Return the nodes below the root whose halves were asked about, from the top."""
    half = len(seen) // 2
    return [int(node) for node in np.flatnonzero((seen[:half] > 0) & (seen[::2] > 0)) if node > 1]
