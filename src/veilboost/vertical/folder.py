"""A model folder: the stock model, its statement, a report, their digests, and what a sharpened model was before it.

``sha256sum -c SHA256SUMS`` checks it without us.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from veilboost.errors import EvidenceError, FileError, blaming
from veilboost.files import as_json, check_free, read_folder, write_folder
from veilboost.trees import FILES, StockModel
from veilboost.trees.settings import Backend
from veilboost.vertical.job import Trained
from veilboost.vertical.statement import FORMAT, ModelStatement

_log = logging.getLogger(__name__)

STATEMENT, REPORT = "statement.json", "report.html"
AS_IT_COMES: dict[Backend, str] = {"xgboost": "as-it-comes.json", "lightgbm": "as-it-comes.txt"}
"""The model before it was sharpened, where it was: for samples that are noisy themselves."""

_MODELS = (*FILES.values(), *AS_IT_COMES.values())


@dataclass(frozen=True)
class Saved:
    """A model as it was saved."""

    folder: Path
    model: StockModel
    statement: ModelStatement
    as_it_comes: StockModel | None

    @property
    def sharpened(self) -> bool:
        """Whether the model is for samples without noise alone."""
        return self.statement.sharpened is not None and self.statement.sharpened.share > 0

    @property
    def for_noise(self) -> StockModel:
        """The model for samples that are noisy themselves."""
        if not self.sharpened:
            return self.model
        if self.as_it_comes is None:
            raise FileError(
                self.folder, "holds a sharpened model alone, which is for samples without noise: train again"
            )
        return self.as_it_comes


def check_place(folder: Path) -> None:
    """Refuse a place where no model folder can be made: only an older model folder is ever replaced."""
    check_free(folder, [*_MODELS, STATEMENT, REPORT])


def save(folder: Path, trained: Trained, statement: ModelStatement, report: str) -> None:
    """Write a model folder aside, then put it in its place: never is a part of it there."""
    model, before = trained.model, trained.as_it_comes
    contents = {FILES[model.backend]: model.model, STATEMENT: as_json(statement) + b"\n", REPORT: report.encode()}
    if before != model:
        contents[AS_IT_COMES[model.backend]] = before.model
    write_folder(folder, contents, replacing=_MODELS)
    _log.info("wrote %s", folder)


def load(folder: Path) -> Saved:
    """Read a model folder, or say what is wrong with it: another format, or a file that was altered."""
    files = read_folder(folder, *_kinds())
    statement = _statement(folder / STATEMENT, files[STATEMENT])
    models = {name: _model(folder / name, files[name], statement) for name in _MODELS if name in files}
    model, *before = models.values()
    return Saved(folder, model, statement, before[0] if before else None)


def _kinds() -> Iterator[tuple[str, ...]]:
    for backend, name in FILES.items():
        yield name, STATEMENT, REPORT
        yield name, STATEMENT, REPORT, AS_IT_COMES[backend]


def _model(file: Path, content: bytes, statement: ModelStatement) -> StockModel:
    with blaming(file):
        model = StockModel("xgboost" if file.suffix == ".json" else "lightgbm", content)
    if len(model.features) != len(statement.features):
        raise EvidenceError(
            f"{file.with_name(STATEMENT)} is not about {file.name}, which has {len(model.features)} features"
        )
    return model


def _statement(file: Path, content: bytes) -> ModelStatement:
    try:
        found: int = msgspec.json.decode(content, type=_Format).format
        if found != FORMAT:
            raise FileError(file, f"is of format {found}; this version of veilboost reads format {FORMAT}")
        return msgspec.json.decode(content, type=ModelStatement, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileError(file, f"is no statement of a model: {error}") from None


class _Format(msgspec.Struct, frozen=True):
    format: int
