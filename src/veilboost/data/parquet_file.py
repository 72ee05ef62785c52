"""Parquet files in."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from veilboost.data.source import BATCH_ROWS, Source
from veilboost.errors import FileError

_BUFFER = 1 << 20


class ParquetSource(Source):
    """A Parquet file, read page by page: a huge row group costs no more memory than many small ones."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise FileError(path, "is no Parquet file, or a damaged one") from error
        super().__init__(str(path), self._file.schema_arrow)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        done, rows = 0, self._file.metadata.num_rows
        try:
            for batch in self._file.iter_batches(BATCH_ROWS, columns=list(columns)):
                done += batch.num_rows
                yield batch.select(list(columns)), done / rows
        except (pa.ArrowException, OSError) as error:
            raise FileError(self.name, f"is damaged after row {done}") from error
