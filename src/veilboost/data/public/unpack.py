"""Read what a publisher has packed, never more of it than was expected, and without writing any of it to disk."""

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from veilboost.errors import FileError

# What the standard library raises where bytes are not what they claim to be; a password is a RuntimeError.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Bounded(io.RawIOBase):
    """A stream that refuses to give more than ``most`` bytes; a damaged one is a mistake in the file ``name``."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, most: int, name: object) -> None:
        self._stream, self._left, self._name = stream, most, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            block = self._stream.read(min(len(buffer), self._left + 1))
        except FileError:
            raise
        except (*_DAMAGE, OSError) as error:
            raise FileError(self._name, "is damaged") from error
        self._left -= len(block)
        if self._left < 0:
            raise FileError(self._name, "holds more than was expected")
        buffer[: len(block)] = block
        return len(block)


@contextmanager
def member(source: Path | IO[bytes], name: str, *, most: int, where: object = None) -> Iterator[IO[bytes]]:
    """Open the one file called ``name``, in whatever folder, of a zip archive."""
    where = source if where is None else where
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(zipfile.ZipFile(source))
            stream = opened.enter_context(archive.open(_find(archive, name, where)))
        except FileError:
            raise
        except _DAMAGE as error:
            raise FileError(where, "is no zip archive, or a damaged one") from error
        yield io.BufferedReader(Bounded(stream, most, f"{where}, {name}"))


def _find(archive: zipfile.ZipFile, name: str, where: object) -> zipfile.ZipInfo:
    paths = [PurePosixPath(each.filename.replace("\\", "/")) for each in archive.infolist()]
    if leading := [path for path in paths if path.is_absolute() or ".." in path.parts]:
        raise FileError(where, f"holds {str(leading[0])!r}, a name that leads out of it")
    found = [each for each, path in zip(archive.infolist(), paths, strict=True) if path.name == name]
    if len(found) != 1:
        raise FileError(where, f"must hold one file {name}; it holds {len(found)}")
    return found[0]


def plain(stream: IO[bytes], *, most: int, where: object) -> IO[bytes]:
    """Return what is packed with gzip in ``stream``."""
    return io.BufferedReader(Bounded(gzip.open(stream), most, where))
