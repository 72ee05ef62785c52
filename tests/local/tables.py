"""Tables for the tests of the local protocol, and the plain algorithm that it agrees with where noise is nothing."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.local import Columns, Job, LocalClassifier, LocalSample, LocalStatistic, Owners, Share

Floats = NDArray[np.float64]
Classes = NDArray[np.int64]
SHARES: dict[str, Share] = {"sample": LocalSample(), "statistic": LocalStatistic(), "classifier": LocalClassifier()}
QUIET = 1e5
"""A budget under which Piecewise on a few columns moves no number by more than a thousandth."""


def blobs(rows: int, d: int, classes: int, *, seed: int, apart: float = 1.0) -> tuple[Floats, Classes]:
    """Return rows around one point for each class, on a line that has no row between the first and the last."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, rows)
    centres = np.random.default_rng(d).normal(0, apart, (classes, d))
    return centres[truth] + random.normal(0, 1, (rows, d)), truth


def job(share: Share, d: int = 4, classes: int = 2, **settings: Any) -> Job:
    columns = Columns((-4.0,) * d, (4.0,) * d)
    settings = {"name": "test", "owners": 100, "rounds": 5, **settings}
    return Job(share=share, columns=columns, classes=classes, **settings)


def owners(values: Floats, truth: Classes, rows: int, epsilon: float, **settings: Any) -> Owners:
    """Return owners of so many rows each."""
    return Owners(values, truth, starts=np.arange(0, len(values) + 1, rows), budgets=epsilon, **settings)


def plain_samme(
    groups: list[tuple[Floats, Classes]], own: tuple[Floats, Classes], classes: int, *, rounds: int
) -> tuple[list[Floats], list[float]]:
    """Return the centroids and weights of SAMME over nearest centroids: each group serves one round, own rows judge."""
    learners: list[Floats] = []
    alphas: list[float] = []

    def weights(values: Floats, truth: Classes) -> Floats:
        found = np.ones(len(values))
        for learner, alpha in zip(learners, alphas, strict=True):
            found[nearest(learner, values) != truth] *= math.exp(alpha)
        return found

    for values, truth in groups:
        if len(alphas) == rounds:
            break
        weight = weights(values, truth)
        learner = np.array(
            [np.average(values[truth == each], axis=0, weights=weight[truth == each]) for each in range(classes)]
        )
        judged = weights(*own)
        error = judged[nearest(learner, own[0]) != own[1]].sum() / judged.sum()
        alpha = math.log((1 - error) / error) + math.log(classes - 1)
        if alpha > 0:
            learners.append(learner)
            alphas.append(alpha)
    return learners, alphas


def nearest(points: Floats, values: Floats) -> Classes:
    found: Classes = ((values[:, None, :] - points) ** 2).sum(axis=2).argmin(axis=1)
    return found
