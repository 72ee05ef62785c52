"""The only door to random bits: fresh, permanent, or replayable for simulations.

A mechanism asks a source of bits for a `Tape`, and the tape gives every value of the column its own endless
strip of random 32-bit numbers ("halves" of a 64-bit word). Most outcomes are settled by the first few halves;
`Tape.more` goes on where they are not enough.
"""

import hashlib
import hmac
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.domain import Domain
from veilboost.errors import DataError, GuaranteeError, SettingError
from veilboost.settings import printable, whole

Halves = NDArray[np.uint32]
Blocks = NDArray[np.uint64]
Keys = Sequence[int] | Sequence[str] | Sequence[bytes] | NDArray[Any]

KEY_BYTES = 32
LONGEST_ROW_KEY = 4095
_BLOCK_BYTES = 16
_HALVES_PER_BLOCK = 4
_CODES_PER_BLOCK = 4
_FIRST_SPARE_COUNTER = 1 << 15
_TAG_COUNTER = (1 << 16) - 1
_TEXT, _BYTES = 2, 3
_INTEGER = 8 | 1 << 12  # the first two bytes of a whole-number key's block: its length and its kind


class Tape(ABC):
    """Random 32-bit numbers for each value of one draw."""

    @abstractmethod
    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Halves]]:
        """Yield (position, halves of the next ``step`` values), a row a value, ``per_value`` of them or more.

        The halves are overwritten when the next batch is read. The same ``start`` gives the same bits, whatever
        the ``step``, so a draw may be cut in parts, as long as it is always cut in the same places.
        """

    @abstractmethod
    def more(self, position: int) -> Iterator[int]:
        """Yield further halves of the value at ``position``: more than anything will ever take."""


class Bits(ABC):
    """A source of random bits."""

    simulated = False

    @abstractmethod
    def tape(self, codes: NDArray[Any], digest: bytes) -> Tape:
        """Return the tape for drawing ``codes`` under the mechanism whose digest is ``digest``."""


class FreshBits(Bits):
    """AES-256 in counter mode under a key taken from the operating system for each draw.

    >>> position, halves = next(FreshBits().tape(np.array([1, 2, 3]), b"").batches(0, 3, 3, 1))
    >>> halves.shape, halves.dtype
    ((3, 1), dtype('uint32'))
    """

    def __repr__(self) -> str:
        return "FreshBits()"

    def tape(self, codes: NDArray[Any], digest: bytes) -> Tape:
        return _Keystream(os.urandom(KEY_BYTES), call=0)


class ReplayableBits(Bits):
    """The same bits again for the same seed: INSECURE, for simulations alone; ``simulated`` says so.

    >>> tapes = [ReplayableBits(seed=7).tape(np.array([1]), b"") for _ in range(2)]
    >>> next(tapes[0].more(0)) == next(tapes[1].more(0))
    True
    """

    simulated = True

    def __init__(self, *, seed: int) -> None:
        self.seed = whole("seed", seed, 0, 2**64 - 1)
        self._key = hashlib.sha256(b"veilboost replayable 1" + self.seed.to_bytes(8, "little")).digest()
        self._calls = itertools.count()

    def __repr__(self) -> str:
        return f"ReplayableBits(seed={self.seed})  # INSECURE, for simulations"

    def tape(self, codes: NDArray[Any], digest: bytes) -> Tape:
        return _Keystream(self._key, call=whole("draws from one seed", next(self._calls), 0, 2**31 - 1))


