"""PostgreSQL tables in, through ADBC: Arrow straight out of the database."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa

from veilboost.data.source import BATCH_ROWS, Source
from veilboost.errors import FileError, UsageError


class PostgresSource(Source):
    """The table or view that the address names behind its #, as in ``postgresql://host/base#schema.table``.

    Whatever libpq reads works: a password file, PGUSER and the like. No password is ever shown.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._address, self._secret = urlunsplit(parts._replace(fragment="")), parts.password
        self._shown = f"postgresql://{parts.hostname or ''}{parts.path}#{parts.fragment}"
        if not re.fullmatch(r"[^.]+(\.[^.]+)?", parts.fragment):
            raise FileError(self._shown, "must name a table behind #, as in postgresql://host/base#schema.table")
        self._table = ".".join(map(_quoted, parts.fragment.split(".")))
        with self._rows(f"SELECT * FROM {self._table} LIMIT 0") as reader:  # noqa: S608 - a quoted name, the caller's own
            schema = reader.schema
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
        except dbapi.Error as error:
            raise FileError(self._shown, self._silenced(str(error))) from error

    def _silenced(self, text: str) -> str:
        text = " ".join(text.split()).replace(self._address, self._shown)
        return text.replace(self._secret, "…") if self._secret else text

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float | None]]:
        wanted = ", ".join(map(_quoted, columns))
        with self._rows(f"SELECT {wanted} FROM {self._table}") as reader:  # noqa: S608 - quoted names
            for batch in reader:
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    yield batch.slice(start, BATCH_ROWS), None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
