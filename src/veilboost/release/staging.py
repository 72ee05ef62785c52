"""A private copy of what is about to leave: row tags, keys and codes, sorted into buckets by tag.

Everything after this reads the copy, so what is charged is what is drawn, whatever happens to the table meanwhile.
A bucket holds the rows whose tags begin alike. The longer the table, the more buckets there are, so each fits into
memory however many rows there are in all. Rows leave in the order of their tags, whatever the number of buckets. Tags
are keyed, so their order says nothing about the order in which rows are stored.
"""

import fcntl
import math
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import ipc

from veilboost.data import Source, coded, first_misfit, is_text
from veilboost.domain import Coded
from veilboost.errors import DataError
from veilboost.randomness import LONGEST_ROW_KEY, RowKeys, tag_order
from veilboost.release.policy import Column, Rows

BUCKET_ROWS = 1 << 17
_MOST_BUCKETS = 1 << 10
_BUCKETS_OF_UNKNOWN = 1 << 6
KEY = "key"
_TAGS = ("tag0", "tag1")


@dataclass
class Counts:
    """What the owner of a column is told about it, and nobody else."""

    clipped_low: int = 0
    clipped_high: int = 0
    missing: int = 0

    def add(self, found: Coded) -> None:
        """Count a batch."""
        self.clipped_low += found.clipped_low
        self.clipped_high += found.clipped_high
        self.missing += found.missing


@dataclass(frozen=True)
class Bucket:
    """The rows of one bucket in the order of their tags."""

    tags: NDArray[np.uint64]
    codes: dict[str, NDArray[Any]]
    rest: pa.Table

    @property
    def keys(self) -> RowKeys | None:
        """The row keys, where the noise is permanent."""
        return _row_keys(_whole(self.rest, KEY)) if KEY in self.rest.column_names else None

    def carried(self, name: str) -> pa.ChunkedArray:
        """Return a column that leaves as it is."""
        return self.rest[_carried(name)]


