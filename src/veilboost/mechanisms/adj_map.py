"""Adj-map: first a partition, then a value in it, each with exponential noise (OpBoost, Algorithm 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms.global_map import exponential
from veilboost.mechanisms.mechanism import TableMechanism, table_size
from veilboost.mechanisms.table import FRACTION_BITS, Ideal
from veilboost.privacy import PartitionLDP, adj_bound
from veilboost.settings import fix, positive, whole


class PartitionBudgets:
    """What Adj-map promises, with a table or without."""

    epsilon: float
    alpha: float
    theta: int
    size: int

    @property
    def epsilon_near(self) -> float:
        """The budget between neighbours inside a partition."""
        return budgets(self.epsilon, self.alpha, self.theta, self.size)[0]

    @property
    def epsilon_partition(self) -> float:
        """The budget between neighbouring partitions."""
        return budgets(self.epsilon, self.alpha, self.theta, self.size)[1]

    @property
    def definition(self) -> PartitionLDP:
        return PartitionLDP(self.epsilon_partition, self.epsilon_near, self.theta)


@dataclass(frozen=True, kw_only=True)
class AdjMap(PartitionBudgets, TableMechanism):
    """Draw a partition of ``theta`` codes with exp(-|m-i| ε_prt/2), then a value in it with exp(-|x-o| ε_ner/2).

    **Guarantee**: with ε_ner = ``epsilon_near`` = ε / (α + θ/D) and ε_prt = ``epsilon_partition`` = α θ ε_ner
    (ε = ``epsilon``, α = ``alpha``, θ = ``theta``, D = ``size``), codes t apart with b borders between them lose
    at most b ε_prt + min(t-b, θ-1) ε_ner: neighbours inside a partition at most ε_ner, neighbours on either side
    of a border at most ε_prt. This is **not** ε-dLDP: across a border the loss can be several times ε. Proof in
    adj_map.proof.md.

    >>> mechanism = AdjMap(epsilon=0.1, size=100, theta=10, alpha=1.0)
    >>> [round(loss, 4) for loss in mechanism.profile().gaps[8:10]]
    [0.0803, 0.6601]
    """

    epsilon: float
    theta: int
    alpha: float = 1.0

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "alpha", positive("alpha", self.alpha))
        fix(self, "size", table_size(self.size, "AdjLaplace"))
        fix(self, "theta", whole("theta", self.theta, 1, self.size))
        super().__post_init__()

    def _ideal(self) -> Ideal:
        partition = np.arange(self.size) // self.theta
        between = exponential(self.epsilon_partition / 2, int(partition[-1]) + 1)[partition]
        ideal = np.empty((self.size, self.size), dtype=object)
        for number, first in enumerate(range(0, self.size, self.theta)):
            last = min(first + self.theta, self.size)
            inside = exponential(self.epsilon_near / 2, last - first)
            nearest = np.clip(np.arange(self.size), first, last - 1) - first
            ideal[:, first:last] = (between[:, number, None] * inside[nearest]) >> FRACTION_BITS
        return ideal

    def promised_gaps(self) -> Sequence[float]:
        at_border, inside = self.epsilon_partition, self.epsilon_near
        return [at_border if code % self.theta == 0 else inside for code in range(1, self.size)]

    @property
    def nominal_epsilon(self) -> float:
        return self.epsilon

    def order_preserving_bound(self) -> NDArray[np.float64]:
        return adj_bound(self.epsilon_partition, theta=self.theta, size=self.size)


def budgets(epsilon: float, alpha: float, theta: int, size: int) -> tuple[float, float]:
    """Return ε_ner and ε_prt for a nominal ε and the ratio α.

    >>> [round(budget, 6) for budget in budgets(0.1, 1.0, 10, 100)]
    [0.090909, 0.909091]
    """
    near = epsilon / (alpha + theta / size)
    return positive("epsilon_near", near), positive("epsilon_partition", alpha * theta * near)
