"""A second route through packed columns: written from the description of the format, one value at a time, in Python."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpacked(values: Any) -> NDArray[Any]:
    """Return a column as it stands in a decoded message: bytes of numbers, or a list of what a pack is made of."""
    if isinstance(values["data"], bytes):
        return np.frombuffer(values["data"], values["dtype"])
    count, runs, frequencies, states, words, bits = values["data"]
    widths = [width for times, width in runs for _ in range(times)]
    fineness = sum(frequencies).bit_length() - 1
    slots = [symbol for symbol, times in enumerate(frequencies) for _ in range(times)]
    rest, tail, out = [int(word) for word in np.frombuffer(words, "<u2")][::-1], int.from_bytes(bits, "little"), []
    for place in range(count):
        state = states[place % 4]
        slot = state % 2**fineness
        symbol = slots[slot]
        state = frequencies[symbol] * (state >> fineness) + slot - slots.index(symbol)
        states[place % 4] = state if state >= 2**15 else state << 16 | rest.pop()
        above = tail % 2 ** widths[symbol]
        tail >>= widths[symbol]
        out.append(sum(2**width for width in widths[:symbol]) + above)
    assert (states, rest, tail) == ([2**15] * 4, [], 0)
    return np.array(out, values["dtype"])
