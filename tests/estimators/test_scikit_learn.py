"""The estimators at work in scikit-learn: pipelines, searches, frames, weights, early stopping, labels."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from veilboost import Domain, OpBoostClassifier, OpBoostRegressor
from veilboost.errors import DataError, SettingError, UsageError
from veilboost.vertical.folder import load

pytestmark = pytest.mark.slow

CHANCE = np.random.default_rng(11)
ROWS = 300
Z = CHANCE.normal(size=(ROWS, 4))
Y = Z @ [2.0, -1.0, 0.5, 0.0] + 0.1 * CHANCE.normal(size=ROWS)
CLASSES = np.digitize(Y, [-1.0, 1.0])
FRAME = pa.table({name: Z[:, place] for place, name in enumerate("abcd")})
FAST: dict[str, Any] = {"n_estimators": 15, "n_jobs": 1}
PRIVATE: dict[str, Any] = {"private": "all", "bounds": (-3, 3), "size": 30, "epsilon": 4.0, "simulation_seed": 2}

backends = pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])


class Named:
    """A frame as polars has them: columns by name, and a way to Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.columns, self.shape = table, table.column_names, table.shape

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_arrow(self) -> pa.Table:
        return self.table


@backends
@pytest.mark.parametrize("private", [{}, PRIVATE], ids=["own", "private"])
def test_a_pipeline_a_search_and_cross_validation(private: dict[str, Any], backend: Any) -> None:
    pipe = make_pipeline(StandardScaler(), OpBoostRegressor(backend=backend, **FAST, **private))
    search = GridSearchCV(pipe, {"opboostregressor__max_depth": [1, 3]}, cv=2).fit(Z, Y)
    assert search.best_params_ == {"opboostregressor__max_depth": 3}
    assert search.score(Z, Y) > 0.5
    target = TransformedTargetRegressor(
        OpBoostRegressor(backend=backend, **FAST, **private), func=np.cbrt, inverse_func=lambda y: y**3
    )
    assert cross_val_score(target, Z, Y, cv=3).min() > 0.2
    chances = cross_val_predict(
        OpBoostClassifier(backend=backend, **FAST, **private), Z, CLASSES, cv=3, method="predict_proba"
    )
    assert chances.shape == (ROWS, 3)


def test_a_search_over_budgets_on_a_frame_with_names() -> None:
    model = OpBoostRegressor(**FAST, **PRIVATE | {"private": ["a", "b"]})
    search = GridSearchCV(model, {"epsilon": [0.01, 8.0], "mechanism": ["tight", "global"]}, cv=2).fit(FRAME, Y)
    assert search.best_params_["epsilon"] == 8.0
    assert search.best_estimator_.feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize("thresholds", ["up-front", "on-request"])
def test_what_a_search_over_arrays_finds_can_be_saved(thresholds: str, tmp_path: Path) -> None:
    """Numpy's numbers and text are what arrays in a grid hold; neither a message nor a file takes them."""
    grid = {
        "learning_rate": np.array([0.3]),
        "max_depth": np.arange(2, 4),
        "epsilon": np.array([4.0], np.float32),
        "size": np.array([30]),
        "backend": np.array(["xgboost", "lightgbm"]),
        "thresholds": np.array([thresholds]),
        "first_order": np.array([False]),
        "early_stopping": np.array([3]),
        "random_state": np.array([5]),
        "private": [np.array(["a", "b"])],
    }
    given: dict[str, Any] = {"n_jobs": np.int64(1), "n_estimators": np.int64(15), "bounds": np.array([-3, 3])}
    model = OpBoostRegressor(**given)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(FRAME, Y)
    said = search.best_estimator_.save(tmp_path / "model")
    assert load(tmp_path / "model").statement == said
    assert said.boosting["max_depth"] == search.best_params_["max_depth"]
    assert [each.column for each in said.released[0].columns] == ["a", "b"]


@backends
def test_a_clone_has_the_settings_and_makes_the_same_model(backend: Any) -> None:
    domains = {"a": Domain.numbers(-4, 4, size=12)}
    model = OpBoostRegressor(
        backend=backend, **FAST, **PRIVATE, domains=domains, mechanism={"mechanism": "adj", "theta": 3}
    )
    copy = clone(model)
    assert copy.get_params().keys() == model.get_params().keys()
    assert copy.get_params()["domains"] == domains
    assert clone(model.fit(FRAME, Y)).fit(FRAME, Y).model_.model == model.model_.model
    with pytest.raises(NotFittedError):
        copy.predict(FRAME)


def test_parameters_go_in_and_come_out_as_they_are() -> None:
    for kind in (OpBoostClassifier, OpBoostRegressor):
        model = kind()
        given = model.get_params()
        assert kind(**given).get_params() == given
        for name, value in given.items():
            assert model.set_params(**{name: value}).get_params()[name] is value
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        OpBoostRegressor().set_params(nothing=1)


