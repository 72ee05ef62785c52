"""What every mechanism offers, and what those add that draw from a table."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError
from veilboost.mechanisms import table as tables
from veilboost.mechanisms._alias import draw
from veilboost.privacy import Definition, Guarantee, Profile, probabilities
from veilboost.randomness import Bits, FreshBits, Tape
from veilboost.settings import fix, whole

HONEST = "the partner computes and sends what the protocol says"
INDEPENDENT = "the bits are uniform and independent: AES-256 is a pseudorandom function"
COLUMN = "must be a one-dimensional list of whole numbers"


@dataclass(frozen=True)
class Tapes:
    """The tapes of one draw, one for each of its steps."""

    bits: Bits
    codes: NDArray[Any]
    digest: bytes

    def step(self, name: str) -> Tape:
        """Return the tape of the step ``name``."""
        return self.bits.tape(self.codes, self.digest + name.encode())


@dataclass(frozen=True)
class Mechanism(ABC):
    """A randomised map from a code, or a row of codes, to whole numbers that may leave."""

    keeps_order: ClassVar[bool] = True
    """Whether it reads its codes as ordered; one that does cannot serve unordered categories."""
    protects: ClassVar[str] = "the partner's value of this column"
    """What its guarantee is about."""

    @property
    @abstractmethod
    def definition(self) -> Definition:
        """The definition of privacy that the mechanism states, with its parameters."""

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """The identity of the distribution that is sampled."""

    @abstractmethod
    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        """Return ``codes`` in the type that is drawn, or refuse them."""

    @abstractmethod
    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        """Return the output for each of the checked ``codes``."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, for whom, against whom, and on what assumptions."""
        return Guarantee(
            definition=self.definition,
            protects=self.protects,
            against="whoever receives the drawn codes, and everyone after that",
            assumptions=(HONEST, INDEPENDENT),
        )

    def draw(self, codes: ArrayLike, *, bits: Bits | None = None, threads: int | None = None) -> NDArray[Any]:
        """Return the output for each of ``codes``, most often a noisy code, drawn with ``bits`` (else fresh ones)."""
        source = FreshBits() if bits is None else bits
        if not isinstance(source, Bits):
            raise SettingError("bits", "must be a source of random bits, as FreshBits()", bits)
        checked = self._checked(codes)
        return self._noisy(checked, Tapes(source, checked, self.digest), threads)

    def fit(self, domain: Domain) -> None:
        """Refuse a ``domain`` that the mechanism does not serve: another size, or codes without an order."""
        size = getattr(self, "size", None)
        if size is not None and size != domain.size:
            raise SettingError("size", f"must be that of the domain, {domain.size}", size)
        if self.keeps_order and not domain.order:
            raise SettingError("domain", "must be ordered, or be desensitised by RandomizedResponse", domain.describe())


@dataclass(frozen=True, kw_only=True)
class TableMechanism(Mechanism):
    """A mechanism that draws from exact integer weights, one row for each input code.

    Subclasses say what the ideal probabilities are, which losses between neighbouring codes they promise, and
    what definition of privacy follows. The rest is the same for all: the weights are built and checked when the
    mechanism is made, and `draw` reads nothing else.
    """

    size: int
    table: tables.Table = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fix(self, "table", tables.build(self._ideal(), self.promised_gaps()))

    @abstractmethod
    def _ideal(self) -> tables.Ideal:
        """Return the probabilities that the mechanism's formula asks for, in fixed point."""

    @abstractmethod
    def promised_gaps(self) -> Sequence[float]:
        """Return the promised loss between each code and the next."""

    @property
    def nominal_epsilon(self) -> float:
        """The ε that was asked for; where each gap has its own, the largest."""
        return max(self.promised_gaps())

    def order_preserving_bound(self) -> NDArray[np.float64] | None:
        """Return the published lower bound on keeping the order of codes t = 1, 2, … apart, if there is one."""
        return None

    @property
    def digest(self) -> bytes:
        return self.table.digest

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_codes(codes, self.size)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        return draw(self.table.alias, codes, tapes.step(""), threads)

    def profile(self) -> Profile:
        """Return the exact privacy loss, computed from the integers that are sampled and rounded up."""
        return self.table.profile

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of each output (columns) for each input (rows): row x-1 is input x."""
        return probabilities(self.table.weights)


def parameter_digest(mechanism: Mechanism, version: int) -> bytes:
    """Return the identity of a distribution that follows from the mechanism's parameters alone."""
    values = [f"{field.name}={getattr(mechanism, field.name)!r}" for field in fields(mechanism) if field.init]
    return hashlib.sha256(f"veilboost {type(mechanism).__name__} {version} {values}".encode()).digest()


def whole_numbers(codes: ArrayLike, low: int, high: int, rule: str = COLUMN) -> NDArray[Any]:
    """Return ``codes`` as an array of integers from ``low`` to ``high``, or refuse them by ``rule``.

    >>> whole_numbers([3, 4], 1, 4)
    array([3, 4])
    """
    try:
        array = np.asarray(codes)
    except ValueError as error:
        raise DataError("codes", rule, "lists of different lengths") from error
    if isinstance(codes, Sequence) and array.ndim == 1:
        if any(isinstance(code, bool | np.bool_) for code in codes):
            raise DataError("codes", rule, "truth values")
        array = array if array.size else array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.ma.isMaskedArray(codes):
        found = f"{array.ndim} dimensions" if array.ndim != 1 else f"values of type {array.dtype}"
        raise DataError("codes", rule, found)
    if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
        raise DataError("codes", f"must lie from {low} to {high}", f"{array.min()} to {array.max()}")
    return array


def checked_codes(codes: ArrayLike, size: int, rule: str = COLUMN) -> NDArray[Any]:
    """Return ``codes`` as the smallest unsigned type that holds ``size``, or refuse them by ``rule``."""
    return whole_numbers(codes, 1, size, rule).astype(np.min_scalar_type(size), copy=False)


def table_size(size: object, instead: str) -> int:
    """Return ``size`` if a table of it fits, or say which mechanism fits instead."""
    largest = 2**31
    number = whole("size", size, 2, largest)
    if number > tables.LARGEST_SIZE:
        rule = f"must be at most {tables.LARGEST_SIZE} for an exact table ({instead} goes up to {largest} codes)"
        raise SettingError("size", rule, size)
    return number


def toeplitz(row: Sequence[int], size: int) -> tables.Ideal:
    """Return the matrix of ``row[|x - o|]``, of exact integers."""
    codes = np.arange(size)
    values = np.array(row, dtype=object)
    matrix: tables.Ideal = values[abs(codes[:, None] - codes[None, :])]
    return matrix
