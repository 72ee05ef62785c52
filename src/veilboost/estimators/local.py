"""Boosting over many data owners as a scikit-learn classifier: each owner answers one question, once, through noise."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from veilboost.errors import DataError, FileError, SettingError, UsageError
from veilboost.estimators.compare import scores
from veilboost.estimators.frame import table_of
from veilboost.estimators.local_inputs import Bounds, inputs_of, matrix_of
from veilboost.files import as_json, read_folder, write_folder
from veilboost.local import (
    Attendance,
    Boosted,
    Columns,
    Job,
    Labels,
    LocalClassifier,
    Owners,
    Promise,
    Round,
    Share,
    Weighting,
    data_user,
    promise,
    share_of,
)
from veilboost.local.model import LocalModel, finished
from veilboost.local.noise import SIZE
from veilboost.local.page import local_page
from veilboost.local.statement import LocalStatement, state
from veilboost.local.weighting import How
from veilboost.release import Ledger
from veilboost.settings import whole
from veilboost.vertical.page import Scores

_MODEL, _STATEMENT, _REPORT = "model.json", "statement.json", "report.html"
_NEXT_TO_NO_NOISE = 1e6
Watch = Callable[[Round], None]


class LocalBoostClassifier(ClassifierMixin, BaseEstimator):
    """A boosted classifier over the rows of many owners, who each answer one question through local noise.

    **Guarantee**: ``promise_`` says what each owner is promised, and what stands in the clear beside its answer. By
    default it is ε-local differential privacy, ε = ``epsilon``, for all rows of an owner with their labels and weights.
    Rows of owners are drawn for in this process, which holds the table: a simulation, and the statement says so.

    ``groups`` of `fit` name each row's owner; without them every row is one. The data user's own rows judge learners,
    and give bounds and categories where none are given: ``X_user`` and ``y_user``, or else a share ``user_fraction``
    of the owners, chosen at random, who are not asked. ``as_printed`` is the paper: labels and weights in the clear,
    and no intercept. Where no round does better than chance, the model says the data user's most frequent class, and
    warns.

    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(20_000, n_features=8, random_state=0)
    >>> model = LocalBoostClassifier(epsilon=8.0, n_estimators=4, bounds=(-4.0, 4.0))
    >>> model.fit(X, y).score(X, y) > 0.7, model.promise_.whole
    (True, True)
    """

    def __init__(
        self,
        *,
        share: str | Share = "sample",
        mechanism: str = "piecewise",
        epsilon: float | Mapping[Any, float] = 1.0,
        n_estimators: int = 10,
        owners_per_round: int | None = None,
        labels: Labels = "randomised",
        label_share: float | None = None,
        weights: How = "bounded",
        clip: float | None = None,
        as_printed: bool = False,
        bounds: Bounds | Mapping[str, Bounds] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
        size: int = SIZE,
        user_fraction: float = 0.1,
        ledger: str | Path | None = None,
        job: str = "local",
        random_state: int | np.random.RandomState | None = None,
        simulation_seed: int | None = None,
    ) -> None:
        self.share = share
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.n_estimators = n_estimators
        self.owners_per_round = owners_per_round
        self.labels = labels
        self.label_share = label_share
        self.weights = weights
        self.clip = clip
        self.as_printed = as_printed
        self.bounds = bounds
        self.categories = categories
        self.size = size
        self.user_fraction = user_fraction
        self.ledger = ledger
        self.job = job
        self.random_state = random_state
        self.simulation_seed = simulation_seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.simulation_seed is None
        tags.classifier_tags.poor_score = True  # a hundred rows are noise alone
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        groups: ArrayLike | None = None,
        *,
        X_user: Any = None,
        y_user: Any = None,
        watch: Watch = lambda _: None,
    ) -> Self:
        """Boost over the owners of ``X``; ``watch`` hears of every round, with its conditions of convergence."""
        table = table_of(self, X, reset=True)
        truth, own_truth = self._classes(y, y_user, table.num_rows)
        chance = check_random_state(self.random_state)
        owner, keys = _owners(groups, table.num_rows)
        if (X_user is None) != (y_user is None):
            raise SettingError("X_user and y_user", "must be given together", "one of them")
        if self.ledger is not None and groups is None:
            raise SettingError("groups", "must name the owners where a ledger remembers them", None)
        mine = self._mine(len(keys), chance) if X_user is None else np.zeros(len(keys), dtype=np.bool_)
        if X_user is None:
            is_own = mine[owner]
            own, own_truth = table.filter(pa.array(is_own)), truth[is_own]
        else:
            own = table_of(self, X_user, reset=False)
        if own.num_rows != len(own_truth) or not own.num_rows:
            raise DataError(
                "y_user", f"must have a class for each of the {own.num_rows} rows of X_user", len(own_truth)
            )
        self._inputs = tuple(inputs_of(own, self.bounds, self.categories))
        rows = np.flatnonzero(~mine[owner])
        order = rows[np.argsort(owner[rows], kind="stable")]
        owners = self._simulated(matrix_of(table, self._inputs)[order], truth[order], owner[order], keys)
        self._boost(owners, matrix_of(own, self._inputs), own_truth, chance, watch)
        return self

    def _classes(self, y: Any, y_user: Any, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Set the classes, and return those of the rows of owners and of the data user as places among them."""
        if y is None:
            raise UsageError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        both = [column_or_1d(each, warn=True) for each in (y, y_user) if each is not None]
        if len(both[0]) != rows:
            raise DataError("y", f"must have a value for each of the {rows} rows of X", len(both[0]))
        together = np.concatenate(both)
        assert_all_finite(together, input_name="y")
        check_classification_targets(together)
        self.classes_, places = np.unique(together, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("y", "must have two classes or more", f"{len(self.classes_)} class")
        return places[:rows], places[rows:]

    def _mine(self, owners: int, chance: np.random.RandomState) -> NDArray[np.bool_]:
        """Return which owners are none, but the data user."""
        fraction = self.user_fraction
        if isinstance(fraction, bool) or not isinstance(fraction, float) or not 0 < fraction < 1:
            raise SettingError("user_fraction", "must be a number between 0 and 1", fraction)
        if owners < 2:
            raise DataError("X", "must have rows of two owners or more, one of them the data user", f"{owners} sample")
        mine = np.zeros(owners, dtype=np.bool_)
        mine[chance.permutation(owners)[: min(owners - 1, max(1, round(owners * fraction)))]] = True
        return mine

    def _simulated(
        self, values: NDArray[np.float64], truth: NDArray[np.int64], owner: NDArray[np.int64], keys: NDArray[Any]
    ) -> Owners:
        starts = np.concatenate([[0], np.flatnonzero(np.diff(owner)) + 1, [len(owner)]])
        held = keys[owner[starts[:-1]]]
        budgets: Any = self.epsilon
        if isinstance(budgets, Mapping):
            lacking = [key for key in held.tolist() if key not in budgets]
            if lacking:
                raise SettingError("epsilon", "must be given for every owner", f"nothing for {lacking[0]!r}")
            budgets = np.array([budgets[key] for key in held.tolist()], dtype=np.float64)
        seed = None if self.simulation_seed is None else whole("simulation_seed", self.simulation_seed, 0, 2**64 - 1)
        return Owners(values, truth, starts=starts, budgets=budgets, keys=held, seed=seed)

    def _boost(
        self,
        owners: Owners,
        own: NDArray[np.float64],
        truth: NDArray[np.int64],
        chance: np.random.RandomState,
        watch: Watch,
    ) -> None:
        job = self._job(len(owners))
        order = chance.permutation(len(owners))
        with nullcontext() if self.ledger is None else Ledger(Path(self.ledger)) as ledger:
            attendance = None if ledger is None else Attendance(ledger)
            self.boosted_: Boosted = data_user(
                owners.arrivals(order), job, own, truth, attendance=attendance, watch=lambda found, _: watch(found)
            )
            receipt = None if ledger is None else ledger.receipt()
        classes = self.classes_.tolist()
        otherwise = int(np.bincount(truth, minlength=len(classes)).argmax())
        self.model_ = finished(self.boosted_.ensemble, self._inputs, classes, otherwise)
        self.statement_ = state(
            job,
            self.boosted_,
            owners.budgets,
            classes=classes,
            own_rows=len(own),
            ledger=receipt,
            simulated_noise=self.simulation_seed is not None,
        )
        last = job.question(self.boosted_.ensemble, job.share, len(self.boosted_.rounds) + 1)
        self._promises = {float(each): promise(last, float(each)) for each in np.unique(owners.budgets)}
        if not self.model_.alphas:
            text = f"no round did better than chance: {self.boosted_.end}; more owners or a larger ε would help"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def _job(self, owners: int) -> Job:
        whole("n_estimators", self.n_estimators, 1, 10**6)
        share, printed = share_of(self.share), self.as_printed
        if not isinstance(printed, bool):
            raise SettingError("as_printed", "must be True or False", printed)
        if printed and isinstance(self.share, str) and isinstance(share, LocalClassifier):
            share = LocalClassifier(intercept=False)
        return Job(
            name=self.job,
            share=share,
            columns=Columns(tuple(each.lower for each in self._inputs), tuple(each.upper for each in self._inputs)),
            classes=len(self.classes_),
            owners=self.owners_per_round or max(1, owners // self.n_estimators),
            rounds=self.n_estimators,
            mechanism=self.mechanism,
            labels="clear" if printed else self.labels,
            label_share=None if printed else self.label_share,
            weighting=Weighting(how="printed" if printed else self.weights, clip=self.clip),
            size=self.size,
        )

    @property
    def promise_(self) -> Promise:
        """What the owners who spend most are promised; ``statement_`` has it for every budget."""
        check_is_fitted(self, "model_")
        return self._promises[max(self._promises)]

    @property
    def rounds_(self) -> Sequence[Round]:
        """What became of every round."""
        check_is_fitted(self, "model_")
        return self.boosted_.rounds

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of the learners' weights that votes for each class, in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        return self.model_.probabilities(matrix_of(table_of(self, X, reset=False), self.model_.inputs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class that most weight votes for."""
        likely = self.predict_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[likely]
        return predicted

    def compare(self, X: Any, y: Any, X_test: Any, y_test: Any, groups: ArrayLike | None = None) -> Scores:
        """Return how good this model is on ``X_test``, how good next to no noise had made it, and a constant answer.

        ``X``, ``y`` and ``groups`` are what it was fitted on. Only who holds all rows in the clear can compare.
        """
        quiet = clone(self).set_params(
            epsilon=_NEXT_TO_NO_NOISE, mechanism="piecewise", ledger=None, labels="clear", label_share=None
        )
        models = {
            f"this model, ε {self._spent()}": (self, X_test),
            "the same with next to no noise": (quiet.fit(X, y, groups), X_test),
            "the most frequent class": (DummyClassifier().fit(np.zeros((len(y), 1)), y), np.zeros((len(y_test), 1))),
        }
        return scores(models, y_test, f"Measured on {len(y_test):,} rows that no model was trained on.")

    def _spent(self) -> str:
        levels = sorted(self._promises)
        return f"{levels[0]:g}" if len(levels) == 1 else f"{levels[0]:g} to {levels[-1]:g}"

    def save(self, folder: str | Path, *, scores: Scores | None = None) -> LocalStatement:
        """Write a model folder: the model, its statement, a report and their digests; `load_local` reads it."""
        check_is_fitted(self, "model_")
        contents = {
            _MODEL: as_json(self.model_) + b"\n",
            _STATEMENT: as_json(self.statement_) + b"\n",
            _REPORT: local_page(self.statement_, self.model_, scores).encode(),
        }
        write_folder(Path(folder), contents)
        return self.statement_


class LoadedLocal(msgspec.Struct, frozen=True):
    """A model as it was saved, with its statement."""

    model: LocalModel
    statement: LocalStatement

    def predict(self, table: pa.Table) -> NDArray[Any]:
        """Return the class of each row of a table that has the columns which the model reads."""
        lacking = {each.column for each in self.model.inputs} - set(table.column_names)
        if lacking:
            raise DataError(min(lacking), "must be there", f"only {', '.join(table.column_names[:20])}")
        found = self.model.probabilities(matrix_of(table, self.model.inputs))
        predicted: NDArray[Any] = np.array(self.model.classes)[found.argmax(axis=1)]
        return predicted


def load_local(folder: str | Path) -> LoadedLocal:
    """Read a model folder, or say what is wrong with it: a file that is missing, altered, or of another format."""
    place = Path(folder)
    files = read_folder(place, (_MODEL, _STATEMENT, _REPORT))
    try:
        return LoadedLocal(
            msgspec.json.decode(files[_MODEL], type=LocalModel),
            msgspec.json.decode(files[_STATEMENT], type=LocalStatement, strict=False),
        )
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileError(place, f"is no folder of a boosted model over owners: {error}") from None


def _owners(groups: ArrayLike | None, rows: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return which owner holds each row, and what the owners are known by."""
    if groups is None:
        return np.arange(rows), np.arange(rows)
    given = np.asarray(groups)
    if given.shape != (rows,):
        raise DataError("groups", f"must name an owner for each of the {rows} rows of X", f"shape {given.shape}")
    if given.dtype.kind not in "iuU" and not (given.dtype == object and all(isinstance(each, str) for each in given)):
        raise DataError("groups", "must be whole numbers or text", f"values of type {given.dtype}")
    keys, owner = np.unique(given, return_inverse=True)
    return owner, keys
