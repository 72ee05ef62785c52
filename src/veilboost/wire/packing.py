"""Columns of small whole numbers in about as many bits as their entropy: ranks, above all.

Numbers that occur often get a class of their own; neighbours that do not are put together in classes of 2, 4, 8, …
numbers, which differ only in their last bits. Classes are range coded by how often they occur, and the last bits follow
as they are. The classes are those that make the whole shortest, their description included.
"""

from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.wire import _rans
from veilboost.wire._rans import LANES, LOW, MOST_BITS, Stream

_MOST_CLASSES = 1 << 12
_LEAST_BITS = 11
_FEWEST = 64
_BLOCK = 1 << 20
_ABOUT_ONE_CLASS = 16.0
"""Bits that the description of one class takes, about."""

_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
_Width = Annotated[int, msgspec.Meta(ge=0, le=32)]
_Run = tuple[Annotated[int, msgspec.Meta(ge=1, le=_MOST_CLASSES)], _Width]
_Runs = Annotated[list[_Run], msgspec.Meta(min_length=1, max_length=_MOST_CLASSES)]
_Frequency = Annotated[int, msgspec.Meta(ge=0, le=1 << MOST_BITS)]
_Frequencies = Annotated[list[_Frequency], msgspec.Meta(min_length=1, max_length=_MOST_CLASSES)]
_State = Annotated[int, msgspec.Meta(ge=LOW, lt=LOW << 16)]
_States = Annotated[list[_State], msgspec.Meta(min_length=LANES, max_length=LANES)]


