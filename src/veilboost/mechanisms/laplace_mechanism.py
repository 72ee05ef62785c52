"""What the mechanisms offer that add discrete Laplace noise, for domains too large for a table or not known."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

from numpy.typing import ArrayLike, NDArray

from veilboost.errors import SettingError
from veilboost.mechanisms._laplace import SAMPLER_VERSION
from veilboost.mechanisms.mechanism import HONEST, INDEPENDENT, checked_codes
from veilboost.privacy import Definition, Guarantee
from veilboost.randomness import Bits, FreshBits, Tape
from veilboost.settings import fix, positive, whole

LARGEST_SIZE = 2**31
SMALLEST_EPSILON = 2.0**-40


@dataclass(frozen=True, kw_only=True)
class LaplaceMechanism(ABC):
    """A mechanism that adds exact discrete Laplace noise: nothing is rounded, so its formulas are its profile."""

    epsilon: float

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError("epsilon", f"must be at least {SMALLEST_EPSILON}", self.epsilon)

    @property
    @abstractmethod
    def definition(self) -> Definition:
        """The definition of privacy that the mechanism states, with its parameters."""

    @abstractmethod
    def epsilon_at(self, distance: int) -> float:
        """Return the most that two codes ``distance`` apart can lose, rounded up."""

    @abstractmethod
    def _noisy(self, codes: NDArray[Any], tapes: "Tapes", threads: int | None) -> NDArray[Any]:
        """Return one noisy code for each of the checked ``codes``."""

    @abstractmethod
    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        """Return ``codes`` in the type that is drawn, or refuse them."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, for whom, against whom, and on what assumptions."""
        return Guarantee(
            definition=self.definition,
            protects="the partner's value of this column",
            against="whoever receives the drawn codes, and everyone after that",
            assumptions=(HONEST, INDEPENDENT),
        )

    @property
    def digest(self) -> bytes:
        """The identity of the distribution that is sampled."""
        values = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)]
        return hashlib.sha256(f"veilboost {type(self).__name__} {SAMPLER_VERSION} {values}".encode()).digest()

    def draw(self, codes: ArrayLike, *, bits: Bits | None = None, threads: int | None = None) -> NDArray[Any]:
        """Return one noisy code for each of ``codes``, drawn with ``bits`` (fresh ones unless given)."""
        checked = self._checked(codes)
        return self._noisy(checked, Tapes(bits or FreshBits(), checked, self.digest), threads)


@dataclass(frozen=True)
class Tapes:
    """The tapes of one draw, one for each of its steps."""

    bits: Bits
    codes: NDArray[Any]
    digest: bytes

    def step(self, name: str) -> Tape:
        """Return the tape of the step ``name``."""
        return self.bits.tape(self.codes, self.digest + name.encode())


@dataclass(frozen=True, kw_only=True)
class FiniteLaplaceMechanism(LaplaceMechanism):
    """The same over the codes 1 to ``size``."""

    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        fix(self, "size", whole("size", self.size, 2, LARGEST_SIZE))

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_codes(codes, self.size)
