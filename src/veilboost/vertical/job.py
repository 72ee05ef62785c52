"""A job: what is to be trained from which columns, what the lead puts in, and what it ends up with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veilboost.release import Statement
from veilboost.trees import BoostingSettings, RankModel, StockModel
from veilboost.vertical.columns import Input, Nominal, Own
from veilboost.vertical.ranks import Between
from veilboost.vertical.sent import Opened
from veilboost.vertical.sharpening import Extrapolation
from veilboost.wire import Traffic

Thresholds = Literal["up-front", "on-request"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be trained, and how the parties go about it; ``columns`` names what each partner is asked for."""

    lead: str
    name: str
    purpose: str
    boosting: BoostingSettings
    thresholds: Thresholds = "up-front"
    nominal: Nominal = "one-hot"
    bins: int = 1024
    sharpen: bool = False
    columns: Mapping[str, Sequence[str]] | None = None

    @property
    def between(self) -> Between:
        """Where the library puts a split between two values that it has seen."""
        return "next" if self.boosting.backend == "xgboost" else "middle"


@dataclass(frozen=True, kw_only=True)
class LeadTable:
    """What the lead holds: the label, and perhaps columns, weights, and which rows decide when to stop."""

    target: NDArray[np.float64]
    columns: Sequence[Own] = ()
    weight: NDArray[np.float64] | None = None
    held_out: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Answer:
    """A partner's columns, unpacked and as they were agreed, and what it promises about them."""

    columns: Sequence[Opened]
    statement: Statement


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What the lead ends up with; ``extrapolation`` says how the model was sharpened, if it was."""

    model: StockModel
    as_it_comes: StockModel
    extrapolation: Extrapolation | None
    ranks: RankModel
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    traffic: Mapping[str, Traffic]

    @property
    def gains(self) -> dict[str, float]:
        """What the splits of each feature gained in all, feature by feature; the library may write names otherwise."""
        gains = self.as_it_comes.importance("total_gain")
        names = zip(self.inputs, self.as_it_comes.features, strict=True)
        return {each.feature: gains.get(name, 0.0) for each, name in names}
