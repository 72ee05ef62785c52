"""Public tables for a study, and what to tell of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from veilboost.data.public import store
from veilboost.data.public.catalogue import PUBLIC_SETS, public_set
from veilboost.errors import FileError, SettingError, VeilboostError

_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Listed:
    """A public table, and the file that holds it if it is here."""

    name: str
    title: str
    rows: int
    columns: int
    publisher: str
    licence: str
    page: str
    digest: str | None
    here: str | None


@dataclass(frozen=True)
class Fetched:
    """A table that is here and has been checked; ``known`` if we could say beforehand what had to come."""

    name: str
    rows: int
    columns: int
    path: str
    digest: str
    known: bool
    files: dict[str, str]


@dataclass(frozen=True)
class Haul:
    """The tables that are here, and why others are not."""

    fetched: Sequence[Fetched]
    missing: dict[str, str]

    def check(self) -> None:
        """Refuse to end well where a table is missing."""
        if self.missing:
            raise FileError(", ".join(self.missing), "could not be had")


def public_table(name: str, *, folder: Path | None = None, progress: store.Steps | None = None) -> pa.Table:
    """Return a public table by its name in PUBLIC_SETS, checked.

    It is taken from ``folder`` (else the one that VEILBOOST_DATA names) if NAME.parquet is there, else from the cache
    (VEILBOOST_CACHE, or the platform's place), else from its publisher. Wherever it comes from, it has the same
    columns, in the same order and types. ``progress`` is given the name of a file that comes, and the share of it.
    """
    return store.find(public_set(name), folder=folder, steps=progress).table


def listed() -> list[Listed]:
    """Return all public tables."""
    return [
        Listed(
            each.name,
            each.title,
            each.rows,
            len(each.columns),
            each.publisher,
            each.licence,
            each.page,
            each.digest,
            None if (here := store.whereabouts(each)) is None else str(here),
        )
        for each in PUBLIC_SETS.values()
    ]


def fetch(name: str, *, digest: str | None = None, progress: store.Steps | None = None) -> Fetched:
    """See to it that a table is here, and check it; ``digest`` is what somebody else has told you to expect."""
    wanted = public_set(name)
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise SettingError("digest", "must be 64 of the characters 0-9 and a-f", digest)
    found = store.find(wanted, expected=digest, steps=progress)
    by_files = bool(found.files) and all(file.sha256 for file in wanted.files)
    known = by_files or bool(wanted.digest or digest)
    shape = len(found.table), found.table.num_columns
    return Fetched(name, *shape, str(found.path), found.digest, known, found.files)


def fetch_all(*, progress: store.Steps | None = None) -> Haul:
    """Do the same for every table; one that cannot be had keeps none of the others away."""
    fetched, missing = [], {}
    for name in PUBLIC_SETS:
        try:
            fetched.append(fetch(name, progress=progress))
        except VeilboostError as error:
            missing[name] = str(error)
    return Haul(fetched, missing)


def haul(name: str, *, digest: str | None = None, progress: store.Steps | None = None) -> Haul:
    """Fetch the table of this name, or ``all``."""
    if name != "all":
        return Haul([fetch(name, digest=digest, progress=progress)], {})
    if digest is not None:
        raise SettingError("digest", "must be left out where all tables are fetched", digest)
    return fetch_all(progress=progress)
