"""A model of ranks, the same model in raw units, and the way from the rows to the one and on to the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, FileError, SettingError, blaming
from veilboost.files import write_whole
from veilboost.trees.library import FILES, Floats, Library, Progress, library
from veilboost.trees.rows import Columns, Feature, Rows, check_columns

if TYPE_CHECKING:
    from veilboost.trees.settings import Backend, BoostingSettings, Task


def train(
    settings: BoostingSettings,
    features: Sequence[Feature],
    rows: Rows,
    *,
    evaluation: Rows | None = None,
    progress: Progress | None = None,
) -> RankModel:
    """Train on codes as the library itself would; ``evaluation`` is what early stopping looks at, and nothing else.

    ``progress`` is called with the number of trees done and of all trees.
    """
    named = _checked(settings, features)
    rows.check(settings, features)
    if settings.early_stopping is not None:
        if evaluation is None:
            raise SettingError("early_stopping", "needs evaluation rows", settings.early_stopping)
        evaluation.check(settings, features)
    model = library(settings.backend).train(settings, named, rows, evaluation, progress)
    return RankModel(settings.backend, tuple(named), model)


def get_ready(settings: BoostingSettings) -> None:
    """Load the library and let it start its threads, as a program does that is about to wait for others.

    >>> from veilboost.trees import BoostingSettings
    >>> get_ready(BoostingSettings(task="binary"))
    """
    changed: dict[str, Any] = {
        "task": "regression",
        "classes": None,
        "n_trees": 1,
        "early_stopping": None,
        "parameters": {},
    }
    least = msgspec.structs.replace(settings, **changed)
    train(least, [Feature("x", ranks=2)], Rows([np.array([1, 2], dtype=np.uint8)], np.array([0.0, 1.0])))


def _checked(settings: BoostingSettings, features: Sequence[Feature]) -> list[Feature]:
    """Return the features under the names that the library keeps."""
    if not features:
        raise SettingError("features", "must be at least one", 0)
    names = library(settings.backend).check_names([feature.name for feature in features])
    for place, name in enumerate(names):
        if name in names[:place]:
            raise DataError(features[place].name, "must have a name of its own", f"{name!r} twice")
    return [Feature(name, each.ranks, each.categories) for name, each in zip(names, features, strict=True)]


@dataclass(frozen=True)
class RankModel:
    """A model that compares ranks; ``model`` is the library's own file, so that three plain values rebuild it."""

    backend: Backend
    features: tuple[Feature, ...]
    model: bytes

    def needed(self) -> list[NDArray[np.int64]]:
        """Return for each feature the ranks r of which some split says "codes <= r go left", without the last rank."""
        return self._library.places(self.model, self.features)

    def margins(self, columns: Columns) -> NDArray[Any]:
        """Return the sums of leaves for columns of codes: one for each row, or one for each row and class."""
        return self._predict(columns, margin=True)

    def predict(self, columns: Columns) -> NDArray[Any]:
        """Return the probability of class 1, a row of probabilities for several classes, or the value."""
        return self._predict(columns, margin=False)

    def _predict(self, columns: Columns, margin: bool) -> NDArray[Any]:
        check_columns(columns, self.features)
        return np.asarray(self._library.predict_ranks(self._booster, self.features, columns, margin))

    @cached_property
    def _booster(self) -> Any:
        return self._library.open(self.model)

    @property
    def _library(self) -> Library:
        return library(self.backend)


def restore(model: RankModel, cuts: Sequence[Floats | None]) -> StockModel:
    """Put the thresholds back: ``cuts[j][r - 1]`` is the largest raw value that has a rank of at most r.

    Cuts are looked at where ``model.needed()`` says so; the others may be NaN. A feature with categories has None, and
    its raw value is the code minus one. Values are meant as the library compares them: see ``as_compared``.
    """
    if len(cuts) != len(model.features):
        raise SettingError("cuts", f"must be as many as the {len(model.features)} features", len(cuts))
    for feature, places, column in zip(model.features, model.needed(), cuts, strict=True):
        _check_cuts(feature, places, column)
    return StockModel(model.backend, library(model.backend).restore(model.model, model.features, cuts))


def _check_cuts(feature: Feature, places: NDArray[np.int64], cuts: Floats | None) -> None:
    if feature.categories or cuts is None:
        if feature.ranks or cuts is not None:
            raise DataError(feature.name, "must have cuts if it has ranks, and none if it has categories", cuts)
        return
    if not isinstance(cuts, np.ndarray) or cuts.dtype != np.float64 or cuts.shape != (feature.ranks - 1,):
        found = f"{cuts.dtype} {cuts.shape}" if isinstance(cuts, np.ndarray) else type(cuts)
        raise DataError(feature.name, f"must have {feature.ranks - 1} cuts in float64", found)
    used = cuts[places - 1]
    if np.isnan(used).any():
        raise DataError(feature.name, f"must have a cut after rank {places[np.isnan(used)][0]}", "NaN")
    if (used[1:] < used[:-1]).any():
        raise DataError(feature.name, "must have cuts that do not decrease", used.tolist())


