"""LightGBM: training on ranks with a bin for each, predicting, and what it can be told."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm
import numpy as np

from veilboost.errors import DataError, SettingError
from veilboost.trees._lightgbm_trees import combine, inspect, places, restore
from veilboost.trees.library import Floats, Progress
from veilboost.trees.rows import Columns, Feature, Rows, as_floats
from veilboost.trees.settings import BoostingSettings

__all__ = ["combine", "inspect", "places", "restore"]

kinds = ("weight", "gain", "total_gain")

_OBJECTIVES = {"binary": "binary", "multiclass": "multiclass", "regression": "regression"}
_TAKEN = {
    "bagging_fraction", "bagging_freq", "bagging_seed", "boost_from_average", "cat_l2", "cat_smooth",
    "data_sample_strategy", "extra_seed", "extra_trees", "feature_fraction", "feature_fraction_bynode",
    "feature_fraction_seed", "interaction_constraints", "is_unbalance", "lambda_l1", "lambda_l2", "max_cat_threshold",
    "max_cat_to_onehot", "max_delta_step", "metric", "min_data_in_leaf", "min_data_per_group", "min_gain_to_split",
    "min_sum_hessian_in_leaf", "monotone_constraints", "monotone_constraints_method", "monotone_penalty",
    "neg_bagging_fraction", "num_leaves", "other_rate", "path_smooth", "pos_bagging_fraction", "scale_pos_weight",
    "top_rate",
}  # fmt: skip
_REFUSED = {
    "learning_rate": "is the setting learning_rate",
    "max_depth": "is the setting max_depth",
    "objective": "is the setting task",
    "num_class": "is the setting classes",
    "seed": "is the setting seed",
    "num_threads": "is the setting threads",
    "num_iterations": "is the setting n_trees",
    "early_stopping_round": "is the setting early_stopping",
    "max_bin": "is set so that every rank has a bin of its own",
    "max_bin_by_feature": "is left out so that every rank has a bin of its own",
    "min_data_in_bin": "is set to 1, so that every rank has a bin of its own",
    "bin_construct_sample_cnt": "is set so that every row is seen",
    "enable_bundle": "is set to false, so that every rank has a bin of its own",
    "zero_as_missing": "is set to false: a missing value has a code of its own",
    "use_missing": "is set to true: a missing value has a code of its own",
    "linear_tree": "is set to false: a leaf's line over ranks has no raw units",
    "boosting": "is set to gbdt",
    "deterministic": "is set to true",
    "force_row_wise": "is set to true, so that nothing is decided by timing",
    "force_col_wise": "is set to false, so that nothing is decided by timing",
    "device_type": "is set to the processor",
    "verbosity": "is set to silence; what goes wrong is raised",
}
_BY_FEATURE = {"monotone_constraints", "interaction_constraints"}
_ZERO = float(np.float32(1e-35))
"""LightGBM takes whatever is this close to zero for zero."""


def check_parameters(settings: BoostingSettings) -> None:
    """Refuse parameters that are not the user's to set, and let LightGBM check the values of the others."""
    for name, value in settings.parameters.items():
        if name in _REFUSED:
            raise SettingError(f"parameters.{name}", _REFUSED[name], value)
        if name not in _TAKEN:
            raise SettingError(f"parameters.{name}", f"must be one of {', '.join(sorted(_TAKEN))}", value)
    general = {name: value for name, value in settings.parameters.items() if name not in _BY_FEATURE}
    parameters = _parameters(settings, 2, 40) | general | {"num_threads": 1}
    target = np.arange(40) % (settings.classes or 2)
    codes = np.arange(40, dtype=np.float32)[:, None] % 2
    _asked(general, lambda: lightgbm.train(parameters, lightgbm.Dataset(codes, target, params=parameters), 1))


