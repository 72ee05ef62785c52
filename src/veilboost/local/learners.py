"""Base learners, and the ensemble that votes with them: what all owners may see, and what the data user ends up with.

Values are scaled: every column from -1 to 1, between its public bounds. Classes are numbered from 0.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
Classes = NDArray[np.int64]
Row = tuple[float, ...]


class Learner(Protocol):
    """Whatever tells classes apart."""

    def predict(self, values: Floats) -> Classes:
        """Return the class of each row of scaled ``values``."""
        ...


class Centroids(msgspec.Struct, frozen=True, kw_only=True, tag="centroids", forbid_unknown_fields=True):
    """The nearest of some points, one for each class (Algorithm 5).

    >>> Centroids(points=((-0.5, 0.0), (0.5, 0.0))).predict(np.array([[0.1, 0.9], [-1.0, 0.0]]))
    array([1, 0])
    """

    points: tuple[Row, ...]

    def predict(self, values: Floats) -> Classes:
        points = np.array(self.points)
        nearness = values @ points.T - (points**2).sum(axis=1) / 2  # half the squared distance, but for |x|²
        nearest: Classes = nearness.argmax(axis=1)
        return nearest


class Stump(msgspec.Struct, frozen=True, kw_only=True, tag="stump", forbid_unknown_fields=True):
    """One class where a column is below a threshold, another where it is not (Algorithm 6).

    >>> Stump(column=1, threshold=0.5, below=0, otherwise=2).predict(np.array([[0.0, 0.4], [0.0, 0.5]]))
    array([0, 2])
    """

    column: int
    threshold: float
    below: int
    otherwise: int

    def predict(self, values: Floats) -> Classes:
        return np.where(values[:, self.column] < self.threshold, self.below, self.otherwise)


class Linear(msgspec.Struct, frozen=True, kw_only=True, tag="linear", forbid_unknown_fields=True):
    """The class with the highest linear score (Algorithm 7); of two classes only the second one has a score.

    >>> Linear(slopes=((1.0, -1.0),), offsets=(0.1,)).predict(np.array([[0.5, 0.7], [0.5, 0.2]]))
    array([0, 1])
    """

    slopes: tuple[Row, ...]
    offsets: Row

    def predict(self, values: Floats) -> Classes:
        scores = values @ np.array(self.slopes).T + np.array(self.offsets)
        found: Classes = (scores[:, 0] >= 0).astype(np.int64) if len(self.slopes) == 1 else scores.argmax(axis=1)
        return found


@dataclass(frozen=True)
class Ensemble:
    """Base learners with their weights, in the order of their rounds."""

    learners: tuple[Learner, ...] = ()
    alphas: tuple[float, ...] = ()

    def joined_by(self, learner: Learner, alpha: float) -> "Ensemble":
        """Return the ensemble with one learner more."""
        return Ensemble((*self.learners, learner), (*self.alphas, alpha))

    def votes(self, values: Floats, classes: int) -> NDArray[np.float64]:
        """Return the weight of the learners that vote for each class, row by row."""
        found, rows = np.zeros((len(values), classes)), np.arange(len(values))
        for learner, alpha in zip(self.learners, self.alphas, strict=True):
            found[rows, learner.predict(values)] += alpha
        return found

    def charge(self, values: Floats, truth: Classes) -> NDArray[np.float64]:
        """Return for each row the sum of the weights of the learners that take it for another class."""
        found = np.zeros(len(values))
        for learner, alpha in zip(self.learners, self.alphas, strict=True):
            found += alpha * (learner.predict(values) != truth)
        return found
