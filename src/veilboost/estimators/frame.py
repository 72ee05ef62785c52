"""What a caller passes as X, as a table of columns by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from veilboost.errors import DataError, UsageError

Column = Any  # an array of Arrow, or one in chunks: Arrow has no types


def table_of(estimator: BaseEstimator, X: Any, *, reset: bool) -> pa.Table:
    """Return X as a table: a frame of Arrow, pandas or polars, or an array, column by column and nothing rounded.

    Where the columns have no names they are ``x0``, ``x1``, … as scikit-learn calls them.
    """
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    columns = _of_frame(estimator, X, reset) if _is_frame(X) else _of_array(estimator, X, reset)
    names = feature_names(estimator)
    return pa.table([_in_microseconds(name, each) for name, each in zip(names, columns, strict=True)], names=names)


def feature_names(estimator: BaseEstimator) -> list[str]:
    """Return what the columns of a fitted estimator are called."""
    names = getattr(estimator, "feature_names_in_", None)
    return (
        [f"x{place}" for place in range(estimator.n_features_in_)] if names is None else [str(each) for each in names]
    )


def _is_frame(X: Any) -> bool:
    return isinstance(X, pa.Table) or ((hasattr(X, "iloc") or hasattr(X, "to_arrow")) and hasattr(X, "columns"))


def _of_frame(estimator: BaseEstimator, X: Any, reset: bool) -> list[Column]:
    names = [str(name) for name in (X.column_names if isinstance(X, pa.Table) else X.columns)]
    if len(set(names)) < len(names):
        raise DataError("X", "must have columns of different names", names)
    if not len(X) or not names:
        raise DataError("X", "must have rows and columns", f"{len(X)} rows, {len(names)} columns")
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if hasattr(X, "iloc"):
        return [_column(name, X.iloc[:, place]) for place, name in enumerate(names)]
    frame: pa.Table = X if isinstance(X, pa.Table) else X.to_arrow()
    return list(frame.columns)


def _of_array(estimator: BaseEstimator, X: Any, reset: bool) -> list[Column]:
    if not (isinstance(X, list | tuple) or hasattr(X, "__array__") or hasattr(X, "shape")):
        raise UsageError(f"X must be an array, or a frame of Arrow, pandas or polars; got {type(X).__name__}")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("X", "must hold real numbers: Complex data not supported", "complex ones")
    array: NDArray[Any] = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):  # numpy has made text of numbers beside text
        array = np.array(X, dtype=object)
    return [_column(name, array[:, place]) for place, name in enumerate(feature_names(estimator))]


def _column(name: str, values: Any) -> Column:
    try:
        return pa.array(np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(name, "must hold values of one kind", str(error.args[0]).partition("\n")[0]) from None


def _in_microseconds(name: str, column: Column) -> Column:
    """Return points in time to the microsecond, as domains count them."""
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column
    try:
        return column.cast(pa.timestamp("us", kind.tz), safe=kind.unit != "ns")
    except pa.ArrowInvalid:
        raise DataError(name, "must hold times that count in microseconds", "one too far from 1970") from None


def refuse_infinite(names: Sequence[str], matrix: NDArray[np.float64]) -> None:
    """Refuse samples with an infinite value."""
    if np.isinf(matrix).any():
        row, place = np.argwhere(np.isinf(matrix))[0]
        raise DataError(names[place], "must not be infinite", f"infinity at row {row}")