@backends
def test_a_pickled_model_predicts_the_same(backend: Any, tmp_path: Any) -> None:
    model = OpBoostClassifier(backend=backend, **FAST, **PRIVATE).fit(FRAME, CLASSES)
    before = model.predict_proba(FRAME)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(FRAME), before)
    assert again.statements_ == model.statements_
    again.save(tmp_path / "model")


@pytest.mark.parametrize("name", ["model_", "statements_", "traffic_", "feature_importances_"])
def test_what_is_not_fitted_says_so(name: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(OpBoostClassifier(), name)
    assert not hasattr(OpBoostClassifier(), name)


@backends
def test_frames_and_arrays_make_the_same_model(backend: Any) -> None:
    models = [OpBoostRegressor(backend=backend, **FAST).fit(X, Y) for X in (FRAME, Named(FRAME), Z, Z.tolist())]
    expected = models[0].predict(FRAME)
    for model, X in zip(models, (FRAME, Named(FRAME), Z, Z.tolist()), strict=True):
        assert np.array_equal(model.predict(X), expected)
        assert model.n_features_in_ == 4
    assert models[0].feature_names_in_.tolist() == list("abcd")
    assert not hasattr(models[2], "feature_names_in_")
    assert list(models[2].model_.features) == ["x0", "x1", "x2", "x3"]


def test_columns_in_another_order_are_refused() -> None:
    model = OpBoostRegressor(**FAST).fit(FRAME, Y)
    with pytest.raises(ValueError, match="same order"):
        model.predict(FRAME.select(list("bacd")))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.rename_columns(list("abce")))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.select(list("abc")))


@backends
def test_the_model_is_the_librarys_own(backend: Any) -> None:
    """Without private columns there is nothing to undo: the same trees as the library by itself."""
    few = np.round(Z)  # few enough values that every library's bins are the values
    model = OpBoostRegressor(backend=backend, **FAST).fit(few, Y)
    shape: dict[str, Any] = {"n_estimators": 15, "max_depth": 3, "learning_rate": 0.1, "n_jobs": 1}
    stock: Any = (
        XGBRegressor(**shape) if backend == "xgboost" else LGBMRegressor(**shape, min_data_in_bin=1, verbose=-1)
    )
    assert model.predict(few) == pytest.approx(stock.fit(few, Y).predict(few), rel=1e-6)


def test_a_class_for_each_label_whatever_it_is() -> None:
    expected = OpBoostClassifier(**FAST).fit(Z, CLASSES).predict_proba(Z)
    labels: dict[str, Any] = {
        "text": np.array(["high", "low", "middle"])[CLASSES],
        "object": np.array(["high", "low", "middle"], dtype=object)[CLASSES],
        "numbers": np.array([-7, 0, 2**40])[CLASSES],
        "arrow": pa.array(np.array(["high", "low", "middle"])[CLASSES]),
    }
    for y in labels.values():
        model = OpBoostClassifier(**FAST).fit(Z, y)
        assert np.array_equal(model.predict_proba(Z), expected)
        assert set(model.predict(Z)) == set(model.classes_)
        assert model.score(Z, np.asarray(y)) > 0.8
    truths = OpBoostClassifier(**FAST).fit(Z, Y > 0)
    assert truths.classes_.tolist() == [False, True]
    assert truths.predict(Z).dtype == bool
    assert truths.predict_proba(Z).sum(axis=1) == pytest.approx(1)


@backends
def test_several_classes_are_told_apart_by_private_columns(backend: Any) -> None:
    model = OpBoostClassifier(backend=backend, **FAST, **PRIVATE).fit(Z, CLASSES)
    assert model.score(Z, CLASSES) > 0.7
    assert model.predict_proba(Z).sum(axis=1) == pytest.approx(1)


