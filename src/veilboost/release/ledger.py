"""The ledger: what left, when, to whom and at what cost, as a chain of lines in one SQLite file.

Every line is hashed together with the hash of the line before it. A *receipt* names the last line and its hash; it
lies with the receiver of the data, so that a ledger put back to an older state cannot pass for the current one.
Beside the file lies a folder with the charged codes of every row (`history`).
"""

import hashlib
import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from veilboost.errors import EvidenceError, FileError, SettingError
from veilboost.files import settle
from veilboost.randomness import KEY_BYTES

FORMAT = 1
_APPLICATION = 0x7665696C  # "veil"
_PATIENCE = 60.0  # seconds to wait for another process that holds the ledger
_START = bytes(32)


class Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which ledger, how many lines it has, and the hash of the last: what a receiver keeps."""

    ledger: str
    lines: int
    head: str


@dataclass(frozen=True)
class Line:
    """One entry."""

    number: int
    at: str
    body: Mapping[str, Any]
    head: str


class Ledger:
    """An open ledger; all that is written happens inside `held`."""

    def __init__(self, file: Path, *, patience: float = _PATIENCE) -> None:
        if not file.is_file():
            raise FileError(file, "there is no such ledger; make one, once, with: veilboost ledger new")
        self.file, self.folder = file, history_folder(file)
        self._kept: list[Path] = []
        with self._understood():
            self._base = sqlite3.connect(file, timeout=patience, isolation_level=None)
        try:
            self.name, self.tag_key = self._identity()
        except BaseException:
            self.close()
            raise

    def _identity(self) -> tuple[str, bytes]:
        """Return the ledger's name and the key of its row tags, or refuse what is no ledger."""
        with self._understood():
            self._base.execute("PRAGMA synchronous=EXTRA")
            application, version = (self._base.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
            if application != _APPLICATION:
                raise FileError(self.file, "is no ledger, or a damaged one")
            if version != FORMAT:
                raise FileError(self.file, f"has format {version}; only format {FORMAT} is known here")
            own = self._base.execute("SELECT name, tag_key FROM ledger").fetchall()
        if len(own) != 1 or len(own[0][1]) != KEY_BYTES:
            raise FileError(self.file, "is no ledger, or a damaged one")
        if not self.folder.is_dir():
            raise FileError(self.folder, "is missing: the history of the ledger must lie beside it")
        name, tag_key = own[0]
        return name, tag_key

    @classmethod
    def create(cls, file: Path) -> "Ledger":
        """Make an empty ledger, for its owner's eyes alone."""
        if file.exists() or (history_folder(file).exists() and any(history_folder(file).iterdir())):
            raise FileError(file, "is there already, or the history of one that was")
        folder = history_folder(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as aside:
            made = Path(aside) / "ledger"
            cls._fill(made)
            folder.mkdir(mode=0o700, exist_ok=True)
            made.replace(file)
        return cls(file)

    @staticmethod
    def _fill(file: Path) -> None:
        """Write an empty ledger to a new file."""
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
        base = sqlite3.connect(file, isolation_level=None)
        try:
            base.executescript(f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={FORMAT}; {_TABLES}")
            name = (secrets.token_hex(8), secrets.token_bytes(KEY_BYTES))
            base.execute("INSERT INTO ledger VALUES (?, ?)", name)
        except sqlite3.Error as error:
            raise FileError(file.parent.parent, f"a ledger cannot be written there: {error}") from error
        finally:
            base.close()

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other process out, and make what is appended meanwhile permanent at the end, or none of it."""
        with self._understood():
            self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._understood():
                self._base.execute("COMMIT")
        except BaseException:
            self._withdraw()
            raise
        finally:
            self._kept = []

    def _withdraw(self) -> None:
        """Undo what was not made permanent; a history of the same name may be another process's by now."""
        with suppress(sqlite3.Error):  # whoever opens the file next restores it
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            if self._kept:
                self._base.execute("BEGIN IMMEDIATE")
                lines = self.receipt().lines
                for file in self._kept:
                    if int(file.stem) > lines:
                        file.unlink(missing_ok=True)
                self._base.execute("ROLLBACK")

    def keep(self, history: Path) -> str:
        """Put the history of the next line into the ledger's folder, and return its name; call it as `append`."""
        place = self.folder / f"{self.receipt().lines + 1}.history"
        history.chmod(0o600)
        settle(history)
        history.replace(place)
        self._kept.append(place)
        return place.name

    def append(self, body: Mapping[str, Any]) -> Line:
        """Add a line; call it while the ledger is `held`."""
        at, last = datetime.now(UTC).isoformat(timespec="milliseconds"), self.receipt()
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        head = _hash(bytes.fromhex(last.head), last.lines + 1, at, text)
        with self._understood():
            self._base.execute("INSERT INTO lines VALUES (?, ?, ?, ?)", (last.lines + 1, at, text, head))
        return Line(last.lines + 1, at, body, head)

    def receipt(self) -> Receipt:
        """Return the receipt of the present state."""
        with self._understood():
            last = self._base.execute("SELECT number, head FROM lines ORDER BY number DESC LIMIT 1").fetchone()
        number, head = last or (0, _START.hex())
        return Receipt(ledger=self.name, lines=number, head=head)

    def lines(self) -> list[Line]:
        """Return every line, or refuse a ledger in which one was altered, added or removed."""
        with self._understood():
            rows = self._base.execute("SELECT number, at, body, head FROM lines ORDER BY number").fetchall()
        before, found = _START, []
        for expected, (number, at, text, head) in enumerate(rows, 1):
            if number != expected or head != _hash(before, number, at, text):
                raise EvidenceError(f"{self.file}: line {expected} was altered, added or removed")
            before = bytes.fromhex(head)
            found.append(Line(number, at, json.loads(text), head))
        return found

    def check(self, receipt: Receipt) -> None:
        """Refuse a ledger that is not the one of ``receipt``, or is older, or has another past."""
        if receipt.ledger != self.name:
            raise EvidenceError(f"{self.file}: the receipt is of another ledger, {receipt.ledger}")
        heads = [_START.hex(), *(line.head for line in self.lines())]
        if receipt.lines < 0:
            raise SettingError("lines of the receipt", "must be 0 or more", receipt.lines)
        if receipt.lines >= len(heads):
            have = f"the receipt has {receipt.lines} lines, the ledger {len(heads) - 1}"
            raise EvidenceError(f"{self.file}: is older than the receipt, as a restored copy would be: {have}")
        if heads[receipt.lines] != receipt.head:
            raise EvidenceError(f"{self.file}: line {receipt.lines} is not the one of the receipt")

    @contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            locked = "locked" in str(error) or "busy" in str(error)
            raise FileError(self.file, "is held by another process" if locked else str(error)) from error
        except sqlite3.DatabaseError as error:
            raise FileError(self.file, "is no ledger, or a damaged one") from error


def history_folder(file: Path) -> Path:
    """Return the folder that belongs to the ledger in ``file``."""
    return file.with_name(file.name + ".rows")


def _hash(before: bytes, number: int, at: str, text: str) -> str:
    return hashlib.sha256(before + number.to_bytes(8, "big") + at.encode() + b"\n" + text.encode()).hexdigest()


_MARKS = ("application_id", "user_version")
_TABLES = """
CREATE TABLE ledger (name TEXT NOT NULL, tag_key BLOB NOT NULL) STRICT;
CREATE TABLE lines (number INTEGER PRIMARY KEY, at TEXT NOT NULL, body TEXT NOT NULL, head TEXT NOT NULL) STRICT;
"""
