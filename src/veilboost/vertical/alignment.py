"""Which row of a partner goes with which row of the lead: one function for each way to find out.

*Already aligned*: both hold the same ids in the same order, and check it. Each party contributes half of a fresh key,
to which it commits before it sees the other's, so that no answer of another day fits; then each shows a digest of its
ids under that key and its own role, so that it cannot send the other's back. Nobody learns more than the type of the
ids, how many there are, and whether they are the same. Who guesses a whole list right can confirm the guess.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veilboost.errors import DataError, PeerError
from veilboost.vertical.joined import ids_of
from veilboost.wire import Channel, Message

IdType = Literal["integer", "text"]
Role = Literal["lead", "partner"]
M = TypeVar("M", bound=Message)

_SAYS: dict[IdType, str] = {"integer": "whole numbers", "text": "text"}
_HALF = 32


class Commitment(Message, frozen=True, kw_only=True):
    """What the ids are, how many, and the hash of this party's half of the key."""

    type: IdType
    rows: int
    commitment: bytes


class Half(Message, frozen=True, kw_only=True):
    """One party's half of the key."""

    key: bytes


class Digests(Message, frozen=True, kw_only=True):
    """Keyed digests of the ids: in their order, and sorted."""

    in_order: bytes
    sorted: bytes


MESSAGES: tuple[type[Message], ...] = (Commitment, Half, Digests)


@dataclass(frozen=True)
class Ids:
    """The ids of a table's rows, all different."""

    type: IdType
    values: pa.Array

    @classmethod
    def of(cls, table: pa.Table, name: str) -> "Ids":
        """Take the ids from column ``name``; none may be missing, or there twice.

        >>> Ids.of(pa.table({"id": [7, 3]}), "id").type
        'integer'
        """
        column = ids_of(table, name)
        if isinstance(column.type, pa.DictionaryType):
            column = column.cast(column.type.value_type)
        if not len(column):
            raise DataError(name, "must name at least one row", "none")
        if pa.types.is_integer(column.type):
            return cls("integer", _whole(column.cast(pa.int64(), safe=False)))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return cls("text", _whole(column.cast(pa.large_string())))
        raise DataError(name, "must hold whole numbers or text: it names the rows", f"a column of type {column.type}")

    def __len__(self) -> int:
        return len(self.values)

    def digest(self, key: bytes, role: str, *, in_order: bool) -> bytes:
        """Return the digest of all ids under ``key``, as a party in this role shows it."""
        found = hmac.new(key, f"{role} {in_order} {self.type} {len(self)}\n".encode(), hashlib.sha256)
        if self.type == "integer":
            numbers = self.values.to_numpy().astype("<i8", copy=False)
            found.update((numbers if in_order else np.sort(numbers)).data)
            return found.digest()
        values = self.values if in_order else self.values.take(pc.sort_indices(self.values))
        found.update(pc.binary_length(values).to_numpy().astype("<i8", copy=False).data)
        _, offsets, text = values.buffers()
        starts = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
        found.update(memoryview(text or b"")[starts[0] : starts[-1]])
        return found.digest()


def already_aligned(channel: Channel, ids: Ids, role: Role, job: str, *, timeout: float) -> None:
    """Check with the other side that both hold the same ids in the same order, or say how they differ."""
    half = secrets.token_bytes(_HALF)
    ours = Commitment(type=ids.type, rows=len(ids), commitment=_commitment(role, half))
    theirs = _swapped(channel, ours, role, timeout)
    _check_shape(channel.peer, ids, theirs)
    other: Role = "partner" if role == "lead" else "lead"
    their_half = _swapped(channel, Half(key=half), role, timeout).key
    if len(their_half) != _HALF or not hmac.compare_digest(_commitment(other, their_half), theirs.commitment):
        raise PeerError(channel.peer, "sent another half of the key than it was bound to")
    halves = (half, their_half) if role == "lead" else (their_half, half)
    key = hashlib.sha256(b"".join([b"veilboost already aligned\n", *halves, job.encode()])).digest()
    _compare(channel.peer, ids, key, other, _swapped(channel, _digests(ids, key, role), role, timeout))


def _digests(ids: Ids, key: bytes, role: Role) -> Digests:
    return Digests(in_order=ids.digest(key, role, in_order=True), sorted=ids.digest(key, role, in_order=False))


def _compare(peer: str, ids: Ids, key: bytes, role: Role, found: Digests) -> None:
    expected = _digests(ids, key, role)
    if hmac.compare_digest(found.in_order, expected.in_order):
        return
    if hmac.compare_digest(found.sorted, expected.sorted):
        raise PeerError(peer, "holds the same ids in another order: sort both tables by the id")
    raise PeerError(peer, "holds other ids than this party: both tables must be of the same rows")


def _check_shape(peer: str, ids: Ids, theirs: Commitment) -> None:
    if theirs.type != ids.type:
        raise PeerError(peer, f"has ids that are {_SAYS[theirs.type]}, where this party's are {_SAYS[ids.type]}")
    if theirs.rows != len(ids):
        raise PeerError(peer, f"has {theirs.rows} rows, where this party has {len(ids)}")


def _swapped(channel: Channel, ours: M, role: Role, timeout: float) -> M:
    """Exchange messages of one kind: the lead speaks first."""
    if role == "lead":
        channel.send(ours, timeout)
        return channel.receive(type(ours), timeout)
    theirs = channel.receive(type(ours), timeout)
    channel.send(ours, timeout)
    return theirs


def _commitment(role: Role, half: bytes) -> bytes:
    return hashlib.sha256(b"veilboost commitment " + role.encode() + b"\n" + half).digest()


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
