"""From a table to the numbers that owners scale: nominal columns become k-1 columns of zeros and ones."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.local.model import Input
from veilboost.vertical import Own
from veilboost.vertical.own_table import own_column

Bounds = tuple[float, float]


def inputs_of(
    own: pa.Table,
    bounds: Bounds | Mapping[str, Bounds] | None,
    categories: Mapping[str, Sequence[str]] | None,
) -> list[Input]:
    """Return what is read of each column; what is not given is taken from the data user's ``own`` rows.

    Of k categories the first has no column: it is where the others are all 0. So is one that is not listed.
    """
    for option, given in (("bounds", bounds), ("categories", categories)):
        for name in given if isinstance(given, Mapping) else ():
            if name not in own.column_names:
                raise SettingError(option, f"must name columns of X: {', '.join(own.column_names[:20])}", name)
    found: list[Input] = []
    for name in own.column_names:
        column = _read(name, own[name])
        if column.categories is None:
            found.append(_number(column, bounds.get(name) if isinstance(bounds, Mapping) else bounds))
        else:
            listed = (categories or {}).get(name) or column.categories
            found += [Input(column=name, lower=0.0, upper=1.0, category=str(each)) for each in listed[1:]]
    if not found:
        raise DataError("X", "must have a column with two categories, or with numbers", own.column_names)
    return found


def matrix_of(table: pa.Table, inputs: Sequence[Input]) -> NDArray[np.float64]:
    """Return the numbers that are read of each row of ``table``."""
    read = {name: _read(name, table[name]) for name in dict.fromkeys(each.column for each in inputs)}
    columns = []
    for each in inputs:
        column = read[each.column]
        if (each.category is None) != (column.categories is None):
            kind = "numbers, as it did before" if each.category is None else "text, as it did before"
            raise DataError(each.column, f"must hold {kind}", table[each.column].type)
        if column.categories is None or each.category is None:
            columns.append(column.values)
        else:
            place = column.categories.index(each.category) + 1 if each.category in column.categories else -1
            columns.append(column.values == place)
    return np.column_stack(columns).astype(np.float64, copy=False)


def _read(name: str, column: pa.ChunkedArray) -> Own:
    read = own_column(name, column, "lightgbm")
    missing = np.isnan(read.values) if read.categories is None else read.values == 0
    if missing.any():
        raise DataError(name, "must not be missing", f"NaN at row {int(missing.argmax())}")
    return read


def _number(column: Own, given: Bounds | None) -> Input:
    if given is None:
        values = column.values
        return Input(column=column.name, lower=float(values.min()), upper=float(values.max()), unit=column.unit)
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise SettingError("bounds", f"must be a pair of numbers for column {column.name!r}", given)
    return Input(column=column.name, lower=float(given[0]), upper=float(given[1]), unit=column.unit)
