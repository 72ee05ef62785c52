"""The local sample: each row leaves by itself, and the learner is the nearest class centroid (Algorithm 5)."""

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from veilboost.local.learners import Centroids, Floats
from veilboost.local.question import Question
from veilboost.local.share import Condition, Own, Rows, Share, Sums, Totals
from veilboost.local.weighting import Weighting
from veilboost.mechanisms import RandomizedResponse
from veilboost.privacy import TOTAL

_NOWHERE = 10.0
"""Where the centroid of a class lies that nobody has: no value is near it."""


@dataclass(frozen=True)
class LocalSample(Share):
    """Each row, noised with its part of the budget; every owner counts alike, whatever its number of rows.

    As printed, labels and weights stand in the clear beside it. With labels by randomised response, what the noisy
    labels mix up is undone in the sums: of the rows that say class k a known share is of others. With bounded weights a
    row is scaled by its weight before it is noised, and the weight is one number more in the noised vector.
    """

    name: ClassVar[str] = "sample"
    of_rows: ClassVar[bool] = True

    def length(self, question: Question) -> int:
        return question.columns.count + _weighed(question)

    def vectors(self, rows: Rows, question: Question) -> Floats:
        if not _weighed(question):
            return rows.values  # as printed its weight is multiplied later, in the clear
        return np.column_stack([rows.values * rows.factors[:, None], 2 * rows.factors - 1])

    def learner(self, totals: Totals) -> Centroids:
        sums, masses = by_class(totals)
        with np.errstate(invalid="ignore", divide="ignore"):
            points = np.where(masses[:, None] > 0, sums / masses[:, None], _NOWHERE)
        if totals.question.weighting.how != "printed":
            points = np.clip(points, -1.0, 1.0)  # where every centroid lies
        return Centroids(points=tuple(map(tuple, points.tolist())))

    def conditions(self, totals: Totals, own: Own) -> list[Condition]:
        """§IV-A: the error of a centroid is to be smaller than the distance between two, as the own rows have them."""
        weights = own.weights * (own.truth == np.arange(totals.question.classes)[:, None])
        masses = weights.sum(axis=1)
        points = (weights @ own.values)[masses > 0] / masses[masses > 0, None]
        nearest = min((math.dist(a, b) for a, b in combinations(points, 2)), default=0.0)
        what = "error of a centroid, against the distance between the nearest two"
        return [Condition(what, float(centroid_noise(totals).max()), nearest)]

    def cost(self, totals: Totals) -> float:
        """Compare with rows that spend their whole budget on their values and weigh alike, in classes of equal size."""
        question, open_ = totals.question, replace(totals.question, labels="clear", weighting=Weighting(how="none"))
        if question.weighting.how == "printed":
            return 1.0
        squares = [
            open_.middle_square(*key) * _each(open_, key[1]) ** 2 * sums.masses.sum()
            for key, sums in totals.levels.items()
        ]
        error = math.sqrt(math.fsum(squares) * question.classes * question.columns.count) / totals.owners
        return float(centroid_noise(totals).mean()) / error


def _weighed(question: Question) -> bool:
    return question.weighting.how == "bounded" and question.weighting.varies(question.ensemble)


def by_class(totals: Totals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each class the sum of its rows and the sum of their weights, estimated without bias.

    What is known of the weights is kept: every owner's sum to at most 1, and none lies below the public least.
    """
    question, d = totals.question, totals.question.columns.count
    mixed = np.sum([_of_level(question, *key, sums) for key, sums in totals.levels.items()], axis=0)
    sums, masses = mixed[:, :d], mixed[:, -1]
    if question.weighting.how == "printed":
        return sums, masses
    masses = np.maximum(masses, 1.0)  # one owner: randomised response can say that there is less than nobody
    if _weighed(question):
        lightest = question.weighting.least(question.ensemble)
        masses = np.clip((mixed[:, d] + mixed[:, -1]) / 2, lightest * masses, masses)
    return sums, masses


def _of_level(question: Question, epsilon: float, rows: int, found: Sums) -> NDArray[np.float64]:
    """Return the sums by class of the owners of one budget, the number of rows in the last place."""
    vectors = question.noise(epsilon, rows).values(found.vectors)
    mixed = np.column_stack([vectors, found.masses]) * _each(question, rows)
    response = question.response(epsilon, rows)
    return mixed if response is None else unmixed(mixed, response)


def _each(question: Question, rows: int) -> float:
    """Return what the data user multiplies a row by; as printed its owner has divided by the number of rows."""
    return 1.0 if question.weighting.how == "printed" else 1 / rows


def unmixed(by_answer: Floats, response: RandomizedResponse) -> NDArray[np.float64]:
    """Return unbiased sums by class from sums by what randomised response said.

    >>> unmixed(np.array([[0.75], [0.25]]), RandomizedResponse(epsilon=np.log(3), size=2)).round(9).tolist()
    [[1.0], [0.0]]
    """
    kept, raised = response.answers.kept / TOTAL, response.answers.raised / TOTAL
    found: NDArray[np.float64] = (by_answer - raised * by_answer.sum(axis=0)) / (kept - raised)
    return found


def centroid_noise(totals: Totals) -> NDArray[np.float64]:
    """Return the expected distance between each centroid and the true one, for values around 0, in closed form."""
    question, (_, masses) = totals.question, by_class(totals)
    squares = [_noise_of_level(question, *key, sums) for key, sums in totals.levels.items()]
    found: NDArray[np.float64] = np.sqrt(np.sum(squares, axis=0) * question.columns.count) / np.maximum(masses, 1e-9)
    return found


def _noise_of_level(question: Question, epsilon: float, rows: int, found: Sums) -> NDArray[np.float64]:
    square = question.middle_square(epsilon, rows) * _each(question, rows) ** 2
    response = question.response(epsilon, rows)
    if response is None:
        return square * found.squares
    kept, raised = response.answers.kept / TOTAL, response.answers.raised / TOTAL
    others = found.squares.sum() - found.squares
    noise: NDArray[np.float64] = square * (found.squares * (1 - raised) ** 2 + others * raised**2)
    return noise / (kept - raised) ** 2
