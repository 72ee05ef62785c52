"""What goes with a fitted model: its statement, the folder it is saved in, and what the noise cost."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes

from party import Party, people
from veilboost import Domain, OpBoostClassifier, OpBoostRegressor, TightMap
from veilboost.errors import FileError
from veilboost.release.statement import SIMULATED, text
from veilboost.vertical import samples
from veilboost.vertical.folder import load

BUNCH = load_breast_cancer()
X = pa.table({name.replace(" ", "_"): BUNCH.data[:, place] for place, name in enumerate(BUNCH.feature_names[:8])})
Y = np.array(["malignant", "benign"])[BUNCH.target]
BOUNDS = {"mean_radius": (0.0, 40.0), "mean_texture": (0.0, 50.0)}
SETTINGS: dict[str, Any] = {
    "private": list(BOUNDS),
    "bounds": BOUNDS,
    "epsilon": 0.5,
    "size": 20,
    "n_estimators": 20,
    "n_jobs": 1,
    "simulation_seed": 3,
}
TRAIN, TEST = np.arange(400), np.arange(400, 569)


def fitted(**settings: Any) -> OpBoostClassifier:
    return OpBoostClassifier(**SETTINGS | settings).fit(X.take(TRAIN), Y[TRAIN])


def words(page: Path) -> str:
    """Return the text of an HTML page, without its marks."""
    return unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
def test_a_saved_model_predicts_as_the_estimator_does(backend: Any, tmp_path: Path) -> None:
    model = fitted(backend=backend)
    said = model.save(tmp_path / "model")
    saved = load(tmp_path / "model")
    assert saved.statement == said
    found = saved.model.predict(samples(saved.statement.features, X.take(TEST)))
    assert np.array_equal(found, model.predict_proba(X.take(TEST))[:, 1])
    assert said.classes == ["benign", "malignant"]
    assert (said.rows, said.backend) == (400, backend)


def test_the_stock_library_reads_the_file_and_explains_it(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "model")
    booster = xgboost.Booster(model_file=tmp_path / "model" / "model.json")
    rows = np.column_stack([X[name].to_numpy()[TEST] for name in X.column_names])
    matrix = xgboost.DMatrix(rows, feature_names=X.column_names)
    assert booster.predict(matrix) == pytest.approx(model.predict_proba(X.take(TEST))[:, 1], rel=1e-6)
    shares = booster.predict(matrix, pred_contribs=True)
    assert shares.sum(axis=1) == pytest.approx(booster.predict(matrix, output_margin=True), abs=1e-4)


def test_simulated_noise_is_named_as_such_everywhere(tmp_path: Path) -> None:
    """Also where the bits are fresh: they were drawn in the process that holds the raw table."""
    for seed in (3, None):
        model = fitted(simulation_seed=seed)
        (said,) = model.statements_
        assert said.noise == "simulated"
        assert SIMULATED in text(said)
        stored = model.save(tmp_path / "model")
        assert [each.noise for each in stored.released] == ["simulated"]
        assert json.loads((tmp_path / "model" / "statement.json").read_text())["released"][0]["noise"] == "simulated"
        assert SIMULATED in words(tmp_path / "model" / "report.html")


def test_noise_under_a_policy_is_not_called_simulated(tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"')
    policies = {"bank": party.folder / "policy.toml"}
    model = OpBoostRegressor(policies=policies, lead="shop", purpose="churn", row_key="id", n_estimators=3)
    model.fit(people(60), np.arange(60.0)).save(tmp_path / "model")
    page = words(tmp_path / "model" / "report.html")
    assert SIMULATED not in page
    assert "Noise is permanent" in page


def test_the_statement_has_the_figures_of_the_mechanism() -> None:
    (said,) = fitted().statements_
    profile = TightMap(epsilon=0.5, size=20).profile()
    for each in said.columns:
        assert each.nominal_epsilon == 0.5
        assert each.exact_gaps == list(profile.gaps)
        assert each.exact_whole_range == profile.worst
    assert "exp(t * 0.5) times" in said.one_column
    assert "exp(t * 1) times" in said.whole_row


def test_a_comparison_says_what_noise_and_codes_cost(tmp_path: Path) -> None:
    model = fitted(private="all", bounds=None, domains=domains(), epsilon=0.05)
    found = model.compare(X.take(TRAIN), Y[TRAIN], X.take(TEST), Y[TEST])
    noisy, coded, plain = found.values.values()
    assert list(found.measures) == ["accuracy", "area under ROC"]
    assert noisy[0] == model.score(X.take(TEST), Y[TEST])
    assert noisy[1] < coded[1]
    alone = OpBoostClassifier(n_estimators=20, n_jobs=1).fit(X.take(TRAIN), Y[TRAIN])
    assert plain[0] == alone.score(X.take(TEST), Y[TEST])
    model.save(tmp_path / "model", scores=found)
    page = words(tmp_path / "model" / "report.html")
    assert f"{noisy[1]:.4f}" in page
    assert f"{plain[1]:.4f}" in page


def domains() -> dict[str, Domain]:
    """Return domains that need not be good: what is compared does not leave this test."""
    tops = {"mean_radius": 40, "mean_texture": 50, "mean_perimeter": 200, "mean_area": 2500}
    return {name: Domain.numbers(0, tops.get(name, 0.5), size=20) for name in X.column_names}


def test_a_comparison_of_a_regression() -> None:
    X, y = load_diabetes(return_X_y=True)
    settings: dict[str, Any] = {"private": [2], "bounds": (-0.2, 0.2), "size": 20, "n_estimators": 10, "n_jobs": 1}
    model = OpBoostRegressor(**settings, simulation_seed=1).fit(X, y)
    found = model.compare(X, y, X, y)
    assert list(found.measures) == ["R²", "mean squared error"]
    sharpened, noisy, stretched, _, plain = found.values.values()
    before = OpBoostRegressor(**settings, simulation_seed=1, sharpen=False).fit(X, y)
    assert sharpened[0] == model.score(X, y)
    assert noisy[0] == before.score(X, y)
    assert noisy[0] < plain[0]
    moved = model._trained.extrapolation
    assert moved is not None
    by_hand = moved.centre + moved.stretch * (before.predict(X).astype(float) - moved.centre)
    assert stretched[1] == pytest.approx(((y - by_hand) ** 2).mean(), rel=1e-6)
    assert next(iter(before.compare(X, y, X, y).values)) == "this model, on noisy codes"


def test_a_place_that_is_no_model_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("x")
    with pytest.raises(FileError, match="is there already and is no model folder"):
        fitted().save(tmp_path / "notes")
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["mine.txt"]
