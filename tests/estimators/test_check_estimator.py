"""Every check of scikit-learn, for both estimators, with both libraries, in the clear and with every column private."""

from typing import Any

import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.utils.estimator_checks import check_estimator, check_sample_weight_equivalence_on_dense_data
from xgboost import XGBClassifier, XGBRegressor

from veilboost import OpBoostClassifier, OpBoostRegressor

pytestmark = pytest.mark.slow

STOCK = {
    (OpBoostClassifier, "xgboost"): XGBClassifier,
    (OpBoostRegressor, "xgboost"): XGBRegressor,
    (OpBoostClassifier, "lightgbm"): LGBMClassifier,
    (OpBoostRegressor, "lightgbm"): LGBMRegressor,
}
PRIVATE = {"private": "all", "bounds": (-10.0, 10.0), "size": 50, "epsilon": 4.0, "simulation_seed": 1}
WEIGHTS = check_sample_weight_equivalence_on_dense_data.__name__
"""Asks for the same model, to nine digits, from a row of weight 3 and from three equal rows."""
NOT_HERE = ("pandas is not installed", "SCIPY_ARRAY_API is not set")


def outcome(estimator: Any) -> dict[str, set[str]]:
    """Return the names of the checks that failed and the reasons of those that were skipped."""
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 50
    return {
        "failed": {each["check_name"] for each in results if each["status"] == "failed"},
        "skipped": {str(each["exception"]) for each in results if each["status"] == "skipped"},
    }


def only_for_want_of_packages(reasons: set[str]) -> bool:
    return all(reason.startswith(NOT_HERE) for reason in reasons)


@pytest.mark.parametrize(("kind", "backend"), STOCK)
def test_every_check_passes_in_the_clear(kind: Any, backend: str) -> None:
    found = outcome(kind(backend=backend, n_jobs=1))
    assert only_for_want_of_packages(found["skipped"])
    # XGBoost adds up gradients in float32, so that a near tie between splits may fall the other way: where the library
    # alone does not pass, with the same settings, neither do we.
    alone = STOCK[kind, backend](n_jobs=1, n_estimators=80, max_depth=3, learning_rate=0.1)
    assert found["failed"] == (set() if weights_repeat_rows(alone) else {WEIGHTS})


def weights_repeat_rows(estimator: Any) -> bool:
    try:
        check_sample_weight_equivalence_on_dense_data(type(estimator).__name__, estimator)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(("kind", "backend"), STOCK)
def test_every_check_passes_with_every_column_private(kind: Any, backend: str) -> None:
    found = outcome(kind(backend=backend, n_jobs=1, **PRIVATE))
    assert only_for_want_of_packages(found["skipped"])
    # A row of weight 3 is noised once, three equal rows are noised three times.
    assert found["failed"] <= {WEIGHTS}