class PermanentBits(Bits):
    """Keyed bits: the same value of the same row gets the same bits, in any order, call after call.

    The bits of one value are AES-256 in CBC-MAC over (row key with its length in front, code, counter), a
    pseudorandom function because no such message is the beginning of another. The AES key is derived from
    ``secret`` for the column's source, the key's version, the ``domain`` of its codes and the digest of the whole
    mechanism, so that the same bits never serve two tables or two sets of bounds: used twice, one word betrays far
    more than the budgets of both. Leave ``domain`` out only where codes are the values themselves.

    Rows of several codes, all of one ``domain``, get the bits of the whole row, under a key for rows of that length:
    a joint mechanism whose bits hung on one code alone would betray what another one changes.

    What it does not give: it is computational, a changed value shows *that* it changed, and whoever learns
    ``secret`` unmasks every past release.

    >>> bits = PermanentBits(secret=bytes(32), source="clinic/age", version=1, row_keys=np.array([4, 9]), domain=None)
    >>> again = PermanentBits(secret=bytes(32), source="clinic/age", version=1, row_keys=np.array([9, 4]), domain=None)
    >>> _, first = next(bits.tape(np.array([1, 2]), b"table").batches(0, 2, 2, 1))
    >>> _, swapped = next(again.tape(np.array([2, 1]), b"table").batches(0, 2, 2, 1))
    >>> bool((first == swapped[::-1]).all())
    True
    """

    def __init__(
        self, *, secret: bytes, source: str, version: int, row_keys: "Keys | RowKeys", domain: Domain | None
    ) -> None:
        if not isinstance(secret, bytes) or len(secret) != KEY_BYTES:
            held = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__
            raise SettingError("secret", f"must be {KEY_BYTES} bytes", held)
        if not isinstance(domain, Domain | None):
            raise SettingError("domain", "must be the column's Domain", domain)
        self.source, self.domain = printable("source", source), domain
        self.version = whole("version", version, 0, 2**32 - 1)
        self._secret = secret
        self._rows = row_keys if isinstance(row_keys, RowKeys) else RowKeys.of(row_keys)

    def __repr__(self) -> str:
        return f"PermanentBits(source={self.source!r}, version={self.version}, rows={len(self._rows)})"

    def tape(self, codes: NDArray[Any], digest: bytes) -> Tape:
        if len(codes) != len(self._rows):
            rule = f"must have one code for each of the {len(self._rows)} row keys"
            raise DataError(self.source, rule, f"{len(codes)} codes")
        if self.domain is not None and len(codes) and int(codes.max()) > self.domain.size:
            raise DataError(self.source, f"must have codes up to {self.domain.size}, as its domain", int(codes.max()))
        version = self.version.to_bytes(4, "little")
        shape = b"1" if codes.ndim == 1 else b"rows 1" + codes.shape[1].to_bytes(4, "little")
        context = b"veilboost permanent " + shape + _framed(self.source.encode()) + version + _framed(digest)
        context += b"" if self.domain is None else _framed(self.domain.digest())
        key = hmac.digest(self._secret, context, "sha256")
        rows = self._rows.chained(key)
        if codes.ndim == 1:
            return _Permanent(key, rows, codes)
        return _Permanent(key, _chained_codes(key, rows, codes), np.zeros(len(codes), dtype=np.uint8))


class _Keystream(Tape):
    """AES-256-CTR; the counter block names the call, the position, and whether it is a spare strip."""

    def __init__(self, key: bytes, call: int) -> None:
        self._key, self._call = key, call

    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Halves]]:
        stream = self._stream(start, spare=0)
        step = min(step, stop - start)
        zeros, out = bytes(4 * step * per_value), np.empty((step, per_value), dtype="<u4")
        for position in range(start, stop, step):
            stream.update_into(zeros, out.data.cast("B"))
            yield position, out[: stop - position]

    def more(self, position: int) -> Iterator[int]:
        stream = self._stream(position, spare=1)
        while True:
            yield from map(int, np.frombuffer(stream.update(bytes(64)), dtype="<u4"))

    def _stream(self, position: int, spare: int) -> CipherContext:
        start = (spare << 127) | (self._call << 96) | (position << 48)
        return Cipher(algorithms.AES(self._key), modes.CTR(start.to_bytes(_BLOCK_BYTES, "big"))).encryptor()


