"""What a boosting library has to do for us; the libraries themselves are imported when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from veilboost.trees.rows import Feature, Rows
    from veilboost.trees.settings import Backend, BoostingSettings, Task

Progress = Callable[[int, int], None]
Floats = NDArray[np.float64]

FILES: Mapping[Backend, str] = {"xgboost": "model.json", "lightgbm": "model.txt"}
"""What the file of a model is called, by library."""


class Library(Protocol):
    """One boosting library; a model is the bytes of its file, a booster the library's own object."""

    kinds: tuple[str, ...]

    def check_parameters(self, settings: BoostingSettings) -> None:
        """Refuse parameters that the library does not know, or that are not the user's to set."""

    def check_names(self, names: Sequence[str]) -> list[str]:
        """Return the names as the library keeps them, or refuse those it cannot keep."""

    def train(
        self,
        settings: BoostingSettings,
        features: Sequence[Feature],
        rows: Rows,
        evaluation: Rows | None,
        progress: Progress | None,
    ) -> bytes:
        """Return a model of the ranks."""

    def open(self, model: bytes) -> Any:
        """Return the booster of a model."""

    def inspect(self, model: bytes) -> tuple[Task, tuple[str, ...]]:
        """Return task and feature names of a model, or say what is wrong with it."""

    def predict_ranks(self, booster: Any, features: Sequence[Feature], columns: Sequence[Any], margin: bool) -> Any:
        """Return what the booster of ranks says about columns of ranks."""

    def predict_raw(self, booster: Any, matrix: Floats, names: Sequence[str], margin: bool) -> Any:
        """Return what a restored booster says about raw values."""

    def places(self, model: bytes, features: Sequence[Feature]) -> list[NDArray[np.int64]]:
        """Return for each feature the ranks after which the model splits."""

    def restore(self, model: bytes, features: Sequence[Feature], cuts: Sequence[Floats | None]) -> bytes:
        """Return the model with raw thresholds."""

    def combine(self, parts: Sequence[tuple[bytes, float]]) -> bytes:
        """Return one model whose margins are those of the parts, each times its weight; the weights sum to one."""

    def importance(self, booster: Any, names: Sequence[str], kind: str) -> dict[str, float]:
        """Return how much each feature matters."""

    def trees(self, booster: Any) -> int:
        """Return how many trees a model has, for each class if there are several."""

    def as_compared(self, values: Floats) -> Floats:
        """Return values as the library sees them when it compares them with thresholds."""


def library(backend: str) -> Library:
    """Return the library of that name; it is imported now, not before."""
    return cast("Library", import_module(f"veilboost.trees._{backend}"))
