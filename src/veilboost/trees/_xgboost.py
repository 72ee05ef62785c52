"""XGBoost: training on ranks without the search for bins, predicting, and what it can be told."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.trees._xgboost_trees import combine, inspect, places, restore
from veilboost.trees.library import Floats, Progress
from veilboost.trees.rows import Columns, Feature, Rows, counted_from_zero, present
from veilboost.trees.settings import BoostingSettings

__all__ = ["combine", "inspect", "places", "restore"]

kinds = ("weight", "gain", "cover", "total_gain", "total_cover")

_OBJECTIVES = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
_TAKEN = {
    "alpha", "base_score", "colsample_bylevel", "colsample_bynode", "colsample_bytree", "eval_metric", "gamma",
    "grow_policy", "interaction_constraints", "lambda", "max_cat_threshold", "max_cat_to_onehot", "max_delta_step",
    "max_leaves", "min_child_weight", "min_split_loss", "monotone_constraints", "num_parallel_tree", "reg_alpha",
    "reg_lambda", "scale_pos_weight", "seed_per_iteration", "subsample",
}  # fmt: skip
_REFUSED = {
    "eta": "is the setting learning_rate",
    "learning_rate": "is the setting learning_rate",
    "max_depth": "is the setting max_depth",
    "objective": "is the setting task",
    "num_class": "is the setting classes",
    "seed": "is the setting seed",
    "random_state": "is the setting seed",
    "nthread": "is the setting threads",
    "n_jobs": "is the setting threads",
    "num_boost_round": "is the setting n_trees",
    "n_estimators": "is the setting n_trees",
    "early_stopping_rounds": "is the setting early_stopping",
    "max_bin": "is set so that every rank has a bin of its own",
    "tree_method": "is set to hist, the only method with a bin for every rank",
    "booster": "is set to gbtree, whose thresholds can go back",
    "multi_strategy": "is set to one tree for each class, whose thresholds can go back",
    "device": "is set to the processor",
    "verbosity": "is set to silence; what goes wrong is raised",
}
_BY_FEATURE = {"monotone_constraints", "interaction_constraints"}


def check_parameters(settings: BoostingSettings) -> None:
    """Refuse parameters that are not the user's to set, and let XGBoost check the values of the others."""
    for name, value in settings.parameters.items():
        if name in _REFUSED:
            raise SettingError(f"parameters.{name}", _REFUSED[name], value)
        if name not in _TAKEN:
            raise SettingError(f"parameters.{name}", f"must be one of {', '.join(sorted(_TAKEN))}", value)
    general = {name: value for name, value in settings.parameters.items() if name not in _BY_FEATURE}
    classes = settings.classes or 2
    rows = xgboost.DMatrix(np.zeros((classes, 1)), np.arange(classes), nthread=1)
    booster = _asked(general, lambda: xgboost.train(_parameters(settings, 2) | general | {"nthread": 1}, rows, 1))
    _check_known(settings.parameters, booster.save_config())


def _check_known(parameters: Mapping[str, Any], configuration: str) -> None:
    """Refuse a parameter that XGBoost has not taken over: of those that it does not know it says nothing."""
    for name, value in parameters.items():
        if name != "eval_metric" and f'"{name}":' not in configuration:
            raise SettingError(f"parameters.{name}", "is no parameter of XGBoost for this task", value)