@backends
@pytest.mark.parametrize("private", [{}, PRIVATE], ids=["own", "private"])
def test_a_row_without_weight_does_not_count(private: dict[str, Any], backend: Any) -> None:
    weight = (np.arange(ROWS) % 2).astype(float)
    wrong = np.where(weight > 0, Y, 1e6)
    models = [OpBoostRegressor(backend=backend, **FAST, **private).fit(Z, y, weight) for y in (Y, wrong)]
    assert np.array_equal(models[0].predict(Z), models[1].predict(Z))
    plain = OpBoostRegressor(backend=backend, **FAST, **private).fit(Z, Y)
    assert not np.array_equal(plain.predict(Z), models[0].predict(Z))


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.full(ROWS, -1.0), "column 'weight' must not be negative"),
        (np.zeros(ROWS), "must contain at least one non-zero number"),
        (np.ones(ROWS - 1), "sample_weight.shape"),
        (np.full(ROWS, np.nan), "Input sample_weight contains NaN"),
        (np.full(ROWS, 1e300), "column 'weight' must be finite and within"),
    ],
)
def test_wrong_weights_are_refused(weight: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        OpBoostRegressor(**FAST).fit(Z, Y, weight)


@backends
@pytest.mark.parametrize("private", [{}, PRIVATE], ids=["own", "private"])
def test_early_stopping_stops_and_predicts_with_the_best(private: dict[str, Any], backend: Any) -> None:
    noise = CHANCE.normal(size=ROWS)
    settings: dict[str, Any] = {
        "backend": backend,
        "early_stopping": 3,
        "n_jobs": 1,
        "random_state": 0,
        "n_estimators": 200,
    }
    model = OpBoostRegressor(**settings, **private).fit(Z, noise)
    full = OpBoostRegressor(**settings | {"early_stopping": None}, **private).fit(Z, noise)
    assert len(model.model_.model) < len(full.model_.model) / 2
    again = OpBoostRegressor(**settings, **private).fit(Z, noise)
    assert again.model_.model == model.model_.model


def test_early_stopping_needs_rows_to_train_on() -> None:
    with pytest.raises(DataError, match="must have at least one row"):
        OpBoostRegressor(early_stopping=3, **FAST).fit([[1.0]], [1.0])
    with pytest.raises(SettingError, match="validation_fraction must be a number between 0 and 1"):
        OpBoostRegressor(early_stopping=3, validation_fraction=0, **FAST).fit(Z, Y)


@backends
@pytest.mark.parametrize("private", [{}, PRIVATE], ids=["own", "private"])
def test_importance_goes_to_the_columns_that_matter(private: dict[str, Any], backend: Any) -> None:
    model = OpBoostRegressor(backend=backend, **FAST, **private).fit(FRAME, Y)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1)
    assert found.argmax() == 0
    assert found[3] < 0.1


def test_importance_of_a_category_is_that_of_its_column() -> None:
    towns = np.array(["Rome", "Oslo", "Lima"])[CLASSES]
    X = FRAME.append_column("town", [towns])
    model = OpBoostClassifier(**FAST).fit(X, CLASSES)
    assert model.feature_importances_.shape == (5,)
    assert model.feature_importances_[4] > 0.99
    unnamed = OpBoostClassifier(**FAST).fit(np.column_stack([Z[:, 0].astype(object), towns]), CLASSES)
    assert unnamed.feature_importances_[1] > 0.99


def test_all_processors_are_minus_one() -> None:
    one, every, none = (OpBoostRegressor(n_estimators=5, n_jobs=jobs).fit(Z, Y).predict(Z) for jobs in (1, -1, None))
    assert np.allclose(one, every)
    assert np.allclose(one, none)


def test_a_generator_for_a_seed_is_not_used_up_differently_by_the_backend() -> None:
    settings: dict[str, Any] = {"parameters": {"subsample": 0.5}, **FAST}
    one, same = (OpBoostRegressor(random_state=np.random.RandomState(4), **settings).fit(Z, Y) for _ in range(2))
    other = OpBoostRegressor(random_state=np.random.RandomState(5), **settings).fit(Z, Y)
    assert np.array_equal(one.predict(Z), same.predict(Z))
    assert not np.array_equal(one.predict(Z), other.predict(Z))
    numbered = OpBoostRegressor(random_state=4, **settings).fit(Z, Y)
    stock = XGBRegressor(
        n_estimators=15, max_depth=3, learning_rate=0.1, subsample=0.5, random_state=4, n_jobs=1, max_bin=1024
    )
    assert numbered.predict(Z) == pytest.approx(stock.fit(Z, Y).predict(Z), rel=1e-4)


def test_first_order_boosting_has_no_second_derivative() -> None:
    first = OpBoostClassifier(first_order=True, **FAST).fit(Z, CLASSES)
    second = OpBoostClassifier(**FAST).fit(Z, CLASSES)
    assert not np.array_equal(first.predict_proba(Z), second.predict_proba(Z))
    assert first.score(Z, CLASSES) > 0.7
    with pytest.raises(SettingError, match="constant_curvature needs the backend 'xgboost'"):
        OpBoostClassifier(first_order=True, backend="lightgbm").fit(Z, CLASSES)


def test_no_target_is_said_as_scikit_learn_does() -> None:
    for kind in (OpBoostClassifier, OpBoostRegressor):
        with pytest.raises(UsageError, match="requires y to be passed, but the target y is None"):
            kind().fit(Z, None)
    with pytest.raises(ValueError, match="Unknown label type"):
        OpBoostClassifier().fit(Z, Y)


def test_progress_is_told_tree_by_tree() -> None:
    told: list[tuple[str, float]] = []
    OpBoostRegressor(**FAST).fit(Z, Y, progress=lambda step, share: told.append((step, share)))
    assert told == [("training", (tree + 1) / 15) for tree in range(15)]


def test_the_stock_classifier_says_the_same() -> None:
    few = np.round(Z)
    stock = XGBClassifier(n_estimators=15, max_depth=3, learning_rate=0.1, n_jobs=1).fit(few, CLASSES)
    assert OpBoostClassifier(**FAST).fit(few, CLASSES).predict_proba(few) == pytest.approx(
        stock.predict_proba(few), rel=1e-5
    )
