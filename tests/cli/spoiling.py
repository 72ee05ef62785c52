"""Ways to spoil the files of a good party, and what must follow: one line, and nothing made or changed."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from party import Party, people, run

Spoil = Callable[[Party], object]
RELEASE = ["desensitise", "table.csv", "out.parquet", "--policy", "policy.toml"]
PARQUET = ["desensitise", "table.parquet", "out.parquet", "--policy", "policy.toml"]
ARROW = ["desensitise", "table.arrow", "out.parquet", "--policy", "policy.toml"]


def policy(old: str, new: str) -> Spoil:
    """Change the good policy in one place."""

    def spoil(party: Party) -> None:
        path = party.folder / "policy.toml"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) >= 1
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return spoil


def text(name: str, content: str | bytes) -> Spoil:
    """Replace a file."""
    return lambda party: (party.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def lines(*rows: str) -> Spoil:
    return text("table.csv", "id,age,colour,town\n" + "".join(f"{row}\n" for row in rows))


def column(name: str, values: Any, ending: str = "parquet") -> Spoil:
    """Replace a column of a Parquet or Arrow table."""

    def spoil(party: Party) -> None:
        table = people(len(values)) if len(values) else people(1).slice(0, 0)
        party.write(table.set_column(table.column_names.index(name), name, pa.array(values)), f"table.{ending}")

    return spoil


def truncated(name: str, keep: int) -> Spoil:
    def spoil(party: Party) -> None:
        path = party.folder / name
        path.write_bytes(path.read_bytes()[:keep])

    return spoil


def base(statement: str) -> Spoil:
    """Alter the ledger behind its back."""

    def spoil(party: Party) -> None:
        with closing(sqlite3.connect(party.folder / "ledger.db")) as opened, opened:
            opened.executescript(statement)

    return spoil


def released(then: Spoil) -> Spoil:
    """Release once, then spoil something."""

    def spoil(party: Party) -> None:
        party.release(people(20), "before.parquet")
        then(party)

    return spoil


def both(*spoils: Spoil) -> Spoil:
    return lambda party: [spoil(party) for spoil in spoils]


def gone(name: str) -> Spoil:
    return lambda party: (party.folder / name).unlink()


def nothing(party: Party) -> None:
    pass


def without_rows(party: Party) -> None:
    (party.folder / "ledger.db.rows").rename(party.folder / "elsewhere")


def a_folder(name: str) -> Spoil:
    def spoil(party: Party) -> None:
        (party.folder / name).unlink()
        (party.folder / name).mkdir()

    return spoil


def seen(folder: Path) -> dict[str, Any]:
    """Return every file with its content, and every folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def check(
    spoil: Spoil,
    arguments: list[str],
    code: int,
    words: str,
    party: Party,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Spoil something, run the command, and see that it says so in one line and leaves everything as it was."""
    spoil(party)
    before = seen(party.folder)
    assert run(arguments, monkeypatch) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("veilboost: ")
    assert printed.err.count("\n") == 1
    assert words in printed.err
    assert seen(party.folder) == before
