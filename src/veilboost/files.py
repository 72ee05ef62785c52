"""Write a file whole or not at all."""

import errno
import hashlib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from veilboost.errors import EvidenceError, FileError, SettingError, blaming

SUMS = "SHA256SUMS"


def check_writable(*paths: Path) -> None:
    """Refuse paths that cannot become files, before any work is done for them.

    >>> check_writable(Path("no/such/folder/report.html"))
    """
    for path in paths:
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise SettingError("out", "must be a folder in which files can be written", str(path.parent))


def as_json(value: Any) -> bytes:
    """Return a struct or plain value as one JSON document; an infinite number is the text "inf".

    >>> as_json({"gaps": [0.5, float("inf")]})
    b'{"gaps":[0.5,"inf"]}'
    """
    return msgspec.json.encode(_finite(msgspec.to_builtins(value)))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return "inf" if value == math.inf else value


def settle(path: Path) -> None:
    """See to it that what was written to ``path`` survives a loss of power."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` aside, then rename it to ``path``: a reader sees the old file or the new one, never a part."""
    _write(path, [text.encode()], 0o644)


def read_private(path: Path, absent: str) -> bytes:
    """Return what only its owner can read, or refuse a file that others can read; ``absent`` says how to get one."""
    try:
        with path.open("rb") as opened:
            mode, content = os.fstat(opened.fileno()).st_mode, opened.read()
    except FileNotFoundError:
        raise FileError(path, absent) from None
    except OSError as error:
        raise FileError(path, error.strerror or "cannot be read") from None
    if mode & 0o077:
        raise FileError(path, "must be readable by its owner alone (mode 0600)")
    return content


def private_folder(folder: Path) -> None:
    """Make a folder that its owner alone can open."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, error.strerror or "cannot be made") from None
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Refuse a folder in which others could exchange a file."""
    if folder.stat().st_mode & 0o022:
        raise FileError(folder, "others can write into this folder of keys: chmod 700 it")


def write_private(path: Path, *parts: bytes) -> None:
    """Write ``parts``, one after the other, in the same way, for the owner's eyes alone."""
    _write(path, parts, 0o600)


def _write(path: Path, parts: Iterable[bytes], mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(mode)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def move_together(files: Iterable[tuple[Path, Path]]) -> None:
    """Move finished files to their places, also to another disk; none shows before all are there in full."""
    ready: list[tuple[Path, Path]] = []
    try:
        for made, path in files:
            ready.append((_beside(path), path))
            _bring(made, ready[-1][0])
        for aside, path in ready:
            aside.replace(path)
    except BaseException:
        for aside, _ in ready:
            aside.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    return Path(aside)


def _bring(made: Path, aside: Path) -> None:
    """Move ``made`` to ``aside``, and see to it that it stays there."""
    try:
        made.replace(aside)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(made, aside)
        made.unlink()
    aside.chmod(0o644)
    settle(aside)


def check_free(folder: Path, names: Collection[str]) -> None:
    """Refuse a place for a folder of files ``names``: it must be free, or hold such a folder and nothing else."""
    check_writable(folder / SUMS)
    if not folder.exists():
        return
    others = {path.name for path in folder.iterdir()} - {*names, SUMS} if folder.is_dir() else {""}
    if others or (any(folder.iterdir()) and not (folder / SUMS).is_file()):
        raise FileError(folder, "is there already and is no model folder alone; name another, or remove it")


def write_folder(folder: Path, contents: Mapping[str, bytes], *, replacing: Collection[str] = ()) -> None:
    """Write a folder and the digests of its files aside, then put it in the place of an older one, or not at all.

    The older one may hold files of the same names, or of names ``replacing``. Of two folders only one can be moved at a
    time: between them there is none for an instant, and a machine that stops just then has both in a hidden folder
    beside the place.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_folder(Path(place, "model"), {"a.txt": b"1"})
    ...     read_folder(Path(place, "model"), ["a.txt"])
    {'a.txt': b'1'}
    """
    check_free(folder, {*contents, *replacing})
    folder.parent.mkdir(parents=True, exist_ok=True)
    sums = "".join(f"{_sha256(content)}  {name}\n" for name, content in sorted(contents.items()))
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        made, old = Path(aside) / "new", Path(aside) / "old"
        made.mkdir()
        with blaming(folder):
            for name, content in {**contents, SUMS: sums.encode()}.items():
                (made / name).write_bytes(content)
                settle(made / name)
        if folder.exists():
            folder.rename(old)
        try:
            made.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise


def read_folder(folder: Path, *kinds: Collection[str]) -> dict[str, bytes]:
    """Return the files of a folder of one of these ``kinds``; each must have the digest that was written down."""
    sums = folder / SUMS
    if not sums.is_file():
        raise FileError(folder, f"is no model folder: it has no {SUMS}")
    found = re.fullmatch(rb"(?:[0-9a-f]{64}  [a-z.-]+\n)+", sums.read_bytes())
    lines = [] if found is None else [line.split("  ") for line in found[0].decode().splitlines()]
    if [name for _, name in lines] not in [sorted(kind) for kind in kinds]:
        wanted = ", or of ".join(", ".join(sorted(kind)) for kind in kinds)
        raise EvidenceError(f"{sums} is not as it was written: the digests of {wanted}")
    return {name: _unaltered(folder / name, digest) for digest, name in lines}


def _unaltered(file: Path, digest: str) -> bytes:
    if not file.is_file():
        raise EvidenceError(f"{file} is missing")
    content = file.read_bytes()
    if _sha256(content) != digest:
        raise EvidenceError(f"{file} is not what was saved: its digest is another")
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
