"""Some attributes of a row, each by a mechanism for one value with a share of the budget (Wang et al. 2019)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.errors import SettingError
from veilboost.mechanisms._words import Words, fill
from veilboost.mechanisms.duchi import Duchi
from veilboost.mechanisms.mechanism import Tapes
from veilboost.mechanisms.piecewise import Piecewise
from veilboost.mechanisms.value_mechanism import SMALLEST_EPSILON, Integers, OneValueMechanism, VectorMechanism
from veilboost.privacy.rounding import down
from veilboost.settings import fix, whole

ONE_VALUE: dict[str, type[OneValueMechanism]] = {"piecewise": Piecewise, "duchi": Duchi}
EPSILON_EACH = 2.5
"""The budget that the paper gives each attribute at least, where it samples more than one."""


@dataclass(frozen=True, kw_only=True)
class SampledVector(VectorMechanism):
    """Choose ``k`` of ``d`` attributes whatever their values, draw each with ε/k, scale by d/k; the others are 0.

    **Guarantee**: ε-LDP with ε = ``epsilon`` for the whole row: any two rows of ``d`` codes lose at most ε, also to
    one who is told which attributes were chosen. ``each`` names the mechanism for one value, "piecewise" or "duchi".
    The estimate of every attribute is unbiased, but for less than one part in 2^40. Without ``k``
    it is the published max(1, min(d, floor(ε/2.5))). Proof in sampled_vector.proof.md.

    >>> mechanism = SampledVector(epsilon=5.0, size=201, d=10, each="duchi")
    >>> mechanism.k, np.count_nonzero(mechanism.draw(np.full((4, 10), 201)), axis=1).tolist()
    (2, [2, 2, 2, 2])
    """

    sampler_version: ClassVar[int] = 2
    k: int | None = None
    each: str = "piecewise"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.each not in ONE_VALUE:
            raise SettingError("each", f"must be one of {', '.join(ONE_VALUE)}", self.each)
        published = max(1, min(self.d, math.floor(self.epsilon / EPSILON_EACH)))
        fix(self, "k", whole("k", published if self.k is None else self.k, 1, self.d))
        if self.epsilon_each < SMALLEST_EPSILON:
            raise SettingError("epsilon", f"must leave each chosen attribute at least {SMALLEST_EPSILON}", self.epsilon)

    @property
    def chosen(self) -> int:
        """How many attributes of a row are drawn."""
        return whole("k", self.k, 1, self.d)

    @property
    def epsilon_each(self) -> float:
        """The budget of one chosen attribute."""
        return down(Fraction(self.epsilon) / self.chosen)

    @cached_property
    def inner(self) -> OneValueMechanism:
        """The mechanism of one attribute."""
        return ONE_VALUE[self.each](epsilon=self.epsilon_each, size=self.size)

    @property
    def unit(self) -> Fraction:
        return self.inner.unit * Fraction(self.d, self.chosen)

    def second_moment(self, code: int) -> Fraction:
        return self.inner.second_moment(code) * Fraction(self.d, self.chosen)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        out = np.zeros(codes.shape, dtype=np.int64)
        drawn = np.empty((len(codes), self.chosen), dtype=np.int64)
        places = np.empty_like(drawn)

        def decide(here: slice, words: Words) -> Integers:
            _choose(words, self.d, places[here])
            return self.inner.decide(np.take_along_axis(codes[here], places[here], axis=1), words[:, self.chosen :])

        fill(drawn, decide, tapes.step(""), 2 * self.chosen, threads)  # words to choose by, words to draw with
        np.put_along_axis(out, places, drawn, axis=1)
        return out


@compiled
def _choose(words: Words, d: int, places: Integers) -> None:
    """Set each row of ``places`` to different numbers below ``d``, in any order alike, each settled by a word."""
    deck, count = np.arange(d), places.shape[1]
    for i in range(len(places)):
        for j in range(count):  # deal as many cards as are wanted,
            at = j + words[i, j] % (d - j)
            places[i, j], deck[at] = deck[at], deck[j]
            deck[j] = places[i, j]
        for j in range(count - 1, -1, -1):  # and put them back where they were
            at = j + words[i, j] % (d - j)
            deck[j], deck[at] = deck[at], deck[j]
