"""Where a public table is looked for, and what it has to show before it is believed."""

import fcntl
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veilboost.data.download import download
from veilboost.data.public.exact import digest, exact
from veilboost.data.public.published import PublicSet, Published
from veilboost.errors import DataError, EvidenceError, FileError, SettingError, VeilboostError, blaming
from veilboost.files import as_json, settle, write_whole

Steps = Callable[[str, float], None]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was found when a table was first read here: its digest, and the SHA-256 of each of the publisher's files."""

    digest: str
    files: dict[str, str]


@dataclass(frozen=True)
class Found:
    """A table that has been checked, where it lies, and what it was made of as far as that is known."""

    table: pa.Table
    path: Path
    digest: str
    files: dict[str, str] = field(default_factory=dict)


def data_folder(folder: Path | None = None) -> Path | None:
    """Return the folder that holds tables ready to read: ``folder``, or what VEILBOOST_DATA names."""
    named = os.environ.get("VEILBOOST_DATA", "")
    found = Path(named) if folder is None and named else folder
    if found is not None and not found.is_dir():
        raise SettingError("VEILBOOST_DATA" if folder is None else "folder", "must be a folder", str(found))
    return found


def cache_folder() -> Path:
    """Return where fetched tables are kept: what VEILBOOST_CACHE names, or the place the platform has for it."""
    if named := os.environ.get("VEILBOOST_CACHE", ""):
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "veilboost"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "veilboost"


def whereabouts(wanted: PublicSet, folder: Path | None = None) -> Path | None:
    """Return the file that holds the table, if there is one."""
    places = [place for place in (data_folder(folder), cache_folder()) if place is not None]
    paths = (place / f"{wanted.name}.parquet" for place in places)
    return next((path for path in paths if path.is_file()), None)


def find(
    wanted: PublicSet, *, folder: Path | None = None, expected: str | None = None, steps: Steps | None = None
) -> Found:
    """Return the table from where it is, or fetch it; its digest must be ``expected``, where that is given."""
    expected = expected or wanted.digest
    path = whereabouts(wanted, folder)
    if path is not None and path.parent != cache_folder():
        return _believed(wanted, path, expected, {})
    with _alone(cache_folder(), wanted.name) as place:
        record = _recorded(place / f"{wanted.name}.json")
        expected = expected or (record.digest if record else None)
        path = place / f"{wanted.name}.parquet"
        if record is not None and path.is_file():
            return _believed(wanted, path, expected, record.files)
        return _fetch(wanted, place, expected, steps or (lambda *_: None))


@contextmanager
def _alone(place: Path, name: str) -> Iterator[Path]:
    """Let one process at a time fetch a table."""
    with blaming(place):
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / f".{name}.lock").open("wb")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


def _recorded(path: Path) -> Record | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise FileError(path, "is damaged; delete it to fetch the table again") from error


def _fetch(wanted: PublicSet, place: Path, expected: str | None, steps: Steps) -> Found:
    """Read the publisher's files into the cache, and drop those that we fetched ourselves."""
    inbox = place / wanted.name
    ours = [file for file in wanted.files if not (inbox / file.name).is_file()]
    files = {file.name: _obtain(wanted, file, inbox, steps) for file in wanted.files}
    try:
        with blaming(inbox):
            table = exact(wanted.read({name: inbox / name for name in files}), wanted.columns)
            _check_shape(wanted, table)
            found = Found(table, place / f"{wanted.name}.parquet", _checked(inbox, table, expected), files)
            _keep(found)
    except VeilboostError:
        _drop(inbox, [file for file in ours if file.sha256 is None])
        raise
    _drop(inbox, ours)
    return found


def _drop(inbox: Path, files: list[Published]) -> None:
    for file in files:
        (inbox / file.name).unlink(missing_ok=True)
    if not any(inbox.iterdir()):
        inbox.rmdir()


def _obtain(wanted: PublicSet, file: Published, inbox: Path, steps: Steps) -> str:
    """See to it that a publisher's file is there, and return its SHA-256."""
    path = inbox / file.name
    if path.is_file():
        return _own(path, file.sha256)
    if not file.addresses:
        raise FileError(path, f"is not there; sign in at {wanted.page}, take {file.name}, and put it here")
    problems = []
    for address in file.addresses:
        try:
            return download(
                address, path, most=file.most, sha256=file.sha256, progress=lambda share: steps(file.name, share)
            )
        except FileError as error:
            problems.append(str(error))
    raise FileError(
        "; ".join(problems),
        f"without a network, put the file into {inbox}, or {wanted.name}.parquet into the folder that VEILBOOST_DATA "
        "names",
    )


def _own(path: Path, expected: str | None) -> str:
    """Return the SHA-256 of a file that somebody has put in place."""
    with blaming(path), path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected not in (None, found):
        raise FileError(path, f"must have the SHA-256 {expected}; it has {found}")
    return found


def _keep(found: Found) -> None:
    aside = found.path.with_name(f".{found.path.name}")
    pq.write_table(found.table, aside, compression="zstd")
    settle(aside)
    aside.replace(found.path)
    write_whole(found.path.with_suffix(".json"), as_json(Record(found.digest, found.files)).decode())


def _believed(wanted: PublicSet, path: Path, expected: str | None, files: dict[str, str]) -> Found:
    """Return a table that was made before, if it still is what it was."""
    with blaming(path):
        try:
            table = exact(pq.read_table(path), wanted.columns)
        except pa.ArrowException as error:
            raise FileError(path, "is no Parquet file, or a damaged one") from error
        _check_shape(wanted, table)
    return Found(table, path, _checked(path, table, expected), files)


def _checked(path: Path, table: pa.Table, expected: str | None) -> str:
    """Return the digest of ``table``, which must be the one that is expected."""
    found = digest(table)
    if expected not in (None, found):
        raise EvidenceError(f"{path}: the digest of the table must be {expected}; it is {found}")
    return found


def _check_shape(wanted: PublicSet, table: pa.Table) -> None:
    if len(table) != wanted.rows:
        raise FileError(wanted.name, f"must have {wanted.rows:,} rows; it has {len(table):,}")
    for name, (least, largest) in wanted.ranges.items():
        found = pc.min_max(table[name]).as_py()
        if found["min"] is None or not least <= found["min"] <= found["max"] <= largest:
            raise DataError(name, f"must lie from {least} to {largest}", f"{found['min']} to {found['max']}")
