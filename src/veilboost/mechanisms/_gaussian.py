"""Integer weights of discrete Gaussian noise, and the exact failure probability that they leave."""

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError
from veilboost.mechanisms.table import odds_below
from veilboost.privacy import TOTAL
from veilboost.privacy.rounding import precise

GRID = 32
"""Standard deviations from one power of two to the next."""
SMALLEST_SIGMA, LARGEST_SIGMA = 2.0**-3, 2.0**15
_FRACTION_BITS = 192
_DIGITS = 90
_ROUNDS = 3


@dataclass(frozen=True)
class Gaussian:
    """Noise z from -K to K with the integer weight ``weights[|z|]`` out of 2^63."""

    sigma: float
    weights: tuple[int, ...] = field(repr=False)

    @property
    def last(self) -> int:
        """K, the largest noise."""
        return len(self.weights) - 1

    @cached_property
    def below(self) -> tuple[int, ...]:
        """The weight of all noise below -K + i, for i from 0 to 2K + 1."""
        return tuple(accumulate([*self.weights[:0:-1], *self.weights], initial=0))

    @cached_property
    def thresholds(self) -> NDArray[np.int64]:
        """What a word is compared with: all of ``below`` but its two ends, up to one less than a power of two."""
        inner = self.below[1:-1]
        room = (1 << len(inner).bit_length()) - 1
        return np.array([*inner, *[TOTAL - 1] * (room - len(inner))], dtype=np.int64)

    def variance(self) -> Fraction:
        """Return the variance of the noise."""
        return Fraction(2 * sum(z * z * weight for z, weight in enumerate(self.weights)), TOTAL)

    def weight(self, noise: int) -> int:
        """Return the weight of ``noise``."""
        return self.weights[abs(noise)] if abs(noise) <= self.last else 0

    def delta(self, epsilon: float, shift: int) -> Fraction:
        """Return by how much exp(``epsilon``) fails for two values ``shift`` apart, or fewer: exact but for exp.

        The weights are log-concave, so the outputs that tell too much are all those up to one of them; exp(epsilon)
        is rounded down, which rounds the result up.
        """
        numerator, scale = odds_below(epsilon)
        outputs = range(-self.last, self.last + 1)
        telling = bisect_left(
            outputs, True, key=lambda z: self.weight(z) << scale <= numerator * self.weight(z - shift)
        )
        ours, theirs = self.below[telling], self.below[max(0, telling - shift)]
        return Fraction((ours << scale) - numerator * theirs, TOTAL << scale)


def gaussian(sigma: float) -> Gaussian:
    """Return weights that are nearly proportional to exp(-z^2 / 2 sigma^2), and exactly log-concave.

    What rounding takes from the tails is given back to all in proportion; the centre alone would stand out with it.
    """
    kernel, target = _kernel(sigma), TOTAL
    total = 2 * sum(kernel) - kernel[0]
    for _ in range(_ROUNDS):
        inner = _falling([target * value // total for value in kernel[1:]])
        centre = TOTAL - 2 * sum(inner)
        target += centre - target * kernel[0] // total
    weights = (centre, *inner)
    if centre < weights[1] or any(b * b < a * c for a, b, c in zip(weights, weights[1:], weights[2:], strict=False)):
        raise GuaranteeError(f"the integer weights of Gaussian noise of {sigma} are not log-concave")
    return Gaussian(sigma, weights)


def _falling(ideal: list[int]) -> list[int]:
    """Return ``ideal``, lowered where a ratio of neighbours would exceed the one before it, up to the last weight."""
    weights = ideal[:2]
    for value in ideal[2:]:
        weights.append(min(value, weights[-1] ** 2 // weights[-2]))
        if not weights[-1]:
            break
    return [weight for weight in weights if weight]


def _kernel(sigma: float) -> list[int]:
    """Return exp(-z^2 / 2 sigma^2) in fixed point for z = 0, 1, … as long as it can have a weight.

    Each value is the last one times a ratio, which falls by the same factor every time.
    """
    with precise(_DIGITS):
        one = Decimal(1 << _FRACTION_BITS)
        ratio = int((-1 / (2 * Decimal(sigma) ** 2)).exp() * one)
        fall = int((-1 / Decimal(sigma) ** 2).exp() * one)
    values, least = [1 << _FRACTION_BITS], (1 << _FRACTION_BITS) // TOTAL
    while values[-1] > least:
        values.append(values[-1] * ratio >> _FRACTION_BITS)
        ratio = ratio * fall >> _FRACTION_BITS
    return values


def grid(index: int) -> float:
    """Return the standard deviation number ``index`` of the grid: 2^-3 is number 0, then 32 for every doubling.

    >>> grid(0), grid(1), grid(32), grid(16 + 32 * 3)
    (0.125, 0.12890625, 0.25, 1.5)
    """
    doubling, place = divmod(index, GRID)
    return SMALLEST_SIGMA * 2.0**doubling * (1 + place / GRID)


GRID_SIZE = GRID * int(math.log2(LARGEST_SIGMA / SMALLEST_SIGMA)) + 1
