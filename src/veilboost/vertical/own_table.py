"""A lead's own table: its label, its weights, and its other columns as a model takes them."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.trees import as_compared
from veilboost.vertical.columns import Own

Backend = Literal["xgboost", "lightgbm"]
_FEW = 20


def label_of(table: pa.Table, label: str) -> pa.ChunkedArray:
    """Return the label, with text that is kept in a dictionary as plain text."""
    if label not in table.column_names:
        raise DataError(label, "must be in the table: it is the label", f"only {', '.join(table.column_names[:20])}")
    column = table[label]
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    gaps = pc.is_null(column, nan_is_null=True).to_numpy()
    if gaps.any():
        raise DataError(label, "must not be missing: it is the label", f"{gaps.sum()} rows without it")
    kind = column.type
    if pa.types.is_floating(kind):
        _refuse_infinite(label, "label", column.to_numpy())
    elif not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise DataError(label, "must hold numbers, truth values or text: it is the label", f"a column of type {kind}")
    return column


def values_of(label: pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a label."""
    return np.asarray(label.to_pylist() if _is_text(label.type) else label.to_numpy())


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _refuse_infinite(name: str, what: str, values: NDArray[np.float64]) -> None:
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(name, f"must be finite: it is the {what}", f"{values[row]} at row {row}")


def weight_of(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return the column of row weights."""
    if name not in table.column_names:
        raise DataError(name, "must be in the table: it is the weight", f"only {', '.join(table.column_names[:20])}")
    try:
        found: NDArray[np.float64] = table[name].cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(name, "must hold numbers: it is the weight", f"a column of type {table[name].type}") from None
    _refuse_infinite(name, "weight", found)
    if (found < 0).any() or not found.any():
        raise DataError(name, "must not be negative, nor 0 in every row: it is the weight", float(found.min()))
    return found


def task_of(task: str, label: str, column: pa.ChunkedArray) -> Literal["classification", "regression"]:
    """Return what to train for a label: text, truth values and two values alone mean classes."""
    if task not in ("auto", "classification", "regression"):
        raise SettingError("task", "must be one of auto, classification, regression", task)
    fractions = pa.types.is_floating(column.type)
    number = fractions or pa.types.is_integer(column.type)
    if task == "auto":
        distinct = len(pc.unique(column))
        if 2 < distinct <= _FEW and number and not fractions:
            raise SettingError("task", f"must be given: the label has {distinct} whole numbers", "auto")
        task = "regression" if number and distinct > 2 else "classification"
    if task == "regression" and not number:
        raise DataError(label, "must hold numbers for regression: it is the label", f"a column of type {column.type}")
    if task == "classification" and fractions and (values := column.to_numpy()).tolist() != np.rint(values).tolist():
        raise DataError(label, "must hold whole numbers or text for classification: it is the label", "fractions")
    return "classification" if task == "classification" else "regression"


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def own_column(name: str, column: pa.ChunkedArray, backend: Backend) -> Own:
    """Return a column of the lead's own: numbers, times as numbers, or categories in the order of the alphabet.

    >>> own_column("town", pa.chunked_array([["Rome", None, "Oslo"]]), "xgboost")
    Own(name='town', values=array([2, 0, 1]), categories=['Oslo', 'Rome'], unit='number')
    """
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        column, kind = column.cast(kind.value_type), kind.value_type
    if _is_number(kind):
        return Own(name, _finite(name, _floats(column), backend))
    if pa.types.is_date(kind):
        return Own(name, _floats(column.cast(pa.date32()).cast(pa.int32())), unit="days")
    if pa.types.is_timestamp(kind):
        return Own(name, _floats(column.cast(pa.int64())), unit="microseconds")
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise DataError(name, "must hold numbers, dates, times or text", f"a column of type {kind}")
    listed = sorted(each for each in column.unique().to_pylist() if each is not None)
    places = column.cast(pa.string()).combine_chunks()
    found = pc.index_in(places, value_set=pa.array(listed, pa.string())).fill_null(-1).to_numpy(zero_copy_only=False)
    return Own(name, found.astype(np.int64) + 1, categories=listed)


def _finite(name: str, values: NDArray[np.float64], backend: Backend) -> NDArray[np.float64]:
    beyond = np.isinf(as_compared(values, backend))
    if beyond.any():
        row = int(beyond.argmax())
        rule = "must not be infinite" if np.isinf(values[row]) else "must be finite as float32, which XGBoost compares"
        raise DataError(name, rule, f"{values[row]} at row {row}")
    return values


def _floats(column: pa.ChunkedArray) -> Any:
    return column.cast(pa.float64(), safe=False).to_numpy()
