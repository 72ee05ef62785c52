"""Clamped discrete Laplace: TightMap with equal gaps, without a table, for up to 2^31 codes."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from veilboost.mechanisms.discrete_laplace import clamped
from veilboost.mechanisms.laplace_mechanism import FiniteLaplaceMechanism
from veilboost.mechanisms.mechanism import Tapes
from veilboost.privacy import DistanceLDP
from veilboost.privacy.rounding import up
from veilboost.settings import whole


@dataclass(frozen=True, kw_only=True)
class ClampedLaplace(FiniteLaplaceMechanism):
    """Add noise z with probability proportional to exp(-|z| ε), then put what leaves the domain on its end.

    **Guarantee**: ε-dLDP with ε = ``epsilon`` over the codes 1 to ``size``. Clamping is post-processing, so the
    whole ε is spent between any two neighbours. The distribution is TightMap's. Proof in clamped_laplace.proof.md.

    >>> noisy = ClampedLaplace(epsilon=1e-3, size=2**31).draw([1, 2**31])
    >>> noisy.dtype
    dtype('uint32')
    """

    @property
    def definition(self) -> DistanceLDP:
        return DistanceLDP(self.epsilon)

    def epsilon_at(self, distance: int) -> float:
        """Return the exact loss of any two codes ``distance`` apart."""
        return up(Fraction(self.epsilon) * whole("distance", distance, 1, self.size - 1))

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        return clamped(self.epsilon, codes, 1, self.size, tapes.step("value"), threads).astype(codes.dtype)
