"""The finished model: what it reads of a sample, its learners with their weights, and its classes."""

from collections.abc import Sequence
from typing import get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.local.learners import Centroids, Ensemble, Floats, Linear, Stump
from veilboost.local.question import Columns

Known = Centroids | Stump | Linear
Class = str | int | float | bool
FORMAT = 1


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of a sample: a column between public bounds, or whether it has a ``category``."""

    column: str
    lower: float
    upper: float
    category: str | None = None
    unit: str = "number"
    """Or, for a column of dates or times, what they are counted in, from 1970 on."""


class LocalModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A boosted classifier; where no round was kept it says ``otherwise``, the data user's most frequent class."""

    format: int = FORMAT
    classes: tuple[Class, ...]
    inputs: tuple[Input, ...]
    learners: tuple[Known, ...]
    alphas: tuple[float, ...]
    otherwise: int

    def probabilities(self, rows: Floats) -> NDArray[np.float64]:
        """Return for raw ``rows`` the share of the learners' weights that votes for each class.

        >>> stump = Stump(column=0, threshold=0.0, below=0, otherwise=1)
        >>> inputs = (Input(column="age", lower=0, upper=100),)
        >>> model = LocalModel(classes=("no", "yes"), inputs=inputs, learners=(stump,), alphas=(2.0,), otherwise=0)
        >>> model.probabilities(np.array([[40.0], [70.0]])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        if not self.alphas:
            found = np.zeros((len(rows), len(self.classes)))
            found[:, self.otherwise] = 1.0
            return found
        votes = Ensemble(self.learners, self.alphas).votes(self.columns.scaled(rows), len(self.classes))
        shares: NDArray[np.float64] = votes / votes.sum(axis=1, keepdims=True)
        return shares

    @property
    def columns(self) -> Columns:
        """The public bounds of what it reads."""
        return Columns(tuple(each.lower for each in self.inputs), tuple(each.upper for each in self.inputs))


def finished(ensemble: Ensemble, inputs: Sequence[Input], classes: Sequence[Class], otherwise: int) -> LocalModel:
    """Return the model of an ``ensemble``; a learner of another kind than ours could not be read again."""
    learners = tuple(each for each in ensemble.learners if isinstance(each, get_args(Known)))
    if len(learners) < len(ensemble.learners):
        rule = "must make learners of a known kind: Centroids, Stump or Linear"
        raise SettingError("share", rule, type(ensemble.learners[0]).__name__)
    return LocalModel(
        classes=tuple(classes),
        inputs=tuple(inputs),
        learners=learners,
        alphas=ensemble.alphas,
        otherwise=otherwise,
    )
