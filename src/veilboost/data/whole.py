"""A table read whole, for training: what is text in a CSV file becomes numbers or dates where all of it is."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from veilboost.data.source import Source
from veilboost.errors import blaming

_KINDS = (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us"))


def read_whole(source: Source, columns: Sequence[str] | None = None) -> pa.Table:
    """Return ``columns`` of a table, or all of them, in memory."""
    names = list(source.schema.names if columns is None else columns)
    with blaming(source.name):
        source.check(names)
        batches = [batch for batch, _ in source.batches(names)]
    table = pa.Table.from_batches(
        batches, batches[0].schema if batches else pa.schema([source.schema.field(each) for each in names])
    )
    if not source.textual:
        return table
    return pa.table([guessed(column, source.decimal or ".") for column in table.columns], names=names)


def guessed(column: pa.ChunkedArray, decimal: str = ".") -> pa.ChunkedArray:
    """Return text as the first of whole numbers, numbers, truth values, dates and times that all of it is, or as it is.

    >>> guessed(pa.chunked_array([["3", None, " 4.5"]])).to_pylist()
    [3.0, None, 4.5]
    """
    text = pc.utf8_trim_whitespace(column)
    if decimal == ",":
        text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
    if text.null_count == len(text):
        return text.cast(pa.float64())
    for kind in _KINDS:
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
