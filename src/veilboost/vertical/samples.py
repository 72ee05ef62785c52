"""Raw samples, or desensitised ones, as the numbers that a model compares."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veilboost.data import first_misfit
from veilboost.errors import DataError
from veilboost.vertical.columns import Input

_TYPES = {"days": pa.date32(), "microseconds": pa.timestamp("us"), "number": pa.float64()}


def samples(inputs: Sequence[Input], table: pa.Table) -> NDArray[np.float64]:
    """Return one row for each sample and one column for each feature, NaN where a value is missing or unknown.

    A table that was desensitised bit by bit may hold the bits of a category in the place of the column.
    """
    out = np.empty((table.num_rows, len(inputs)), order="F")
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for place, each in enumerate(inputs):
        out[:, place] = _numbers(each, columns)
    return out


def needed(inputs: Sequence[Input], names: Collection[str]) -> list[str]:
    """Return which columns of a table with these ``names`` the model reads, or refuse a table that lacks one.

    >>> needed([Input(feature="age", column="age", party="shop", kind="number")], ["id", "age"])
    ['age']
    """
    found = [each.feature if each.column not in names else each.column for each in inputs]
    for name, each in zip(found, inputs, strict=True):
        if name not in names:
            raise DataError(
                each.column, "must be in the table: the model reads it", f"only {', '.join(list(names)[:20])}"
            )
    return list(dict.fromkeys(found))


def _numbers(each: Input, columns: Mapping[str, pa.ChunkedArray]) -> NDArray[np.float64]:
    (name,) = needed([each], columns)
    column = columns[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of a table without rows
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    match each.kind:
        case "indicator" if name == each.feature:
            return _floats(_cast(name, column, pa.float64()))
        case "indicator":
            return _indicator(each, name, column)
        case "category" | "place":
            found = _floats(pc.index_in(_alike(name, column, each.categories or []), pa.array(each.categories)))
        case _:
            found = _floats(_counted(name, column, _TYPES[each.kind]))
    return found if each.impute is None else np.where(np.isnan(found), each.impute, found)


def _indicator(each: Input, name: str, column: pa.Array) -> NDArray[np.float64]:
    if each.value is None:
        return _floats(pc.is_null(column, nan_is_null=True).cast(pa.float64()))
    return _floats(
        pc.equal(_alike(name, column, [each.value]), pa.scalar(each.value)).fill_null(False).cast(pa.float64())
    )


def _alike(name: str, column: pa.Array, categories: Sequence[object]) -> pa.Array:
    """Return ``column`` in the type of its ``categories``."""
    return _cast(name, column, pa.array(categories[:1]).type)


def _counted(name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return ``column`` as numbers; times are counted since 1970, in their time zone, if they have one."""
    if pa.types.is_boolean(column.type):
        return column.cast(pa.uint8()).cast(pa.float64())
    if pa.types.is_float64(kind):
        return _cast(name, column, kind)
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return column.cast(pa.float64(), safe=False)
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return _cast(name, column, kind).cast(whole).cast(pa.float64(), safe=False)


def _cast(name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if pa.types.is_string(column.type) and not pa.types.is_string(kind):
        column = pc.utf8_trim_whitespace(column)
    if pa.types.is_floating(column.type) and pa.types.is_integer(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    try:
        return column.cast(kind, safe=not pa.types.is_floating(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    try:
        row = first_misfit(column, kind)
    except pa.ArrowNotImplementedError:
        raise DataError(name, f"must be {kind}, or text of it", f"a column of type {column.type}") from None
    raise DataError(name, f"must be {kind} in every row", f"{column[row].as_py()!r} at row {row}")


def _floats(column: pa.Array) -> NDArray[np.float64]:
    found: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found
