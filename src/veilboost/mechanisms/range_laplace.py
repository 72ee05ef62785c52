"""Laplace noise for one value from -1 to 1: exact discrete Laplace over the codes, the budget spread over the range."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from numpy.typing import ArrayLike, NDArray

from veilboost.errors import SettingError
from veilboost.mechanisms import _laplace
from veilboost.mechanisms.discrete_laplace import clamped
from veilboost.mechanisms.laplace_mechanism import SMALLEST_EPSILON
from veilboost.mechanisms.mechanism import Tapes, checked_codes
from veilboost.mechanisms.table import DIGITS
from veilboost.mechanisms.value_mechanism import ValueMechanism
from veilboost.privacy import DistanceLDP
from veilboost.privacy.rounding import down, precise

LARGEST_CODE = 2**60
"""Noise that carries a code farther than this leaves it here; no one will see it."""


@dataclass(frozen=True, kw_only=True)
class RangeLaplace(ValueMechanism):
    """Add noise of z codes with probability proportional to exp(-|z| ``rate``), without bounds.

    **Guarantee**: codes t apart lose at most t ``rate``, and ``rate`` is ε / (``size`` - 1) rounded down: any two
    codes of the whole range lose at most ε = ``epsilon``. This is stated as ``rate``-dLDP, which says more than ε-LDP.
    The estimate is unbiased. Proof in range_laplace.proof.md.

    >>> mechanism = RangeLaplace(epsilon=1.0, size=201)
    >>> mechanism.definition.loss(200) <= 1.0, round(mechanism.variance(1), 3)
    (True, 8.0)
    """

    sampler_version: ClassVar[int] = _laplace.SAMPLER_VERSION

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.rate, self.epsilon)

    @cached_property
    def rate(self) -> float:
        """What two neighbouring codes lose."""
        return down(Fraction(self.epsilon) / (self.size - 1))

    @property
    def definition(self) -> DistanceLDP:
        return DistanceLDP(self.rate)

    @property
    def unit(self) -> Fraction:
        return Fraction(1, self.size - 1)

    def second_moment(self, code: int) -> Fraction:
        """Return the expected square of the estimate; the noise's part is irrational, so it has 80 digits."""
        return self.point(code) ** 2 + noise_variance(self.rate, self.size)

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_codes(codes, self.size)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        noisy = clamped(self.rate, codes, -LARGEST_CODE, LARGEST_CODE, tapes.step("value"), threads)
        return self._centred(noisy)


def check_rate(rate: float, epsilon: float) -> None:
    """Refuse an ``epsilon`` that leaves each code less than the sampler of the noise can draw."""
    if rate < SMALLEST_EPSILON:
        raise SettingError("epsilon", f"must leave each step of a code at least {SMALLEST_EPSILON}", epsilon)


def noise_variance(rate: float, size: int) -> Fraction:
    """Return the variance of discrete Laplace noise over ``size`` points from -1 to 1."""
    with precise(DIGITS):
        decay = (-Decimal(rate)).exp()
        return Fraction(2 * decay / (1 - decay) ** 2) * Fraction(2, size - 1) ** 2
