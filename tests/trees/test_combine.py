"""Several models as one: its margins are theirs, weighted, in the library's own file."""

from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from veilboost.errors import SettingError, UsageError
from veilboost.trees import BoostingSettings, Feature, Rows, StockModel, combine, restore, train

RANKS = 10
CUTS = np.arange(1, RANKS).astype(np.float64)
WEIGHTS = (1.75, -0.25, -0.5)


def parts(backend: Any, task: Any) -> tuple[list[StockModel], np.ndarray[Any, Any]]:
    chance = np.random.default_rng(0)
    codes = chance.integers(0, RANKS + 1, (4, 400))  # some are missing
    number = codes[0] - codes[1] + chance.normal(0, 1, 400) + 100
    target = {
        "binary": (number > 100) * 1.0,
        "multiclass": np.digitize(number, [98, 102]) * 1.0,
        "regression": number,
    }[task]
    features = [Feature(f"c{place}", ranks=RANKS) for place in range(4)]
    settings = BoostingSettings(
        task=task, backend=backend, classes=3 if task == "multiclass" else None, n_trees=7, threads=1
    )
    found = []
    for shift in range(len(WEIGHTS)):
        moved = [np.where(column, (column + shift * chance.integers(-1, 2, 400)).clip(1, RANKS), 0) for column in codes]
        found.append(restore(train(settings, features, Rows(moved, target)), [CUTS] * 4))
    return found, np.where(codes == 0, np.nan, codes).T


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
def test_margins_are_the_weighted_sum_and_the_file_is_stock(backend: str, task: str) -> None:
    models, X = parts(backend, task)
    made = combine(list(zip(models, WEIGHTS, strict=True)))
    expected = sum(weight * model.margins(X).astype(np.float64) for model, weight in zip(models, WEIGHTS, strict=True))
    assert made.margins(X) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert abs(expected - models[0].margins(X)).max() > 0.01  # the weights matter
    trees = sum(len(_trees(model)) for model in models)
    assert len(_trees(made)) == trees
    if backend == "xgboost":
        stock = xgboost.Booster(model_file=bytearray(made.model))
        again = stock.predict(xgboost.DMatrix(X, feature_names=list(made.features)), output_margin=True)
        shares = stock.predict(xgboost.DMatrix(X, feature_names=list(made.features)), pred_contribs=True)
        assert shares.sum(axis=-1) == pytest.approx(again, rel=1e-3, abs=1e-3)
    else:
        again = np.asarray(lightgbm.Booster(model_str=made.model.decode()).predict(X, raw_score=True))
    assert again == pytest.approx(made.margins(X))


def _trees(model: StockModel) -> Any:
    if model.backend == "xgboost":
        return model.booster.get_dump()
    return model.booster.dump_model()["tree_info"]


def test_parts_that_do_not_fit_are_refused() -> None:
    (first, *_), _ = parts("xgboost", "regression")
    (second, *_), _ = parts("xgboost", "binary")
    with pytest.raises(SettingError, match="must be models of one backend, task and list of features"):
        combine([(first, 0.5), (second, 0.5)])
    with pytest.raises(SettingError, match="must sum to one"):
        combine([(first, 0.5)])
    other = StockModel("xgboost", first.model.replace(b'"base_score":"[', b'"base_score":"[1'))
    with pytest.raises(UsageError, match="begins with another score"):
        combine([(first, 0.5), (other, 0.5)])
