"""Columns in: which forms are taken, which values are missing, and where the first misfit is."""

import reprlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.domain.kind import Array, Kind, MisfitError, objects
from veilboost.domain.numeric import is_integer
from veilboost.errors import DataError

Values = Sequence[Any] | NDArray[Any]


def read_column(values: Values, column: str) -> tuple[Array, NDArray[np.bool_]]:
    """Return the values as a plain array, and which of them are missing."""
    if isinstance(values, list | tuple):
        values = objects(values)
    if not isinstance(values, np.ndarray):
        raise DataError(column, "must be a list, a tuple or a numpy array", type(values).__name__)
    if values.ndim != 1:
        raise DataError(column, "must have one dimension", f"{values.ndim} dimensions")
    if not values.size:
        raise DataError(column, "must not be empty", "no values")
    array = np.asarray(values, dtype=object if values.dtype.kind == "T" else None)
    return array, np.ma.getmaskarray(values) | _missing_in(array)


def refuse_gaps(gaps: NDArray[np.bool_], column: str, first_row: int = 0) -> None:
    """Refuse a column with missing values."""
    if gaps.any():
        raise DataError(column, "must not hold missing values", f"one at row {first_row + int(np.argmax(gaps))}")


def read_units(kind: Kind, array: Array, gaps: NDArray[np.bool_], column: str, first_row: int = 0) -> Array:
    """Read the values that are not missing; a misfit is reported by its row in the whole column."""
    try:
        return kind.read(array[~gaps] if gaps.any() else array)
    except MisfitError as misfit:
        row = int(np.flatnonzero(~gaps)[misfit.position])
        raise DataError(column, f"must hold {kind.noun} in every row", _found(array[row], first_row + row)) from None


def read_codes(codes: Values, size: int, column: str) -> NDArray[np.int64]:
    """Return codes from 1 to ``size`` as int64, or refuse the first that is none."""
    array, gaps = read_column(codes, column)
    if array.dtype.kind not in "iu":
        array = objects([code if is_integer(code) else 0 for code in array])
    fits = (array >= 1) & (array <= size) & ~gaps
    if not fits.all():
        row = int(np.argmin(fits))
        raise DataError(column, f"must hold codes from 1 to {size}", _found(codes[row], row))
    return array.astype(np.int64)


def _missing_in(array: Array) -> NDArray[np.bool_]:
    if array.dtype.kind == "O":
        return np.fromiter(map(_is_missing, array.tolist()), dtype=np.bool_, count=array.size)
    if array.dtype.kind in "fcmM":
        return np.asarray(array != array)
    return np.zeros(array.shape, dtype=np.bool_)


def _is_missing(value: Any) -> bool:
    """Whether ``value`` is None, masked, or not equal to itself (NaN, NaT, pandas' NA)."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    unequal = value != value
    return bool(unequal) if isinstance(unequal, bool | np.bool_) else unequal is value


def _found(value: object, row: int) -> str:
    if isinstance(value, np.str_ | np.bool_):
        value = value.item()
    text = str(value) if isinstance(value, np.number | np.datetime64) else reprlib.repr(value)
    return f"{' '.join(text.split())} at row {row}"
