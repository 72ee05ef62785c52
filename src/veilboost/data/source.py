"""Where a table comes from: its columns by name and type, and its rows a batch at a time."""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from veilboost.data.dialect import Dialect
from veilboost.errors import DataError, FileError

BATCH_ROWS = 1 << 16


class Source(ABC):
    """A table that is read in one pass, a batch of rows at a time, without ever being held whole."""

    def __init__(self, name: str, schema: pa.Schema, *, dialect: Dialect | None = None) -> None:
        self.name, self.schema, self.dialect = name, schema, dialect
        repeated = sorted(column for column, count in Counter(schema.names).items() if count > 1)
        if repeated:
            raise FileError(name, f"column names must differ; {repeated[0]!r} comes more than once")

    @property
    def textual(self) -> bool:
        """Whether every value is text that has still to be read, as ``dialect`` says."""
        return self.dialect is not None

    @property
    def decimal(self) -> str | None:
        """The decimal mark of values that are text still to be read."""
        return self.dialect.decimal if self.dialect else None

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        """Yield the rows of ``columns``, and after each batch the share that has been read, where it is known."""

    def check(self, columns: Sequence[str]) -> None:
        """Refuse a table without one of ``columns``."""
        for column in columns:
            if column not in self.schema.names:
                raise DataError(column, "must be in the table", f"only {', '.join(self.schema.names[:20])}")


class MemorySource(Source):
    """A table that is in memory already."""

    def __init__(self, table: pa.Table, *, name: str = "table") -> None:
        super().__init__(name, table.schema)
        self._table = table

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        done = 0
        for batch in self._table.select(columns).combine_chunks().to_batches(max_chunksize=BATCH_ROWS):
            done += batch.num_rows
            yield batch, done / self._table.num_rows


def open_source(where: str, dialect: Dialect | None = None) -> Source:
    """Open a file by its ending (.csv, .tsv, .parquet, .arrow, .feather), or ``postgresql://…#schema.table``."""
    from veilboost.data import arrow_file, csv_file, parquet_file, postgres

    if where.partition("://")[0] in ("postgresql", "postgres"):
        return postgres.PostgresSource(where)
    path = Path(where)
    if path.suffix not in _ENDINGS:
        raise FileError(where, f"must end with {', '.join(_ENDINGS)}, or begin with postgresql://")
    if not path.is_file():
        raise FileError(where, "there is no such file")
    if not os.access(path, os.R_OK):
        raise FileError(where, "may not be read by you")
    match path.suffix:
        case ".parquet":
            return parquet_file.ParquetSource(path)
        case ".csv" | ".tsv":
            chosen = dialect or Dialect(delimiter="\t" if path.suffix == ".tsv" else ",")
            return csv_file.CsvSource(path, chosen)
        case _:
            return arrow_file.ArrowSource(path)


_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
