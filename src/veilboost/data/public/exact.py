"""One form for a public table, wherever it comes from, and the digest that tells it from every other."""

import hashlib
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veilboost.errors import DataError

TEXT = pa.dictionary(pa.int8(), pa.string())


def exact(table: pa.Table, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Return ``columns`` of ``table`` in these types, each in one piece, categories in alphabetical order.

    >>> exact(pa.table({"a": ["3", "1"]}), {"a": pa.int8()})["a"].to_pylist()
    [3, 1]
    """
    for name in columns:
        if table.column_names.count(name) != 1:
            raise DataError(name, "must be in the table once", ", ".join(table.column_names[:20]))
    return pa.table({name: _as(name, table[name].combine_chunks(), kind) for name, kind in columns.items()})


def _as(name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        if kind != TEXT:
            return column.cast(kind)
        plain = column.cast(pa.string())
        values = pa.array(sorted(plain.unique().drop_null().to_pylist()), pa.string())
        return pa.DictionaryArray.from_arrays(pc.index_in(plain, values).cast(pa.int8()), values)
    except pa.ArrowException as error:
        rule = "must hold at most 128 different texts" if kind == TEXT else f"must be {kind}"
        raise DataError(name, rule, " ".join(str(error).split())) from error


def digest(table: pa.Table) -> str:
    """Return the SHA-256 of all names and values; how narrow a type they are stored in makes no difference.

    Of each column: its name, what it holds, which values are there, and the values as 64-bit integers, as floats or
    as lengths and text; everything little-endian, every text behind its length.

    >>> digest(pa.table({"a": pa.array([1, 2], pa.int8())})) == digest(pa.table({"a": [1, 2]}))
    True
    """
    found = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        found.update(_text(name) + b"".join(_content(column.combine_chunks())))
    return found.hexdigest()


def _text(text: str) -> bytes:
    return np.array(len(text.encode()), "<i8").tobytes() + text.encode()


def _content(column: pa.Array) -> tuple[bytes, ...]:
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    there = np.asarray(column.is_valid(), "u1").tobytes()
    if pa.types.is_integer(kind):
        return b"integers", there, np.asarray(column.fill_null(0), "<i8").tobytes()
    if pa.types.is_floating(kind):
        return b"floats", there, np.asarray(column.fill_null(0.0), "<f8").tobytes()
    plain = column.cast(pa.string()).fill_null("")
    lengths = np.asarray(pc.binary_length(plain), "<i8").tobytes()
    together = pc.binary_join(pa.ListArray.from_arrays([0, len(plain)], plain), "")
    return b"texts", there, lengths, together[0].as_py().encode()
