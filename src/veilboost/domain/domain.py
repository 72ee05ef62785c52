"""A column's public domain: what its codes 1..size stand for, raw values to codes, and codes back to raw values.

Bounds, size, categories and what a missing value means are public input. None of them is computed from the
column, except by `Domain.from_data`, whose result says ``public=False``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Literal, Self, TypedDict, TypeVar, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from veilboost.domain.categories import Categories
from veilboost.domain.kind import Kind
from veilboost.domain.numeric import Decimals, Integers, Numbers
from veilboost.domain.reading import Values, read_codes, read_column, read_units, refuse_gaps
from veilboost.domain.rule import Rule
from veilboost.domain.times import ZONED, Dates, Timestamps
from veilboost.errors import DataError, SettingError
from veilboost.settings import whole

LARGEST = 2**31
LISTABLE = 65536
Day = date | str | np.datetime64
Exact = Decimal | int | str
Missing = Literal["refuse", "code", "impute"]
Raw = TypeVar("Raw")
Time = datetime | str | np.datetime64


class Options(TypedDict, Generic[Raw], total=False):
    """What every constructor takes besides: what a missing value means, and the column's name for messages."""

    missing: Missing
    impute: Raw | None
    column: str


@dataclass(frozen=True, eq=False)
class Coded:
    """A column in codes, with how many of its values had to be clipped to a bound or were missing."""

    codes: NDArray[np.unsignedinteger[Any]]
    clipped_low: int
    clipped_high: int
    missing: int
    public: bool
    """Whether bounds and categories are public input; codes under bounds taken from the data are not private."""


