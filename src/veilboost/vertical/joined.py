"""A lead's table beside files that partners desensitised before, row by row through a key that they carried."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veilboost.data import open_source, read_whole
from veilboost.errors import DataError, EvidenceError, FileError, PeerError, blaming
from veilboost.release import Statement
from veilboost.vertical.columns import Input
from veilboost.vertical.promises import checked


@dataclass(frozen=True)
class Joined:
    """The rows of the lead with the columns of the files, and what was promised about these."""

    table: pa.Table
    statements: tuple[Statement, ...]


def join(table: pa.Table, key: str | None, files: Sequence[Path]) -> Joined:
    """Put the columns of desensitised ``files`` beside ``table``; every row of it must be in every file, by ``key``."""
    if not files:
        return Joined(table, ())
    if key is None:
        raise DataError("key", "must be named: it says which row of a file goes with which row of the table", "none")
    ids = ids_of(table, key)
    statements = []
    for file in files:
        said = statement_of(file)
        with blaming(file):
            found = read_whole(open_source(str(file)))
            places = pc.index_in(ids, value_set=ids_of(found, key).cast(ids.type, safe=False))
            if places.null_count:
                missing = ids.filter(pc.is_null(places))[0]
                rule = f"must hold every row of the table; {places.null_count} of {len(ids)} are not there"
                raise DataError(key, rule, f"none for {missing.as_py()!r}, for example")
            for name in _names(said, found):
                if name in table.column_names:
                    raise DataError(name, "must be a name in one table only: rename one of them", "both")
                table = table.append_column(name, found[name].take(places))
        statements.append(said)
    return Joined(table, tuple(statements))


def statement_of(file: Path) -> Statement:
    """Return the privacy statement beside a desensitised file, which must be about this very file."""
    beside = file.with_name(f"{file.name}.privacy.json")
    if not file.is_file():
        raise FileError(file, "there is no such file")
    if not beside.is_file():
        raise FileError(file, f"has no privacy statement beside it: {beside.name} is missing")
    try:
        said = msgspec.json.decode(beside.read_bytes(), type=Statement, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(beside, f"is no privacy statement: {error}") from None
    with file.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != said.sha256:
            raise EvidenceError(f"{file} is not the file that {beside.name} is about: its digest is another")
    try:
        return checked(said)
    except PeerError as error:
        raise EvidenceError(f"{beside}: {error}") from None


def attributed(inputs: Sequence[Input], statements: Sequence[Statement]) -> tuple[Input, ...]:
    """Return the features of a model with the party that each came from; bits of a category stand for its column."""
    return tuple(_attributed(each, statements) for each in inputs)


def _attributed(each: Input, statements: Sequence[Statement]) -> Input:
    for said in statements:
        for column in said.columns:
            if each.column == column.column:
                return msgspec.structs.replace(each, party=said.party)
            if _is_bit(each.column, column.column, str(column.settings["mechanism"])):
                value = each.column[len(column.column) + 1 :]
                known = {"party": said.party, "column": column.column, "kind": "indicator"}
                return msgspec.structs.replace(each, **known, value=None if value == "missing" else value)
    return each


def _names(said: Statement, found: pa.Table) -> list[str]:
    """Return the columns of a file that its statement is about."""
    names = []
    for column in said.columns:
        mechanism = str(column.settings["mechanism"])
        names += [
            name for name in found.column_names if name == column.column or _is_bit(name, column.column, mechanism)
        ]
    return names


def _is_bit(name: str, column: str, mechanism: str) -> bool:
    return mechanism == "unary" and name.startswith(f"{column}=")


def ids_of(table: pa.Table, key: str) -> pa.ChunkedArray:
    """Return the column of keys: none missing, none twice."""
    if key not in table.column_names:
        raise DataError(
            key, "must be in the table: rows are joined by it", f"only {', '.join(table.column_names[:20])}"
        )
    ids = table[key]
    if ids.null_count:
        raise DataError(key, "must not be missing", f"{ids.null_count} rows without it")
    if _any_twice(ids):
        counts = pc.value_counts(ids)
        twice = next(each for each in counts if each["counts"].as_py() > 1)
        raise DataError(key, "must name each row once", f"{twice['values'].as_py()!r} {twice['counts'].as_py()} times")
    return ids


def _any_twice(ids: pa.ChunkedArray) -> bool:
    """Whether an id comes more than once; to sort numbers takes a quarter of the memory that a table of them does."""
    if pa.types.is_integer(ids.type):
        ordered = np.sort(ids.to_numpy())
        return bool((ordered[1:] == ordered[:-1]).any())
    return len(pc.unique(ids)) < len(ids)
