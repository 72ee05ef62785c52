"""Draw from an integer table: one look-up and one comparison a value, and exact to the last bit.

Walker's alias method over 2^k columns of equal weight: the first k of 63 random bits choose the column, the
others are compared with its threshold. The first 32 bits nearly always settle it; where they tie with the
threshold, which happens equally often for every input, the value's next 31 bits decide. Proof in table.proof.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.mechanisms._parts import in_parts
from veilboost.privacy import TOTAL_BITS
from veilboost.randomness import Halves, Tape

SAMPLER_VERSION = 1
PART = 1 << 18
BATCH = 1 << 16
_HALF_BITS = 32
_REST_BITS = TOTAL_BITS - _HALF_BITS

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Alias:
    """Columns of the alias method, 2^bits for each input; those of an input 0 stand in front, unused."""

    bits: int
    thresholds: Words
    """Where the second output of a column begins."""
    entries: Words
    """For each column the threshold's first bits, then its second and its first output, packed."""


def alias(weights: Words) -> Alias:
    """Lay out ``weights`` in columns of equal weight, each shared by at most two outputs."""
    bits = max(1, (len(weights) - 1).bit_length())
    shape = (len(weights) + 1, 1 << bits)
    thresholds, first, second = (np.zeros(shape, dtype=np.uint64) for _ in range(3))
    _share_columns(weights, np.uint64(1 << (TOTAL_BITS - bits)), thresholds[1:], first[1:], second[1:])
    entries = ((thresholds >> np.uint64(_REST_BITS)) << np.uint64(32)) | (second << np.uint64(16)) | first
    return Alias(bits, thresholds.reshape(-1), entries.reshape(-1))


def draw(table: Alias, codes: NDArray[Any], tape: Tape, threads: int | None = None) -> NDArray[Any]:
    """Return one output for each code, in the codes' own type."""
    out = np.empty_like(codes)

    def part(start: int) -> None:
        for first, halves in tape.batches(start, min(start + PART, len(codes)), BATCH, 1):
            here = slice(first, first + len(halves))
            if _pick(codes[here], halves, table.entries, table.bits, out[here]):
                for i in _ties(table, codes[here], halves[:, 0]):
                    more = tape.more(first + int(i))
                    out[first + i] = _settle(table, int(codes[first + i]), int(halves[i, 0]), more)

    in_parts(part, range(0, len(codes), PART), threads)
    return out


@compiled
def _pick(codes: NDArray[Any], halves: Halves, entries: Words, bits: int, out: NDArray[Any]) -> int:
    """Draw each value from the first of its halves, and count the ties with a threshold."""
    shift, mask = np.uint32(_HALF_BITS - bits), np.uint32((1 << (_HALF_BITS - bits)) - 1)
    first, stride, ties = halves.ravel(), np.uint64(halves.shape[1]), np.uint32(0)
    for i in range(np.uint64(len(codes))):  # unsigned: no index is below zero, so none has to be checked for it
        half = first[stride * i]
        entry = entries[np.uint64((np.uint32(codes[i]) << np.uint32(bits)) | (half >> shift))]
        fraction, threshold, outputs = half & mask, np.uint32(entry >> np.uint64(32)), np.uint32(entry)
        out[i] = outputs & np.uint32(0xFFFF) if fraction < threshold else outputs >> np.uint32(16)
        ties += np.uint32(fraction == threshold)
    return int(ties)


def _ties(table: Alias, codes: NDArray[Any], halves: Halves) -> NDArray[np.intp]:
    """Return the positions whose half ties with the first bits of its column's threshold."""
    free = _HALF_BITS - table.bits
    columns = (codes.astype(np.int64) << table.bits) | (halves >> free)
    return np.flatnonzero(halves & ((1 << free) - 1) == table.entries[columns] >> 32)


def _settle(table: Alias, code: int, half: int, more: Iterator[int]) -> int:
    """Decide a tie between a value's first 32 bits and its column's threshold by the next 31."""
    column = (code << table.bits) | (half >> (_HALF_BITS - table.bits))
    below = next(more) >> (_HALF_BITS - _REST_BITS) < int(table.thresholds[column]) & ((1 << _REST_BITS) - 1)
    return (int(table.entries[column]) >> (0 if below else 16)) & 0xFFFF


@compiled
def _share_columns(weights: Words, column: np.uint64, thresholds: Words, first: Words, second: Words) -> None:
    """Fill each row's columns; a full column gets threshold 0 and its one output as the second."""
    size, columns = weights.shape[0], thresholds.shape[1]
    small, large = np.empty(columns, np.int64), np.empty(columns, np.int64)
    left = np.empty(columns, np.uint64)
    for x in range(size):
        left[:] = 0
        left[:size] = weights[x]
        smalls = larges = 0
        for o in range(columns):
            if left[o] < column:
                small[smalls] = o
                smalls += 1
            else:
                large[larges] = o
                larges += 1
        while smalls > 0:
            smalls -= 1
            o, giver = small[smalls], large[larges - 1]
            thresholds[x, o], first[x, o], second[x, o] = left[o], o + 1, giver + 1
            left[giver] -= column - left[o]
            if left[giver] < column:
                larges -= 1
                small[smalls] = giver
                smalls += 1
        for i in range(larges):
            o = large[i]
            thresholds[x, o], first[x, o], second[x, o] = 0, o + 1, o + 1
