"""The coding rule: place exact units between two bounds into codes, without rounding.

Code k of R covers the units above border k-1 up to border k, where border k is
``lower + (k-1) (upper-lower) / (R-1)``: the same as ``ceil(1 + (x-lower)/(upper-lower) (R-1))``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from veilboost.domain.kind import Array


@dataclass(frozen=True)
class Rule:
    """The coding rule for units from ``lower`` to ``upper`` in ``steps + 1`` codes."""

    lower: Fraction
    upper: Fraction
    steps: int

    @cached_property
    def width(self) -> Fraction:
        """The units in one code step."""
        return (self.upper - self.lower) / self.steps

    def border(self, code: int) -> Fraction:
        """Return the largest unit that still gets ``code``."""
        lower, width = self.lower, self.width
        over = lower.numerator * width.denominator + (code - 1) * width.numerator * lower.denominator
        return Fraction(over, lower.denominator * width.denominator)

    def code(self, unit: Fraction | float) -> int:
        """Return the code of one unit inside the bounds."""
        return 1 + math.ceil((Fraction(unit) - self.lower) / self.width)

    def outside(self, units: Array) -> tuple[Array, Array]:
        """Return which units lie below and which above the bounds."""
        low: float | Fraction = self.lower
        high: float | Fraction = self.upper
        if units.dtype.kind == "f":
            low, high = float(low), float(high)
        elif units.dtype.kind in "iu":
            low, high = math.ceil(low), math.floor(high)
        return units < low, units > high

    def codes(self, units: Array) -> Array:
        """Return the code of every unit: float64, any integer dtype, or exact Python numbers."""
        return self._estimated(units) if units.dtype.kind == "f" else self._computed(units)

    def _computed(self, units: Array) -> Array:
        """Evaluate the rule as ``1 - floor((shift - unit * gain) / cut)`` in integers."""
        ratio, offset = 1 / self.width, self.lower / self.width
        cut = math.lcm(ratio.denominator, offset.denominator)
        gain, shift = int(ratio * cut), int(offset * cut)
        if units.dtype.kind != "O":
            reach = max(1, -int(units.min()), int(units.max()))
            fits = max(reach * gain + abs(shift), cut) < 2**62
            units = units.astype(np.int64 if fits else object)
        codes: Array = 1 - (shift - units * gain) // cut
        return codes.clip(1, self.steps + 1).astype(np.int64)

    def _estimated(self, units: Array) -> Array:
        """Trust a float estimate only where its error cannot change the code; compute the rest exactly.

        The difference, the rounded ratio and their product each err by at most a relative 2^-53, and the
        product by 2^-1075 more if it underflows: together below ``t 2^-50 + 2^-1000``.
        """
        ratio = 1 / self.width
        inside = np.clip(units, float(self.lower), float(self.upper))
        if not Fraction(1, 2**900) < ratio < 2**900:
            return self._exactly(inside)
        estimate = (inside - float(self.lower)) * float(ratio)
        unsure = np.abs(estimate - np.rint(estimate)) <= estimate * 2.0**-50 + 2.0**-1000
        codes = 1 + np.ceil(estimate).astype(np.int64)
        codes[unsure] = self._exactly(inside[unsure])
        return codes

    def _exactly(self, units: Array) -> Array:
        seen, where = np.unique(units, return_inverse=True)
        return np.array([self.code(unit) for unit in seen.tolist()], dtype=np.int64)[where]
