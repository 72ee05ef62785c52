"""Check a ledger: its chain, the history files of its releases, and a receipt of its past."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from veilboost.errors import FileError
from veilboost.release.history import check_file, check_newest
from veilboost.release.ledger import Ledger, Line, Receipt


def verify(ledger: Ledger, receipts: Sequence[Receipt] = (), progress: Callable[[float], None] = lambda _: None) -> int:
    """Return how many lines the ledger has, or refuse one whose lines, history or past were altered.

    Of several ``receipts`` those of other ledgers are not looked at, unless none is of this one.
    """
    lines = ledger.lines()
    check_newest(ledger.folder, len(lines))
    for done, line in enumerate(lines, 1):
        _check_history(ledger, line)
        progress(done / len(lines))
    for receipt in [each for each in receipts if each.ledger == ledger.name] or receipts[:1]:
        ledger.check(receipt)
    return len(lines)


def _check_history(ledger: Ledger, line: Line) -> None:
    kept = line.body.get("history")
    if kept is None:
        return
    check_file(ledger.folder / kept["file"], kept["sha256"], line.number)


class _Statement(msgspec.Struct, frozen=True):
    receipt: Receipt


class _Statements(msgspec.Struct, frozen=True):
    released: list[_Statement]


def load_receipts(file: Path) -> list[Receipt]:
    """Read a receipt, or those in a privacy statement: several partners may have released what it is about."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FileError(file, error.strerror or "cannot be read") from None
    readers: tuple[Callable[[], list[Receipt]], ...] = (
        lambda: [each.receipt for each in msgspec.json.decode(content, type=_Statements).released],
        lambda: [msgspec.json.decode(content, type=_Statement).receipt],
        lambda: [msgspec.json.decode(content, type=Receipt)],
    )
    for read in readers:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if found := read():
                return found
    raise FileError(file, "is neither a receipt nor a privacy statement with one")
