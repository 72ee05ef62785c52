"""Write a file whole or not at all."""

import os
import tempfile
from pathlib import Path

from veilboost.errors import SettingError


def check_writable(*paths: Path) -> None:
    """Refuse paths that cannot become files, before any work is done for them.

    >>> check_writable(Path("no/such/folder/report.html"))
    """
    for path in paths:
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise SettingError("out", "must be a folder in which files can be written", str(path.parent))


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` aside, then rename it to ``path``: a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(0o644)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
