"""A model folder: the stock model, its statement, a report, and the digests of all three.

``sha256sum -c SHA256SUMS`` checks it without us.
"""

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from veilboost.errors import EvidenceError, FileError, blaming
from veilboost.files import as_json, check_writable, settle
from veilboost.trees import StockModel
from veilboost.vertical.statement import FORMAT, ModelStatement

SUMS, STATEMENT, REPORT = "SHA256SUMS", "statement.json", "report.html"
MODELS: dict[str, Literal["xgboost", "lightgbm"]] = {"model.json": "xgboost", "model.txt": "lightgbm"}


@dataclass(frozen=True)
class Saved:
    """A model as it was saved."""

    model: StockModel
    statement: ModelStatement


def check_place(folder: Path) -> None:
    """Refuse a place where no model folder can be made: only an older model folder is ever replaced."""
    check_writable(folder / SUMS)
    if not folder.exists():
        return
    others = {path.name for path in folder.iterdir()} - {*MODELS, STATEMENT, REPORT, SUMS} if folder.is_dir() else {""}
    if others or (any(folder.iterdir()) and not (folder / SUMS).is_file()):
        raise FileError(folder, "is there already and is no model folder alone; name another, or remove it")


def save(folder: Path, model: StockModel, statement: ModelStatement, report: str) -> None:
    """Write a model folder aside, then put it in its place: never is a part of it there.

    Of two folders only one can be moved at a time: between them there is none for an instant, and a machine that stops
    just then has both in a hidden folder beside the place.
    """
    check_place(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        made, old = Path(aside) / "new", Path(aside) / "old"
        made.mkdir()
        try:
            _write(made, model, statement, report)
        except FileError as error:
            raise FileError(folder, error.problem) from error
        if folder.exists():
            folder.rename(old)
        try:
            made.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise


def _write(folder: Path, model: StockModel, statement: ModelStatement, report: str) -> None:
    file = model.save(folder)
    (folder / STATEMENT).write_bytes(as_json(statement) + b"\n")
    (folder / REPORT).write_text(report, encoding="utf-8")
    names = sorted([file.name, STATEMENT, REPORT])
    sums = "".join(f"{_digest((folder / name).read_bytes())}  {name}\n" for name in names)
    (folder / SUMS).write_bytes(sums.encode())
    for name in [*names, SUMS]:
        settle(folder / name)


def load(folder: Path) -> Saved:
    """Read a model folder, or say what is wrong with it: another format, or a file that was altered."""
    files = {name: _unaltered(folder / name, digest) for name, digest in _listed(folder).items()}
    statement = _statement(folder / STATEMENT, files[STATEMENT])
    (name,) = files.keys() & MODELS.keys()
    with blaming(folder / name):
        model = StockModel(MODELS[name], files[name])
    if len(model.features) != len(statement.features):
        raise EvidenceError(f"{folder / STATEMENT} is not about {name}, which has {len(model.features)} features")
    return Saved(model, statement)


def _unaltered(file: Path, digest: str) -> bytes:
    """Return the content of a file, which must have the digest that was written down."""
    if not file.is_file():
        raise EvidenceError(f"{file} is missing")
    content = file.read_bytes()
    if _digest(content) != digest:
        raise EvidenceError(f"{file} is not what was saved: its digest is another")
    return content


def _listed(folder: Path) -> dict[str, str]:
    """Return the digest of each file in the folder, by name: of one model, its statement and its report."""
    sums = folder / SUMS
    if not sums.is_file():
        raise FileError(folder, f"is no model folder: it has no {SUMS}")
    found = re.fullmatch(rb"(?:[0-9a-f]{64}  [a-z.]+\n){3}", sums.read_bytes())
    lines = [] if found is None else [line.split("  ") for line in found[0].decode().splitlines()]
    names = [name for _, name in lines]
    if names not in ([name, REPORT, STATEMENT] for name in MODELS):
        raise EvidenceError(f"{sums} is not as it was written: the digests of a model, its report and its statement")
    return {name: digest for digest, name in lines}


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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
