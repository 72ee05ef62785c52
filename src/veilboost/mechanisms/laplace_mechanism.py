"""What the mechanisms offer that add discrete Laplace noise, for domains too large for a table or not known."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike, NDArray

from veilboost.errors import SettingError
from veilboost.mechanisms._laplace import SAMPLER_VERSION
from veilboost.mechanisms.mechanism import Mechanism, checked_codes, parameter_digest
from veilboost.settings import fix, positive, whole

LARGEST_SIZE = 2**31
SMALLEST_EPSILON = 2.0**-40


@dataclass(frozen=True, kw_only=True)
class LaplaceMechanism(Mechanism):
    """A mechanism that adds exact discrete Laplace noise: nothing is rounded, so its formulas are its profile."""

    epsilon: float

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError("epsilon", f"must be at least {SMALLEST_EPSILON}", self.epsilon)

    @abstractmethod
    def epsilon_at(self, distance: int) -> float:
        """Return the most that two codes ``distance`` apart can lose, rounded up."""

    @property
    def digest(self) -> bytes:
        return parameter_digest(self, SAMPLER_VERSION)


@dataclass(frozen=True, kw_only=True)
class FiniteLaplaceMechanism(LaplaceMechanism):
    """The same over the codes 1 to ``size``."""

    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        fix(self, "size", whole("size", self.size, 2, LARGEST_SIZE))

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_codes(codes, self.size)
