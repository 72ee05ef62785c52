"""What every mechanism over a finite domain offers: draw, profile, probabilities, guarantee."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost import privacy
from veilboost.errors import DataError, SettingError
from veilboost.mechanisms import table as tables
from veilboost.mechanisms._alias import draw
from veilboost.privacy import Definition, Guarantee, Profile
from veilboost.randomness import Bits, FreshBits
from veilboost.settings import fix, whole

HONEST = "the partner computes and sends what the protocol says"
INDEPENDENT = "the bits are uniform and independent: AES-256 is a pseudorandom function"


@dataclass(frozen=True, kw_only=True)
class TableMechanism(ABC):
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
    @abstractmethod
    def definition(self) -> Definition:
        """The definition of privacy that the mechanism states, with its parameters."""

    @property
    def nominal_epsilon(self) -> float:
        """The ε that was asked for; where each gap has its own, the largest."""
        return max(self.promised_gaps())

    def order_preserving_bound(self) -> NDArray[np.float64] | None:
        """Return the published lower bound on keeping the order of codes t = 1, 2, … apart, if there is one."""
        return None

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
        """The identity of the table that is sampled."""
        return self.table.digest

    def draw(self, codes: ArrayLike, *, bits: Bits | None = None, threads: int | None = None) -> NDArray[Any]:
        """Return one noisy code for each of ``codes``, drawn with ``bits`` (fresh ones unless given)."""
        checked = checked_codes(codes, self.size)
        return draw(self.table.alias, checked, (bits or FreshBits()).tape(checked, self.digest), threads)

    def profile(self) -> Profile:
        """Return the exact privacy loss, computed from the integers that are sampled and rounded up."""
        return privacy.profile(self.table.weights)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of each output (columns) for each input (rows): row x-1 is input x."""
        return privacy.probabilities(self.table.weights)


def whole_numbers(codes: ArrayLike, low: int, high: int) -> NDArray[Any]:
    """Return ``codes`` as an array of integers from ``low`` to ``high``, or refuse them.

    >>> whole_numbers([3, 4], 1, 4)
    array([3, 4])
    """
    rule = "must be a one-dimensional list of whole numbers"
    try:
        array = np.asarray(codes)
    except ValueError as error:
        raise DataError("codes", rule, "lists of different lengths") from error
    if array.size == 0 and array.ndim == 1 and isinstance(codes, Sequence):
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.ma.isMaskedArray(codes):
        raise DataError("codes", rule, f"{array.ndim} dimensions of {array.dtype}")
    if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
        raise DataError("codes", f"must lie from {low} to {high}", f"{array.min()} to {array.max()}")
    return array


def checked_codes(codes: ArrayLike, size: int) -> NDArray[Any]:
    """Return ``codes`` as the smallest unsigned type that holds ``size``, or refuse them."""
    return whole_numbers(codes, 1, size).astype(code_type(size), copy=False)


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type that holds the codes 1 to ``size``.

    >>> code_type(255).__name__, code_type(256).__name__
    ('uint8', 'uint16')
    """
    if size <= np.iinfo(np.uint8).max:
        return np.uint8
    return np.uint16 if size <= np.iinfo(np.uint16).max else np.uint32


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
