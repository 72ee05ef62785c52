"""Where a desensitised table goes: a Parquet or a CSV file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from veilboost.errors import DataError, FileError

_GROUP_ROWS = 1 << 17
ENDINGS = (".parquet", ".csv")


class Sink:
    """A file that takes tables of one schema, in row groups of a useful size whatever the tables' own."""

    def __init__(self, path: Path | pa.NativeFile, ending: str, schema: pa.Schema) -> None:
        self._schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
        self._waiting: list[pa.Table] = []
        self._rows = 0
        if ending == ".csv":
            self._file: pq.ParquetWriter | csv.CSVWriter = csv.CSVWriter(path, self._schema)
        else:
            listed = [field.name for field in schema if isinstance(field.type, pa.DictionaryType)]
            self._file = pq.ParquetWriter(path, schema, store_schema=False, use_dictionary=listed or False)
        self._textual = ending == ".csv"

    def write(self, table: pa.Table) -> None:
        """Take the rows of ``table``."""
        self._waiting.append(table.cast(self._schema) if self._textual else table)
        self._rows += table.num_rows
        if self._rows >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            table = pa.concat_tables(self._waiting)
            # In one piece: before an empty one, Arrow up to 23 writes its last lines a second time.
            self._file.write_table(table.combine_chunks() if self._textual else table)
        self._waiting, self._rows = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._flush()
        self._file.close()


def open_sink(path: Path, ending: str, schema: pa.Schema) -> Sink:
    """Open ``path`` for a table of ``schema``, in the format of ``ending``."""
    return Sink(path, ending, schema)


def check_types(ending: str, columns: Mapping[str, pa.DataType]) -> None:
    """Refuse columns that a file with this ending cannot hold."""
    for name, kind in columns.items():
        if not _holds(ending, kind):
            raise DataError(name, f"must be of a type that a {ending} file can hold", str(kind))


def _holds(ending: str, kind: pa.DataType) -> bool:
    """Whether any value of ``kind`` can be written; Arrow writes bytes into CSV, but fails where they are no text."""
    if ending == ".csv" and "binary" in str(_plain(kind)):
        return False
    try:
        with pa.BufferOutputStream() as nowhere, Sink(nowhere, ending, pa.schema([("column", kind)])) as sink:
            sink.write(pa.table({"column": pa.nulls(1, kind)}))
    except pa.ArrowException:
        return False
    return True


def check_ending(path: Path) -> str:
    """Return the ending of an output's name, or refuse it."""
    if path.suffix not in ENDINGS:
        raise FileError(path, f"must end with {' or '.join(ENDINGS)}")
    return path.suffix


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind
