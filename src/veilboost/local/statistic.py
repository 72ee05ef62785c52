"""The local statistic: each owner sends the cross tables of all columns, and the learner is a stump (Algorithm 6)."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.local.kernels import count
from veilboost.local.learners import Floats, Stump
from veilboost.local.question import Question
from veilboost.local.share import Condition, Own, Rows, Share, Totals

_CUTS = 31


@dataclass(frozen=True)
class LocalStatistic(Share):
    """For each column and each side of its threshold, how the weights of the two classes differ; for more classes than
    two, the weight of each.

    The data user takes ``thresholds`` from his own rows, anew in every round: of some quantiles the one that tells his
    weighted rows apart best. An owner's weights sum to at most 1, so for two classes the two numbers of a column do
    as well, and two owners' vectors are at most 2 apart in each column: 2d, not 4d, is what joint Laplace noise covers.
    Weights as printed leave that range, where the mechanisms are not defined: numbers are cut at -1 and 1.
    """

    name: ClassVar[str] = "statistic"
    thresholds: tuple[float, ...] = ()

    def length(self, question: Question) -> int:
        return 2 * question.columns.count * _each(question.classes)

    def apart(self, question: Question) -> int:
        if question.weighting.how == "printed":
            return 2 * self.length(question)
        return question.columns.count * (2 if question.classes == 2 else 4)  # shares from 0 to 1 move from -1 to 1

    def rest(self, question: Question) -> float:
        return 0.0 if question.classes == 2 else -1.0

    def prepared(self, own: Own, classes: int) -> Self:
        return replace(self, thresholds=tuple(best_cut(column, own, classes) for column in own.values.T))

    def vectors(self, rows: Rows, question: Question) -> Floats:
        if len(self.thresholds) != question.columns.count:
            rule = f"must be one for each of {question.columns.count} columns"
            raise SettingError("thresholds", rule, len(self.thresholds))
        vectors = np.zeros((len(rows.starts) - 1, self.length(question)))
        weights = np.stack(self._weights(rows, question.classes))
        count(rows.values, np.array(self.thresholds), weights, rows.starts, vectors)
        return vectors if question.classes == 2 else 2 * vectors - 1

    @staticmethod
    def _weights(rows: Rows, classes: int) -> list[NDArray[np.float64]]:
        if classes == 2:
            return [rows.weights * (2 * rows.truth - 1)]
        return [rows.weights * (rows.truth == each) for each in range(classes)]

    def learner(self, totals: Totals) -> Stump:
        table = cross_tables(totals)
        column = int(impurity(table).argmax())
        below, otherwise = table[:, :, column].argmax(axis=0).tolist()
        return Stump(column=column, threshold=self.thresholds[column], below=below, otherwise=otherwise)

    def conditions(self, totals: Totals, own: Own) -> list[Condition]:
        """§IV-B: noise is not to put another column before the best one, as the own rows have them."""
        classes = totals.question.classes
        below = own.values < np.array(self.thresholds)
        weights = own.weights * (own.truth == np.arange(classes)[:, None])
        lower = weights @ below
        found = np.sort(impurity(np.stack([lower, weights.sum(axis=1)[:, None] - lower], axis=1)))
        lead = float(found[-1] - found[-2]) if len(found) > 1 else math.inf
        error = math.sqrt(2) * totals.noise() / 2  # both sides of a column, and a number moves its gain by half
        what = "error of a column's gain, against the lead of the best column over the next"
        return [Condition(what, error, lead)]


def _each(classes: int) -> int:
    return 1 if classes == 2 else classes


def cross_tables(totals: Totals) -> NDArray[np.float64]:
    """Return the estimated mean of the owners' cross tables: class, side (below first), column.

    Of two classes the difference alone is known; half of it stands for each.
    """
    mean, classes = totals.mean().reshape(-1, 2, totals.question.columns.count), totals.question.classes
    return np.concatenate([-mean / 2, mean / 2]) if classes == 2 else (mean + 1) / 2


def impurity(table: Floats) -> NDArray[np.float64]:
    """Return for each column how much of the weight a stump on it would put in the right class.

    For two classes that is (1 + φ)/2 with φ of the paper's (8), less the half that a difference does not show.
    """
    found: NDArray[np.float64] = table.max(axis=0).sum(axis=0)
    return found


def best_cut(column: Floats, own: Own, classes: int) -> float:
    """Return the threshold between quantiles of the data user's ``column`` that tells his weighted rows apart best.

    >>> own = Own(np.zeros((4, 1)), np.array([0, 0, 1, 1]), np.ones(4))
    >>> best_cut(np.array([-1.0, 0.0, 0.5, 0.5]), own, 2)
    0.25
    """
    points = np.unique(np.quantile(column, np.linspace(0, 1, _CUTS + 2), method="nearest"))
    if len(points) < 2:
        return float(points[0])
    cuts = (points[:-1] + points[1:]) / 2
    place = np.searchsorted(cuts, column, side="right") * classes + own.truth
    cells = np.bincount(place, own.weights, len(points) * classes).reshape(-1, classes)
    below = cells.cumsum(axis=0)[:-1]
    right = below.max(axis=1) + (cells.sum(axis=0) - below).max(axis=1)
    return float(cuts[right.argmax()])
