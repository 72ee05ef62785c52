"""Owners who live in one process: their rows in one table, and their answers drawn many at a time."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, RefusalError, SettingError
from veilboost.local.boosting import Arrivals
from veilboost.local.learners import Classes, Floats
from veilboost.local.owner import answer
from veilboost.local.question import Answers, Question
from veilboost.randomness import Bits, FreshBits, Keys, ReplayableBits
from veilboost.release.ahead import ahead

_PART = 1 << 19  # numbers that are noised together

Indexes = NDArray[np.int64]


class Owners:
    """Many owners: owner i holds the rows from ``starts[i]`` to ``starts[i+1]`` and spends ``budgets[i]``, once.

    >>> owners = Owners(np.zeros((4, 2)), np.array([0, 1, 1, 0]), starts=np.array([0, 3, 4]), budgets=1.0)
    >>> len(owners), owners.sizes.tolist()
    (2, [3, 1])
    """

    def __init__(
        self,
        values: Floats,
        truth: Classes,
        *,
        starts: Indexes | None = None,
        budgets: float | NDArray[np.float64] = 1.0,
        keys: Keys | None = None,
        seed: int | None = None,
    ) -> None:
        self.values, self.truth, self.seed = values, truth, seed
        self.starts = np.arange(len(values) + 1) if starts is None else np.asarray(starts, dtype=np.int64)
        if self.starts.ndim != 1 or len(self.starts) < 2 or self.starts[0] != 0 or self.starts[-1] != len(values):
            raise SettingError("starts", "must begin with 0 and end with the number of rows", self.starts)
        self.sizes = np.diff(self.starts)
        if self.sizes.min() < 1:
            raise DataError("owners", "must have a row or more each", "one without")
        if len(truth) != len(values):
            raise DataError("classes", f"must be a number for each of the {len(values)} rows", len(truth))
        self.budgets = np.broadcast_to(np.asarray(budgets, dtype=np.float64), (len(self),))
        if not (np.isfinite(self.budgets).all() and (self.budgets > 0).all()):
            raise SettingError("epsilon", "must be a finite number above 0 for each owner", budgets)
        self.keys = np.arange(len(self)) if keys is None else np.asarray(keys)
        self._answered = np.zeros(len(self), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def arrivals(self, order: Indexes | None = None) -> Arrivals:
        """Return how all owners who have not answered yet arrive: together, and in ``order`` (else as they stand)."""

        def arrive(_timeout: float) -> Iterator[Group]:
            listed = np.arange(len(self)) if order is None else order
            left = listed[~self._answered[listed]]
            if len(left):
                yield Group(self, left)

        return arrive

    def claim(self, owners: Indexes) -> None:
        """Mark ``owners`` as having answered, or refuse: an owner answers once."""
        if self._answered[owners].any():
            raise RefusalError("an owner that has answered is asked again")
        self._answered[owners] = True


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the owners, waiting for a question."""

    owners: Owners
    which: Indexes

    @property
    def keys(self) -> Keys:
        """What each is known by."""
        return self.owners.keys[self.which]

    @property
    def budgets(self) -> NDArray[np.float64]:
        """What each spends."""
        return self.owners.budgets[self.which]

    def only(self, which: NDArray[np.bool_]) -> "Group":
        """Return some of them."""
        return Group(self.owners, self.which[which])

    def answer(self, question: Question) -> Iterator[Answers]:
        """Return all answers, part by part, worked out on all cores a few parts ahead."""
        self.owners.claim(self.which)
        parts = enumerate(self._parts(question))
        return ahead(lambda part: self._answer(question, *part), parts)

    def _parts(self, question: Question) -> Iterator[Indexes]:
        """Yield owners of equal budgets, and of as many rows where that matters, a few at a time."""
        width = max(question.columns.count, question.share.length(question))
        for level in self._levels(question.share.of_rows):
            ends = self.owners.sizes[level].cumsum() * width // _PART
            yield from np.split(level, np.flatnonzero(np.diff(ends)) + 1)

    def _levels(self, of_rows: bool) -> Iterator[Indexes]:
        budgets, sizes = self.budgets, self.owners.sizes[self.which]
        if (budgets == budgets[0]).all() and (sizes == sizes[0]).all():
            yield self.which
            return
        order = np.lexsort((sizes, budgets))
        apart = (np.diff(budgets[order]) != 0) | (of_rows & (np.diff(sizes[order]) != 0))
        yield from np.split(self.which[order], np.flatnonzero(apart) + 1)

    def _answer(self, question: Question, part: int, owners: Indexes) -> Answers:
        table, sizes = self.owners, self.owners.sizes[owners]
        starts = np.concatenate([[0], sizes.cumsum()])
        rows = _rows(table.starts[owners], sizes, starts)
        return answer(
            question,
            table.values[rows],
            table.truth[rows],
            epsilon=float(table.budgets[owners[0]]),
            starts=starts,
            bits=self._bits(question, owners[0], part),
            threads=1,
        )

    def _bits(self, question: Question, first: int, part: int) -> Bits:
        """Return fresh bits, or with a seed the same again for the same owners: insecure, for studies alone."""
        if self.owners.seed is None:
            return FreshBits()
        text = f"{self.owners.seed} {question.job} {question.round} {first} {part}"
        return ReplayableBits(seed=int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


def _rows(first: Indexes, sizes: Indexes, starts: Indexes) -> slice | Indexes:
    """Return the rows of some owners: as a slice where they lie one behind the other.

    >>> _rows(np.array([4, 6]), np.array([2, 3]), np.array([0, 2, 5]))
    slice(4, 9, None)
    >>> _rows(np.array([9, 0]), np.array([1, 2]), np.array([0, 1, 3]))
    array([9, 0, 1])
    """
    if (first[1:] == first[:-1] + sizes[:-1]).all():
        return slice(int(first[0]), int(first[-1] + sizes[-1]))
    return np.repeat(first - starts[:-1], sizes) + np.arange(starts[-1])
