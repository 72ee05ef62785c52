"""Adj-map without a table: both steps by bounded discrete Laplace, for up to 2^31 codes (OpBoost, Corollary 4.12)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.mechanisms.adj_map import PartitionBudgets, budgets
from veilboost.mechanisms.bounded_laplace import bounded
from veilboost.mechanisms.laplace_mechanism import SMALLEST_EPSILON, FiniteLaplaceMechanism
from veilboost.mechanisms.local_laplace import partition
from veilboost.mechanisms.mechanism import Tapes
from veilboost.settings import fix, positive, whole


@dataclass(frozen=True, kw_only=True)
class AdjLaplace(PartitionBudgets, FiniteLaplaceMechanism):
    """Move to a partition by noise of rate ε_prt/2, then to a value in it by noise of rate ε_ner/2.

    **Guarantee**: with ε_ner = ``epsilon_near`` = ε / (α + θ/D) and ε_prt = ``epsilon_partition`` = α θ ε_ner
    (ε = ``epsilon``, α = ``alpha``, θ = ``theta``, D = ``size``), codes t apart with b borders between them lose
    at most b ε_prt + min(t-b, θ-1) ε_ner. The distribution is Adj-map's, and as there this is **not** ε-dLDP. Proof in
    adj_laplace.proof.md.

    >>> mechanism = AdjLaplace(epsilon=1e-6, size=10**8, theta=10**6)
    >>> int(mechanism.draw([1])[0]) in range(1, 10**8 + 1)
    True
    """

    theta: int
    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        fix(self, "alpha", positive("alpha", self.alpha))
        fix(self, "theta", whole("theta", self.theta, 1, self.size))
        for name in ("epsilon_near", "epsilon_partition"):
            if getattr(self, name) < SMALLEST_EPSILON:
                raise SettingError(name, f"must be at least {SMALLEST_EPSILON}", getattr(self, name))

    def epsilon_at(self, distance: int) -> float:
        """Return the stated bound for codes ``distance`` apart; what the worst pair loses may be less."""
        return self.definition.loss(whole("distance", distance, 1, self.size - 1))

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        numbers = (codes - 1) // self.theta + 1
        count = -(-self.size // self.theta)
        lowest, highest = np.ones(len(codes), np.int64), np.full(len(codes), count, np.int64)
        near, between = budgets(self.epsilon, self.alpha, self.theta, self.size)
        moved = bounded(between, numbers, lowest, highest, (count, count), tapes.step("partition"), threads)
        first, last, lengths = partition((moved.astype(np.int64) - 1) * self.theta + 1, self.size, self.theta)
        nearest = np.clip(codes, first, last).astype(codes.dtype)
        return bounded(near, nearest, first, last, lengths, tapes.step("value"), threads)
