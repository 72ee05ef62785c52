"""OpBoost as a scikit-learn classifier and regressor: some columns are desensitised before training, others are not."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, column_or_1d

from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError, UsageError
from veilboost.estimators.compare import PLAIN, PREPROCESSED, as_trained, scores, unprotected, without_noise
from veilboost.estimators.frame import feature_names, refuse_infinite, table_of
from veilboost.estimators.parties import Parties
from veilboost.estimators.plain import plainly
from veilboost.estimators.private import Bounds, Protection, Split
from veilboost.release import Statement
from veilboost.settings import one_of, whole
from veilboost.trees import BoostingSettings, StockModel
from veilboost.vertical import Job, LeadTable, Nominal, Thresholds, Trained, opboost, samples, together
from veilboost.vertical.folder import save
from veilboost.vertical.joined import attributed
from veilboost.vertical.own_table import own_column
from veilboost.vertical.page import Scores, model_page
from veilboost.vertical.statement import ModelStatement, state

Progress = Callable[[str, float], None]


def quiet(_step: str, _share: float) -> None:
    """Show no progress."""


class _OpBoost(BaseEstimator):
    """What classifier and regressor share."""

    _trained: Trained

    def __init__(
        self,
        *,
        private: str | Sequence[str | int] | None = None,
        epsilon: float | Mapping[str, float] = 1.0,
        mechanism: str | Mapping[str, Any] = "tight",
        bounds: Bounds | Mapping[str, Bounds] | None = None,
        size: int | Mapping[str, int] = 100,
        domains: Mapping[str, Domain] | None = None,
        nominal_mechanism: str | Mapping[str, Any] = "grr",
        nominal_epsilon: float | None = None,
        nominal: Nominal = "one-hot",
        row_epsilon: float | None = None,
        split: Split = "even",
        partners: Mapping[str, Sequence[str | int]] | None = None,
        policies: Mapping[str, str | Path] | None = None,
        row_key: str | None = None,
        lead: str = "lead",
        purpose: str = "training",
        job: str = "opboost",
        thresholds: Thresholds = "up-front",
        sharpen: bool | None = None,
        backend: Literal["xgboost", "lightgbm"] = "xgboost",
        n_estimators: int = 80,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        first_order: bool = False,
        parameters: Mapping[str, Any] | None = None,
        early_stopping: int | None = None,
        validation_fraction: float = 0.1,
        bins: int = 1024,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        simulation_seed: int | None = None,
    ) -> None:
        self.private = private
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.bounds = bounds
        self.size = size
        self.domains = domains
        self.nominal_mechanism = nominal_mechanism
        self.nominal_epsilon = nominal_epsilon
        self.nominal = nominal
        self.row_epsilon = row_epsilon
        self.split = split
        self.partners = partners
        self.policies = policies
        self.row_key = row_key
        self.lead = lead
        self.purpose = purpose
        self.job = job
        self.thresholds = thresholds
        self.sharpen = sharpen
        self.backend = backend
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.first_order = first_order
        self.parameters = parameters
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.bins = bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.simulation_seed = simulation_seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _fit(
        self, X: Any, target: NDArray[np.float64], sample_weight: Any, boosting: BoostingSettings, progress: Progress
    ) -> Self:
        one_of("thresholds", self.thresholds, get_args(Thresholds))
        one_of("nominal", self.nominal, get_args(Nominal))
        table = table_of(self, X, reset=True)
        if table.num_rows != len(target):
            raise DataError("y", f"must have a value for each of the {table.num_rows} rows of X", len(target))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, target, dtype=np.float64)
        chance = check_random_state(self.random_state)
        asked, left = self._parties.asked(table, np.random.default_rng(chance.randint(2**31)))
        own = [own_column(name, table[name], self.backend) for name in left]
        lead_table = LeadTable(target=target, columns=own, weight=weight, held_out=self._held_out(len(target), chance))
        job = plainly(
            Job,
            lead=self.lead,
            name=self.job,
            purpose=self.purpose,
            boosting=boosting,
            thresholds=self.thresholds,
            nominal=self.nominal,
            bins=whole("bins", self.bins, 2, 2**24),
            sharpen=self._sharpens(boosting),
            columns={party: each.columns for party, each in asked.items()},
        )
        self._trained = together(
            self.lead,
            lambda channels: opboost.lead(channels, lead_table, job, order=table.column_names, progress=progress),
            {party: partial(opboost.partner, door=each.door) for party, each in asked.items()},
        )
        self._job, self._rows = job, table.num_rows
        known = {party: each.door.domains for party, each in asked.items()}
        self._domains = {name: known[party][name] for party, each in asked.items() for name in each.columns}
        return self

    def _sharpens(self, boosting: BoostingSettings) -> bool:
        """Return whether to sharpen; by itself only for a number."""
        if self.sharpen is not None and not isinstance(self.sharpen, bool):
            raise SettingError("sharpen", "must be true, false or None", self.sharpen)
        by_itself = boosting.task == "regression" and self.thresholds == "up-front"
        return by_itself if self.sharpen is None else self.sharpen

    @property
    def _parties(self) -> Parties:
        protection = plainly(
            Protection,
            mechanism=self.mechanism,
            nominal_mechanism=self.nominal_mechanism,
            epsilon=self.epsilon,
            nominal_epsilon=self.nominal_epsilon,
            row_epsilon=self.row_epsilon,
            split=self.split,
            bounds=self.bounds,
            domains=self.domains or {},
            size=self.size,
        )
        return plainly(
            Parties,
            lead=self.lead,
            private=self.private,
            partners=self.partners,
            policies=self.policies,
            protection=protection,
            row_key=self.row_key,
            backend=self.backend,
            simulation_seed=self.simulation_seed,
        )

    def _held_out(self, rows: int, chance: np.random.RandomState) -> NDArray[np.bool_] | None:
        """Return which rows decide when to stop, if any do."""
        if self.early_stopping is None:
            return None
        fraction = self.validation_fraction
        if not isinstance(fraction, float) or not 0 < fraction < 1:
            raise SettingError("validation_fraction", "must be a number between 0 and 1", fraction)
        out = np.zeros(rows, dtype=bool)
        out[chance.permutation(rows)[: max(1, round(rows * fraction))]] = True
        return out

    def _boosting(self, **task: Any) -> BoostingSettings:
        return plainly(
            BoostingSettings,
            backend=self.backend,
            n_trees=self.n_estimators,
            learning_rate=self.learning_rate,
            max_depth=self.max_depth,
            constant_curvature=self.first_order,
            parameters=dict(self.parameters or {}),
            early_stopping=self.early_stopping,
            threads=None if self.n_jobs == -1 else self.n_jobs,
            seed=self._seed,
            **task,
        )

    @property
    def _seed(self) -> int:
        """The library's seed: a whole number as it is, and from a generator without using it up."""
        if isinstance(self.random_state, np.random.RandomState):
            return int(deepcopy(self.random_state).randint(2**31))
        return 0 if self.random_state is None else self.random_state

    def _predicted(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "_trained")
        inputs = self._trained.inputs
        matrix = samples(inputs, table_of(self, X, reset=False))
        refuse_infinite([each.feature for each in inputs], matrix)
        return self._trained.model.predict(matrix)

    @property
    def model_(self) -> StockModel:
        """The stock model on raw features."""
        check_is_fitted(self, "_trained")
        return self._trained.model

    @property
    def statements_(self) -> Sequence[Statement]:
        """What was promised about the columns of each partner."""
        check_is_fitted(self, "_trained")
        return self._trained.statements

    @property
    def traffic_(self) -> dict[str, dict[str, dict[str, int]]]:
        """Bytes to and from each partner, by kind of message."""
        check_is_fitted(self, "_trained")
        return {
            party: {"sent": dict(each.sent), "received": dict(each.received)}
            for party, each in self._trained.traffic.items()
        }

    def compare(self, X: Any, y: Any, X_test: Any, y_test: Any) -> Scores:
        """Return how good this model is on ``X_test``, and how good it had been without noise and on raw columns.

        ``X`` and ``y`` are what it was fitted on. Only who holds all columns in the clear can compare.
        """
        before, after = (self._without_key(table_of(self, each, reset=False)) for each in (X, X_test))
        coded = [without_noise(table, self._domains) for table in (before, after)]
        models = {
            **as_trained(self, X_test),
            PREPROCESSED: (unprotected(self).fit(coded[0], y), coded[1]),
            PLAIN: (unprotected(self).fit(before, y), after),
        }
        return scores(models, y_test, f"Measured on {after.num_rows:,} rows that no model was trained on.")

    def _without_key(self, table: pa.Table) -> pa.Table:
        return table if self.row_key is None else table.drop_columns([self.row_key])

    def save(
        self, folder: str | Path, *, scores: Scores | None = None, released: Sequence[Statement] = ()
    ) -> ModelStatement:
        """Write a model folder: the stock model, its statement, a report and their digests.

        ``scores`` from `compare` go into the report; ``released`` are the statements of columns of X that had been
        desensitised before.
        """
        check_is_fitted(self, "_trained")
        classes = getattr(self, "classes_", None)
        trained = replace(self._trained, inputs=attributed(self._trained.inputs, released))
        listed = None if classes is None else classes.tolist()
        statement = state(trained, self._job, rows=self._rows, classes=listed, released=released)
        page = model_page(statement, trained.gains, scores)
        save(Path(folder), trained, statement, page)
        return statement

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column of X in what all splits together gained."""
        check_is_fitted(self, "_trained")
        names, found = feature_names(self), np.zeros(self.n_features_in_)
        for each, gain in zip(self._trained.inputs, self._trained.gains.values(), strict=True):
            found[names.index(each.column)] += gain
        return found / found.sum() if found.sum() else found


class OpBoostClassifier(ClassifierMixin, _OpBoost):
    """Boosted trees on columns of which some are desensitised before training.

    **Guarantee**: each private column leaves its partner once, as noisy codes, by a mechanism whose exact loss is in
    ``statements_``; whatever is trained afterwards costs nothing more. Noise of columns that are named in ``private``
    is drawn in this process, which holds the raw table: a simulation, and the statement says so. Columns under
    ``policies`` leave through the partner's policy and ledger.

    Bounds and domains are public input: they must not be taken from the table.

    ``sharpen`` undoes part of the bias that noise leaves in predictions, at no privacy cost, by four more trainings; it
    moves as far as released data alone says, often nowhere at strong noise. It is for samples without noise: where
    samples are noisy too, it hurts. None: for a number only. It needs thresholds up-front.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OpBoostClassifier(private=[0, 1], bounds={"x0": (0, 40), "x1": (0, 50)}, epsilon=0.5, size=20)
    >>> model.fit(X, y).score(X, y) > 0.9, model.statements_[0].columns[0].exact_gaps[0]
    (True, 0.5)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = quiet) -> Self:
        """Train on ``X`` and the classes ``y``."""
        _refuse_none(self, y)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise DataError("y", "must have two classes or more", f"{count} class")
        task = {"task": "binary"} if count == 2 else {"task": "multiclass", "classes": count}
        return self._fit(X, places.astype(np.float64), sample_weight, self._boosting(**task), progress)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of ``classes_``."""
        found = self._predicted(X)
        return found if found.ndim == 2 else np.column_stack([1 - found, found])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        likely = self.predict_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[likely]
        return predicted


class OpBoostRegressor(RegressorMixin, _OpBoost):
    """Boosted trees for a number; the rest is as in `OpBoostClassifier`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> OpBoostRegressor(private="all", bounds=(-0.2, 0.2), epsilon=2.0, size=20).fit(X, y).score(X, y) > 0.2
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = quiet) -> Self:
        """Train on ``X`` and the numbers ``y``."""
        _refuse_none(self, y)
        target = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
        return self._fit(X, target, sample_weight, self._boosting(task="regression"), progress)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted number of each row."""
        return self._predicted(X)


def _refuse_none(estimator: BaseEstimator, y: Any) -> None:
    if y is None:
        raise UsageError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
