"""What is trained and how, checked when it is written down."""

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from veilboost.errors import SettingError
from veilboost.settings import one_of, positive, whole
from veilboost.trees.library import library

Task = Literal["binary", "multiclass", "regression"]
Backend = Literal["xgboost", "lightgbm"]
Parameter = bool | int | float | str


class BoostingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is trained.

    ``task`` is "binary", "multiclass" or "regression", ``backend`` "xgboost" or "lightgbm". ``parameters`` go to that
    library under its own names; one that it does not know, or that would make the thresholds inexact, is refused.
    ``early_stopping`` ends training after so many rounds without a better score on the evaluation rows, and the best
    iteration is what predicts. ``constant_curvature`` counts rows where the library would add up second derivatives, as
    first-order boosting does (XGBoost only). ``classes`` is for "multiclass" alone; ``threads`` is all of them if None.

    >>> BoostingSettings(task="binary", n_trees=0)
    Traceback (most recent call last):
    veilboost.errors.SettingError: n_trees must be a whole number from 1 to 100000; got 0
    """

    task: Task
    backend: Backend = "xgboost"
    n_trees: int = 80
    learning_rate: float = 0.1
    max_depth: int = 3
    parameters: Mapping[str, Parameter] = {}
    early_stopping: int | None = None
    constant_curvature: bool = False
    classes: int | None = None
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("task", self.task, ("binary", "multiclass", "regression"))
        one_of("backend", self.backend, ("xgboost", "lightgbm"))
        self._check_numbers()
        self._check_classes()
        self._check_curvature()
        self._check_parameters()

    def _check_numbers(self) -> None:
        whole("n_trees", self.n_trees, 1, 100_000)
        whole("max_depth", self.max_depth, 1, 30)
        whole("seed", self.seed, 0, 2**31 - 1)
        if positive("learning_rate", self.learning_rate) > 1:
            raise SettingError("learning_rate", "must be at most 1", self.learning_rate)
        if self.early_stopping is not None:
            whole("early_stopping", self.early_stopping, 1, 100_000)
        if self.threads is not None:
            whole("threads", self.threads, 1, 4096)

    def _check_classes(self) -> None:
        if self.task == "multiclass":
            whole("classes", self.classes, 3, 10_000)
        elif self.classes is not None:
            raise SettingError("classes", "is for the task 'multiclass' alone", self.classes)

    def _check_curvature(self) -> None:
        if not isinstance(self.constant_curvature, bool):
            raise SettingError("constant_curvature", "must be true or false", self.constant_curvature)
        if self.constant_curvature and self.backend != "xgboost":
            raise SettingError("constant_curvature", "needs the backend 'xgboost'", self.backend)

    def _check_parameters(self) -> None:
        if not isinstance(self.parameters, Mapping):
            raise SettingError("parameters", "must be names with their values", self.parameters)
        for name, value in self.parameters.items():
            if not isinstance(name, str) or not isinstance(value, bool | int | float | str):
                raise SettingError(f"parameters.{name}", "must be a truth value, a number or text", value)
            if isinstance(value, float) and not math.isfinite(value):
                raise SettingError(f"parameters.{name}", "must be finite", value)
        if self.parameters:
            library(self.backend).check_parameters(self)
