"""The steps that a party has done, each saved in one file, so that it goes on from there when it is started again.

A file is written aside and renamed, holds its own checksum, and is readable by its owner alone. The folder belongs to
one process at a time.
"""

import fcntl
import hashlib
import logging
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from veilboost.errors import EvidenceError, FileError, blaming
from veilboost.files import private_folder, read_private, write_private

T = TypeVar("T")

_HEAD = b"veilboost step 1\n"
_log = logging.getLogger(__name__)


class Steps:
    """A folder with one file for each step that was done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        private_folder(folder)
        self._lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise FileError(folder, "is in use: another process works on this job") from None

    def save(self, step: str, state: object) -> None:
        """Keep what a step led to."""
        body = msgspec.msgpack.encode(state)
        with blaming(self.folder):
            write_private(self._file(step), _HEAD, hashlib.sha256(body).digest(), body)
        _log.info("%s: %s", self.folder.name, step)

    def load(self, step: str, kind: type[T]) -> T | None:
        """Return what a step led to, or None where it was not done; a file that was altered is refused."""
        file = self._file(step)
        if not file.exists():
            return None
        content = read_private(file, "is gone")
        end = len(_HEAD) + hashlib.sha256().digest_size
        checksum, body = content[len(_HEAD) : end], memoryview(content)[end:]
        if not content.startswith(_HEAD) or hashlib.sha256(body).digest() != checksum:
            raise EvidenceError(f"{file} is not what was saved; remove {self.folder} to begin anew")
        try:
            return msgspec.msgpack.decode(body, type=kind)
        except (msgspec.MsgspecError, ValueError):
            raise FileError(file, f"was saved by another version; remove {self.folder} to begin anew") from None

    def fetch(self, step: str, kind: type[T]) -> T:
        """Return what a step led to, which was done."""
        found = self.load(step, kind)
        if found is None:
            raise EvidenceError(f"{self._file(step)} is gone; remove {self.folder} to begin anew")
        return found

    def has(self, step: str) -> bool:
        """Whether a step was done."""
        return self._file(step).exists()

    def forget(self, *steps: str) -> None:
        """Forget these steps; ``*`` in a name stands for anything."""
        for step in steps:
            for file in self.folder.glob(f"{step}.step"):
                file.unlink(missing_ok=True)

    def finish(self) -> None:
        """Forget everything at once: the job is done."""
        aside = self.folder.with_name(f".{self.folder.name}.done")
        shutil.rmtree(aside, ignore_errors=True)
        self.folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    def _file(self, step: str) -> Path:
        return self.folder / f"{step}.step"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)
