"""Bounded discrete Laplace noise as the papers draw it: unbounded noise, again and again until it fits.

For comparing times alone. How long a value takes betrays where it lies, and floats decide; what releases use instead is
`BoundedLaplace` and its kin, which draw the same number of candidates for every value.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, TableMechanism

Whole = NDArray[np.int64]


def redrawn(mechanism: TableMechanism, codes: NDArray[Any], seed: int) -> Whole:
    """Return noisy codes with the distribution of Global-map, Local-map or Adj-map, by plain redrawing.

    >>> bool((redrawn(LocalMap(epsilon=0.1, size=10, theta=5), np.array([1, 7, 9]), 1) <= [5, 10, 10]).all())
    True
    """
    held = codes.astype(np.int64)
    if isinstance(mechanism, GlobalMap):
        return _until_it_fits(held, np.ones_like(held), np.full_like(held, mechanism.size), mechanism.epsilon / 2, seed)
    if isinstance(mechanism, LocalMap):
        first, last = _bounds((held - 1) // mechanism.theta, mechanism.theta, mechanism.size)
        return _until_it_fits(held, first, last, mechanism.epsilon / 2, seed)
    if not isinstance(mechanism, AdjMap):
        raise TypeError(f"{type(mechanism).__name__} is not drawn by redrawing")
    theta, size = mechanism.theta, mechanism.size
    own = (held - 1) // theta
    lowest, highest = np.zeros_like(held), np.full_like(held, -(-size // theta) - 1)
    moved = _until_it_fits(own, lowest, highest, mechanism.epsilon_partition / 2, seed)
    first, last = _bounds(moved, theta, size)
    return _until_it_fits(np.clip(held, first, last), first, last, mechanism.epsilon_near / 2, seed + 1)


def _bounds(partition: Whole, theta: int, size: int) -> tuple[Whole, Whole]:
    """Return the first and last code of each ``partition``, counted from 0."""
    return partition * theta + 1, np.minimum(partition * theta + theta, size)


@compiled
def _until_it_fits(codes: Whole, first: Whole, last: Whole, rate: float, seed: int) -> Whole:
    """Return each code plus noise z, P(z) proportional to exp(-rate |z|), drawn until it lies from first to last."""
    np.random.seed(seed)
    out = np.empty_like(codes)
    for i in range(len(codes)):
        while True:
            up = math.floor(math.log(1.0 - np.random.random()) / -rate)
            down = math.floor(math.log(1.0 - np.random.random()) / -rate)
            out[i] = codes[i] + int(up - down)
            if first[i] <= out[i] <= last[i]:
                break
    return out
