"""What every kind of column answers: how raw values are read into exact units, and units written back.

A unit is whatever a kind counts in: the float itself, one, a day, a microsecond, 10^-places, a place in a list.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class MisfitError(ValueError):
    """The value at ``position`` is not of the column's kind."""

    def __init__(self, position: int = 0) -> None:
        self.position = position
        super().__init__(position)


@dataclass(frozen=True)
class Kind(ABC):
    """How one kind of column is read and written; unless a kind says otherwise, its units are whole."""

    name: str
    noun: str  # what each value must be, for messages
    ends: tuple[str, str] = ("lower", "upper")
    ordered: bool = True
    unit: Fraction | None = Fraction(1)  # one unit in raw terms: days for dates, seconds for timestamps
    dtype: str = "O"  # of raw values

    @property
    def marks(self) -> tuple[object, ...]:
        """What tells two kinds of the same name apart."""
        return ()

    def most(self, lower: Fraction, upper: Fraction) -> int:
        """Return the most codes of which each can still hold a value of its own."""
        return int(upper - lower) + 1

    def read(self, array: Array) -> Array:
        """Return the units of an array without missing values, or raise MisfitError."""
        return whole_array(each(array, self.read_one))

    @abstractmethod
    def read_one(self, value: Any) -> Any:
        """Return the unit of one Python object; raise ValueError or ArithmeticError if it has none."""

    @abstractmethod
    def raw_one(self, point: Fraction) -> Any:
        """Return the largest raw value that is not above this point."""

    def raw(self, points: Sequence[Fraction | None]) -> Array:
        """Return the largest raw values not above these points; None stands for a missing value."""
        values = [None if point is None else self.raw_one(point) for point in points]
        return objects(values).astype(self.dtype)

    def unit_of(self, value: object) -> Fraction | None:
        """Return the unit of a value that stands alone, or None if it has none."""
        try:
            return Fraction(self.read(objects([value])).tolist()[0])
        except MisfitError:
            return None

    def raw_of(self, point: Fraction) -> Any:
        """Return what `raw` says of one point, by itself."""
        value = self.raw([point])[0]
        return value.item() if isinstance(value, np.number) else value

    def text(self, point: Fraction) -> str:
        """Return a raw value as messages show it."""
        value = self.raw_of(point)
        return repr(value).removesuffix(".0") if isinstance(value, float | str) else str(value)


def each(values: Iterable[Any], unit_of: Callable[[Any], Any]) -> list[Any]:
    """Apply ``unit_of`` to all values; the first that has no unit is the misfit."""
    units = []
    for position, value in enumerate(values):
        try:
            units.append(unit_of(value))
        except (ValueError, ArithmeticError):
            raise MisfitError(position) from None
    return units


def fit_all(fits: NDArray[np.bool_]) -> None:
    """Raise MisfitError for the first value that does not fit."""
    if not fits.all():
        raise MisfitError(int(np.argmin(fits)))


def objects(values: Sequence[Any]) -> Array:
    """Return a flat array of Python objects, whatever they are."""
    return np.fromiter(values, dtype=object, count=len(values))


def whole_array(units: list[int]) -> Array:
    """Return ``units`` as int64, or as exact Python integers where int64 is too narrow."""
    try:
        return np.array(units, dtype=np.int64)
    except OverflowError:
        return objects(units)
