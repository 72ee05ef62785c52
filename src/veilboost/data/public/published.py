"""What there is to know about a public table before it is fetched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class Published:
    """One file of a publisher: its name, where it lies, how large it may be, and its SHA-256 where that is fixed."""

    name: str
    addresses: tuple[str, ...]
    most: int
    sha256: str | None = None


@dataclass(frozen=True)
class PublicSet:
    """One table: who published it where, under which licence, and what it must look like.

    ``digest`` is that of the table, whatever file it was read from; None where nobody has told us.
    ``ranges`` holds the least and largest value of columns, for a table without a digest.
    """

    name: str
    title: str
    publisher: str
    licence: str
    page: str
    files: tuple[Published, ...]
    read: Callable[[Mapping[str, Path]], pa.Table]
    columns: Mapping[str, pa.DataType]
    rows: int
    digest: str | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