class Pack(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A packed column of ``count`` values.

    ``runs`` say how many classes in turn have how many last bits; the classes lie side by side, from 0. ``frequencies``
    (in all a power of two), ``states`` and ``words`` are those of the range coder; ``bits`` are the last bits.
    """

    count: _Count
    runs: _Runs
    frequencies: _Frequencies
    states: _States
    words: bytes
    bits: bytes

    def unpack(self, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return the values, ``count`` of them, or raise ValueError: anybody may have sent these bytes."""
        if self.count != count:
            raise ValueError(f"has {self.count} values where {count} were agreed")
        widths = np.repeat([width for _, width in self.runs], [times for times, _ in self.runs])
        frequencies = np.array(self.frequencies, dtype=np.int64)
        first = np.cumsum(1 << widths) - (1 << widths)
        bits = _bits(int((frequencies > 0).sum()))
        if len(widths) != len(frequencies) or first[-1] + (1 << widths[-1]) > 1 << (8 * kind.itemsize):
            raise ValueError("is packed in classes that do not fit")
        if frequencies.sum() != 1 << bits or len(self.words) % 2 or len(self.bits) % 4:
            raise ValueError("is packed with lengths that do not fit")
        stream = Stream(np.array(self.states, np.uint32), np.frombuffer(self.words, "<u2").astype(np.uint16))
        out = np.empty(count, dtype=kind)
        if not widths.any():
            fits = not self.bits and _rans.decode(stream, frequencies, first, bits, out)
        else:
            symbols = np.empty(count, dtype=np.uint16)
            below = np.frombuffer(self.bits, "<u4").astype(np.uint32)
            fits = _rans.decode(stream, frequencies, np.arange(len(first)), bits, symbols)
            fits = fits and bool(_rans.add_bits(below, first, widths.astype(np.uint8), symbols, out))
        if not fits:
            raise ValueError("is packed, and does not unpack")
        return out


def pack(values: NDArray[Any]) -> Pack | None:
    """Return unsigned ``values`` packed, or None where they would not become smaller."""
    if len(values) < _FEWEST or int(values.max()) > 16 * len(values):
        return None
    widths, counts, cost = _classes(counted(values))
    if cost / 8 >= values.nbytes:
        return None
    first = np.cumsum(1 << widths) - (1 << widths)
    bits = _bits(int((counts > 0).sum()))
    frequencies = _frequencies(counts, bits)
    symbols = np.repeat(np.arange(len(widths), dtype=np.uint16), 1 << widths)
    stream = _rans.encode(values, symbols, frequencies, bits)
    below = np.zeros((int((counts * widths).sum()) + 31) // 32, dtype=np.uint32)
    if len(below):
        _rans.put_bits(values, symbols, first, widths.astype(np.uint8), below)
    return Pack(
        count=len(values),
        runs=_runs(widths),
        frequencies=frequencies.tolist(),
        states=stream.states.tolist(),
        words=stream.words.astype("<u2", copy=False).tobytes(),
        bits=below.astype("<u4", copy=False).tobytes(),
    )


def counted(values: NDArray[Any], size: int = 0) -> NDArray[np.int64]:
    """Return how often each number occurs, for at least ``size`` of them; numpy alone would take 8 bytes a value.

    >>> counted(np.array([2, 0, 2], np.uint8), 4).tolist()
    [1, 0, 2, 0]
    """
    counts = np.zeros(max(size, int(values.max(initial=0)) + 1), dtype=np.int64)
    block = max(_BLOCK, len(counts))
    for start in range(0, len(values), block):
        counts += np.bincount(values[start : start + block], minlength=len(counts))
    return counts


def _classes(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return the widths of the classes and how many values each has, and about how many bits the whole takes."""
    depth = (len(counts) - 1).bit_length()
    levels = [np.concatenate([counts, np.zeros((1 << depth) - len(counts), dtype=np.int64)])]
    for _ in range(depth):
        levels.append(levels[-1][0::2] + levels[-1][1::2])
    price = _ABOUT_ONE_CLASS
    while True:
        splits, cost = _splits(levels, price)
        widths, held = _leaves(levels, splits)
        if len(widths) <= _MOST_CLASSES:
            return widths, held, cost
        price *= 2


def _splits(levels: list[NDArray[np.int64]], price: float) -> tuple[list[NDArray[np.bool_]], float]:
    """Tell for each block of 1, 2, 4, … numbers whether it is shorter to split it, and what the whole costs then."""
    total = float(levels[-1][0])
    splits, best = [], np.empty(0)
    for level, counts in enumerate(levels):
        alone = price + counts * (level + np.log2(total / np.maximum(counts, 1)))
        halves = best[0::2] + best[1::2] if level else np.full(len(alone), np.inf)
        splits.append(halves < alone)
        best = np.minimum(halves, alone)
    return splits, float(best[0])


def _leaves(
    levels: list[NDArray[np.int64]], splits: list[NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Go down from the whole, and return width and count of each block that is not split, in order."""
    found, open_ = [], np.zeros(1, dtype=np.int64)
    for level in range(len(levels) - 1, -1, -1):
        split = splits[level][open_]
        done = open_[~split]
        found.append(np.stack([done << level, np.full(len(done), level), levels[level][done]]))
        open_ = (open_[split][:, None] * 2 + np.arange(2)).ravel()
    starts, widths, counts = np.concatenate(found, axis=1)
    order = np.argsort(starts)
    last = int(np.flatnonzero(counts[order])[-1]) + 1
    return widths[order][:last], counts[order][:last]


def _bits(classes: int) -> int:
    """Return how fine frequencies are: eight steps for a class at least, and 2^11 in all."""
    return min(MOST_BITS, max(_LEAST_BITS, classes.bit_length() + 4))


def _frequencies(counts: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return whole numbers in proportion to ``counts`` that sum to 2^bits: at least 1 for what occurs, else 0."""
    there = counts > 0
    shares = counts * ((1 << bits) - int(there.sum()))
    frequencies = np.where(there, shares // counts.sum() + 1, 0)
    largest_rests = np.argsort(-np.where(there, shares % counts.sum(), -1), kind="stable")
    frequencies[largest_rests[: (1 << bits) - int(frequencies.sum())]] += 1
    return frequencies


def _runs(widths: NDArray[np.int64]) -> list[tuple[int, int]]:
    starts = np.flatnonzero(np.diff(widths, prepend=-1))
    return list(zip(np.diff(starts, append=len(widths)).tolist(), widths[starts].tolist(), strict=True))
