"""Local-map: exponential noise inside the value's own partition (OpBoost, §4.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms.global_map import exponential
from veilboost.mechanisms.mechanism import TableMechanism, table_size
from veilboost.mechanisms.table import Ideal
from veilboost.privacy import PartitionLDP, local_bound
from veilboost.settings import fix, positive, whole


@dataclass(frozen=True, kw_only=True)
class LocalMap(TableMechanism):
    """Draw o for x from x's own partition of ``theta`` codes, with probability proportional to exp(-|x-o| ε/2).

    **Guarantee**: inside a partition P(o|x) <= exp(ε |x-y|) P(o|y), with ε = ``epsilon``. **Codes of different
    partitions are told apart with certainty**: the partition of every value is released as it is. A last
    partition of one code releases that code exactly. Proof in local_map.proof.md.

    >>> LocalMap(epsilon=0.5, size=6, theta=3).profile().gaps[2]
    inf
    """

    epsilon: float
    theta: int

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "size", table_size(self.size, "LocalLaplace"))
        fix(self, "theta", whole("theta", self.theta, 1, self.size))
        super().__post_init__()

    def _ideal(self) -> Ideal:
        ideal = np.zeros((self.size, self.size), dtype=object)
        for first in range(0, self.size, self.theta):
            block = slice(first, min(first + self.theta, self.size))
            ideal[block, block] = exponential(self.epsilon / 2, block.stop - block.start)
        return ideal

    def promised_gaps(self) -> Sequence[float]:
        return [math.inf if code % self.theta == 0 else self.epsilon for code in range(1, self.size)]

    @property
    def nominal_epsilon(self) -> float:
        return self.epsilon

    @property
    def definition(self) -> PartitionLDP:
        return PartitionLDP(math.inf, self.epsilon, self.theta)

    def order_preserving_bound(self) -> NDArray[np.float64]:
        return local_bound(self.epsilon, theta=self.theta, size=self.size)
