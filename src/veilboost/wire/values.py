"""A column of values on its way: packed where that is shorter."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.wire.codec import Array
from veilboost.wire.packing import Pack, pack


class Values(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column of numbers, plain or packed. Its receiver must know how many there are: a few bytes may claim many.

    >>> sent = Values.of(np.array([2, 1, 1, 3] * 1000, np.uint16))
    >>> sent.is_packed, sent.read(4000)[:4]
    (True, array([2, 1, 1, 3], dtype=uint16))
    """

    dtype: str
    data: bytes | Pack

    def __post_init__(self) -> None:
        kind = Array(self.dtype, b"" if isinstance(self.data, Pack) else self.data).read().dtype
        if isinstance(self.data, Pack) and kind.kind != "u":
            raise ValueError("a packed column must be of unsigned whole numbers")

    @classmethod
    def of(cls, column: NDArray[Any]) -> "Values":
        """Pack a column, if that makes it shorter."""
        little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
        packed = pack(little) if column.dtype.kind == "u" else None
        return cls.plain(little) if packed is None else cls(little.dtype.str, packed)

    @classmethod
    def plain(cls, column: NDArray[Any]) -> "Values":
        """Take a column as it is."""
        held = Array.of(column)
        return cls(held.dtype, held.data)

    @property
    def is_packed(self) -> bool:
        """Whether less travels than the numbers themselves."""
        return isinstance(self.data, Pack)

    def read(self, count: int) -> NDArray[Any]:
        """Return the ``count`` values; raises ValueError where there are more, or fewer."""
        if isinstance(self.data, Pack):
            return self.data.unpack(count, np.dtype(self.dtype))
        found = Array(self.dtype, self.data).read()
        if len(found) != count:
            raise ValueError(f"has {len(found)} values where {count} were agreed")
        return found


def get_ready() -> None:
    """Load what packing needs, as a program does that is about to wait for others: half a second, at the first call.

    >>> get_ready()
    """
    Values.of(np.arange(64, dtype=np.uint8) % 2).read(64)
