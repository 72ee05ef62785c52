"""The mechanism of Duchi et al. for a whole row: signs that agree with the row's more often than not."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.errors import GuaranteeError
from veilboost.mechanisms._words import Words, fill
from veilboost.mechanisms.duchi import HALF
from veilboost.mechanisms.mechanism import Tapes
from veilboost.mechanisms.table import odds_below
from veilboost.mechanisms.value_mechanism import VectorMechanism
from veilboost.privacy import TOTAL, TOTAL_BITS


@dataclass(frozen=True, kw_only=True)
class DuchiVector(VectorMechanism):
    """Draw signs u by the row and signs t alike; turn t towards u with odds e^ε to 1, where it is not at right angles.

    **Guarantee**: ε-LDP with ε = ``epsilon`` for the whole row: any two rows of ``d`` codes lose at most ε. Each
    output is -1 or 1 times ``step``, and unbiased. For odd ``d`` this is the published mechanism; for even ``d`` the
    published one loses ln(1 + e^ε), more than ε, and this one does not. Proof in duchi_vector.proof.md.

    >>> mechanism = DuchiVector(epsilon=1.0, size=201, d=3)
    >>> mechanism.draw([[1, 101, 201]]).shape, round(mechanism.step, 3)
    ((1, 3), 4.328)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        numerator, shift = odds_below(self.epsilon)
        if not self.towards > HALF or self.towards << shift > (TOTAL - self.towards) * numerator:
            raise GuaranteeError(f"the weight {self.towards} of the likelier side breaks the budget {self.epsilon}")

    @cached_property
    def towards(self) -> int:
        """The weight, out of 2^63, of turning t towards u."""
        numerator, shift = odds_below(self.epsilon)
        return TOTAL * numerator // (numerator + (1 << shift))

    @property
    def slope(self) -> int:
        """By how many of 2^63 the weight of a sign in u rises for every half step of its value."""
        return (HALF - 1) // (self.size - 1)  # a weight of 2^63 would not fit the word

    @cached_property
    def unit(self) -> Fraction:
        agreement = Fraction(comb(self.d - 1, self.d // 2), 1 << (self.d - 1)) * (2 * self.towards - TOTAL) / TOTAL
        return HALF / (agreement * self.slope * (self.size - 1))

    def second_moment(self, code: int) -> Fraction:
        return self.unit**2

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        out = np.empty(codes.shape, dtype=np.int8)
        words = self.d + -(-self.d // TOTAL_BITS) + 1  # for u, for t, and to turn
        fill(out, lambda here, drawn: self._decide(codes[here], drawn), tapes.step(""), words, threads)
        return out

    def _decide(self, codes: NDArray[Any], words: Words) -> NDArray[np.int8]:
        out = np.empty(codes.shape, dtype=np.int8)
        _turn(codes, self.size, self.slope, self.towards, words, out)
        return out


@compiled
def _turn(codes: NDArray[Any], size: int, slope: int, towards: int, words: Words, out: NDArray[np.int8]) -> None:
    """Draw signs u by each row and t alike, and turn t by its agreement with u and the last word.

    Loops are kept plain, and of a fixed length where they can be: so the compiler does many numbers in one step.
    """
    d, lowest = codes.shape[1], HALF - slope * (size + 1)
    blocks = -(-d // TOTAL_BITS)
    t = np.empty(blocks * TOTAL_BITS + 1, dtype=np.int8)  # the last bit of a word is never set, nor read
    for i in range(len(codes)):
        row, drawn, u = codes[i], words[i], out[i]
        for j in range(d):
            u[j] = drawn[j] < lowest + 2 * slope * np.int64(row[j])
        for block in range(blocks):
            bits, here = drawn[d + block], t[block * TOTAL_BITS :]
            for j in range(TOTAL_BITS + 1):
                here[j] = bits >> j & 1
        apart = 0
        for j in range(d):
            apart += u[j] ^ t[j]
        wanted = 1 if drawn[-1] < towards else -1
        turn = np.int8(-1) if (d - 2 * apart) * wanted < 0 else np.int8(1)
        for j in range(d):
            u[j] = turn * (2 * t[j] - 1)
