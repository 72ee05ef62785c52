"""What an audit keeps of a mechanism's outputs for one input: which came, and how often."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct outputs in rising order and how often each came."""

    outputs: NDArray[np.int64]
    times: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many outputs were drawn."""
        return int(self.times.sum())


@dataclass(frozen=True, eq=False)
class Sample:
    """The outputs for one input, in the three parts of an attack, and all together."""

    rank: Counts
    """A quarter, to order the outputs by what they tell."""
    choose: Counts
    """A quarter, to choose a set of them."""
    measure: Counts
    """The other half, to measure that set."""
    every: Counts


def split(drawn: NDArray[Any]) -> Sample:
    """Cut ``drawn`` in parts, in the order of drawing, and count.

    >>> sample = split(np.array([1, 2, 2, 9]))
    >>> sample.rank.outputs.tolist(), sample.measure.times.tolist(), sample.every.times.tolist()
    ([1], [1, 1], [1, 2, 1])
    """
    parts = np.split(drawn, [len(drawn) // 4, len(drawn) // 2])
    return Sample(*(_count(part) for part in (*parts, drawn)))


def _count(drawn: NDArray[Any]) -> Counts:
    outputs, times = np.unique(drawn, return_counts=True)
    return Counts(outputs.astype(np.int64), times.astype(np.int64))
