"""Local-map without a table: bounded discrete Laplace inside the value's own partition (OpBoost, Corollary 4.12)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms.bounded_laplace import BoundedLaplace, bounded
from veilboost.mechanisms.laplace_mechanism import FiniteLaplaceMechanism
from veilboost.mechanisms.mechanism import Tapes
from veilboost.privacy import PartitionLDP
from veilboost.settings import fix, whole


@dataclass(frozen=True, kw_only=True)
class LocalLaplace(FiniteLaplaceMechanism):
    """Add noise z with probability proportional to exp(-|z| ε/2), among those that stay in x's partition.

    **Guarantee**: inside a partition of ``theta`` codes P(o|x) <= exp(ε |x-y|) P(o|y), with ε = ``epsilon``.
    **Codes of different partitions are told apart with certainty.** The distribution is Local-map's. Proof in
    local_laplace.proof.md.

    >>> mechanism = LocalLaplace(epsilon=0.1, size=10**9, theta=10**6)
    >>> noisy = mechanism.draw([5, 10**9])
    >>> bool(1 <= noisy[0] <= 10**6 and 999 * 10**6 < noisy[1] <= 10**9)
    True
    """

    theta: int

    def __post_init__(self) -> None:
        super().__post_init__()
        fix(self, "theta", whole("theta", self.theta, 1, self.size))

    @property
    def definition(self) -> PartitionLDP:
        return PartitionLDP(math.inf, self.epsilon, self.theta)

    def epsilon_at(self, distance: int) -> float:
        """Return the exact loss of the worst pair ``distance`` apart: infinite where partitions have borders."""
        if self.theta < self.size:
            whole("distance", distance, 1, self.size - 1)
            return math.inf
        return BoundedLaplace(epsilon=self.epsilon, size=self.size).epsilon_at(distance)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        first, last, lengths = partition(codes, self.size, self.theta)
        return bounded(self.epsilon, codes, first, last, lengths, tapes.step("value"), threads)


def partition(
    codes: NDArray[Any], size: int, theta: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int]]:
    """Return the first and last code of each code's partition, and the longest and the shortest length.

    >>> partition(np.array([1, 5, 9]), 9, 4)
    (array([1, 5, 9]), array([4, 8, 9]), (4, 1))
    """
    first = (codes.astype(np.int64) - 1) // theta * theta + 1
    return first, np.minimum(first + theta - 1, size), (theta, size % theta or theta)
