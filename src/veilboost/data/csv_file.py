"""CSV files in: every value as text, to be read by the rule of its column's domain."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from veilboost.data.dialect import Dialect
from veilboost.data.source import Source
from veilboost.errors import FileError

_BLOCK = 8 << 20
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


class CsvSource(Source):
    """A CSV file with a header line."""

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self._path, self._dialect, self._bytes = path, dialect, path.stat().st_size
        with pa.OSFile(str(path)) as file:
            names = self._open(file, None).schema.names
        super().__init__(str(path), pa.schema([(name, pa.string()) for name in names]), dialect=dialect)

    def _open(self, file: pa.OSFile, columns: Sequence[str] | None) -> csv.CSVStreamingReader:
        try:
            return csv.open_csv(
                file,
                csv.ReadOptions(block_size=_BLOCK, encoding=self._dialect.encoding, use_threads=False),
                csv.ParseOptions(delimiter=self._dialect.delimiter, newlines_in_values=True),
                csv.ConvertOptions(
                    include_columns=columns,
                    column_types=None if columns is None else dict.fromkeys(columns, pa.string()),
                    null_values=list(self._dialect.missing),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except (pa.ArrowException, UnicodeError, OSError) as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> FileError:
        """Say what is wrong without showing any value."""
        if ragged := _RAGGED.search(str(error)):
            problem = "line {} must have {} fields; it has {}".format(*ragged.groups())
        elif not self._bytes or "Empty CSV" in str(error):
            problem = "has no header line" if self._bytes else "is empty"
        elif isinstance(error, UnicodeError) or "UTF8" in str(error) or "UTF-8" in str(error):
            problem = f"is not encoded in {self._dialect.encoding}"
        else:
            problem = "cannot be read as CSV"
        return FileError(self._path, problem)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        with pa.OSFile(str(self._path)) as file:
            reader = self._open(file, list(columns))
            try:
                for batch in reader:
                    if batch.num_rows:
                        yield batch, min(1.0, file.tell() / self._bytes)
            except (pa.ArrowException, UnicodeError, OSError) as error:
                raise self._refusal(error) from error