def _asked(parameters: Mapping[str, Any], ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (lightgbm.basic.LightGBMError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise SettingError("parameters", f"must suit LightGBM ({said})", dict(parameters)) from error


def _parameters(settings: BoostingSettings, size: int, rows: int) -> dict[str, Any]:
    own: dict[str, Any] = {
        "objective": _OBJECTIVES[settings.task],
        "max_bin": size + 3,
        "min_data_in_bin": 1,
        "bin_construct_sample_cnt": max(rows, 200_000),
        "enable_bundle": False,
        "max_depth": settings.max_depth,
        "learning_rate": settings.learning_rate,
        "seed": settings.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": settings.threads or 0,
        "verbosity": -1,
    }
    classes = {"num_class": settings.classes} if settings.classes else {}
    return own | classes | dict(settings.parameters)


def check_names(names: Sequence[str]) -> list[str]:
    """Return the names with _ for spaces, as LightGBM itself replaces them, or refuse those that it refuses."""
    for name in names:
        if any(sign in name for sign in '",:[]{}'):
            raise DataError(name, 'must have none of ",:[]{} in its name, because LightGBM takes none', name)
    return ["".join("_" if sign.isspace() else sign for sign in name) for name in names]


def train(
    settings: BoostingSettings,
    features: Sequence[Feature],
    rows: Rows,
    evaluation: Rows | None,
    progress: Progress | None,
) -> bytes:
    """Return the model's text, as LightGBM itself would make it from the same ranks."""
    parameters = _parameters(settings, max(feature.size for feature in features), len(rows.target))
    stopping = settings.early_stopping is not None and evaluation is not None
    data = _data(settings, features, rows, parameters)
    checked = [_data(settings, features, evaluation, parameters, data)] if stopping and evaluation else None
    booster = _asked(
        settings.parameters,
        lambda: lightgbm.train(
            parameters, data, settings.n_trees, valid_sets=checked, callbacks=_callbacks(settings, stopping, progress)
        ),
    )
    return str(booster.model_to_string(num_iteration=booster.best_iteration if stopping else -1)).encode()


def _callbacks(settings: BoostingSettings, stopping: bool, progress: Progress | None) -> list[Callable[[Any], None]]:
    callbacks: list[Callable[[Any], None]] = []
    if progress:
        tell = progress
        callbacks.append(lambda state: tell(state.iteration + 1, settings.n_trees))
    if stopping and settings.early_stopping:
        callbacks.append(lightgbm.early_stopping(settings.early_stopping, verbose=False))
    return callbacks


def _data(
    settings: BoostingSettings,
    features: Sequence[Feature],
    rows: Rows,
    parameters: dict[str, Any],
    reference: Any = None,
) -> Any:
    return lightgbm.Dataset(
        as_floats(rows.columns, features, settings.threads),
        rows.target,
        weight=rows.weight,
        reference=reference,
        feature_name=[feature.name for feature in features],
        categorical_feature=[place for place, feature in enumerate(features) if feature.categories],
        params=parameters,
    )


def open(model: bytes) -> Any:  # noqa: A001 -- what every library here calls it
    """Return LightGBM's own object."""
    return lightgbm.Booster(model_str=model.decode())


def predict_ranks(booster: Any, features: Sequence[Feature], columns: Columns, margin: bool) -> Any:
    """Return margins or predictions for columns of codes."""
    return booster.predict(as_floats(columns, features, None), raw_score=margin)


def predict_raw(booster: Any, matrix: Floats, names: Sequence[str], margin: bool) -> Any:  # noqa: ARG001
    """Return margins or predictions for raw values."""
    return booster.predict(matrix, raw_score=margin)


def importance(booster: Any, names: Sequence[str], kind: str) -> dict[str, float]:
    """Return the number of splits of each feature, the sum of their gains, or their mean."""
    splits, gains = (booster.feature_importance(each).astype(np.float64) for each in ("split", "gain"))
    found = {"weight": splits, "total_gain": gains, "gain": gains / np.maximum(splits, 1)}[kind]
    return dict(zip(names, found.tolist(), strict=True))


def trees(booster: Any) -> int:
    """Return how many rounds there were."""
    return int(booster.current_iteration())


def as_compared(values: Floats) -> Floats:
    """Return values with zero for those that LightGBM takes for zero."""
    return np.where(np.abs(values) <= _ZERO, 0.0, values)
