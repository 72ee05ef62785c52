"""Read whole random words of 63 bits from a tape, in parts over several threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.mechanisms._parts import in_parts
from veilboost.randomness import Halves, Tape

_PART_WORDS = 1 << 18
_BATCH_WORDS = 1 << 15
_HALVES_PER_WORD = 2

Words = NDArray[np.int64]


def fill(
    out: NDArray[Any], decide: Callable[[slice, Words], NDArray[Any]], tape: Tape, per_value: int, threads: int | None
) -> None:
    """Set ``out`` to what ``decide`` makes of every few values: their slice, and ``per_value`` words for each.

    A word is the first of two halves, then the second without its last bit: 63 bits, never negative as an integer.
    """
    part_size, batch = (max(1, words // per_value) for words in (_PART_WORDS, _BATCH_WORDS))

    def part(start: int) -> None:
        stop = min(start + part_size, len(out))
        for first, halves in tape.batches(start, stop, batch, _HALVES_PER_WORD * per_value):
            here = slice(first, first + len(halves))
            words = np.empty((len(halves), per_value), dtype=np.int64)
            _join(halves, words)
            out[here] = decide(here, words)

    in_parts(part, range(0, len(out), part_size), threads)


@compiled
def _join(halves: Halves, words: Words) -> None:
    """Set each word to its two halves."""
    for i in range(words.shape[0]):
        for j in range(words.shape[1]):
            words[i, j] = np.int64(halves[i, 2 * j]) << 31 | np.int64(halves[i, 2 * j + 1]) >> 1
