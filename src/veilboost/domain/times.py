"""Columns of dates and of points in time."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from veilboost.domain.kind import Array, Kind, MisfitError, fit_all


@dataclass(frozen=True)
class Dates(Kind):
    """Units are days since 1970-01-01."""

    name: str = "dates"
    noun: str = "a date without a time of day (date, ISO text or datetime64)"
    ends: tuple[str, str] = ("first", "last")
    dtype: str = "M8[D]"

    def read(self, array: Array) -> Array:
        return _ticks(array, "D") if array.dtype.kind == "M" else super().read(array)

    def read_one(self, value: Any) -> int:
        if isinstance(value, np.datetime64):
            return int(_ticks(np.array([value]), "D")[0])
        if isinstance(value, str):
            value = date.fromisoformat(value)
        if not isinstance(value, date) or isinstance(value, datetime):
            raise MisfitError
        return value.toordinal() - date(1970, 1, 1).toordinal()

    def raw_one(self, point: Fraction) -> np.datetime64:
        return np.datetime64(math.floor(point), "D")


@dataclass(frozen=True)
class Timestamps(Kind):
    """Units are microseconds since 1970-01-01T00:00, in UTC when the column carries time zones."""

    name: str = "timestamps"
    noun: str = "a timestamp without a time zone, in whole microseconds (datetime, ISO text or datetime64)"
    ends: tuple[str, str] = ("first", "last")
    unit: Fraction | None = Fraction(1, 10**6)
    dtype: str = "M8[us]"
    zoned: bool = False

    @property
    def marks(self) -> tuple[object, ...]:
        return (self.zoned,)

    def read(self, array: Array) -> Array:
        return super().read(array) if self.zoned or array.dtype.kind != "M" else _ticks(array, "us")

    def read_one(self, value: Any) -> int:
        if isinstance(value, np.datetime64) and not self.zoned:
            return int(_ticks(np.array([value]), "us")[0])
        if isinstance(value, str) and not re.search(r"[.,]\d{7}", value):
            value = datetime.fromisoformat(value)
        if not isinstance(value, datetime) or (value.utcoffset() is not None) != self.zoned:
            raise MisfitError
        time = value.astimezone(UTC) if self.zoned else value  # overflows within hours of year 1 or 9999
        return (time - self._epoch) // timedelta(microseconds=1)

    def raw_one(self, point: Fraction) -> datetime | np.datetime64:
        ticks = math.floor(point)
        return self._epoch + timedelta(microseconds=ticks) if self.zoned else np.datetime64(ticks, "us")

    @property
    def _epoch(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC if self.zoned else None)


ZONED = Timestamps(
    noun="a timestamp with a time zone, in whole microseconds (datetime, ISO text or datetime64)",
    dtype="O",
    zoned=True,
)


def _ticks(array: Array, unit: str) -> Array:
    """Return datetime64 values as whole days or microseconds; a value that is not whole does not fit."""
    if np.datetime_data(array.dtype)[0] in ("Y", "M", "generic"):
        raise MisfitError
    try:
        ticks = array.astype(f"M8[{unit}]")
    except OverflowError as error:
        raise MisfitError from error
    fit_all(ticks.astype(array.dtype) == array)  # false too where the conversion overflows
    return ticks.astype(np.int64)
