"""Check a ledger: its chain, the history files of its releases, and a receipt of its past."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from veilboost.errors import FileError
from veilboost.release.history import check_file, check_newest
from veilboost.release.ledger import Ledger, Line, Receipt


def verify(ledger: Ledger, receipt: Receipt | None = None, progress: Callable[[float], None] = lambda _: None) -> int:
    """Return how many lines the ledger has, or refuse one whose lines, history or past were altered."""
    lines = ledger.lines()
    check_newest(ledger.folder, len(lines))
    for done, line in enumerate(lines, 1):
        _check_history(ledger, line)
        progress(done / len(lines))
    if receipt is not None:
        ledger.check(receipt)
    return len(lines)


def _check_history(ledger: Ledger, line: Line) -> None:
    kept = line.body.get("history")
    if kept is None:
        return
    check_file(ledger.folder / kept["file"], kept["sha256"], line.number)


class _Statement(msgspec.Struct, frozen=True):
    receipt: Receipt


def load_receipt(file: Path) -> Receipt:
    """Read a receipt, or the one in a privacy statement."""
    try:
        content = file.read_bytes()
        try:
            return msgspec.json.decode(content, type=_Statement).receipt
        except msgspec.ValidationError:
            return msgspec.json.decode(content, type=Receipt)
    except OSError as error:
        raise FileError(file, error.strerror or "cannot be read") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise FileError(file, "is neither a receipt nor a privacy statement with one") from None
