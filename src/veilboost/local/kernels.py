"""The loops that run over every number of every owner, compiled: scale, encode, count, add up."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled

Floats = NDArray[Any]
Whole = NDArray[Any]


@compiled
def scale(rows: Floats, middle: Floats, slope: Floats, out: Floats) -> bool:
    """Set ``out`` to ``rows`` in units of their bounds, cut at -1 and 1, and return whether all were finite."""
    finite = True
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = (rows[i, j] - middle[j]) * slope[j]
            finite &= value - value == 0.0
            out[i, j] = min(1.0, max(-1.0, value))
    return finite


@compiled
def nearest(values: Floats, half: int, out: Whole) -> None:
    """Set ``out`` to the codes of the points of the grid that lie nearest."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = np.int64(np.rint(min(1.0, max(-1.0, values[i, j])) * half)) + half + 1


@compiled
def towards(values: Floats, half: int, rest: float, out: Whole) -> None:
    """Set ``out`` to the codes of the next points on the way to ``rest``, itself a point."""
    start = np.int64(np.rint(rest * half)) + half + 1
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = np.int64((min(1.0, max(-1.0, values[i, j])) - rest) * half) + start  # cut, not rounded


@compiled
def count(values: Floats, thresholds: Floats, weights: Floats, starts: Whole, out: Floats) -> None:
    """Add each row's weights to its owner's numbers: for each kind of weight the columns below their threshold first,
    then the others.
    """
    d = values.shape[1]
    for owner in range(len(starts) - 1):
        for i in range(starts[owner], starts[owner + 1]):
            for kind in range(weights.shape[0]):
                weight, first = weights[kind, i], 2 * d * kind
                for j in range(d):
                    out[owner, first + j] += weight if values[i, j] < thresholds[j] else 0.0
                for j in range(d):
                    out[owner, first + d + j] += 0.0 if values[i, j] < thresholds[j] else weight


@compiled
def add_up(drawn: Whole, groups: Whole, weights: Floats, out: Floats) -> None:
    """Add each row of ``drawn``, times its weight, to the row of ``out`` that is its group's."""
    for i in range(drawn.shape[0]):
        for j in range(drawn.shape[1]):
            out[groups[i], j] += weights[i] * drawn[i, j]
