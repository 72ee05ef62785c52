"""Generalised randomised response: the true code, or any other one alike (OpBoost, Theorem 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms.mechanism import TableMechanism, table_size, toeplitz
from veilboost.mechanisms.table import FRACTION_BITS, Ideal, decays
from veilboost.privacy import LDP, grr_bound
from veilboost.settings import fix, positive


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(TableMechanism):
    """Keep x with probability e^ε / (e^ε + D - 1), otherwise draw any other of the D codes alike.

    **Guarantee**: ε-LDP: for any two codes, however far apart, P(o|x) <= exp(ε) P(o|y), with ε = ``epsilon``
    and D = ``size``. It knows nothing of order, so it also serves unordered categories. Proof in
    randomized_response.proof.md.

    >>> RandomizedResponse(epsilon=1.0, size=4).probabilities()[0].round(3).tolist()
    [0.475, 0.175, 0.175, 0.175]
    """

    keeps_order: ClassVar[bool] = False
    epsilon: float

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "size", table_size(self.size, "for ordered codes ClampedLaplace"))
        super().__post_init__()

    def _ideal(self) -> Ideal:
        one, other = decays(self.epsilon, 2)
        kernel = toeplitz([one] + [other] * (self.size - 1), self.size)
        ideal: Ideal = (kernel << FRACTION_BITS) // kernel.sum(axis=1, keepdims=True)
        return ideal

    def promised_gaps(self) -> Sequence[float]:
        return [self.epsilon] * (self.size - 1)

    @property
    def definition(self) -> LDP:
        return LDP(self.epsilon)

    def order_preserving_bound(self) -> NDArray[np.float64]:
        return grr_bound(self.epsilon, size=self.size)
