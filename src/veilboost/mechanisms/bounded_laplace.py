"""Bounded discrete Laplace: Global-map without a table, for up to 2^31 codes (OpBoost, Theorem 4.11)."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import _laplace
from veilboost.mechanisms.laplace_mechanism import FiniteLaplaceMechanism
from veilboost.mechanisms.mechanism import Tapes
from veilboost.privacy import DistanceLDP
from veilboost.privacy.rounding import precise, up
from veilboost.randomness import Tape
from veilboost.settings import whole


@dataclass(frozen=True, kw_only=True)
class BoundedLaplace(FiniteLaplaceMechanism):
    """Add noise z with probability proportional to exp(-|z| ε/2), among those that stay in the domain.

    **Guarantee**: ε-dLDP with ε = ``epsilon`` over the codes 1 to ``size``: the distribution is Global-map's.
    Redraws cannot be counted from outside: every value draws the same number of candidates. Proof in
    bounded_laplace.proof.md.

    >>> mechanism = BoundedLaplace(epsilon=0.1, size=100)
    >>> round(mechanism.epsilon_at(1), 4)
    0.0953
    """

    @property
    def definition(self) -> DistanceLDP:
        return DistanceLDP(self.epsilon)

    def epsilon_at(self, distance: int) -> float:
        """Return the exact loss of the worst pair ``distance`` apart, which begins at an end of the domain."""
        t = whole("distance", distance, 1, self.size - 1)
        with precise(80):
            rate = Decimal(self.epsilon) / 2

            def power(count: int) -> Decimal:
                return (-rate * count).exp()

            def total(code: int) -> Decimal:
                return 1 + power(1) - power(code) - power(self.size + 1 - code)

            loss = rate * t + abs((total(1 + t) / total(1)).ln())
            return up(Fraction(loss * (1 + Decimal("1e-30"))))

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        first, last = np.ones(len(codes), np.int64), np.full(len(codes), self.size, np.int64)
        return bounded(self.epsilon, codes, first, last, (self.size, self.size), tapes.step(""), threads)


def bounded(
    epsilon: float,
    codes: NDArray[Any],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    lengths: tuple[int, int],
    tape: Tape,
    threads: int | None,
) -> NDArray[Any]:
    """Return bounded noise of rate ε/2 around each code, from its ``first`` to its ``last``.

    ``lengths`` are those of the longest and the shortest range.
    """
    centre = codes.astype(np.int64)
    noise = _laplace.within(epsilon / 2, *lengths)
    return (centre + _laplace.draw(noise, first - centre, last - centre, tape, threads)).astype(codes.dtype)
