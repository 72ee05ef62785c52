"""A table with one column more: the number of each row."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from veilboost.data.source import Source


class NumberedSource(Source):
    """Another source beside a column ``place`` that numbers its rows from 0.

    >>> from veilboost.data import MemorySource
    >>> rows = NumberedSource(MemorySource(pa.table({"age": [31, 44]})), "place")
    >>> [batch.to_pydict() for batch, _ in rows.batches(["place", "age"])]
    [{'place': [0, 1], 'age': [31, 44]}]
    """

    def __init__(self, source: Source, place: str) -> None:
        super().__init__(source.name, source.schema.append(pa.field(place, pa.int64())), dialect=source.dialect)
        self._source, self._place = source, place

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        done = 0
        for batch, share in self._source.batches([name for name in columns if name != self._place]):
            places = pa.array(np.arange(done, done + batch.num_rows))
            yield batch.append_column(self._place, places).select(list(columns)), share
            done += batch.num_rows
