"""Laplace noise for a whole row: exact discrete Laplace on every code, its rate set by the row's sensitivity."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

from numpy.typing import NDArray

from veilboost.mechanisms import _laplace
from veilboost.mechanisms.discrete_laplace import clamped
from veilboost.mechanisms.mechanism import Tapes
from veilboost.mechanisms.range_laplace import LARGEST_CODE, check_rate, noise_variance
from veilboost.mechanisms.value_mechanism import VectorMechanism
from veilboost.privacy import DistanceLDP, Neighbours
from veilboost.privacy.rounding import down
from veilboost.randomness import Halves, Tape
from veilboost.settings import fix, whole


@dataclass(frozen=True, kw_only=True)
class LaplaceVector(VectorMechanism):
    """Add to each of ``d`` codes noise of z codes with probability proportional to exp(-|z| ``rate``).

    **Guarantee**: two rows whose codes differ by t in sum lose at most t ``rate``, and ``rate`` is ε / ``sensitivity``
    rounded down: rows at most ``sensitivity`` apart lose at most ε = ``epsilon``. ``definition`` states what holds
    for all rows: ``d`` ``rate`` for every code that each attribute may move. ``sensitivity`` is public. Without one it
    is d (size - 1), the most that two rows can differ: then any two rows lose at most ε, and noise for the joint row
    is the same as ε/d for each attribute apart. Every estimate is unbiased. Proof in laplace_vector.proof.md.

    >>> mechanism = LaplaceVector(epsilon=1.0, size=201, d=3)
    >>> mechanism.sensitivity, mechanism.definition.loss(200) <= 1.0, round(mechanism.variance(1))
    (600, True, 72)
    """

    sampler_version: ClassVar[int] = _laplace.SAMPLER_VERSION
    sensitivity: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.d * (self.size - 1)
        given = most if self.sensitivity is None else self.sensitivity
        fix(self, "sensitivity", whole("sensitivity", given, 1, most))
        check_rate(self.rate, self.epsilon)

    @cached_property
    def definition(self) -> DistanceLDP:
        """What holds for any two rows, in the most that any attribute moves; never above ε where all of it counts."""
        moved = whole("sensitivity", self.sensitivity, 1, self.d * (self.size - 1))
        return DistanceLDP(down(Fraction(self.epsilon) * self.d / moved), neighbours=Neighbours.ONE_ROW)

    @cached_property
    def rate(self) -> float:
        """What two rows lose that differ by one code of one attribute."""
        return down(Fraction(self.definition.epsilon) / self.d)

    @property
    def unit(self) -> Fraction:
        return Fraction(1, self.size - 1)

    def second_moment(self, code: int) -> Fraction:
        """Return the expected square of the estimate; the noise's part is irrational, so it has 80 digits."""
        return self.point(code) ** 2 + noise_variance(self.rate, self.size)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        tape = ByValue(tapes.step("value"), self.d)
        noisy = clamped(self.rate, codes.reshape(-1), -LARGEST_CODE, LARGEST_CODE, tape, threads)
        return self._centred(noisy).reshape(codes.shape)


class ByValue(Tape):
    """A tape of rows, read as one of their values: each takes its part of its row's strip."""

    def __init__(self, rows: Tape, d: int) -> None:
        self._rows, self._d = rows, d

    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Halves]]:
        d = self._d
        for row, halves in self._rows.batches(start // d, -(-stop // d), max(1, step // d), d * per_value):
            values = halves[:, : d * per_value].reshape(-1, per_value)
            low, high = max(start - row * d, 0), min(stop - row * d, len(values))
            yield row * d + low, values[low:high]

    def more(self, position: int) -> Iterator[int]:
        row, place = divmod(position, self._d)
        return islice(self._rows.more(row), place, None, self._d)