@dataclass(frozen=True)
class Staged:
    """A staged table in ``folder``."""

    folder: Path
    buckets: int
    rows: int
    columns: tuple[Column, ...]
    carry: tuple[str, ...]
    counts: dict[str, Counts]

    def bucket(self, number: int, *, codes_alone: bool = False) -> Bucket:
        """Read one bucket, without keys and carried columns where ``codes_alone`` are wanted."""
        with pa.OSFile(str(_path(self.folder, number))) as file:
            names = [*_TAGS, *(_code(column.name) for column in self.columns)]
            table = _read(file, names if codes_alone else None)
        tags = np.column_stack([table[name].to_numpy() for name in _TAGS])
        order = tag_order(tags)
        codes = {column.name: _whole(table, _code(column.name)).to_numpy()[order] for column in self.columns}
        others = [name for name in (KEY, *map(_carried, self.carry)) if name in table.column_names]
        return Bucket(tags[order], codes, table.select(others).take(pa.array(order)))

    def keep(self, number: int, drawn: pa.Table) -> None:
        """Put what was drawn of a bucket in its place: it is not read again."""
        with ExitStack() as opened:
            _writer(opened, _path(self.folder, number), drawn.schema).write_table(drawn)

    def kept(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Read columns of what was drawn, bucket by bucket."""
        for number in range(self.buckets):
            with pa.OSFile(str(_path(self.folder, number))) as file:
                yield _read(file, names)


@contextmanager
def private_folder(inside: Path) -> Iterator[Path]:
    """Make a folder that lasts for one release, and clear away those of releases that were killed."""
    with ExitStack() as opened:
        with _alone(inside):
            _sweep(inside)
            place = Path(tempfile.mkdtemp(prefix="staging-", dir=inside))
            opened.callback(shutil.rmtree, place, ignore_errors=True)
            lock = opened.enter_context((place / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


@contextmanager
def _alone(inside: Path) -> Iterator[None]:
    """Keep others from clearing away a folder whose lock is not held yet."""
    folder = os.open(inside, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _sweep(inside: Path) -> None:
    for place in inside.glob("staging-*"):
        with suppress(FileNotFoundError), (place / "lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # its release is still running
        shutil.rmtree(place, ignore_errors=True)


def stage(
    source: Source,
    columns: Sequence[Column],
    rows: Rows,
    tag_key: bytes,
    folder: Path,
    progress: Callable[[float], None],
) -> Staged:
    """Read ``source`` once, check and encode every value, and put it into its bucket."""
    wanted = list(dict.fromkeys([*([rows.key] if rows.key else []), *(c.name for c in columns), *rows.carry]))
    counts = {column.name: Counts() for column in columns}
    first_row = 1
    with ExitStack() as opened, ThreadPoolExecutor(os.cpu_count()) as pool:
        writers: list[Any] = []
        for batch, share in source.batches(wanted):
            staged = _encoded(source, batch, columns, rows, tag_key, first_row, counts, pool)
            if not writers:
                buckets = range(buckets_for(None if share is None else round(batch.num_rows / share)))
                writers += [_writer(opened, _path(folder, number), staged.schema) for number in buckets]
            _spread(staged, writers)
            first_row += batch.num_rows
            if share is not None:
                progress(share)
    if first_row == 1:
        raise DataError(columns[0].name, "must not be empty", "a table without rows")
    pa.default_memory_pool().release_unused()  # what the batches took is not kept beside what the buckets take
    return Staged(folder, len(writers), first_row - 1, tuple(columns), rows.carry, counts)


def buckets_for(rows: int | None) -> int:
    """Return how many buckets ``rows`` take, a power of two; each is an open file, and a process may have so many.

    >>> buckets_for(1000), buckets_for(1_000_000)
    (1, 8)
    """
    if rows is None:
        return _BUCKETS_OF_UNKNOWN
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_BUCKETS if allowed == resource.RLIM_INFINITY else min(_MOST_BUCKETS, allowed // 2)
    bits = min((math.ceil(rows / BUCKET_ROWS) - 1).bit_length(), most.bit_length() - 1)
    return 1 << bits


def _encoded(
    source: Source,
    batch: pa.RecordBatch,
    columns: Sequence[Column],
    rows: Rows,
    tag_key: bytes,
    first_row: int,
    counts: dict[str, Counts],
    pool: ThreadPoolExecutor,
) -> pa.RecordBatch:
    """Return one batch as it is staged: tags, key, codes, and what is carried as it is."""

    def code(column: Column) -> Coded:
        return coded(column.domain, batch[column.name], first_row=first_row, decimal=source.decimal)

    found = dict(zip((column.name for column in columns), pool.map(code, columns), strict=True))
    for name, each in found.items():
        counts[name].add(each)
    staged = {_code(name): pa.array(each.codes) for name, each in found.items()}
    staged |= {_carried(name): batch[name] for name in rows.carry}
    tags: NDArray[np.uint64]
    if rows.key is None:
        tags = np.frombuffer(os.urandom(16 * batch.num_rows), dtype=np.uint64).reshape(-1, 2)
    else:
        key = _read_key(batch[rows.key], rows, first_row)
        staged[KEY] = key
        tags = _row_keys(key).tags(tag_key)
    staged |= {name: pa.array(np.ascontiguousarray(tags[:, i])) for i, name in enumerate(_TAGS)}
    return pa.RecordBatch.from_pydict(staged)


def _read_key(column: pa.Array, rows: Rows, first_row: int) -> pa.Array:
    """Return row keys as int64 or as text, whichever the policy says; a key must not depend on the file's format."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if column.null_count:
        row = first_row + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(str(rows.key), "must hold a row key in every row", f"none at row {row}")
    textual = is_text(column.type)
    if rows.type == "text":
        if not textual:
            raise DataError(str(rows.key), "must be text, as rows.type says", str(column.type))
        text = column.cast(pa.large_string())
        longest = pc.max(pc.binary_length(text)).as_py() or 0
        if longest > LONGEST_ROW_KEY:
            raise DataError(str(rows.key), f"must be at most {LONGEST_ROW_KEY} bytes long", f"one of {longest} bytes")
        return text
    if not (textual or pa.types.is_integer(column.type)):
        raise DataError(str(rows.key), "must be whole numbers, as rows.type says", str(column.type))
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        row = first_row + first_misfit(column, pa.int64())
        raise DataError(str(rows.key), "must be whole numbers of 64 bits in every row", f"none at row {row}") from None


def _row_keys(key: pa.Array) -> RowKeys:
    if pa.types.is_integer(key.type):
        return RowKeys.read(key.to_numpy())
    _, offsets, text = key.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[key.offset : key.offset + len(key) + 1]
    return RowKeys.of_text(np.frombuffer(text or b"", dtype=np.uint8), starts)


def _spread(batch: pa.RecordBatch, writers: Sequence[Any]) -> None:
    """Write each row to the bucket of its tag."""
    bits = len(writers).bit_length() - 1
    buckets = (batch[_TAGS[0]].to_numpy() >> np.uint64(48)).astype(np.uint16) >> (16 - bits)
    ordered = batch.take(pa.array(np.argsort(buckets, kind="stable")))
    ends = np.cumsum(np.bincount(buckets, minlength=len(writers)))
    for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if end > start:
            writers[number].write_batch(ordered.slice(start, end - start))


def _writer(opened: ExitStack, path: Path, schema: pa.Schema) -> Any:
    return opened.enter_context(ipc.new_stream(opened.enter_context(pa.OSFile(str(path), "wb")), schema))


def _read(file: pa.OSFile, names: Sequence[str] | None) -> pa.Table:
    """Read the columns of ``names``, or all."""
    options = ipc.IpcReadOptions()
    if names is not None:
        schema = ipc.open_stream(file).schema
        options.included_fields = [schema.get_field_index(name) for name in names]
        file.seek(0)
    return ipc.open_stream(file, options=options).read_all().combine_chunks()


def _whole(table: pa.Table, name: str) -> pa.Array:
    column = table[name].combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


def _path(folder: Path, number: int) -> Path:
    return folder / f"bucket-{number}.arrow"


def _code(name: str) -> str:
    return f"code {name}"


def _carried(name: str) -> str:
    return f"carried {name}"
