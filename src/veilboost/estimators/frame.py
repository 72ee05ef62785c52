"""What a caller passes as X, as a table of columns by name."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from veilboost.errors import DataError
from veilboost.vertical import Own


def table_of(estimator: BaseEstimator, X: Any, *, reset: bool) -> pa.Table:
    """Return X as a table: a frame of pandas, polars or Arrow column by column, anything else as numbers.

    The columns of an array are named ``x0``, ``x1``, … as scikit-learn does.
    """
    frame = _frame(X)
    if frame is not None and not all(_is_number(each.type) for each in frame.schema):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if not frame.num_rows or not frame.num_columns:
            raise DataError("X", "must have rows and columns", f"{frame.num_rows} rows, {frame.num_columns} columns")
        return frame
    array = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
    names = getattr(estimator, "feature_names_in_", None)
    listed = [f"x{place}" for place in range(array.shape[1])] if names is None else [str(name) for name in names]
    return pa.table([pa.array(np.ascontiguousarray(column)) for column in array.T], names=listed)


def _frame(X: Any) -> pa.Table | None:
    if isinstance(X, pa.Table):
        return X
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        if len(set(map(str, X.columns))) < len(X.columns):
            raise DataError("X", "must have columns of different names", list(map(str, X.columns)))
        return pa.Table.from_pandas(X, preserve_index=False)
    return X.to_arrow() if hasattr(X, "to_arrow") and hasattr(X, "columns") else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def own_column(name: str, column: pa.ChunkedArray) -> Own:
    """Return a column of the lead's own: numbers, times as numbers, or categories in the order of the alphabet.

    >>> own_column("town", pa.chunked_array([["Rome", None, "Oslo"]]))
    Own(name='town', values=array([2, 0, 1]), categories=['Oslo', 'Rome'], unit='number')
    """
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        column, kind = column.cast(kind.value_type), kind.value_type
    if _is_number(kind) or pa.types.is_decimal(kind):
        return Own(name, _floats(column))
    if pa.types.is_date(kind):
        return Own(name, _floats(column.cast(pa.date32()).cast(pa.int32())), unit="days")
    if pa.types.is_timestamp(kind):
        return Own(name, _floats(column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())), unit="microseconds")
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise DataError(name, "must hold numbers, dates, times or text", f"a column of type {kind}")
    listed = sorted(each for each in column.unique().to_pylist() if each is not None)
    places = column.cast(pa.string()).combine_chunks()
    found = pc.index_in(places, value_set=pa.array(listed, pa.string())).fill_null(-1).to_numpy(zero_copy_only=False)
    return Own(name, found.astype(np.int64) + 1, categories=listed)


def _floats(column: pa.ChunkedArray) -> Any:
    return column.cast(pa.float64(), safe=False).to_numpy()
