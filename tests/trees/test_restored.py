"""Thresholds in raw units: whatever the cuts, each raw value goes the way of its rank, to the last bit of float32."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from veilboost.errors import DataError, FileError, SettingError
from veilboost.trees import BoostingSettings, Feature, RankModel, Rows, StockModel, as_compared, restore, train

Floats = NDArray[np.float64]
BACKENDS: list[Any] = ["xgboost", "lightgbm"]
TASKS: list[Any] = ["binary", "multiclass", "regression"]
LARGEST = float(np.finfo(np.float32).max)
EASY = {
    "xgboost": {"min_child_weight": 0.0, "lambda": 0.0},
    "lightgbm": {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1e-3},
}

numbers = st.one_of(
    st.floats(-1e6, 1e6),
    st.floats(-LARGEST, LARGEST, width=32),
    st.sampled_from([0.0, -0.0, 0.1, 0.5, 1e-30, -1e-30, 2.0**24 + 1, LARGEST, -LARGEST, 1e300, -1e300]),
)


def boosting(backend: Any, task: Any = "binary", **more: Any) -> BoostingSettings:
    given: dict[str, Any] = {
        "n_trees": 8,
        "max_depth": 4,
        "learning_rate": 0.5,
        "threads": 1,
        "parameters": EASY[backend],
    }
    return BoostingSettings(backend=backend, task=task, classes=3 if task == "multiclass" else None, **given | more)


def target(task: str, rows: int, chance: np.random.Generator) -> Floats:
    score = chance.normal(size=rows)
    found = {"binary": score > 0, "multiclass": np.digitize(score, [-0.5, 0.5]), "regression": score}[task]
    return found.astype(np.float64)


def around(cuts: Floats, backend: str) -> Floats:
    """Return raw values on every cut, a step of float32 and of float64 beside it, far off, and none."""
    near = cuts[np.abs(cuts) <= LARGEST].astype(np.float32)
    with np.errstate(over="ignore"):
        steps = [np.nextafter(near, np.float32(side)).astype(np.float64) for side in (-np.inf, np.inf)]
    doubles = [np.nextafter(cuts, side) for side in (-np.inf, np.inf)]
    far = np.array([0.0, -0.0, 1.0, -1.0, LARGEST, -LARGEST, np.nan])
    values = np.concatenate([cuts, near.astype(np.float64), *steps, *doubles, far])
    kept: Floats = values[np.isnan(values) | np.isfinite(as_compared(values, backend))]
    return kept


def ranks_of(values: Floats, cuts: Floats, backend: str) -> NDArray[np.int64]:
    """Return the rank of each raw value by the definition: the first whose cut it does not exceed; 0 for none."""
    compared = as_compared(values, backend)
    found: NDArray[np.int64] = np.where(np.isnan(compared), 0, np.searchsorted(cuts, compared, side="left") + 1)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(numbers, min_size=0, max_size=12),
    gaps=st.booleans(),
    seed=st.integers(0, 2**32),
    task=st.sampled_from(TASKS),
)
def test_every_raw_value_goes_the_way_of_its_rank(
    backend: Any, cuts: list[float], gaps: bool, seed: int, task: Any
) -> None:
    chance, edges = np.random.default_rng(seed), np.sort(np.array(cuts, np.float64))
    size, rows = len(edges) + 1, 120
    column = chance.integers(0 if gaps else 1, size + 1, rows)
    other = chance.integers(1, 4, rows)
    made = train(
        boosting(backend, task),
        [Feature("a", ranks=size), Feature("b", categories=3)],
        Rows([column, other], target(task, rows, chance)),
    )
    stock = restore(made, [edges, None])
    raw = around(edges, backend)
    for category in (1, 2, 3):
        expected = made.margins([ranks_of(raw, edges, backend), np.full(len(raw), category)])
        found = stock.margins(np.column_stack([raw, np.full(len(raw), category - 1.0)]))
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cut_one_place_off_is_seen(backend: Any) -> None:
    chance = np.random.default_rng(0)
    cuts = np.arange(1, 10).astype(np.float64)
    column = chance.integers(1, 11, 400)
    made = train(boosting(backend), [Feature("a", ranks=10)], Rows([column], target("binary", 400, chance)))
    raw = around(cuts, backend)
    expected = made.margins([ranks_of(raw, cuts, backend)])
    assert np.array_equal(restore(made, [cuts]).margins(raw[:, None]), expected)
    step: Floats = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    for wrong in (step, cuts + 1, cuts - 1e-3):
        assert not np.array_equal(restore(made, [wrong]).margins(raw[:, None]), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_the_cuts_that_a_model_needs_are_looked_at(backend: Any) -> None:
    chance = np.random.default_rng(1)
    columns = [chance.integers(0, 101, 500), chance.integers(0, 101, 500)]
    made = train(
        boosting(backend, n_trees=2, max_depth=2),
        [Feature("a", ranks=100), Feature("b", ranks=100)],
        Rows(columns, (columns[0] > 40).astype(np.float64)),
    )
    all_cuts = np.arange(1, 100).astype(np.float64)
    needed = made.needed()
    assert 0 < sum(map(len, needed)) <= 6
    assert 40 in needed[0]
    few = [np.full(99, np.nan) for _ in needed]
    for cuts, places in zip(few, needed, strict=True):
        cuts[places - 1] = all_cuts[places - 1]
    assert restore(made, few).model == restore(made, [all_cuts, all_cuts]).model
    few[0][needed[0][0] - 1] = np.nan
    with pytest.raises(DataError, match=f"column 'a' must have a cut after rank {needed[0][0]}"):
        restore(made, few)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_file_is_the_library_s_own_and_reads_back(backend: Any, tmp_path: Path) -> None:
    chance = np.random.default_rng(2)
    column, y = chance.integers(0, 6, 300), target("binary", 300, chance)
    made = train(boosting(backend), [Feature("größe", ranks=5)], Rows([column], y))
    cuts = np.array([0.1, 0.2, 0.7, 1e6])
    stock = restore(made, [cuts])
    path = stock.save(tmp_path)
    raw = around(cuts, backend)[:, None]
    if backend == "xgboost":
        booster = xgboost.Booster(model_file=path)
        found = booster.inplace_predict(raw.astype(np.float32), predict_type="margin", validate_features=False)
        assert booster.feature_names == ["größe"]
    else:
        plain = lightgbm.Booster(model_file=path)
        found = plain.predict(raw, raw_score=True)
        assert plain.feature_name() == ["größe"]
    assert np.array_equal(found, stock.margins(raw))
    assert StockModel.load(tmp_path) == StockModel.load(path) == stock
    assert (stock.task, stock.features, stock.trees) == ("binary", ("größe",), 8)
    assert "veilboost" not in path.read_text(encoding="utf-8").lower()


@pytest.mark.parametrize("backend", BACKENDS)
def test_three_plain_values_rebuild_a_model_of_ranks(backend: Any) -> None:
    chance = np.random.default_rng(3)
    column, y = chance.integers(0, 6, 300), target("binary", 300, chance)
    made = train(boosting(backend), [Feature("a", ranks=5)], Rows([column], y))
    again = RankModel(made.backend, made.features, bytes(made.model))
    assert np.array_equal(again.predict([column]), made.predict([column]))
    with pytest.raises(DataError, match="column 'a' must hold codes from 0 to 5; found 6 at row 1"):
        again.predict([np.array([1, 6])])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("cuts", "says"),
    [
        ([np.array([1.0, 2.0])], "must have 4 cuts in float64"),
        ([np.arange(4)], "must have 4 cuts in float64"),
        ([None], "must have cuts if it has ranks"),
        ([np.array([3.0, 2.0, 1.0, 0.0])], "must have cuts that do not decrease"),
        ([], "cuts must be as many as the 1 features"),
    ],
)
def test_cuts_that_do_not_fit_are_refused(backend: Any, cuts: Any, says: str) -> None:
    column = np.arange(500) % 5 + 1
    made = train(boosting(backend), [Feature("a", ranks=5)], Rows([column], (column % 2).astype(np.float64)))
    with pytest.raises((DataError, SettingError), match=says):
        restore(made, cuts)


def altered(model: bytes, backend: str, part: str, value: str) -> bytes:
    """Return a model with the first value of ``part`` in its first tree set to ``value``."""
    text = model.decode()
    sign = f'"{part}":[' if backend == "xgboost" else f"\n{part}="
    head, _, rest = text.partition(sign)
    end = min(place for place in (rest.find(mark) for mark in ",] \n") if place >= 0)
    return f"{head}{sign}{value}{rest[end:]}".encode()


@pytest.mark.parametrize(
    ("backend", "part", "value", "says"),
    [
        ("xgboost", "left_children", "0", "a tree whose nodes do not fit"),
        ("xgboost", "left_children", "99", "a tree whose nodes do not fit"),
        ("xgboost", "split_indices", "7", "splits a feature that is not there"),
        ("xgboost", "split_indices", "1,1", "a tree whose parts do not fit"),
        ("lightgbm", "left_child", "0", "a tree whose nodes do not fit"),
        ("lightgbm", "left_child", "-99", "a tree whose nodes do not fit"),
        ("lightgbm", "split_feature", "7", "splits a feature that is not there"),
        ("lightgbm", "threshold", "1 1", "a tree whose parts do not fit"),
        ("lightgbm", "num_leaves", "x", "is no whole model of LightGBM"),
    ],
)
def test_what_a_library_s_reader_would_trust_is_looked_at_first(
    backend: Any, part: str, value: str, says: str, tmp_path: Path
) -> None:
    column = np.arange(500) % 5 + 1
    made = train(boosting(backend), [Feature("a", ranks=5)], Rows([column], (column % 2).astype(np.float64)))
    path = restore(made, [np.array([0.0, 1.0, 2.0, 3.0])]).save(tmp_path)
    path.write_bytes(altered(path.read_bytes(), backend, part, value))
    with pytest.raises(FileError, match=says) as refused:
        StockModel.load(path)
    assert "\n" not in str(refused.value)


def test_an_empty_or_a_foreign_file_is_no_model(tmp_path: Path) -> None:
    for name, content in (("model.json", "{}"), ("model.json", ""), ("model.txt", "tree"), ("model.txt", "")):
        (tmp_path / name).write_text(content)
        with pytest.raises(FileError, match="is no whole model of"):
            StockModel.load(tmp_path / name)
    with pytest.raises(FileError, match="must hold either"):
        StockModel.load(tmp_path)
    with pytest.raises(FileError, match="is neither a folder nor"):
        StockModel.load(tmp_path / "model.pkl")
