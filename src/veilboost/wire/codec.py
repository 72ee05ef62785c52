"""Messages as bytes: MessagePack with a declared type for every field, and columns of numbers as they are.

A message is read into the type that the receiver expects, or refused; nothing that arrives is ever executed.
"""

from typing import Any, ClassVar, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

_TYPES = ("|u1", "<u2", "<u4", "<i8", "<f8")


class Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column of numbers on its way: its numpy type and its bytes.

    >>> Array.of(np.array([3, 1], np.uint16)).read()
    array([3, 1], dtype=uint16)
    """

    dtype: str
    data: bytes

    def __post_init__(self) -> None:
        if self.dtype not in _TYPES:
            raise ValueError(f"a column must be of one of the types {', '.join(_TYPES)}")
        if len(self.data) % np.dtype(self.dtype).itemsize:
            raise ValueError("a column must hold whole numbers of its type")

    @classmethod
    def of(cls, column: NDArray[Any]) -> "Array":
        """Pack a column."""
        little = column.astype(column.dtype.newbyteorder("<"), copy=False)
        return cls(little.dtype.str, little.tobytes())

    def read(self) -> NDArray[Any]:
        """Unpack the column; it cannot be written to."""
        return np.frombuffer(self.data, dtype=self.dtype)


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one party sends another; a subclass says which fields it has, and ``VERSION`` rises when they change.

    A body above ``LARGEST`` bytes is refused before anything is set aside for it.
    """

    VERSION: ClassVar[int] = 1
    LARGEST: ClassVar[int] = 1 << 20


class Refusal(Message, frozen=True, kw_only=True):
    """The other side will not go on, and says why; ``again`` if it may, over another line."""

    reason: str
    again: bool = False


M = TypeVar("M", bound=Message)


def kind_of(message: type[Message]) -> str:
    """Return the name and version under which a message travels.

    >>> kind_of(Refusal)
    'Refusal/1'
    """
    return f"{message.__name__}/{message.VERSION}"


def encode(message: Message) -> bytes:
    """Return the body of a message."""
    return msgspec.msgpack.encode(message)


def decode(body: bytes | bytearray, kind: type[M]) -> M:
    """Read a body as a message of ``kind``; raises ValueError where it is none.

    >>> decode(encode(Refusal(reason="no")), Refusal)
    Refusal(reason='no', again=False)
    """
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