@dataclass(frozen=True)
class StockModel:
    """A model in raw units, which is the library's own: its file opens without us."""

    backend: Backend
    model: bytes

    def __post_init__(self) -> None:
        _ = self._inspected

    @cached_property
    def _inspected(self) -> tuple[Task, tuple[str, ...]]:
        return library(self.backend).inspect(self.model)

    @property
    def task(self) -> Task:
        """What it predicts."""
        return self._inspected[0]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self._inspected[1]

    @property
    def trees(self) -> int:
        """How many trees it has, for each class if there are several."""
        return library(self.backend).trees(self.booster)

    @cached_property
    def booster(self) -> Any:
        """The library's own object."""
        return library(self.backend).open(self.model)

    def margins(self, matrix: Floats) -> NDArray[Any]:
        """Return the sums of leaves for raw values, NaN where missing: one for each row, or for each row and class."""
        return self._predict(matrix, margin=True)

    def predict(self, matrix: Floats) -> NDArray[Any]:
        """Return the probability of class 1, a row of probabilities for several classes, or the value."""
        return self._predict(matrix, margin=False)

    def _predict(self, matrix: Floats, margin: bool) -> NDArray[Any]:
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise SettingError("matrix", "must be a two-dimensional array of numbers", type(matrix).__name__)
        if matrix.shape[1] != len(self.features):
            raise SettingError("matrix", f"must have the {len(self.features)} features as columns", matrix.shape)
        held = matrix.astype(np.float64, copy=False)
        return np.asarray(library(self.backend).predict_raw(self.booster, held, self.features, margin))

    def importance(self, kind: str = "gain") -> dict[str, float]:
        """Return how much each feature matters.

        "weight" is the number of splits that use it, "total_gain" what they improve the training loss by, "gain" their
        mean; XGBoost also has "cover" and "total_cover".
        """
        kinds = library(self.backend).kinds
        if kind not in kinds:
            raise SettingError("kind", f"must be one of {', '.join(kinds)}", kind)
        return library(self.backend).importance(self.booster, self.features, kind)

    def save(self, folder: Path) -> Path:
        """Write the library's own file into ``folder``, and return its path."""
        path = Path(folder) / FILES[self.backend]
        with blaming(path):
            write_whole(path, self.model.decode())
        return path

    @staticmethod
    def load(path: Path) -> StockModel:
        """Read a model from its file, or from the folder it was saved in."""
        file = _found(Path(path))
        with blaming(file):
            return StockModel("xgboost" if file.suffix == ".json" else "lightgbm", file.read_bytes())


def combine(parts: Sequence[tuple[StockModel, float]]) -> StockModel:
    """Return one model of the library whose margins are those of ``parts``, each times its weight.

    The parts come from the same target, features and settings; the weights sum to one.
    """
    models, weights = [model for model, _ in parts], [weight for _, weight in parts]
    if not parts or len({(model.backend, model.task, model.features) for model in models}) > 1:
        raise SettingError("parts", "must be models of one backend, task and list of features", len(parts))
    if not math.isclose(math.fsum(weights), 1, abs_tol=1e-9):
        raise SettingError("weights", "must sum to one", weights)
    joined = library(models[0].backend).combine([(model.model, weight) for model, weight in parts])
    return StockModel(models[0].backend, joined)


def _found(path: Path) -> Path:
    """Return the one file of a model."""
    if not path.is_dir():
        if path.suffix not in {".json", ".txt"}:
            raise FileError(path, "is neither a folder nor a .json file of XGBoost nor a .txt file of LightGBM")
        return path
    there = [path / name for name in FILES.values() if (path / name).exists()]
    if len(there) != 1:
        raise FileError(path, "must hold either model.json or model.txt" + (", not both" if there else ""))
    return there[0]


def as_compared(values: Floats, backend: str) -> Floats:
    """Return values as the library sees them when it compares them with thresholds.

    >>> as_compared(np.array([0.1, 1e-36]), "xgboost").tolist()
    [0.10000000149011612, 1.0000000359391298e-36]
    >>> as_compared(np.array([0.1, 1e-36]), "lightgbm").tolist()
    [0.1, 0.0]
    """
    return library(backend).as_compared(np.asarray(values, dtype=np.float64))
