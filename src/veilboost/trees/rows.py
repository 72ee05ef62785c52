"""Columns of ranks with their target: what training takes, checked before a library sees it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.settings import whole
from veilboost.trees.settings import BoostingSettings

_MOST = 2**24
"""Codes up to here are exact as float32, which both libraries read."""
_BLOCK = 1 << 16
_LARGEST = float(np.finfo(np.float32).max)

Columns = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class Feature:
    """A column: ``ranks`` in order, or ``categories`` without order, from 1; code 0 is a missing value.

    >>> Feature("age", ranks=10, categories=3)
    Traceback (most recent call last):
    veilboost.errors.SettingError: age must have either ranks or categories; got (10, 3)
    """

    name: str
    ranks: int = 0
    categories: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SettingError("name of a feature", "must be text", self.name)
        whole(f"ranks of {self.name}", self.ranks, 0, _MOST)
        whole(f"categories of {self.name}", self.categories, 0, _MOST)
        if (self.ranks > 0) == (self.categories > 0):
            raise SettingError(self.name, "must have either ranks or categories", (self.ranks, self.categories))

    @property
    def size(self) -> int:
        """The largest code."""
        return self.ranks or self.categories


@dataclass(frozen=True)
class Rows:
    """The columns of codes, in the order of the features, with a target and perhaps a weight for each row."""

    columns: Columns
    target: NDArray[np.float64]
    weight: NDArray[Any] | None = None

    def check(self, settings: BoostingSettings, features: Sequence[Feature]) -> None:
        """Refuse what does not fit the settings or the features."""
        target = check_vector("target", self.target)
        if not len(target):
            raise DataError("target", "must have at least one row", "none")
        check_columns(self.columns, features, len(target))
        _check_target(target, settings)
        if self.weight is not None:
            _check_weight(check_vector("weight", self.weight), len(target))


def check_columns(columns: Columns, features: Sequence[Feature], rows: int | None = None) -> int:
    """Return the number of rows, or refuse columns that do not hold the codes that ``features`` declare."""
    if len(columns) != len(features):
        raise SettingError("columns", f"must be as many as the {len(features)} features", len(columns))
    for feature, column in zip(features, columns, strict=True):
        if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in "iu":
            found = f"{column.dtype} of {column.ndim} dimensions" if isinstance(column, np.ndarray) else type(column)
            raise DataError(feature.name, "must be one-dimensional whole numbers", found)
        rows = len(column) if rows is None else rows
        if len(column) != rows:
            raise DataError(feature.name, f"must have {rows} rows, as the others", len(column))
        _check_range(feature, column)
    return rows or 0


def _check_range(feature: Feature, column: NDArray[Any]) -> None:
    if len(column) and (column.max() > feature.size or (column.dtype.kind == "i" and column.min() < 0)):
        row = int(np.flatnonzero((column > feature.size) | (column < 0))[0])
        raise DataError(feature.name, f"must hold codes from 0 to {feature.size}", f"{column[row]} at row {row}")


def check_vector(name: str, values: Any) -> NDArray[np.float64]:
    """Return one-dimensional finite numbers that float32 can hold, as both libraries do, or refuse them."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "biuf":
        raise DataError(name, "must be a one-dimensional array of numbers", getattr(values, "dtype", type(values)))
    held = values.astype(np.float64, copy=False)
    bad = ~(np.abs(held) <= _LARGEST)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(name, f"must be finite and within ±{_LARGEST:.3g}", f"{held[row]} at row {row}")
    return held


def _check_target(target: NDArray[np.float64], settings: BoostingSettings) -> None:
    if settings.task == "regression":
        return
    classes = settings.classes or 2
    bad = (target != np.floor(target)) | (target < 0) | (target >= classes)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError("target", f"must be a class number from 0 to {classes - 1}", f"{target[row]} at row {row}")


def _check_weight(weight: NDArray[np.float64], rows: int) -> None:
    if len(weight) != rows:
        raise DataError("weight", f"must have {rows} rows, as the target", len(weight))
    if (weight < 0).any():
        row = int(np.flatnonzero(weight < 0)[0])
        raise DataError("weight", "must not be negative", f"{weight[row]} at row {row}")
    if not weight.astype(np.float32).any():
        raise DataError("weight", "must be above 0 in some row", "only zeros")


def present(column: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Return the codes from 1 that occur, in order; a look at the first rows is mostly enough.

    >>> present(np.array([3, 0, 1, 3]), 4).tolist()
    [1, 3]
    """
    seen = np.zeros(size + 1, dtype=np.bool_)
    seen[0] = True
    for start in range(0, len(column), _BLOCK):
        seen[column[start : start + _BLOCK]] = True
        if seen.all():
            break
    return np.flatnonzero(seen)[1:]


def counted_from_zero(columns: Columns, features: Sequence[Feature], threads: int | None) -> NDArray[Any]:
    """Return one matrix of codes minus one, as narrow as they allow; a missing value is -1."""
    largest = max(feature.size for feature in features) - 1
    kind = next(kind for kind in (np.int8, np.int16, np.int32) if largest <= np.iinfo(kind).max)
    matrix = np.empty((len(columns[0]), len(columns)), dtype=kind)

    def fill(rows: slice) -> None:
        for place, column in enumerate(columns):
            np.subtract(column[rows], 1, out=matrix[rows, place], dtype=kind, casting="unsafe")

    _in_blocks(fill, len(matrix), threads)
    return matrix


def as_floats(columns: Columns, features: Sequence[Feature], threads: int | None) -> NDArray[np.float32]:
    """Return one matrix of ranks from 1 and categories from 0; a missing value is NaN."""
    matrix = np.empty((len(columns[0]), len(columns)), dtype=np.float32)

    def fill(rows: slice) -> None:
        for place, (feature, column) in enumerate(zip(features, columns, strict=True)):
            codes = column[rows]
            held = codes.astype(np.float32) - np.float32(feature.categories > 0)
            matrix[rows, place] = np.where(codes == 0, np.float32(np.nan), held)

    _in_blocks(fill, len(matrix), threads)
    return matrix


def _in_blocks(fill: Any, rows: int, threads: int | None) -> None:
    blocks = [slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)]
    if len(blocks) < 2 or threads == 1:
        for block in blocks:
            fill(block)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, blocks))
