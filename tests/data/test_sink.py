"""Whatever the pieces in which a table arrives, its file holds every row once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from veilboost.data import open_sink

SCHEMA = pa.schema([("id", pa.int64()), ("kind", pa.dictionary(pa.int32(), pa.string()))])
READ = {".csv": csv.read_csv, ".parquet": pq.read_table}


def piece(*ids: int) -> pa.Table:
    kinds = pa.array([f"k{each % 2}" for each in ids], pa.string()).dictionary_encode()
    return pa.table({"id": pa.array(ids, pa.int64()), "kind": kinds}).cast(SCHEMA)


PIECES = {
    "first empty": [piece(), piece(1, 2)],
    "middle empty": [piece(1, 2), piece(), piece(3)],
    "last empty": [piece(1), piece()],
    "empty inside": [pa.concat_tables([piece(), piece(1), piece(), piece(2)]), piece(3)],
    "all empty": [piece(), piece()],
    "nothing": [],
}


@pytest.mark.parametrize("ending", READ)
@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_every_row_is_written_once(pieces: list[pa.Table], ending: str, tmp_path: Path) -> None:
    with open_sink(tmp_path / "out", ending, SCHEMA) as sink:
        for each in pieces:
            sink.write(each)
    read = READ[ending](tmp_path / "out")
    assert read.column_names == SCHEMA.names
    assert read["id"].to_pylist() == [row for each in pieces for row in each["id"].to_pylist()]
