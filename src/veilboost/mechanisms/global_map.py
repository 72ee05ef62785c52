"""Global-map: exponential noise over the whole domain (OpBoost, Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms.mechanism import TableMechanism, table_size, toeplitz
from veilboost.mechanisms.table import FRACTION_BITS, Ideal, decays
from veilboost.privacy import DistanceLDP, global_bound
from veilboost.settings import fix, positive


@dataclass(frozen=True, kw_only=True)
class GlobalMap(TableMechanism):
    """Draw o for x with probability proportional to exp(-|x-o| ε/2).

    **Guarantee**: ε-dLDP: for codes x, y and every output o, P(o|x) <= exp(ε |x-y|) P(o|y), with ε =
    ``epsilon`` and codes 1 to ``size``. The ends of the domain use less of it: `profile` says how much is
    spent. Proof in global_map.proof.md.

    >>> mechanism = GlobalMap(epsilon=0.1, size=100)
    >>> round(mechanism.profile().gaps[0], 4)
    0.0953
    """

    epsilon: float

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "size", table_size(self.size, "BoundedLaplace"))
        super().__post_init__()

    def _ideal(self) -> Ideal:
        return exponential(self.epsilon / 2, self.size)

    def promised_gaps(self) -> Sequence[float]:
        return [self.epsilon] * (self.size - 1)

    @property
    def definition(self) -> DistanceLDP:
        return DistanceLDP(self.epsilon)

    def order_preserving_bound(self) -> NDArray[np.float64]:
        return global_bound(self.epsilon, size=self.size)


def exponential(rate: float, size: int) -> Ideal:
    """Return the rows exp(-rate |x-o|), each divided by its sum, in fixed point."""
    kernel = toeplitz(decays(rate, size), size)
    ideal: Ideal = (kernel << FRACTION_BITS) // kernel.sum(axis=1, keepdims=True)
    return ideal
