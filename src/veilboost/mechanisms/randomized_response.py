"""Generalised randomised response: the true code, or any other one alike (OpBoost, Theorem 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.mechanisms._frequency import Answers
from veilboost.mechanisms.mechanism import TableMechanism, table_size, toeplitz, whole_numbers
from veilboost.mechanisms.table import FRACTION_BITS, Ideal, decays
from veilboost.privacy import LDP, grr_bound
from veilboost.settings import fix, positive


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(TableMechanism):
    """Keep x with probability e^ε / (e^ε + D - 1), otherwise draw any other of the D codes alike.

    **Guarantee**: ε-LDP: for any two codes, however far apart, P(o|x) <= exp(ε) P(o|y), with ε = ``epsilon``
    and D = ``size``. It knows nothing of order, so it also serves unordered categories. Proof in
    randomized_response.proof.md.

    With two codes this is binary randomised response.

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

    def counts(self, drawn: ArrayLike) -> NDArray[np.float64]:
        """Return an unbiased estimate of how often each code occurs, from the ``drawn`` ones.

        >>> binary = RandomizedResponse(epsilon=1.0, size=2)
        >>> (binary.counts(binary.draw([1] * 70_000 + [2] * 30_000)) / 10_000).round().tolist()
        [7.0, 3.0]
        """
        codes = whole_numbers(drawn, 1, self.size)
        return self.answers.counts(np.bincount(codes, minlength=self.size + 1)[1:], len(codes))

    def count_variance(self, true: float, rows: int) -> float:
        """Return the variance of an estimate by `counts`, for a code that occurs ``true`` times in ``rows``."""
        return self.answers.count_variance(true, rows)

    @property
    def answers(self) -> Answers:
        """The weights of drawing a code where it is the true one, and where it is another."""
        kept, raised = self.table.weights[0, :2].tolist()
        return Answers(kept, raised)

    def order_preserving_bound(self) -> NDArray[np.float64]:
        return grr_bound(self.epsilon, size=self.size)
