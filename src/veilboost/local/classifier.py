"""The local classifier: each owner fits a logistic regression and sends its coefficients (Algorithm 7)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.local.learners import Floats, Linear
from veilboost.local.question import Question
from veilboost.local.share import Condition, Own, Rows, Share, Totals
from veilboost.settings import fix, positive

_STEPS = 30
_SOME = 5000
_CLOSE = 1e-7
_TINY = 1e-300


@dataclass(frozen=True)
class LocalClassifier(Share):
    """The coefficients θ of a logistic regression on the owner's rows, clipped to the public ``box``: [-box, box].

    For more classes than two, one against all others for each. ``ridge`` times |θ|²/2 is added to the mean loss: few
    rows are told apart perfectly, and then there would be no smallest loss. Weights count as shares of their owner's
    sum, as they do without a ridge: no bound is needed, because the box holds whatever the weights are.
    """

    name: ClassVar[str] = "classifier"
    box: float = 2.0
    ridge: float = 0.05
    intercept: bool = True

    def __post_init__(self) -> None:
        fix(self, "box", positive("box", self.box))
        fix(self, "ridge", positive("ridge", self.ridge))
        if not isinstance(self.intercept, bool):
            raise SettingError("intercept", "must be True or False", self.intercept)

    def length(self, question: Question) -> int:
        return (question.columns.count + self.intercept) * len(self._targets(question.classes))

    def vectors(self, rows: Rows, question: Question) -> Floats:
        targets = [rows.truth == each for each in self._targets(question.classes)]
        values = self._with_intercept(rows.values)
        fitted = [fit(values, target, rows.weights, rows.starts, self.ridge) for target in targets]
        return np.clip(np.concatenate(fitted, axis=1) / self.box, -1.0, 1.0)

    def _with_intercept(self, values: Floats) -> Floats:
        return np.column_stack([values, np.ones(len(values))]) if self.intercept else values

    def learner(self, totals: Totals) -> Linear:
        slopes = self._theta(totals)
        offsets = slopes[:, -1] if self.intercept else np.zeros(len(slopes))
        kept = slopes[:, : totals.question.columns.count]
        return Linear(slopes=tuple(map(tuple, kept.tolist())), offsets=tuple(offsets.tolist()))

    def _theta(self, totals: Totals) -> NDArray[np.float64]:
        return self.box * totals.mean().reshape(-1, totals.question.columns.count + self.intercept)

    def conditions(self, totals: Totals, own: Own) -> list[Condition]:
        """§V-C: the error of a coefficient is to stay below |θ|₁; §IV-C: signs of scores are to stay as they are.

        θ is what the data user's own rows give, or some thousands of them.
        """
        values, truth = self._with_intercept(own.values)[:_SOME], own.truth[:_SOME]
        whole, weights = np.array([0, len(values)]), own.weights[:_SOME]
        targets = [truth == each for each in self._targets(totals.question.classes)]
        theta = np.concatenate([fit(values, target, weights, whole, self.ridge) for target in targets])
        error = self.box * totals.noise()
        scores, lengths = np.abs(values @ theta.T).min(axis=1), np.sqrt((values**2).sum(axis=1))
        return [
            Condition("error of a coefficient, against |θ|₁", error, float(np.abs(theta).sum(axis=1).min())),
            Condition(
                "error of a score, against that of the middle one of the data user's rows",
                error * float(np.median(lengths)),
                float(np.median(scores)),
            ),
        ]

    def cost(self, totals: Totals) -> float:
        return 1.0

    def _targets(self, classes: int) -> list[int]:
        return [1] if classes == 2 else list(range(classes))


def fit(
    values: Floats, target: NDArray[np.bool_], weights: Floats, starts: NDArray[np.int64], ridge: float
) -> NDArray[np.float64]:
    """Return the coefficients of each owner's logistic regression, by Newton's method, all owners at once.

    >>> values = np.array([[1.0], [0.5], [-1.0], [1.0]])
    >>> fit(values, np.array([True, True, False, False]), np.ones(4), np.array([0, 3, 4]), 0.1).round(3).tolist()
    [[1.617], [-1.634]]
    """
    rows, labels, shares = _padded(values, starts), _padded(2.0 * target - 1, starts), _padded(weights, starts)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), _TINY)
    theta = np.zeros((len(rows), values.shape[1]))
    for _ in range(_STEPS):
        step = _newton(rows, labels, shares, theta, ridge)
        theta -= step
        if np.abs(step).max() < _CLOSE:
            break
    return theta


def _padded(rows: Floats, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the rows of each owner as a table of its own, filled up with zeros."""
    counts = np.diff(starts)
    found = np.zeros((len(counts), int(counts.max()), *rows.shape[1:]))
    owner = np.repeat(np.arange(len(counts)), counts)
    found[owner, np.arange(len(rows)) - starts[owner]] = rows
    return found


def _newton(rows: Floats, labels: Floats, shares: Floats, theta: Floats, ridge: float) -> NDArray[np.float64]:
    margin = labels * np.einsum("ond,od->on", rows, theta)
    wrong = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
    slope = ridge * theta - np.einsum("ond,on->od", rows, shares * labels * wrong)
    curved = (shares * wrong * (1 - wrong))[:, :, None] * rows
    curvature = rows.transpose(0, 2, 1) @ curved + ridge * np.eye(rows.shape[2])
    step: NDArray[np.float64] = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
    return step
