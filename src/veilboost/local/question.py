"""What an owner is asked, and what it answers: one question, one answer, and everything in both may be seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.local.kernels import scale
from veilboost.local.learners import Ensemble, Floats
from veilboost.local.noise import check_noise, noise
from veilboost.local.weighting import Weighting
from veilboost.mechanisms import RandomizedResponse, VectorMechanism
from veilboost.mechanisms.value_mechanism import SMALLEST_EPSILON
from veilboost.privacy.rounding import down
from veilboost.settings import fix, one_of, printable, whole

if TYPE_CHECKING:
    from veilboost.local.share import Share

Labels = Literal["randomised", "clear"]
VERSION = 1
LARGEST_CLASSES = 1024


@dataclass(frozen=True)
class Columns:
    """The public lowest and highest value of every column: values are scaled to -1 to 1 between them, and cut there.

    >>> Columns((0.0, 0.0), (10.0, 4.0)).scaled(np.array([[5.0, 9.0]])).tolist()
    [[0.0, 1.0]]
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        fix(self, "lower", tuple(map(float, self.lower)))
        fix(self, "upper", tuple(map(float, self.upper)))
        bounds = np.array([self.lower, self.upper]) if len(self.lower) == len(self.upper) else np.empty((2, 0))
        if not bounds.size or not np.isfinite(bounds).all() or (bounds[0] > bounds[1]).any():
            raise SettingError("bounds", "must be a lowest and a highest number for each column", bounds.T.tolist())

    @classmethod
    def of(cls, rows: Floats) -> "Columns":
        """Return the bounds of the data user's own rows, which are his to give away."""
        return cls(tuple(rows.min(axis=0).tolist()), tuple(rows.max(axis=0).tolist()))

    @property
    def count(self) -> int:
        """How many columns there are."""
        return len(self.lower)

    @cached_property
    def _affine(self) -> tuple[Floats, Floats]:
        lower, upper = np.array(self.lower), np.array(self.upper)
        half = upper / 2 - lower / 2
        return lower / 2 + upper / 2, np.divide(1, half, out=np.zeros_like(half), where=half > 0)

    def scaled(self, rows: Floats) -> NDArray[np.float64]:
        """Return ``rows`` as values from -1 to 1; a column without width is 0."""
        found = np.empty(rows.shape)
        if not scale(rows, *self._affine, found):
            raise DataError("values", "must be finite numbers", "NaN or infinity")
        return found


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an owner is asked in one round. Nothing in it was computed from any owner's rows but through their noise.

    ``labels`` say how a row's class leaves where each row leaves by itself: through randomised response, with
    ``label_share`` of the row's budget (without one, the share that makes the noise least), or, as printed, in the
    clear.
    """

    job: str
    round: int
    share: "Share"
    mechanism: str
    size: int
    columns: Columns
    classes: int
    labels: Labels
    label_share: float | None
    weighting: Weighting
    ensemble: Ensemble
    version: int = VERSION

    def __post_init__(self) -> None:
        printable("job", self.job)
        whole("round", self.round, 1, 10**6)
        whole("classes", self.classes, 2, LARGEST_CLASSES)
        check_noise(self.mechanism, self.size)
        one_of("labels", self.labels, get_args(Labels))
        if not all(map(math.isfinite, self.ensemble.alphas)):
            raise SettingError("alphas", "must be finite numbers", self.ensemble.alphas)
        given = self.label_share
        if given is not None and (isinstance(given, bool) or not isinstance(given, float) or not 0 < given < 1):
            raise SettingError("label_share", "must be a number between 0 and 1", given)

    def budgets(self, epsilon: float, rows: int) -> tuple[float, float | None]:
        """Return what a vector may spend, and what the label beside it may, of an owner's ``epsilon``.

        Where each of an owner's ``rows`` leaves by itself they share the budget evenly.
        """
        if not self.share.of_rows:
            return epsilon, None
        each = Fraction(epsilon) / rows
        if self.labels == "clear":
            return down(each), None
        label = self.label_share or best_label_share(max(down(each), SMALLEST_EPSILON), self.classes)
        spent = down(each * Fraction(label))
        return down(each - Fraction(spent)), spent

    def noise(self, epsilon: float, rows: int) -> VectorMechanism:
        """Return the mechanism for the vectors of owners with that budget and that many rows."""
        return self._mechanisms(epsilon, rows)[0]

    def response(self, epsilon: float, rows: int) -> RandomizedResponse | None:
        """Return the mechanism for the labels beside them, if they leave through one."""
        return self._mechanisms(epsilon, rows)[1]

    def middle_square(self, epsilon: float, rows: int) -> float:
        """Return the expected square of their estimate of 0, in closed form."""
        return float(self.noise(epsilon, rows).second_moment((self.size + 1) // 2))

    def _mechanisms(self, epsilon: float, rows: int) -> tuple[VectorMechanism, RandomizedResponse | None]:
        if (epsilon, rows) not in self._made:
            for_vector, for_label = self.budgets(epsilon, rows)
            made = noise(self.mechanism, self.share.length(self), for_vector, self.size, self.share.apart(self))
            self._made[epsilon, rows] = made, None if for_label is None else _response(for_label, self.classes)
        return self._made[epsilon, rows]

    @cached_property
    def _made(self) -> dict[tuple[float, int], tuple[VectorMechanism, RandomizedResponse | None]]:
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """What owners of one budget sent, a vector for each of them or for each of their rows, and nothing else."""

    epsilon: float
    rows: int
    """How many rows each of these owners has, where each row leaves by itself; otherwise 0: that is not said."""
    owners: int
    drawn: NDArray[Any]
    """Whole numbers: multiples of the mechanism's step."""
    labels: NDArray[Any] | None = None
    """The class of each row, from 1: drawn, or in the clear."""
    weights: NDArray[np.float64] | None = None
    """As printed alone: each row's weight, in the clear."""
    version: int = VERSION


@lru_cache(maxsize=256)
def _response(epsilon: float, classes: int) -> RandomizedResponse:
    return RandomizedResponse(epsilon=epsilon, size=classes)


@lru_cache(maxsize=256)
def best_label_share(epsilon: float, classes: int) -> float:
    """Return the share of a row's budget for its label that makes the noise of a class's sum least, in twentieths.

    It looks at one attribute under Piecewise and at classes of equal size, so it is public; the best share hardly
    moves with anything else.

    >>> best_label_share(1.0, 2), best_label_share(8.0, 2)
    (0.45, 0.4)
    """
    shares: Sequence[float] = [part / 20 for part in range(1, 20)]
    return min(shares, key=lambda share: _noise_of_sum(epsilon * share, epsilon * (1 - share), classes))


def _noise_of_sum(for_label: float, for_vector: float, classes: int) -> float:
    """Return the mean square that one row adds to the sum of a class: of its attribute, times that of its label."""
    kept = 1 / (1 + (classes - 1) * np.exp(-for_label))
    raised = (1 - kept) / (classes - 1)
    mine, other = kept - 2 * kept * raised + raised**2, raised - 2 * raised**2 + raised**2
    chosen = max(1.0, for_vector // 2.5)
    grown = np.exp(for_vector / chosen / 2)
    attribute = (grown + 3) / (3 * (grown - 1) ** 2) / chosen
    return float(attribute * (mine + (classes - 1) * other) / (kept - raised) ** 2)
