"""Discrete Laplace: noise without bounds, for domains that are not known in advance (OpBoost, Theorem 4.9)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.mechanisms import _laplace
from veilboost.mechanisms.laplace_mechanism import LaplaceMechanism
from veilboost.mechanisms.mechanism import Tapes, whole_numbers
from veilboost.privacy import DistanceLDP
from veilboost.privacy.rounding import up
from veilboost.randomness import Tape
from veilboost.settings import whole

LARGEST_VALUE = 2**31 - 1
LARGEST_OUTPUT = 2**62


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(LaplaceMechanism):
    """Add noise z with probability proportional to exp(-|z| ε) to any whole number.

    **Guarantee**: ε-dLDP with ε = ``epsilon``: for all whole numbers x, y, P(o|x) <= exp(ε |x-y|) P(o|y). No
    bounds are needed, so none can leak. Values lie within ±(2^31 - 1), and what leaves within ±2^62. Proof in
    discrete_laplace.proof.md.

    >>> DiscreteLaplace(epsilon=1.0).draw([-5, 0, 70_000]).dtype
    dtype('int64')
    """

    @property
    def definition(self) -> DistanceLDP:
        return DistanceLDP(self.epsilon)

    def epsilon_at(self, distance: int) -> float:
        """Return the exact loss of any two values ``distance`` apart."""
        return up(Fraction(self.epsilon) * whole("distance", distance, 1, 2 * LARGEST_VALUE))

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return whole_numbers(codes, -LARGEST_VALUE, LARGEST_VALUE).astype(np.int32)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        return clamped(self.epsilon, codes, -LARGEST_OUTPUT, LARGEST_OUTPUT, tapes.step("value"), threads)


def clamped(
    epsilon: float, codes: NDArray[Any], low: int, high: int, tape: Tape, threads: int | None
) -> NDArray[np.int64]:
    """Return ``codes`` with noise of rate ε; what lies beyond ``low`` or ``high`` is put there."""
    centre = codes.astype(np.int64)
    return centre + _laplace.draw(_laplace.endless(epsilon), low - centre, high - centre, tape, threads)
