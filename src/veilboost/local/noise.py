"""Which mechanism protects a vector of values from -1 to 1, and how large its error is, in closed form."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.local.kernels import nearest, towards
from veilboost.local.learners import Floats
from veilboost.mechanisms import DuchiVector, LaplaceVector, SampledVector, VectorMechanism
from veilboost.settings import one_of, whole

SIZE = 65_535
"""Points of the public grid from -1 to 1, unless a job says otherwise: the most that 16 bits hold, and 0 is one."""

Make = Callable[[int, float, int, int], VectorMechanism]

NOISES: dict[str, Make] = {
    "piecewise": lambda d, epsilon, size, _: SampledVector(d=d, epsilon=epsilon, size=size),
    "duchi": lambda d, epsilon, size, _: DuchiVector(d=d, epsilon=epsilon, size=size),
    "duchi-sampled": lambda d, epsilon, size, _: SampledVector(d=d, epsilon=epsilon, size=size, each="duchi"),
    "laplace": lambda d, epsilon, size, apart: LaplaceVector(d=d, epsilon=epsilon, size=size, sensitivity=apart),
    "laplace-split": lambda d, epsilon, size, _: LaplaceVector(d=d, epsilon=epsilon, size=size),
}
"""Algorithm 3, Duchi et al. for whole rows and for sampled attributes, and Laplace noise: joint, and split evenly."""


def check_noise(mechanism: object, size: object) -> None:
    """Refuse an unknown mechanism, or a grid without a middle."""
    one_of("mechanism", mechanism, tuple(NOISES))
    if whole("size", size, 3, 2**24 - 1) % 2 == 0:
        raise SettingError("size", "must be odd, so that 0 is a point of the grid", size)


@lru_cache(maxsize=256)
def noise(mechanism: str, d: int, epsilon: float, size: int, apart: int) -> VectorMechanism:
    """Return the mechanism for vectors of ``d`` values that differ by at most ``apart`` in sum, from -1 to 1.

    >>> noise("laplace", 4, 1.0, 65_535, 4).variance(1) < noise("laplace-split", 4, 1.0, 65_535, 4).variance(1) / 3.9
    True
    """
    return NOISES[mechanism](d, epsilon, size, apart * (size - 1) // 2)


def encode(values: Floats, size: int, rest: float | None) -> NDArray[Any]:
    """Return the codes of ``values``: of the nearest point of the grid, or of the next one on the way to ``rest``.

    >>> encode(np.array([[-1.0, -0.4, 0.4, 1.0]]), 5, None).tolist(), encode(np.array([[-0.9, 0.9]]), 5, 0.0).tolist()
    ([[1, 2, 4, 5]], [[2, 4]])
    """
    codes, half = np.empty(values.shape, dtype=np.min_scalar_type(size)), (size - 1) // 2
    if rest is None:
        nearest(values, half, codes)
    else:
        towards(values, half, rest, codes)
    return codes


def variance(mechanism: VectorMechanism, values: Floats) -> NDArray[np.float64]:
    """Return the variance of the estimate of each of ``values``: every mechanism's rises evenly with the square.

    >>> duchi = noise("duchi", 3, 1.0, 65_535, 6)
    >>> bool(np.isclose(variance(duchi, np.array([0.5]))[0], duchi.step**2 - 0.25))
    True
    """
    middle, end = (float(mechanism.second_moment(code)) for code in ((mechanism.size + 1) // 2, mechanism.size))
    found: NDArray[np.float64] = middle + (end - middle - 1) * np.asarray(values) ** 2
    return found
