"""Range coding with asymmetric numeral systems (Duda 2013): numbers in, about as many bits out as their entropy.

Four states of 31 bits take turns, so that a processor can work on four values at once; bits leave a state in words of
16. A symbol fills as many of 2^bits slots as its frequency; the low bits of a state say which slot is next.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled

LANES = 4
LOW = 1 << 15
"""A state is at least this and less than 2^16 times as much, before and after every value."""
MOST_BITS = 15

_STATE_BITS = 31
_EMPTY = np.uint32(LOW)


@dataclass(frozen=True, eq=False)
class Stream:
    """Values in coded form."""

    states: NDArray[np.uint32]
    words: NDArray[np.uint16]


def encode(values: NDArray[Any], symbols: NDArray[np.uint16], frequencies: NDArray[np.int64], bits: int) -> Stream:
    """Code for each value its symbol, ``symbols[value]``; its frequency must not be 0, and all sum to 2^bits."""
    first = np.cumsum(frequencies) - frequencies
    steps = np.array([(max(each, 1) - 1).bit_length() for each in frequencies.tolist()], dtype=np.int64)
    shifts = (_STATE_BITS + steps).astype(np.uint64)
    # dividing a state of 31 bits by f is multiplying by this number, rounded up, and shifting; exact for every state
    inverse = -(-(np.uint64(1) << shifts).astype(object) // np.maximum(frequencies, 1).astype(object))
    states = np.full(LANES, _EMPTY, dtype=np.uint32)
    words = np.empty(len(values) + 1, dtype=np.uint16)
    table = frequencies.astype(np.uint32), first.astype(np.uint32), inverse.astype(np.uint64), shifts
    start = _encode(values, symbols, *table, bits, words, states)
    return Stream(states, words[start:].copy())


def decode(stream: Stream, frequencies: NDArray[np.int64], values: NDArray[Any], bits: int, out: NDArray[Any]) -> bool:
    """Fill ``out`` with the ``values`` of the coded symbols; tells whether the stream was one of exactly that many."""
    states, symbols = stream.states.copy(), np.repeat(np.arange(len(frequencies)), frequencies)
    place = np.arange(1 << bits) - (np.cumsum(frequencies) - frequencies)[symbols]
    table = values[symbols].astype(np.uint64) << np.uint64(32)
    table |= (place.astype(np.uint64) << np.uint64(16)) | (frequencies[symbols] - 1).astype(np.uint64)
    used = _decode(stream.words, states, table, bits, out)
    return bool(used == len(stream.words) and (states == _EMPTY).all())


@compiled
def _encode(
    values: NDArray[Any],
    symbols: NDArray[np.uint16],
    frequencies: NDArray[np.uint32],
    first: NDArray[np.uint32],
    inverse: NDArray[np.uint64],
    shifts: NDArray[np.uint64],
    bits: int,
    words: NDArray[np.uint16],
    states: NDArray[np.uint32],
) -> np.int64:
    """Fill ``words`` from their end, last value first, and return where they begin; a word too many may be touched."""
    free, place = np.uint32(31 - bits), np.int64(len(words))
    for i in range(len(values) - 1, -1, -1):
        symbol, state = symbols[values[i]], states[i & 3]
        frequency = frequencies[symbol]
        words[place - 1] = state & np.uint32(0xFFFF)  # stays only if the state is too large
        full = state >= frequency << free
        state = state >> np.uint32(16) if full else state
        place -= np.int64(full)
        quotient = np.uint32((np.uint64(state) * inverse[symbol]) >> shifts[symbol])
        states[i & 3] = (quotient << np.uint32(bits)) + (state - quotient * frequency) + first[symbol]
    return place


@compiled
def _decode(
    words: NDArray[np.uint16], states: NDArray[np.uint32], table: NDArray[np.uint64], bits: int, out: NDArray[Any]
) -> int:
    """Return how many words were used, or -1 if there were too few."""
    mask, used, count = np.uint32((1 << bits) - 1), 0, len(words)
    for i in range(len(out)):
        state = states[i & 3]
        entry = table[state & mask]
        frequency = np.uint32(entry & np.uint64(0xFFFF)) + np.uint32(1)
        state = frequency * (state >> np.uint32(bits)) + np.uint32((entry >> np.uint64(16)) & np.uint64(0xFFFF))
        if state < np.uint32(1 << 15):
            if used >= count:
                return -1
            state = (state << np.uint32(16)) | np.uint32(words[used])
            used += 1
        states[i & 3] = state
        out[i] = entry >> np.uint64(32)
    return used


@compiled
def put_bits(
    values: NDArray[Any],
    symbols: NDArray[np.uint16],
    first: NDArray[np.int64],
    widths: NDArray[np.uint8],
    out: NDArray[np.uint32],
) -> int:
    """Write, for each value, how far it lies above the ``first`` of its symbol, in the symbol's number of bits."""
    held, count, place = np.uint64(0), np.uint64(0), 0
    for i in range(len(values)):
        symbol = symbols[values[i]]
        held |= np.uint64(values[i] - first[symbol]) << count
        count += np.uint64(widths[symbol])
        if count >= np.uint64(32):
            out[place] = held & np.uint64(0xFFFFFFFF)
            held >>= np.uint64(32)
            count -= np.uint64(32)
            place += 1
    if count:
        out[place] = held
    return place


@compiled
def add_bits(
    bits: NDArray[np.uint32],
    first: NDArray[np.int64],
    widths: NDArray[np.uint8],
    symbols: NDArray[Any],
    out: NDArray[Any],
) -> bool:
    """Fill ``out`` with the values; tells whether there were exactly enough bits."""
    held, count, place = np.uint64(0), np.uint64(0), 0
    for i in range(len(symbols)):
        symbol = symbols[i]
        width = np.uint64(widths[symbol])
        if count < width:
            if place >= len(bits):
                return False
            held |= np.uint64(bits[place]) << count
            count += np.uint64(32)
            place += 1
        out[i] = first[symbol] + np.int64(held & ((np.uint64(1) << width) - np.uint64(1)))
        held >>= width
        count -= width
    return place == len(bits) and held == 0
