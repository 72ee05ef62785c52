"""A model folder: the stock model, its statement, a report, and the digests of all three.

``sha256sum -c SHA256SUMS`` checks it without us.
"""

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from veilboost.errors import EvidenceError, FileError
from veilboost.files import as_json, check_writable, settle
from veilboost.trees import StockModel
from veilboost.vertical.statement import FORMAT, ModelStatement

SUMS, STATEMENT, REPORT = "SHA256SUMS", "statement.json", "report.html"


@dataclass(frozen=True)
class Saved:
    """A model as it was saved."""

    model: StockModel
    statement: ModelStatement


def check_place(folder: Path) -> None:
    """Refuse a place where no model folder can be made: only an older model folder is ever replaced."""
    check_writable(folder / SUMS)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / SUMS).is_file())):
        raise FileError(folder, "is there already and is no model folder; name another, or remove it")


def save(folder: Path, model: StockModel, statement: ModelStatement, report: str) -> None:
    """Write a model folder aside, then put it in its place: a reader sees the old one or the new one, never a part."""
    check_place(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        made = Path(aside) / "new"
        made.mkdir()
        file = model.save(made)
        (made / STATEMENT).write_bytes(as_json(statement) + b"\n")
        (made / REPORT).write_text(report, encoding="utf-8")
        names = sorted([file.name, STATEMENT, REPORT])
        (made / SUMS).write_text("".join(f"{_digest(made / name)}  {name}\n" for name in names), encoding="ascii")
        for name in [*names, SUMS]:
            settle(made / name)
        if folder.exists():
            folder.rename(Path(aside) / "old")
        made.rename(folder)


def load(folder: Path) -> Saved:
    """Read a model folder, or say what is wrong with it: another format, or a file that was altered."""
    listed = _listed(folder)
    if STATEMENT not in listed or REPORT not in listed or len(listed) != 3:
        raise EvidenceError(f"{folder / SUMS} does not list a model, its statement and its report")
    for name, digest in listed.items():
        if not (folder / name).is_file():
            raise EvidenceError(f"{folder / name} is missing")
        if _digest(folder / name) != digest:
            raise EvidenceError(f"{folder / name} is not what was saved: its digest is another")
    statement = _statement(folder / STATEMENT)
    return Saved(StockModel.load(folder), statement)


def _listed(folder: Path) -> dict[str, str]:
    """Return the digest of each file in the folder, by name."""
    if not (folder / SUMS).is_file():
        raise FileError(folder, f"is no model folder: it has no {SUMS}")
    text = (folder / SUMS).read_text(encoding="utf-8", errors="replace")
    lines = re.findall(r"^([0-9a-f]{64})  (model\.json|model\.txt|statement\.json|report\.html)\n", text, re.MULTILINE)
    if "".join(f"{digest}  {name}\n" for digest, name in lines) != text:
        raise EvidenceError(f"{folder / SUMS} is not as it was written")
    return {name: digest for digest, name in lines}


def _statement(file: Path) -> ModelStatement:
    content = file.read_bytes()
    try:
        found: int = msgspec.json.decode(content, type=_Format).format
        if found != FORMAT:
            raise FileError(file, f"is of format {found}; this version of veilboost reads format {FORMAT}")
        return msgspec.json.decode(content, type=ModelStatement, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileError(file, f"is no statement of a model: {error}") from None


class _Format(msgspec.Struct, frozen=True):
    format: int


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
