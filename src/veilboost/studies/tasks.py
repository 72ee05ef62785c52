"""The rows that train, as a booster takes them: the partner's numbers as codes, the lead's columns, and the label."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.studies.tables import load
from veilboost.trees import BoostingSettings, Feature
from veilboost.trees.settings import Task

Codes = NDArray[Any]


class Training(msgspec.Struct, frozen=True, kw_only=True):
    """The partner's ``private`` codes from 1 to ``size``, the lead's ``own`` columns, and the label."""

    task: Task
    size: int
    private: Mapping[str, Codes]
    own: Mapping[Feature, Codes]
    target: NDArray[np.float64]

    @property
    def classes(self) -> int | None:
        """How many classes there are, if more than two."""
        return int(self.target.max()) + 1 if self.task == "multiclass" else None

    def boosting(self, *, first_order: bool, trees: int) -> BoostingSettings:
        """Return the paper's settings, depth 3 and rate 0.1, on one core."""
        return BoostingSettings(
            task=self.task, n_trees=trees, classes=self.classes, constant_curvature=first_order, threads=1
        )


def training(name: str, size: int, rows: int | None = None) -> Training:
    """Return the training rows of "Adult", "Pen-digits", "Powerplant" or "CASP", or some ``rows`` of them."""
    table = load(name, size)
    chosen, _ = table.split(0, rows)
    columns = table.coded.take(chosen)
    label, target = np.unique(table.label[chosen], return_inverse=True)
    regression = table.task == "regression"
    kind: Task = "regression" if regression else "binary" if len(label) == 2 else "multiclass"
    return Training(
        task=kind,
        size=size,
        private={each: columns[each].to_numpy() for each in table.private},
        own=dict(_own(each, columns[each].to_numpy()) for each in columns.column_names if each not in table.private),
        target=(table.label[chosen] if regression else target).astype(np.float64),
    )


def _own(name: str, values: NDArray[Any]) -> tuple[Feature, Codes]:
    """Return a column of the lead: numbers as ranks, text as categories."""
    present, codes = np.unique(values, return_inverse=True)
    ordered = values.dtype.kind != "O"
    return Feature(name, ranks=len(present) * ordered, categories=len(present) * (not ordered)), codes + 1