class _Permanent(Tape):
    """AES-256 of one block per value and counter; a block holds four halves."""

    def __init__(self, key: bytes, rows: Blocks, codes: NDArray[Any]) -> None:
        self._key, self._rows, self._codes = key, rows, codes

    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Halves]]:
        step = min(step, stop - start)
        counters = -(-per_value // _HALVES_PER_BLOCK)
        if counters > _FIRST_SPARE_COUNTER:
            raise GuaranteeError(f"{per_value} random numbers for one value would reach its spare ones")
        blocks = np.empty((counters, step, 2), dtype=np.uint64)
        encryptor, out = _permutation(self._key), np.empty(blocks.nbytes + _BLOCK_BYTES - 1, dtype=np.uint8)
        halves = out[: blocks.nbytes].view("<u4").reshape(counters, step, _HALVES_PER_BLOCK)
        for position in range(start, stop, step):
            count = min(step, stop - position)
            for counter in range(counters):
                self._fill(position, count, counter, blocks[counter])
            encryptor.update_into(blocks.data.cast("B"), out.data)
            yield position, np.ascontiguousarray(halves[:, :count].transpose(1, 0, 2)).reshape(count, -1)

    def more(self, position: int) -> Iterator[int]:
        block = np.empty((1, 2), dtype=np.uint64)
        for counter in range(_FIRST_SPARE_COUNTER, _TAG_COUNTER):
            self._fill(position, 1, counter, block)
            yield from map(int, _permuted(self._key, block).view("<u4")[0])

    def _fill(self, position: int, count: int, counter: int, blocks: Blocks) -> None:
        here = slice(position, position + count)
        _fill(self._rows[here], self._codes[here], counter, blocks)


def _fill(rows: Blocks, codes: NDArray[Any], counter: int, blocks: Blocks) -> None:
    """Write the last block of each row's message, with its code and ``counter``."""
    if rows.shape[1] == 1:
        _fill_from_integers(rows, codes, counter, blocks)
    else:
        _fill_from_blocks(rows, codes, counter, blocks)


def _chained_codes(key: bytes, rows: Blocks, codes: NDArray[Any]) -> Blocks:
    """Return the open block after each row key's message, closed with code and counter 0, and all its codes."""
    count = -(-codes.shape[1] // _CODES_PER_BLOCK)
    padded = np.zeros((len(codes), count * _CODES_PER_BLOCK), dtype="<u4")
    padded[:, : codes.shape[1]] = codes.astype(np.uint32)
    state = np.empty((len(codes), 2), dtype=np.uint64)
    _fill(rows, np.zeros(len(codes), dtype=np.uint8), 0, state)
    for block in padded.view("<u8").reshape(len(codes), count, 2).swapaxes(0, 1):
        state = _permuted(key, state) ^ block
    return _permuted(key, state)


@compiled
def _fill_from_integers(rows: Blocks, codes: NDArray[Any], counter: int, blocks: Blocks) -> None:
    """Write the block of each whole-number row key, its code and ``counter``."""
    keys, words, count = rows.ravel(), blocks.ravel(), np.uint64(counter) << np.uint64(48)
    for i in range(len(codes)):
        words[2 * i] = (keys[i] << np.uint64(16)) | np.uint64(_INTEGER)
        words[2 * i + 1] = keys[i] >> np.uint64(48) | (np.uint64(np.uint32(codes[i])) << np.uint64(16)) | count


@compiled
def _fill_from_blocks(rows: Blocks, codes: NDArray[Any], counter: int, blocks: Blocks) -> None:
    """Write each row's open block with its code and ``counter``."""
    opened, words, count = rows.ravel(), blocks.ravel(), np.uint64(counter) << np.uint64(48)
    for i in range(len(codes)):
        words[2 * i] = opened[2 * i]
        words[2 * i + 1] = opened[2 * i + 1] ^ (np.uint64(np.uint32(codes[i])) << np.uint64(16)) ^ count


def _permutation(key: bytes) -> CipherContext:
    """Return AES of every 16-byte block by itself: a permutation, not a mode for messages."""
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


def _permuted(key: bytes, blocks: Blocks) -> Blocks:
    out = np.frombuffer(_permutation(key).update(blocks.tobytes()), dtype="<u8")
    return out.reshape(blocks.shape)


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Row keys as AES blocks: ``whole`` blocks in front (``counts`` of them a row) and the ``tails``.

    >>> len(RowKeys.of(["anna", "bert"]))
    2
    >>> RowKeys.of([7, 7])
    Traceback (most recent call last):
    veilboost.errors.DataError: column 'row keys' must be distinct; found 1 repeated
    """

    whole: Blocks
    counts: NDArray[np.int64]
    tails: Blocks

    def __len__(self) -> int:
        return len(self.tails)

    def __repr__(self) -> str:
        return f"RowKeys(rows={len(self)})"

    @classmethod
    def of(cls, keys: Keys) -> "RowKeys":
        """Read distinct row keys: all whole numbers, all text or all bytes."""
        read = cls.read(keys)
        read.refuse_repeated()
        return read

    @classmethod
    def read(cls, keys: Keys) -> "RowKeys":
        """Read row keys that are known to be distinct, or of which equal ones are looked for later."""
        if isinstance(keys, str | bytes) or not isinstance(keys, Sequence | np.ndarray):
            raise DataError("row keys", "must be a list", type(keys).__name__)
        if isinstance(keys, np.ndarray) and keys.ndim == 1 and keys.dtype.kind in "iu":
            return _integer_messages(keys)
        listed = list(keys)
        if listed and all(isinstance(key, str) for key in listed):
            return _text_messages([key.encode("utf-8", "surrogatepass") for key in listed], _TEXT)
        if listed and all(isinstance(key, bytes) for key in listed):
            return _text_messages([bytes(key) for key in listed], _BYTES)
        if all(isinstance(key, int | np.integer) and not isinstance(key, bool) for key in listed):
            return _integer_messages(np.array(listed, dtype=object))
        rule = "must be all whole numbers, all text or all bytes"
        raise DataError("row keys", rule, " and ".join(sorted({type(key).__name__ for key in listed})))

    @classmethod
    def of_text(cls, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> "RowKeys":
        """Read text keys that lie one behind the other in UTF-8, key i from ``offsets[i]`` on; see `read`."""
        return cls(*_text_blocks(text, offsets, _TEXT))

    def refuse_repeated(self) -> None:
        """Refuse keys that occur twice: equal codes of two rows would leave with equal noise."""
        tags = self.tags(os.urandom(KEY_BYTES))
        repeated = count_repeated(tags[tag_order(tags)])
        if repeated:
            raise DataError("row keys", "must be distinct", f"{repeated} repeated")

    def tags(self, key: bytes) -> Blocks:
        """Return two words for each row key, a pseudorandom function of it under ``key``."""
        blocks = np.empty((len(self), 2), dtype=np.uint64)
        _fill(self.chained(key), np.zeros(len(self), dtype=np.uint8), _TAG_COUNTER, blocks)
        return _permuted(key, blocks)

    def chained(self, key: bytes) -> Blocks:
        """Return each row's last block, open for code and counter, with the blocks before it chained in."""
        if not self.whole.shape[1]:
            return self.tails
        state = np.zeros_like(self.tails)
        for j in range(self.whole.shape[1]):
            going = self.counts > j
            state[going] = _permuted(key, state[going] ^ self.whole[going, j])
        return state ^ self.tails


def tag_order(tags: Blocks) -> NDArray[np.intp]:
    """Return the order that sorts ``tags``, by their second word where the first ones are equal."""
    first, second = tags.T
    order = np.argsort(first)
    ordered = first[order]
    return np.lexsort((second, first)) if (ordered[1:] == ordered[:-1]).any() else order


def count_repeated(ordered: Blocks) -> int:
    """Return how many of the ``ordered`` tags are equal to the one before."""
    return int(np.count_nonzero((ordered[1:] == ordered[:-1]).all(axis=1)))


def _integer_messages(keys: NDArray[Any]) -> RowKeys:
    if len(keys) and not -(2**63) <= int(keys.min()) <= int(keys.max()) < 2**63:
        raise DataError("row keys", "must fit 64 bits with a sign", f"{keys.min()} to {keys.max()}")
    tails = keys.astype(np.int64).view(np.uint64)[:, None]
    return RowKeys(np.empty((len(keys), 0, 2), np.uint64), np.zeros(len(keys), np.int64), tails)


def _text_messages(keys: list[bytes], kind: int) -> RowKeys:
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum([len(key) for key in keys], out=offsets[1:])
    return RowKeys(*_text_blocks(np.frombuffer(b"".join(keys), dtype=np.uint8), offsets, kind))


def _text_blocks(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], kind: int
) -> tuple[Blocks, NDArray[np.int64], Blocks]:
    """Return ``text``, cut at ``offsets``, as messages: length and kind in front, room for code and counter behind."""
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    if longest > LONGEST_ROW_KEY:
        raise DataError("row keys", f"must be at most {LONGEST_ROW_KEY} bytes long", f"one of {longest} bytes")
    counts = (lengths + 2 + 5) // _BLOCK_BYTES
    whole = np.zeros((len(lengths), int(counts.max(initial=0)) * _BLOCK_BYTES), dtype=np.uint8)
    tails = np.zeros((len(lengths), _BLOCK_BYTES), dtype=np.uint8)
    _fill_text(text, offsets, kind << 12, whole, counts, tails)
    return whole.view("<u8").reshape(len(lengths), whole.shape[1] // _BLOCK_BYTES, 2), counts, tails.view("<u8")


@compiled
def _fill_text(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    kind: int,
    whole: NDArray[np.uint8],
    counts: NDArray[np.int64],
    tails: NDArray[np.uint8],
) -> None:
    """Write each key behind its two-byte prefix: whole blocks first, the rest into its tail."""
    for i in range(len(counts)):
        length, front = offsets[i + 1] - offsets[i], counts[i] * 16
        prefix = length | kind
        for j in range(length + 2):
            byte = prefix & 255 if j == 0 else prefix >> 8 if j == 1 else np.int64(text[offsets[i] + j - 2])
            if j < front:
                whole[i, j] = byte
            else:
                tails[i, j - front] = byte


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(4, "little") + text
