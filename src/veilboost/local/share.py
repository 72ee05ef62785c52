"""What every share offers: the owner's side makes vectors of its rows, the data user's side a learner of their sums."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import PeerError
from veilboost.local.kernels import add_up
from veilboost.local.learners import Classes, Floats, Learner
from veilboost.local.question import Answers, Question

_TINY = 1e-300


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Rows of some owners, one owner's behind the other's: owner i has those from ``starts[i]`` to ``starts[i+1]``."""

    values: Floats
    """Scaled, from -1 to 1."""
    truth: Classes
    factors: NDArray[np.float64]
    """What each row weighs, before its owner's rows share a weight of 1."""
    starts: NDArray[np.int64]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row: its factor over the number of its owner's rows."""
        counts = np.diff(self.starts)
        weights: NDArray[np.float64] = self.factors / np.repeat(counts, counts)
        return weights


@dataclass(frozen=True, eq=False)
class Own:
    """The data user's own rows, scaled, and what each weighs by now."""

    values: Floats
    truth: Classes
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Condition:
    """A condition of convergence: the noise that is to be expected must be smaller than what it must not drown."""

    what: str
    noise: float
    signal: float

    @property
    def holds(self) -> bool:
        """Whether it is met."""
        return self.noise < self.signal

    def __str__(self) -> str:
        sign, end = ("<", "holds") if self.holds else ("≥", "does not hold")
        return f"{self.what}: {self.noise:.3g} {sign} {self.signal:.3g}, {end}"


@dataclass
class Sums:
    """What the answers of one budget add up to, by class where they name one."""

    vectors: NDArray[np.float64]
    masses: NDArray[np.float64]
    squares: NDArray[np.float64]
    """Of the weights."""


class Totals:
    """The sums of all answers of a round: as large after a million owners as after one."""

    def __init__(self, question: Question) -> None:
        self.question, self.owners = question, 0
        self.levels: dict[tuple[float, int], Sums] = {}

    def add(self, answers: Answers) -> None:
        """Add what some owners sent, which must have the shape that was asked for."""
        self._check(answers)
        key, drawn = (answers.epsilon, answers.rows), answers.drawn
        groups = self.question.classes if answers.labels is not None else 1
        if key not in self.levels:
            empty = (np.zeros((groups, drawn.shape[1])), np.zeros(groups), np.zeros(groups))
            self.levels[key] = Sums(*empty)
        found, weights = self.levels[key], np.ones(len(drawn)) if answers.weights is None else answers.weights
        places = np.zeros(len(drawn), dtype=np.int64) if answers.labels is None else answers.labels.astype(np.int64) - 1
        add_up(drawn, places, weights, found.vectors)
        found.masses += np.bincount(places, weights, groups)
        found.squares += np.bincount(places, weights**2, groups)
        self.owners += answers.owners

    def _check(self, answers: Answers) -> None:
        question, drawn, labels = self.question, answers.drawn, answers.labels
        vectors = answers.owners * answers.rows if question.share.of_rows else answers.owners
        beside = [each for each in (labels, answers.weights) if each is not None]
        fits = drawn.dtype.kind == "i" and drawn.shape == (vectors, question.share.length(question)) and vectors > 0
        if answers.version != question.version or not fits or any(each.shape != (vectors,) for each in beside):
            raise PeerError("owner", "sent what does not answer the question")
        if (labels is not None) != question.share.of_rows:
            raise PeerError("owner", "sent labels that were not asked for, or none")
        if labels is not None and not 1 <= labels.min() <= labels.max() <= question.classes:
            raise PeerError("owner", f"sent a label that is not one of 1 to {question.classes}")

    def mean(self) -> NDArray[np.float64]:
        """Return the mean of the owners' vectors, where each sent one."""
        parts = [
            self.question.noise(epsilon, rows).values(sums.vectors[0]) for (epsilon, rows), sums in self.levels.items()
        ]
        total: NDArray[np.float64] = np.sum(parts, axis=0) / self.owners
        return total

    def noise(self) -> float:
        """Return the expected error of each number of that mean, of values around 0, in closed form."""
        squares = (self.question.middle_square(*key) * sums.masses[0] for key, sums in self.levels.items())
        return math.sqrt(math.fsum(squares)) / self.owners


@dataclass(frozen=True)
class Share(ABC):
    """What one owner contributes in one round; its fields are public numbers.

    A share says how an owner's rows become vectors of numbers from -1 to 1, which leave through a mechanism that
    covers the whole vector, and how a base learner is made of the sums of what left.
    """

    name: ClassVar[str]
    of_rows: ClassVar[bool] = False
    """Whether each row leaves by itself, with its part of the owner's budget and its class beside it; else one vector
    leaves for all rows of an owner, with the whole budget."""

    @abstractmethod
    def length(self, question: Question) -> int:
        """Return how many numbers a vector has."""

    def apart(self, question: Question) -> int:
        """Return how far two vectors can be apart, all their differences added up: Laplace noise follows it."""
        return 2 * self.length(question)

    def rest(self, question: Question) -> float | None:
        """Return the value towards which numbers are rounded to the grid, where `apart` hangs on it."""
        return None

    def prepared(self, own: Own, classes: int) -> Self:
        """Return the share as the data user asks for it in this round, from his own rows."""
        return self

    @abstractmethod
    def vectors(self, rows: Rows, question: Question) -> Floats:
        """Return, for the owners, a vector of numbers from -1 to 1 for each of them, or for each row."""

    @abstractmethod
    def learner(self, totals: Totals) -> Learner:
        """Return, for the data user, the base learner that follows from what all owners sent."""

    def conditions(self, totals: Totals, own: Own) -> list[Condition]:
        """Return, for the data user, the conditions of convergence, as far as he can see them."""
        return []

    def cost(self, totals: Totals) -> float:
        """Return how many times as large the error is, about, as it would be with weights and labels as printed."""
        question = totals.question
        return 1 / max(question.weighting.least(question.ensemble), _TINY)
