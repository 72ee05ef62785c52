"""Training on codes makes the model that the library itself makes from the same codes, written down by hand."""

from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.trees import BoostingSettings, Feature, Rows, train

BACKENDS: list[Any] = ["xgboost", "lightgbm"]
TASKS: list[Any] = ["binary", "multiclass", "regression"]
OBJECTIVES = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
ROWS = 1500
Floats = NDArray[np.float64]


def drawn(codes: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return an ordered column with gaps, a column of categories, and a score that hangs on both."""
    chance = np.random.default_rng(seed)
    column = chance.integers(1, codes + 1, ROWS)
    column[:codes] = np.arange(1, codes + 1)  # every code occurs
    column[chance.random(ROWS) < 0.1] = 0
    category = chance.integers(0, 6, ROWS)
    return column, category, np.sin(column) + (category % 2) + chance.normal(0, 0.3, ROWS)


def label(task: str, score: Floats) -> Floats:
    found = {"binary": score > 0.5, "multiclass": np.digitize(score, [0.2, 0.8]), "regression": score}[task]
    return found.astype(np.float64)


def plain(column: NDArray[np.int64], category: NDArray[np.int64]) -> Floats:
    return np.column_stack([np.where(column == 0, np.nan, column), np.where(category == 0, np.nan, category - 1.0)])


def by_hand(backend: str, task: str, X: Floats, y: Floats, weight: Any, held: Any, rounds: int) -> tuple[Any, int]:
    """Return the library's own predictions for all rows, and how many trees it made."""
    kept = np.ones(len(y), dtype=bool) if held is None else ~held
    parts = [None if weight is None else weight[rows] for rows in (kept, ~kept)]
    if backend == "xgboost":
        kinds: dict[str, Any] = {"feature_types": ["q", "c"], "enable_categorical": True}
        settings = {"objective": OBJECTIVES[task], "tree_method": "hist", "max_bin": 2048, "max_depth": 3, "eta": 0.5}
        settings |= {"nthread": 1} | ({"num_class": 3} if task == "multiclass" else {})
        matrix = xgboost.DMatrix(X[kept], y[kept], weight=parts[0], **kinds)
        seen = [] if held is None else [(xgboost.DMatrix(X[~kept], y[~kept], weight=parts[1], **kinds), "seen")]
        made = xgboost.train(
            settings, matrix, rounds, evals=seen, early_stopping_rounds=3 if seen else None, verbose_eval=False
        )
        best = made.best_iteration + 1 if seen else rounds
        return made.predict(xgboost.DMatrix(X, **kinds), iteration_range=(0, best)), best
    given: dict[str, Any] = {"objective": task, "max_depth": 3, "learning_rate": 0.5, "min_data_in_bin": 1, "seed": 0}
    given |= {"max_bin": 2048, "enable_bundle": False, "verbosity": -1, "deterministic": True, "force_row_wise": True}
    given |= {"num_threads": 1} | ({"num_class": 3} if task == "multiclass" else {})
    data = lightgbm.Dataset(X[kept], y[kept], weight=parts[0], params=given, categorical_feature=[1])
    if held is None:
        return lightgbm.train(given, data, rounds).predict(X), rounds
    seen_by = lightgbm.Dataset(X[~kept], y[~kept], weight=parts[1], params=given, reference=data)
    calls: list[Any] = [lightgbm.early_stopping(3, verbose=False)]
    stopped = lightgbm.train(given, data, rounds, valid_sets=[seen_by], callbacks=calls)
    return stopped.predict(X, num_iteration=stopped.best_iteration), stopped.best_iteration


@pytest.mark.parametrize("codes", [1, 2, 3, 10, 255, 256, 257, 1000])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_to_a_thousand_codes_with_weights_gaps_and_categories(backend: Any, task: Any, codes: int) -> None:
    column, category, score = drawn(codes, codes)
    y, weight = label(task, score), np.random.default_rng(codes).uniform(0.5, 3, ROWS)
    settings = BoostingSettings(
        task=task,
        backend=backend,
        n_trees=10,
        learning_rate=0.5,
        classes=3 if task == "multiclass" else None,
        threads=1,
    )
    made = train(settings, [Feature("a", ranks=codes), Feature("b", categories=5)], Rows([column, category], y, weight))
    expected, _ = by_hand(backend, task, plain(column, category), y, weight, None, 10)
    assert np.array_equal(made.predict([column, category]), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_early_stopping_stops_where_the_library_stops(backend: Any, task: Any, weighted: bool) -> None:
    column, category, score = drawn(20, 7)
    y, held = label(task, score), np.random.default_rng(8).random(ROWS) < 0.3
    weight = np.random.default_rng(9).uniform(0.5, 3, ROWS) if weighted else None
    settings = BoostingSettings(
        task=task, backend=backend, n_trees=200, learning_rate=0.5, classes=3 if task == "multiclass" else None,
        early_stopping=3, threads=1,
    )  # fmt: skip

    def rows(chosen: Any) -> Rows:
        return Rows([column[chosen], category[chosen]], y[chosen], None if weight is None else weight[chosen])

    features = [Feature("a", ranks=20), Feature("b", categories=5)]
    made = train(settings, features, rows(~held), evaluation=rows(held))
    expected, best = by_hand(backend, task, plain(column, category), y, weight, held, 200)
    assert np.array_equal(made.predict([column, category]), expected)
    assert best < 200


def stumps(columns: list[NDArray[np.int64]], y: Floats, rounds: int, rate: float, start: float) -> Floats:
    """Boost stumps on gradients alone, as slowly as it is written down: a leaf is the mean residual of its rows."""
    margin = np.full(len(y), start)
    for _ in range(rounds):
        residual = y - 1 / (1 + np.exp(-margin))
        sides = [column <= cut for column in columns for cut in np.unique(column)[:-1]]
        left = max(
            sides, key=lambda side: residual[side].sum() ** 2 / side.sum() + residual[~side].sum() ** 2 / (~side).sum()
        )
        margin += rate * np.where(left, residual[left].mean(), residual[~left].mean())
    return margin


def test_first_order_boosting_fits_residuals_and_nothing_else() -> None:
    chance = np.random.default_rng(5)
    columns = [chance.integers(1, 9, 400) for _ in range(3)]
    y = (columns[0] + chance.normal(0, 2, 400) > columns[1]).astype(np.float64)
    settings: dict[str, Any] = {"task": "binary", "n_trees": 12, "max_depth": 1, "learning_rate": 0.3}
    settings |= {"parameters": {"lambda": 0.0, "min_child_weight": 0.0}, "threads": 1}
    features = [Feature(name, ranks=8) for name in "abc"]
    first = train(BoostingSettings(constant_curvature=True, **settings), features, Rows(columns, y))
    expected = stumps(columns, y, 12, 0.3, float(np.log(y.mean() / (1 - y.mean()))))
    assert np.allclose(first.margins(columns), expected, atol=1e-4)
    second = train(BoostingSettings(**settings), features, Rows(columns, y))
    assert not np.allclose(second.margins(columns), expected, atol=1e-2)


def test_for_squares_first_order_is_what_the_library_does_anyway() -> None:
    column, category, score = drawn(20, 3)
    features = [Feature("a", ranks=20), Feature("b", categories=5)]
    models = [
        train(BoostingSettings(task="regression", constant_curvature=each), features, Rows([column, category], score))
        for each in (False, True)
    ]
    assert models[0].model == models[1].model


@pytest.mark.parametrize(
    ("backend", "parameters", "says"),
    [
        ("xgboost", {"max_bin": 16}, "parameters.max_bin is set so that every rank has a bin of its own"),
        ("xgboost", {"tree_method": "exact"}, "parameters.tree_method is set to hist"),
        ("xgboost", {"booster": "dart"}, "parameters.booster is set to gbtree"),
        ("xgboost", {"eta": 0.1}, "parameters.eta is the setting learning_rate"),
        ("xgboost", {"lamda": 1}, "parameters.lamda must be one of alpha"),
        ("xgboost", {"subsample": 2.0}, "parameters must suit XGBoost"),
        ("xgboost", {"subsample": float("nan")}, "parameters.subsample must be finite"),
        ("xgboost", {"subsample": [1]}, "parameters.subsample must be a truth value, a number or text"),
        ("lightgbm", {"max_bin": 16}, "parameters.max_bin is set so that every rank has a bin of its own"),
        ("lightgbm", {"linear_tree": True}, "parameters.linear_tree is set to false"),
        ("lightgbm", {"zero_as_missing": True}, "parameters.zero_as_missing is set to false"),
        ("lightgbm", {"num_leafs": 3}, "parameters.num_leafs must be one of bagging_fraction"),
        ("lightgbm", {"bagging_fraction": 2.0}, "parameters must suit LightGBM"),
    ],
)  # fmt: skip
def test_parameters_that_would_spoil_the_thresholds_or_mean_nothing_are_refused(
    backend: Any, parameters: Any, says: str
) -> None:
    with pytest.raises(SettingError, match=says) as refused:
        BoostingSettings(task="binary", backend=backend, parameters=parameters)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_progress_is_told_tree_by_tree(backend: Any) -> None:
    told: list[tuple[int, int]] = []
    column = np.arange(200) % 4 + 1
    settings = BoostingSettings(task="regression", backend=backend, n_trees=3)
    train(
        settings,
        [Feature("a", ranks=4)],
        Rows([column], column.astype(np.float64)),
        progress=lambda *done: told.append(done),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
