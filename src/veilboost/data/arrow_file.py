"""Arrow files in: the file format (also called Feather) and the stream format."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from veilboost.data.source import BATCH_ROWS, Source
from veilboost.errors import FileError


class ArrowSource(Source):
    """An Arrow file or stream."""

    def __init__(self, path: Path) -> None:
        self._path, self._bytes = path, path.stat().st_size
        with pa.OSFile(str(path)) as file:
            super().__init__(str(path), self._open(file).schema)

    def _open(self, file: pa.OSFile) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
        try:
            return ipc.open_file(file) if file.read(6) == b"ARROW1" else ipc.open_stream(_rewound(file))
        except (pa.ArrowException, OSError) as error:
            raise FileError(self._path, "is no Arrow file, or a damaged one") from error

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        done = 0
        with pa.OSFile(str(self._path)) as file:
            try:
                for batch in _each(self._open(file)):
                    for start in range(0, batch.num_rows, BATCH_ROWS):
                        part = batch.select(list(columns)).slice(start, BATCH_ROWS)
                        part.validate(full=True)  # an index or an offset that leads astray would read foreign memory
                        done += part.num_rows
                        yield part, min(1.0, file.tell() / self._bytes)
            except (pa.ArrowException, OSError) as error:
                raise FileError(self.name, f"is damaged after row {done}") from error


def _rewound(file: pa.OSFile) -> pa.OSFile:
    file.seek(0)
    return file


def _each(reader: ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, ipc.RecordBatchStreamReader):
        yield from reader
    else:
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
