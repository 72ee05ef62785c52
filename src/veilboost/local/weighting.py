"""How much a row weighs after some rounds, and the public bound that no weight exceeds."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.local.learners import Classes, Ensemble, Floats
from veilboost.settings import fix, one_of

How = Literal["bounded", "none", "printed"]
_LARGEST = 700.0  # whose exponential is still a number


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """A row's weight is the product of exp(α) over the rounds whose learner was wrong about it.

    "bounded" divides by the product over all rounds, exp(Σα), which is public: no weight exceeds 1. Weights above
    ``clip``, also public, count as ``clip``; then the bound is the smaller of both. "none" gives every row the weight
    1. "printed" is the paper's: not divided by anything.

    >>> from veilboost.local.learners import Stump
    >>> ensemble = Ensemble().joined_by(Stump(column=0, threshold=0.0, below=0, otherwise=1), math.log(4))
    >>> values, truth = np.array([[0.5], [-0.5]]), np.array([1, 1])
    >>> for how in ("bounded", "none", "printed"):
    ...     print(how, Weighting(how=how).factors(ensemble, values, truth).round(3).tolist())
    bounded [0.25, 1.0]
    none [1.0, 1.0]
    printed [1.0, 4.0]
    """

    how: How = "bounded"
    clip: float | None = None

    def __post_init__(self) -> None:
        one_of("weights", self.how, get_args(How))
        if self.clip is None:
            return
        if self.how != "bounded":
            raise SettingError("clip", "must be left out unless weights are bounded", self.clip)
        if isinstance(self.clip, bool) or not isinstance(self.clip, int | float) or not 1 < self.clip < math.inf:
            raise SettingError(
                "clip", "must be a number above 1: a row that no learner was wrong about has 1", self.clip
            )
        fix(self, "clip", float(self.clip))

    def varies(self, ensemble: Ensemble) -> bool:
        """Whether rows may weigh differently."""
        return self.how != "none" and bool(ensemble.alphas)

    def top(self, ensemble: Ensemble) -> float:
        """Return the logarithm of the bound."""
        return min(math.fsum(ensemble.alphas), math.inf if self.clip is None else math.log(self.clip))

    def factors(self, ensemble: Ensemble, values: Floats, truth: Classes) -> NDArray[np.float64]:
        """Return each row's weight; in the first round they are all equal."""
        if not self.varies(ensemble):
            return np.ones(len(values))
        charge = ensemble.charge(values, truth)
        if self.how == "printed":
            charge = np.minimum(charge, _LARGEST)
        else:
            charge = np.minimum(charge, self.top(ensemble)) - self.top(ensemble)
        factors: NDArray[np.float64] = np.exp(charge)
        return factors

    def relative(self, ensemble: Ensemble, values: Floats, truth: Classes) -> NDArray[np.float64]:
        """Return the weights in shares of 1: no number of rounds is too large for that."""
        charge = ensemble.charge(values, truth) if self.varies(ensemble) else np.zeros(len(values))
        charge = np.minimum(charge, math.inf if self.clip is None else math.log(self.clip))
        weights = np.exp(charge - charge.max())
        shares: NDArray[np.float64] = weights / weights.sum()
        return shares

    def least(self, ensemble: Ensemble) -> float:
        """Return the weight of a row that no learner was wrong about."""
        return math.exp(-self.top(ensemble)) if self.how == "bounded" and ensemble.alphas else 1.0
