"""The history of every row: which codes it has been charged for, in which column, under which table and key.

One file a release, written before anything is drawn and never changed: for each of its buckets a batch of rows in the
order of their tags, with the codes that were new. Releases have more or fewer buckets, always a power of two. A code
that a row was charged for leaves with the same noise for ever, so it costs nothing when it leaves again.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from veilboost.compiled import compiled
from veilboost.errors import EvidenceError
from veilboost.release.staging import Bucket

Tags = NDArray[np.uint64]
Spent = NDArray[np.int64]

_CHUNK = 1 << 20


class Charged(msgspec.Struct, frozen=True, kw_only=True):
    """What one release charged for in one column: codes of ``source`` in ``table`` under one version of a noise key."""

    source: str
    table: str
    key: str
    """The key's fingerprint: two keys may both be a first version."""
    key_version: int
    budget: int

    def same_noise(self, other: "Charged") -> bool:
        """Whether equal codes of a row leave with equal noise under both."""
        mine = self.source, self.table, self.key, self.key_version
        return mine == (other.source, other.table, other.key, other.key_version)


@dataclass(frozen=True)
class Entry:
    """The part of one release's history that lies in one bucket, matched to the rows of a bucket."""

    charged: Charged
    known: NDArray[np.bool_]
    codes: NDArray[Any]


class History:
    """The histories of all earlier releases of one kind of row."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files

    def entries(self, place: tuple[int, int], bucket: Bucket) -> Iterator[Entry]:
        """Yield what the rows of ``bucket``, by its ``place`` number so of so many, were charged for before."""
        for file in self._files:
            with pa.OSFile(str(file)) as opened:
                reader = ipc.open_file(opened)
                batch, columns = _lying_in(reader, *place), charged_columns(reader.schema)
            if not batch.num_rows:
                continue
            at = match(bucket.tags, np.column_stack([batch["tag0"].to_numpy(), batch["tag1"].to_numpy()]))
            for i, charged in enumerate(columns):
                codes = batch[f"{i}"].take(pa.array(at, mask=at < 0))
                known = codes.is_valid().to_numpy(zero_copy_only=False)
                yield Entry(charged, known, codes.fill_null(0).to_numpy(zero_copy_only=False))


def _lying_in(reader: Any, number: int, buckets: int) -> pa.RecordBatch:
    """Return the history of the rows that lie in bucket ``number`` of so many ``buckets`` now."""
    held = reader.num_record_batches
    if held >= buckets:
        each = held // buckets
        return pa.concat_batches([reader.get_batch(number * each + i) for i in range(each)])
    batch = reader.get_batch(number * held // buckets)
    width = 2**64 // buckets
    ends = np.array([number * width, (number + 1) * width - 1], dtype=np.uint64)
    first = batch["tag0"].to_numpy()
    start, stop = np.searchsorted(first, ends[0], "left"), np.searchsorted(first, ends[1], "right")
    return batch.slice(start, stop - start)


def charged_columns(schema: pa.Schema) -> list[Charged]:
    """Return what the columns of a history file stand for."""
    return msgspec.json.decode(schema.metadata[b"charged"], type=list[Charged])


def match(rows: Tags, history: Tags) -> NDArray[np.int64]:
    """Return for each of the sorted ``rows`` where it stands in the sorted ``history``, or -1.

    >>> match(np.array([[1, 0], [1, 5], [9, 9]], np.uint64), np.array([[1, 5], [7, 0]], np.uint64)).tolist()
    [-1, 0, -1]
    """
    places = np.full(len(rows), -1, dtype=np.int64)
    _merge(np.ascontiguousarray(rows), np.ascontiguousarray(history), places)
    return places


@compiled
def _merge(rows: Tags, history: Tags, places: NDArray[np.int64]) -> None:
    """Walk both lists once."""
    j = 0
    for i in range(len(rows)):
        first, second = rows[i, 0], rows[i, 1]
        while j < len(history) and (history[j, 0] < first or (history[j, 0] == first and history[j, 1] < second)):
            j += 1
        if j < len(history) and history[j, 0] == first and history[j, 1] == second:
            places[i] = j


def write_history(
    file: Path, columns: Sequence[Charged], parts: Iterable[tuple[Bucket, Sequence[NDArray[Any]], NDArray[np.bool_]]]
) -> int:
    """Write for each bucket the rows with something new, and return how many rows there are.

    A part is a bucket, its codes column by column, and which of them are new (a row of truth values each column).
    """
    rows = 0
    with pa.OSFile(str(file), "wb") as opened:
        writer = None
        for bucket, codes, new in parts:
            batch = _batch(bucket, codes, new, columns)
            writer = writer or ipc.new_file(opened, batch.schema)
            writer.write_batch(batch)
            rows += batch.num_rows
        if writer is not None:
            writer.close()
    return rows


def _batch(
    bucket: Bucket, codes: Sequence[NDArray[Any]], new: NDArray[np.bool_], columns: Sequence[Charged]
) -> pa.RecordBatch:
    some = new.any(axis=0)
    kept = slice(None) if some.all() else some  # most often all or nothing is new
    arrays = {f"tag{i}": pa.array(np.ascontiguousarray(bucket.tags[kept, i])) for i in (0, 1)}
    arrays |= {f"{i}": pa.array(column[kept], mask=_missing(new[i, kept])) for i, column in enumerate(codes)}
    batch = pa.RecordBatch.from_pydict(arrays)
    return batch.replace_schema_metadata({"charged": msgspec.json.encode(list(columns))})


def _missing(new: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return where nothing is new, or nothing at all if everything is: it takes no time then."""
    return None if new.all() else ~new


def check_file(file: Path, sha256: str, line: int) -> None:
    """Refuse a history file that is not the one which ``line`` of the ledger names."""
    if not file.is_file():
        raise EvidenceError(f"{file}: is missing, though line {line} of the ledger names it")
    if digest(file) != sha256:
        raise EvidenceError(f"{file}: was altered since line {line} of the ledger was written")


def check_newest(folder: Path, lines: int) -> None:
    """Refuse history that is newer than a ledger of ``lines``; a killed release may have left the next line's."""
    newest = max((int(file.stem) for file in folder.glob("*.history") if file.stem.isdecimal()), default=0)
    if newest > lines + 1:
        have = f"it has {lines} lines, and line {newest} has a history"
        raise EvidenceError(f"{folder}: is newer than its ledger, which may be a restored copy: {have}")


def digest(file: Path) -> str:
    """Return the SHA-256 of a file, read piece by piece."""
    found = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(_CHUNK):
            found.update(piece)
    return found.hexdigest()
