"""The mechanism of Duchi et al. for one value: one of two outputs, the likelier one on the value's side."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError
from veilboost.mechanisms._words import Words
from veilboost.mechanisms.table import odds_below
from veilboost.mechanisms.value_mechanism import Integers, OneValueMechanism
from veilboost.privacy import TOTAL

HALF = TOTAL // 2


@dataclass(frozen=True, kw_only=True)
class Duchi(OneValueMechanism):
    """Draw 1 with a probability that rises evenly with the value, otherwise -1.

    **Guarantee**: ε-LDP with ε = ``epsilon``, for any two of the ``size`` codes: the odds of an output at one end
    are at most exp(ε) times those at the other, in integers. The estimate is unbiased; ``step`` is its size, about
    (e^ε + 1) / (e^ε - 1). Proof in duchi.proof.md.

    >>> mechanism = Duchi(epsilon=1.0, size=201)
    >>> sorted(set(mechanism.draw(np.full(1000, 151)).tolist())), round(mechanism.step, 3)
    ([-1, 1], 2.164)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        numerator, shift = odds_below(self.epsilon)
        most = self.slope * (self.size - 1)
        if not most > 0 or (HALF + most) << shift > (HALF - most) * numerator:
            raise GuaranteeError(f"the integer weights of both ends break the budget {self.epsilon}")

    @cached_property
    def slope(self) -> int:
        """By how many of 2^63 the weight of output 1 rises for every half step of the value."""
        numerator, shift = odds_below(self.epsilon)
        one = 1 << shift
        return HALF * (numerator - one) // ((numerator + one) * (self.size - 1))

    @property
    def unit(self) -> Fraction:
        return Fraction(HALF, self.slope * (self.size - 1))

    def second_moment(self, code: int) -> Fraction:
        return self.unit**2

    def decide(self, codes: NDArray[Any], words: Words) -> Integers:
        return signs(self._centred(codes), self.slope, words)


def signs(centred: Integers, slope: int, words: Words) -> Integers:
    """Return 1 for each word below 2^62 + ``slope`` times its ``centred`` value, otherwise -1."""
    drawn: Integers = np.where(words < HALF + slope * centred, 1, -1)
    return drawn
