"""PostgreSQL tables in, through ADBC: Arrow straight out of the database."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from veilboost.data.source import BATCH_ROWS, Source
from veilboost.errors import FileError, UsageError


class PostgresSource(Source):
    """The table or view that the address names behind its #, as in ``postgresql://host/base#schema.table``.

    Whatever libpq reads works: a password file, PGUSER and the like. No password is ever shown.
    """

    def __init__(self, address: str) -> None:
        self._address, _, table = address.rpartition("#")
        scheme, _, rest = self._address.partition("://")
        place = rest.rpartition("@")[2]  # a password may hold any sign, also unquoted
        self._secrets = sorted(_secrets(rest), key=len, reverse=True)
        self._shown = self._silenced(f"{scheme}://{place.partition('?')[0]}#{table}")
        if not re.fullmatch(r"[^./@:]+(\.[^./@:]+)?", table):
            raise FileError("postgresql://", "must name a table behind #, as in postgresql://host/base#schema.table")
        self._table = ".".join(map(_quoted, table.split(".")))
        with self._rows(f"SELECT * FROM {self._table} LIMIT 0") as reader:  # noqa: S608 - a quoted name, the caller's own
            schema = pa.schema([(field.name, _stored(field.type)) for field in reader.schema])
        super().__init__(self._shown, schema)

    @contextmanager
    def _rows(self, query: str) -> Iterator[Any]:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise UsageError(
                "reading PostgreSQL needs the extra 'postgres': pip install 'veilboost[postgres]'"
            ) from None
        try:
            with dbapi.connect(self._address) as connection, connection.cursor() as cursor:
                cursor.execute(query)
                yield cursor.fetch_record_batch()
        except (dbapi.Error, pa.ArrowException, OSError) as error:
            raise FileError(self._shown, self._silenced(str(error))) from None

    def _silenced(self, text: str) -> str:
        text = " ".join(text.split())
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        wanted = ", ".join(map(_quoted, columns))
        with self._rows(f"SELECT {wanted} FROM {self._table}") as reader:  # noqa: S608 - quoted names
            for batch in reader:
                plain = pa.RecordBatch.from_arrays([_unwrapped(each) for each in batch.columns], list(columns))
                for start in range(0, plain.num_rows, BATCH_ROWS):
                    yield plain.slice(start, BATCH_ROWS), None


def _secrets(address: str) -> set[str]:
    """Return whatever in an address may be a password, as it stands and as it is meant."""
    access = [address[: at.start()].partition(":")[2] for at in re.finditer("@", address)]
    settings = [each.partition("=")[2] for each in re.split("[?&]", address) if "password" in each.lower()]
    port = re.match(r"[^@/?\[]*?:([^@/?]*[^@/?\d][^@/?]*)", address)  # a password whose host is missing
    found = {*access, *settings, os.environ.get("PGPASSWORD", ""), port[1] if port else ""}
    return {form for each in found for form in (each, unquote(each)) if form}


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return how Arrow stores a type that only PostgreSQL has, as numbers of any precision: as text."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _unwrapped(column: pa.Array) -> pa.Array:
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
