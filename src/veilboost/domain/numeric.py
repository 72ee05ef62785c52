"""Columns of quantities: floats, whole numbers and exact decimals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np

from veilboost.domain.kind import Array, Kind, MisfitError, each, fit_all, objects, whole_array


@dataclass(frozen=True)
class Numbers(Kind):
    """Units are float64 values, or exact rationals where an integer is too long for that."""

    name: str = "numbers"
    noun: str = "a finite number"
    dtype: str = "f8"

    def most(self, lower: Fraction, upper: Fraction) -> int:
        """Return the codes that are still at least as wide as the widest gap between floats."""
        gap = math.ulp(math.nextafter(float(max(abs(lower), abs(upper))), 0.0))
        return int((upper - lower) / Fraction(gap)) + 1

    def read(self, array: Array) -> Array:
        if array.dtype.kind in "iu":
            return array
        if _holds_floats(array):
            fit_all(np.isfinite(array))
            return array.astype(np.float64, copy=False)
        exact = each(array, self.read_one)
        try:
            floats = [float(number) for number in exact]
        except OverflowError:
            floats = []
        return np.array(floats) if floats == exact else objects([Fraction(number) for number in exact])

    def read_one(self, value: Any) -> int | float:
        return number(value)

    def raw_one(self, point: Fraction) -> float:
        try:
            near = float(point)
            over, under = near.as_integer_ratio()  # compared by hand: it is done for every code of a domain
        except OverflowError:
            return math.nextafter(math.inf, 0.0) if point > 0 else -math.inf
        return near if over * point.denominator <= point.numerator * under else math.nextafter(near, -math.inf)


@dataclass(frozen=True)
class Integers(Kind):
    """Units are the integers themselves; floats are welcome when they are whole."""

    name: str = "integers"
    noun: str = "a whole number"

    def read(self, array: Array) -> Array:
        if array.dtype.kind in "iu":
            return array
        if _holds_floats(array):
            array = array.astype(np.float64)
            fit_all(np.isfinite(array) & (np.floor(array) == array))
            if (np.abs(array) < 2.0**63).all():
                return array.astype(np.int64)
        return super().read(array)

    def read_one(self, value: Any) -> int:
        return whole_number(value)

    def raw(self, points: Sequence[Fraction | None]) -> Array:
        units = super().raw(points)
        return units if None in points else whole_array(units.tolist())

    def raw_one(self, point: Fraction) -> int:
        return math.floor(point)


@dataclass(frozen=True)
class Decimals(Kind):
    """Units are multiples of 10^-places."""

    name: str = "decimals"
    noun: str = "an exact decimal number"
    places: int = 0

    @property
    def marks(self) -> tuple[object, ...]:
        return (self.places,)

    def read_one(self, value: Any) -> int:
        if is_integer(value):
            return int(value) * int(10**self.places)
        if isinstance(value, str):
            value = Decimal(value)
        if not isinstance(value, Decimal) or not value.is_finite():
            raise MisfitError
        if value and not -self.places <= value.adjusted() < 100:  # spares us powers of ten without end
            raise MisfitError
        above, below = value.as_integer_ratio() if value else (0, 1)
        units, rest = divmod(above * 10**self.places, below)
        if rest:
            raise MisfitError
        return int(units)

    def raw_one(self, point: Fraction) -> Decimal:
        return Decimal(f"{math.floor(point)}E-{self.places}")


def is_integer(value: object) -> TypeGuard[int]:
    """Whether ``value`` is an integer and nothing that only counts as one."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def number(value: object) -> int | float:
    """Return an integer or a finite float as plain Python."""
    if is_integer(value):
        return int(value)
    if isinstance(value, float | np.float32 | np.float16) and math.isfinite(value):
        return float(value)
    raise MisfitError


def whole_number(value: object) -> int:
    """Return a whole number, also one held by a float, as plain Python."""
    found = number(value)
    if found != int(found):
        raise MisfitError
    return int(found)


def _holds_floats(array: Array) -> bool:
    return array.dtype.kind == "f" and array.dtype.itemsize <= 8