def _asked(parameters: Mapping[str, Any], ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (xgboost.core.XGBoostError, ValueError, TypeError) as error:
        raise SettingError("parameters", f"must suit XGBoost ({_first_line(error)})", dict(parameters)) from error


def _first_line(error: Exception) -> str:
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line.partition("] ")[2].partition(": ")[2] or line


def _parameters(settings: BoostingSettings, max_bin: int) -> dict[str, Any]:
    own: dict[str, Any] = {
        "objective": _OBJECTIVES[settings.task],
        "tree_method": "hist",
        "max_bin": max_bin,
        "max_depth": settings.max_depth,
        "learning_rate": settings.learning_rate,
        "seed": settings.seed,
        "nthread": settings.threads or 0,
        "verbosity": 0,
    }
    classes = {"num_class": settings.classes} if settings.classes else {}
    return own | classes | dict(settings.parameters)


def check_names(names: Sequence[str]) -> list[str]:
    """Return the names, or refuse those that XGBoost refuses."""
    for name in names:
        if any(sign in name for sign in "[]<"):
            raise DataError(name, "must have no [, ] or < in its name, because XGBoost takes none", name)
    return list(names)


def train(
    settings: BoostingSettings,
    features: Sequence[Feature],
    rows: Rows,
    evaluation: Rows | None,
    progress: Progress | None,
) -> bytes:
    """Return the model's JSON, as XGBoost itself would make it from the same ranks."""
    max_bin = max(2, *(feature.ranks for feature in features))
    matrix = _matrix(settings, features, rows, max_bin)
    parameters = _parameters(settings, max_bin) | _start(settings, rows)
    stopping = settings.early_stopping is not None and evaluation is not None
    booster = _asked(
        settings.parameters,
        lambda: xgboost.train(
            parameters,
            matrix,
            settings.n_trees,
            evals=[(_plain(settings, features, evaluation), "evaluation")] if stopping and evaluation else [],
            obj=_first_order(settings, rows),
            early_stopping_rounds=settings.early_stopping if stopping else None,
            callbacks=[_Told(progress, settings.n_trees)] if progress else None,
            verbose_eval=False,
        ),
    )
    if stopping:
        booster = booster[: booster.best_iteration + 1]
        booster.set_attr(best_iteration=None, best_score=None)
    return bytes(booster.save_raw("json"))


class _Told(xgboost.callback.TrainingCallback):
    """Tell how many trees are done."""

    def __init__(self, progress: Progress, of: int) -> None:
        super().__init__()
        self._progress, self._of = progress, of

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._progress(epoch + 1, self._of)
        return False


def _matrix(settings: BoostingSettings, features: Sequence[Feature], rows: Rows, max_bin: int) -> Any:
    """Return the codes in bins.

    XGBoost takes the bins of a second matrix from the first; so the first holds every rank once, and the search for
    bins, which costs a third of the training, has nothing to search.
    """
    described = _described(features)
    return xgboost.QuantileDMatrix(
        counted_from_zero(rows.columns, features, settings.threads),
        rows.target,
        weight=rows.weight,
        missing=-1,
        max_bin=max_bin,
        ref=xgboost.QuantileDMatrix(
            _every_code(features, rows), max_bin=max_bin, nthread=settings.threads, **described
        ),
        nthread=settings.threads,
        **described,
    )


def _described(features: Sequence[Feature]) -> dict[str, Any]:
    types = ["c" if feature.categories else "q" for feature in features]
    return {
        "feature_names": [feature.name for feature in features],
        "feature_types": types if "c" in types else None,
        "enable_categorical": True,
    }


def _every_code(features: Sequence[Feature], rows: Rows) -> NDArray[np.float32]:
    """Return each rank that occurs, once, from the top of its column; a row without weight does not count."""
    counted = None if rows.weight is None or rows.weight.all() else np.flatnonzero(rows.weight)
    columns = rows.columns if counted is None else [column[counted] for column in rows.columns]
    codes = [present(column, feature.size) for feature, column in zip(features, columns, strict=True)]
    matrix = np.full((max(1, *map(len, codes)), len(features)), np.nan, dtype=np.float32)
    for place, found in enumerate(codes):
        matrix[: len(found), place] = found - 1
    return matrix


def _plain(settings: BoostingSettings, features: Sequence[Feature], rows: Rows) -> Any:
    matrix = counted_from_zero(rows.columns, features, settings.threads)
    return xgboost.DMatrix(
        matrix, rows.target, weight=rows.weight, missing=-1, nthread=settings.threads, **_described(features)
    )


def _start(settings: BoostingSettings, rows: Rows) -> dict[str, Any]:
    """Return where first-order boosting starts: XGBoost does not look for it when gradients come from outside."""
    if not settings.constant_curvature or settings.task == "regression" or "base_score" in settings.parameters:
        return {}
    if settings.task == "multiclass":
        return {"base_score": 0.0}
    return {"base_score": float(np.clip(np.average(rows.target, weights=rows.weight), 1e-6, 1 - 1e-6))}


def _first_order(settings: BoostingSettings, rows: Rows) -> Any:
    """Return the gradients of the log-loss with curvature 1 for each row; squares have that by themselves."""
    if not settings.constant_curvature or settings.task == "regression":
        return None
    weight = np.ones(len(rows.target)) if rows.weight is None else rows.weight.astype(np.float64)
    classes = settings.classes or 2
    truth = np.eye(classes)[rows.target.astype(np.int64)] if settings.classes else rows.target
    rating = weight[:, None] if settings.classes else weight

    def gradients(margins: NDArray[Any], _: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        chance = _softmax(margins) if settings.classes else 1 / (1 + np.exp(-margins.astype(np.float64)))
        return (chance - truth) * rating, np.broadcast_to(rating, truth.shape).copy()

    return gradients


def _softmax(margins: NDArray[Any]) -> NDArray[np.float64]:
    raised = np.exp(margins.astype(np.float64) - margins.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def open(model: bytes) -> Any:  # noqa: A001 -- what every library here calls it
    """Return XGBoost's own object."""
    return xgboost.Booster({"verbosity": 0}, model_file=bytearray(model))


def predict_ranks(booster: Any, features: Sequence[Feature], columns: Columns, margin: bool) -> Any:
    """Return margins or predictions for columns of codes."""
    matrix = counted_from_zero(columns, features, None)
    return _predict(booster, matrix, -1, margin)


def predict_raw(booster: Any, matrix: Floats, names: Sequence[str], margin: bool) -> Any:
    """Return margins or predictions for raw values."""
    with np.errstate(over="ignore"):
        held = matrix.astype(np.float32)
    if np.isinf(held).any():
        row, place = np.argwhere(np.isinf(held))[0]
        raise DataError(names[place], "must be finite as float32, which XGBoost compares", matrix[row, place])
    return _predict(booster, held, np.nan, margin)


def _predict(booster: Any, matrix: NDArray[Any], missing: float, margin: bool) -> Any:
    kind = "margin" if margin else "value"
    return booster.inplace_predict(matrix, predict_type=kind, missing=missing, validate_features=False)


def importance(booster: Any, names: Sequence[str], kind: str) -> dict[str, float]:
    """Return XGBoost's own figure for each feature; 0 where no split uses it."""
    found = booster.get_score(importance_type=kind)
    return {name: float(found.get(name, 0.0)) for name in names}


def trees(booster: Any) -> int:
    """Return how many rounds there were."""
    return int(booster.num_boosted_rounds())


def as_compared(values: Floats) -> Floats:
    """Return values rounded to float32."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)
