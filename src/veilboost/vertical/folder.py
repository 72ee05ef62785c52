"""A model folder: the stock model, its statement, a report, and the digests of all three.

``sha256sum -c SHA256SUMS`` checks it without us.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from veilboost.errors import EvidenceError, FileError, blaming
from veilboost.files import as_json, check_free, read_folder, write_folder
from veilboost.trees import FILES, StockModel
from veilboost.vertical.statement import FORMAT, ModelStatement

STATEMENT, REPORT = "statement.json", "report.html"


@dataclass(frozen=True)
class Saved:
    """A model as it was saved."""

    model: StockModel
    statement: ModelStatement


def check_place(folder: Path) -> None:
    """Refuse a place where no model folder can be made: only an older model folder is ever replaced."""
    check_free(folder, [*FILES.values(), STATEMENT, REPORT])


def save(folder: Path, model: StockModel, statement: ModelStatement, report: str) -> None:
    """Write a model folder aside, then put it in its place: never is a part of it there."""
    contents = {FILES[model.backend]: model.model, STATEMENT: as_json(statement) + b"\n", REPORT: report.encode()}
    write_folder(folder, contents, replacing=FILES.values())


def load(folder: Path) -> Saved:
    """Read a model folder, or say what is wrong with it: another format, or a file that was altered."""
    files = read_folder(folder, *[(name, STATEMENT, REPORT) for name in FILES.values()])
    statement = _statement(folder / STATEMENT, files[STATEMENT])
    ((backend, name),) = [(backend, name) for backend, name in FILES.items() if name in files]
    with blaming(folder / name):
        model = StockModel(backend, files[name])
    if len(model.features) != len(statement.features):
        raise EvidenceError(f"{folder / STATEMENT} is not about {name}, which has {len(model.features)} features")
    return Saved(model, statement)


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