@dataclass(frozen=True, repr=False)
class Domain:
    """The public codes of one column; make it with one of the constructors below.

    Code 1 is the lower bound alone. Code k of R is everything above border k-1 up to border k, and border k
    is ``lower + (k-1) (upper-lower) / (R-1)``, compared without rounding. ``size`` counts every code, also
    the last one where ``missing="code"`` sets it aside. A missing value (None, NaN, NaT, NA, masked) is
    refused by ``missing="refuse"``, gets that last code by ``"code"``, and by ``"impute"`` the code of the
    public value ``impute``. Values beyond a bound are clipped to it and counted; infinities are refused.

    Every constructor takes ``missing`` (by default "refuse"), ``impute`` and ``column``. Two domains are
    equal when they code alike: the column's name is for messages only.

    >>> ages = Domain.numbers(0, 100, size=11, column="age")
    >>> ages.encode([0, 0.1, 10, 99, 130])
    Coded(codes=array([ 1,  2,  2, 11, 11], dtype=uint8), clipped_low=0, clipped_high=1, missing=0, public=True)
    >>> ages.encode([31, None])
    Traceback (most recent call last):
    veilboost.errors.DataError: column 'age' must not hold missing values; found one at row 1
    """

    kind: Kind
    lower: Fraction  # bounds and the imputed value in the kind's units
    upper: Fraction
    size: int
    missing: Missing = "refuse"
    impute: Fraction | None = None
    public: bool = True
    column: str = field(default="column", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise SettingError("column", "must be text", self.column)
        if self.missing not in get_args(Missing):
            raise SettingError("missing", f"must be one of {', '.join(get_args(Missing))}", self.missing)
        if (self.missing == "impute") != (self.impute is not None):
            raise SettingError("impute", "must be given with missing='impute' and only then", self.impute)
        self._check_bounds()
        spare = int(self.missing == "code")
        most = min(self.kind.most(self.lower, self.upper) + spare, LARGEST)
        object.__setattr__(self, "size", whole("size", self.size, 2 + spare, most))

    def _check_bounds(self) -> None:
        low, high = self.kind.ends
        for name, bound in ((low, self.lower), (high, self.upper)):
            if self.kind.unit_of(self.kind.raw_of(bound)) != bound:
                raise SettingError(name, f"must be {self.kind.noun} that is held without rounding", bound)
        if self.lower >= self.upper:
            raise SettingError(
                low, f"must be below {high} = {self.kind.text(self.upper)}", self.kind.raw_of(self.lower)
            )
        if self.impute is not None and not self.lower <= self.impute <= self.upper:
            span = f"{self.kind.text(self.lower)} to {self.kind.text(self.upper)}"
            raise SettingError("impute", f"must lie inside the bounds {span}", self.kind.raw_of(self.impute))

    @classmethod
    def numbers(cls, lower: float, upper: float, *, size: int, **options: Unpack[Options[float]]) -> Self:
        """Code float or integer values between two float bounds.

        >>> Domain.numbers(0, 1, size=5).borders()
        array([0.  , 0.25, 0.5 , 0.75])
        """
        return cls._bounded(Numbers(), lower, upper, size, **options)

    @classmethod
    def integers(cls, lower: int, upper: int, *, size: int | None = None, **options: Unpack[Options[int]]) -> Self:
        """Code whole numbers, one code for each unless ``size`` asks for fewer.

        >>> Domain.integers(-1, 1).encode([-1, 0, 1.0, 7]).codes
        array([1, 2, 3, 3], dtype=uint8)
        """
        return cls._bounded(Integers(), lower, upper, size, **options)

    @classmethod
    def dates(cls, first: Day, last: Day, *, size: int | None = None, **options: Unpack[Options[Day]]) -> Self:
        """Code days, one code for each unless ``size`` asks for fewer.

        >>> Domain.dates("2024-02-28", "2024-03-01").encode(["2024-02-29"]).codes
        array([2], dtype=uint8)
        """
        return cls._bounded(Dates(), first, last, size, **options)

    @classmethod
    def timestamps(cls, first: Time, last: Time, *, size: int, **options: Unpack[Options[Time]]) -> Self:
        """Code points in time to the microsecond; bounds and values all have a time zone, or none has.

        >>> day = Domain.timestamps("2024-01-01T00:00Z", "2024-01-02T00:00Z", size=25)
        >>> day.encode(["2024-01-01T02:00+01:00"]).codes
        array([2], dtype=uint8)
        """
        kind = Timestamps() if ZONED.unit_of(first) is None else ZONED
        return cls._bounded(kind, first, last, size, **options)

    @classmethod
    def decimals(
        cls, lower: Exact, upper: Exact, *, size: int, places: int = 6, **options: Unpack[Options[Exact]]
    ) -> Self:
        """Code exact decimals of at most ``places`` digits after the point.

        >>> Domain.decimals("0.00", "1.00", size=4, places=2).borders()
        array([Decimal('0.00'), Decimal('0.33'), Decimal('0.66')], dtype=object)
        """
        places = whole("places", places, 0, 100)
        noun = f"an exact decimal number of at most {places} places (Decimal, int or text)"
        kind = Decimals(noun=noun, unit=Fraction(1, 10**places), places=places)
        return cls._bounded(kind, lower, upper, size, **options)

    @classmethod
    def booleans(cls, **options: Unpack[Options[bool]]) -> Self:
        """Code False as 1 and True as 2.

        >>> Domain.booleans(missing="code").encode([False, True, None]).codes
        array([1, 2, 3], dtype=uint8)
        """
        kind = Categories("booleans", "True or False", values=(False, True))
        return cls._bounded(kind, False, True, None, **options)

    @classmethod
    def ordered(cls, categories: Sequence[str] | Sequence[int], **options: Unpack[Options[str | int]]) -> Self:
        """Code categories by their place in a list that runs from least to most.

        >>> Domain.ordered(["low", "mid", "high"]).encode(["high", "low"]).codes
        array([3, 1], dtype=uint8)
        """
        kind = Categories.listed("ordered categories", categories, ordered=True)
        return cls._bounded(kind, kind.values[0], kind.values[-1], None, **options)

    @classmethod
    def unordered(cls, categories: Sequence[str] | Sequence[int], **options: Unpack[Options[str | int]]) -> Self:
        """Code categories by their place in a list whose order means nothing.

        >>> Domain.unordered(["red", "blue"]).order
        False
        """
        kind = Categories.listed("unordered categories", categories, ordered=False)
        return cls._bounded(kind, kind.values[0], kind.values[-1], None, **options)

    @classmethod
    def from_data(cls, values: Values, *, size: int, column: str = "column") -> Self:
        """Take the bounds from the values themselves: for experiments alone, nothing made from it is private.

        >>> Domain.from_data([3.0, 7.5], size=10).public
        False
        """
        array, gaps = read_column(values, column)
        refuse_gaps(gaps, column)
        units = read_units(Numbers(), array, gaps, column)
        lower, upper = map(Fraction, units[[units.argmin(), units.argmax()]].tolist())
        if lower == upper:
            raise DataError(column, "must hold two different values to take bounds from", f"{array[0]} only")
        return cls(Numbers(), lower, upper, size, public=False, column=column)

    @classmethod
    def _bounded(
        cls,
        kind: Kind,
        first: object,
        last: object,
        size: Any,
        *,
        missing: Missing = "refuse",
        impute: object = None,
        column: str = "column",
    ) -> Self:
        low, high = kind.ends
        lower, upper = _unit(low, kind, first), _unit(high, kind, last)
        stand_in = None if impute is None else _unit("impute", kind, impute)
        if size is None and isinstance(kind, Integers | Dates | Categories):
            size = kind.most(lower, upper) + (missing == "code")
        return cls(kind, lower, upper, size, missing, stand_in, column=column)

    @property
    def order(self) -> bool:
        """Whether a larger code means a larger value."""
        return self.kind.ordered

    @property
    def value_codes(self) -> int:
        """How many codes stand for values: all but the one set aside for missing values."""
        return self.size - (self.missing == "code")

    @property
    def unit_width(self) -> Fraction | None:
        """What one code step spans in raw terms (days for dates, seconds for timestamps).

        >>> Domain.timestamps("2024-01-01", "2024-01-02", size=25).unit_width
        Fraction(3600, 1)
        """
        return None if self.kind.unit is None else self._rule.width * self.kind.unit

    @cached_property
    def _rule(self) -> Rule:
        return Rule(self.lower, self.upper, self.value_codes - 1)

    def encode(self, values: Values, *, times: NDArray[np.int64] | None = None, first_row: int = 0) -> Coded:
        """Return the codes of a list, tuple or one-dimensional array (also masked), in its order.

        With ``times`` each value counts that often; messages count rows from ``first_row``.
        """
        array, gaps = read_column(values, self.column)
        if self.missing == "refuse":
            refuse_gaps(gaps, self.column, first_row)
        stand_in = self.size if self.impute is None else self._rule.code(self.impute)
        codes = np.full(array.size, stand_in, dtype=np.min_scalar_type(self.size))
        counts = np.ones(array.size, dtype=np.int8) if times is None else times
        low = high = 0
        if not gaps.all():
            units = read_units(self.kind, array, gaps, self.column, first_row)
            low, high = (int(counts[~gaps][out].sum()) for out in self._rule.outside(units))
            codes[~gaps] = self._rule.codes(units)
        return Coded(codes, low, high, int(counts[gaps].sum()), self.public)

    def decode(self, codes: Values) -> NDArray[Any]:
        """Return the largest raw value of each code (its border; the upper bound for the last value code).

        ``encode(decode(codes))`` gives the codes back. The missing code becomes NaN, NaT or None.

        >>> Domain.numbers(0, 1, size=6, missing="code").decode([1, 2, 5, 6])
        array([0.  , 0.25, 1.  ,  nan])
        """
        distinct, where = np.unique(read_codes(codes, self.size, self.column), return_inverse=True)
        points = [self._rule.border(code) if code <= self.value_codes else None for code in distinct.tolist()]
        return self.kind.raw(points)[where]

    def border(self, code: int) -> Any:
        """Return the largest raw value that still gets ``code``; the last value code has none."""
        self._refuse_unordered()
        return self.kind.raw_of(self._rule.border(whole("code", code, 1, self.value_codes - 1)))

    def borders(self) -> NDArray[Any]:
        """Return all borders: a value's code is 1 + the number of borders below it."""
        self._refuse_unordered()
        if self.size > LISTABLE:
            raise SettingError("size", f"must be at most {LISTABLE} to list borders: use border(code)", self.size)
        return self.kind.raw([self._rule.border(code) for code in range(1, self.value_codes)])

    def _refuse_unordered(self) -> None:
        if not self.order:
            raise SettingError("categories", "must be ordered to have borders", self.describe())

    def __repr__(self) -> str:
        return f"Domain({self.column}: {self.describe()})"

    def describe(self) -> str:
        """Say in one line what the codes stand for.

        >>> Domain.numbers(0, 100, size=10).describe()
        'numbers 0 to 100 in 10 codes'
        """
        text = f"{self.kind.name} {self.kind.text(self.lower)} to {self.kind.text(self.upper)} in {self.size} codes"
        if self.missing == "code":
            text += f", missing values as code {self.size}"
        if self.impute is not None:
            text += f", missing values as {self.kind.text(self.impute)}"
        return text if self.public else f"{text}, bounds taken from the data: not private"

    def digest(self) -> bytes:
        """Return the SHA-256 of everything that defines the codes; the column's name is not part of it.

        >>> Domain.booleans(column="smoker").digest() == Domain.booleans().digest()
        True
        """
        marks = [f"{type(mark).__name__} {mark}" for mark in self.kind.marks]
        shape = [self.lower, self.upper, self.size, self.missing, self.impute, self.public]
        parts = ["veilboost domain 1", self.kind.name, *map(str, shape), *marks]
        encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
        return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in encoded)).digest()


def _unit(name: str, kind: Kind, value: object) -> Fraction:
    unit = kind.unit_of(value)
    if unit is None:
        raise SettingError(name, f"must be {kind.noun}", value)
    return unit
