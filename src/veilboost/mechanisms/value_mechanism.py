"""What the mechanisms offer that read codes as points from -1 to 1 and give whole multiples of a public step."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.errors import DataError, SettingError
from veilboost.mechanisms._words import Words, fill
from veilboost.mechanisms.mechanism import Mechanism, Tapes, checked_codes, parameter_digest
from veilboost.privacy import LDP, DistanceLDP, Neighbours
from veilboost.settings import fix, positive, whole

LARGEST_SIZE = 2**31
LARGEST_D = 2048
SMALLEST_EPSILON = 2.0**-20

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ValueMechanism(Mechanism):
    """A mechanism over ``size`` evenly spaced points from -1 to 1, whose estimates are unbiased.

    Code x is the point (2x - size - 1) / (size - 1), as in ``Domain.numbers(-1, 1, size=size)``. What is drawn are
    integers: multiples of ``step``, so that no low bits of a float betray anything.
    """

    sampler_version: ClassVar[int] = 1
    epsilon: float
    size: int

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "size", whole("size", self.size, 2, LARGEST_SIZE))
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError("epsilon", f"must be at least {SMALLEST_EPSILON}", self.epsilon)

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """The step exactly: what one unit of the output stands for."""

    @abstractmethod
    def second_moment(self, code: int) -> Fraction:
        """Return the expected square of the estimate of the point of ``code``."""

    @property
    def digest(self) -> bytes:
        return parameter_digest(self, self.sampler_version)

    @cached_property
    def step(self) -> float:
        """The public grid on which estimates lie."""
        return float(self.unit)

    def values(self, drawn: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimates that ``drawn`` stands for."""
        estimates: NDArray[np.float64] = np.asarray(drawn) * self.step
        return estimates

    def point(self, code: int) -> Fraction:
        """Return the point that ``code`` stands for."""
        return Fraction(2 * whole("code", code, 1, self.size) - self.size - 1, self.size - 1)

    def variance(self, code: int) -> float:
        """Return the variance of the estimate of the point of ``code``, from the integers that are sampled."""
        return float(self.second_moment(code) - self.point(code) ** 2)

    def _centred(self, codes: NDArray[Any]) -> Integers:
        """Return 2x - size - 1 for each code x: from -(size - 1) to size - 1, and 0 in the middle."""
        return 2 * codes.astype(np.int64) - (self.size + 1)


@dataclass(frozen=True, kw_only=True)
class OneValueMechanism(ValueMechanism):
    """A mechanism that decides one value by one word of 63 bits."""

    @property
    def definition(self) -> LDP:
        return LDP(self.epsilon)

    @abstractmethod
    def decide(self, codes: NDArray[Any], words: Words) -> Integers:
        """Return the output for each of ``codes``, settled by its word alone."""

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_codes(codes, self.size)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        out = np.empty(len(codes), dtype=np.int64)
        fill(out, lambda here, words: self.decide(codes[here], words[:, 0]), tapes.step(""), 1, threads)
        return out


@dataclass(frozen=True, kw_only=True)
class VectorMechanism(ValueMechanism):
    """A mechanism over rows of ``d`` codes, which protects the whole row."""

    protects: ClassVar[str] = "the partner's whole row of values"
    d: int

    def __post_init__(self) -> None:
        super().__post_init__()
        fix(self, "d", whole("d", self.d, 1, LARGEST_D))

    @property
    def definition(self) -> LDP | DistanceLDP:
        return LDP(self.epsilon, neighbours=Neighbours.ONE_ROW)

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_rows(codes, self.size, self.d)


def checked_rows(codes: ArrayLike, size: int, d: int) -> NDArray[Any]:
    """Return ``codes`` as rows of ``d`` codes in the smallest unsigned type that holds ``size``, or refuse them.

    >>> checked_rows([[1, 2], [3, 4]], 4, 2).dtype
    dtype('uint8')
    """
    rule = f"must be rows of {d} whole numbers"
    try:
        shape: tuple[int, ...] = np.shape(codes)
    except ValueError as error:
        raise DataError("codes", rule, "rows of different lengths") from error
    if shape not in ((0,), (*shape[:1], d)):
        raise DataError("codes", rule, f"an array of shape {shape}")
    rows: Any = codes
    flat = list(chain.from_iterable(rows)) if isinstance(codes, Sequence) else np.asanyarray(codes).reshape(-1)
    return checked_codes(flat, size, rule).reshape(-1, d)
