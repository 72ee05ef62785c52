"""A release that is killed at any point leaves a whole ledger, and nothing that left is uncharged."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from party import Party, people
from veilboost.release import Ledger, verify

pytestmark = pytest.mark.slow

DRIVER = """
import importlib, os, signal, sys
from pathlib import Path
where, when = sys.argv[1:3]
import sqlite3, tempfile
from veilboost import files
from veilboost.release import charging, ledger, staging
desensitise = importlib.import_module('veilboost.release.desensitise')
def dies(before, function):
    def wrapped(*a, **k):
        if before:
            os.kill(os.getpid(), signal.SIGKILL)
        found = function(*a, **k)
        os.kill(os.getpid(), signal.SIGKILL)
        return found
    return wrapped
class Base:
    '''A connection that dies at a statement.'''
    def __init__(self, real):
        self.real, self.commits = real, 0
    def __getattr__(self, name):
        return getattr(self.real, name)
    def execute(self, statement, *rest):
        number = {"first commit": 1, "second commit": 2}.get(where)
        if statement == "COMMIT":
            self.commits += 1
            if self.commits == number:
                return dies(when == "before", self.real.execute)(statement)
        return self.real.execute(statement, *rest)
real = sqlite3.connect
if where.endswith("commit"):
    ledger.sqlite3 = type("sqlite", (), dict(vars(sqlite3), connect=lambda *a, **k: Base(real(*a, **k))))
else:
    place, name = {
        "folder": (staging.tempfile, "mkdtemp"), "lock": (staging.fcntl, "flock"), "stage": (desensitise, "stage"),
        "charge": (desensitise, "charge"), "history": (charging, "write_history"), "settle": (ledger, "settle"),
        "append": (ledger.Ledger, "append"), "enter": (desensitise, "_enter"), "draw": (desensitise, "_draw"),
        "state": (desensitise.statements, "state"), "hand over": (desensitise, "_hand_over"),
        "move": (desensitise, "move_together"), "beside": (files, "_beside"), "bring": (files, "_bring"),
        "replace": (Path, "replace"),
    }[where]
    setattr(place, name, dies(when == "before", getattr(place, name)))
sys.argv = ["veilboost", "desensitise", "table.parquet", "out.parquet", "--policy", "policy.toml"]
from veilboost.cli.main import main
main()
"""
POINTS = [
    "folder", "lock", "stage", "history", "charge", "settle", "append", "enter", "first commit", "draw",
    "second commit", "state", "hand over", "move", "beside", "bring", "replace",
]  # fmt: skip
CARRIED = 'key = "id"\ntype = "integer"\ncarry = ["id"]'


def killed(party: Party, where: str, when: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, where, when], cwd=party.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def check_after(party: Party, clean: dict[str, list[object]]) -> None:
    """See that the ledger is whole and covers what left, and that the next release goes through and clears up."""
    with Ledger(party.folder / "ledger.db") as ledger:
        count = verify(ledger)
    assert count in (0, 1, 2)
    out = party.folder / "out.parquet"
    if out.exists():
        assert count == 2
        assert party.out().sort_by("id").to_pydict() == clean
        assert json.loads((party.folder / "out.parquet.privacy.json").read_text())["receipt"]["lines"] == 2
    party.release(party.folder / "table.parquet")
    assert party.out().sort_by("id").to_pydict() == clean
    charged = {"age": 50, "colour": 50}
    assert party.charges() == ([charged] if count == 0 else [charged, {"age": 0, "colour": 0}])
    assert not list((party.folder / "ledger.db.rows").glob("staging-*"))
    with Ledger(party.folder / "ledger.db") as ledger:
        verify(ledger)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[object]]]:
    """Return the files of a party that has released nothing, and what it would release."""
    folder = tmp_path_factory.mktemp("clean")
    party = Party.settled(folder, rows=CARRIED)
    party.write(people(50))
    copy = Party(tmp_path_factory.mktemp("released"))
    copy_of(folder, copy.folder)
    copy.release(copy.folder / "table.parquet")
    return folder, copy.out().sort_by("id").to_pydict()


def copy_of(folder: Path, to: Path) -> Party:
    for path in folder.iterdir():
        if path.is_dir():
            (to / path.name).mkdir(mode=0o700)
        else:
            (to / path.name).write_bytes(path.read_bytes())
            (to / path.name).chmod(0o600)
    return Party(to)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("where", POINTS)
def test_killed_at_a_point(where: str, when: str, clean: tuple[Path, dict[str, list[object]]], tmp_path: Path) -> None:
    party = copy_of(clean[0], tmp_path)
    killed(party, where, when)
    check_after(party, clean[1])


@pytest.mark.parametrize(("where", "when"), [("first commit", "before"), ("draw", "before"), ("bring", "after")])
def test_killed_between_charge_and_hand_over(
    where: str, when: str, clean: tuple[Path, dict[str, list[object]]], tmp_path: Path
) -> None:
    party = copy_of(clean[0], tmp_path)
    killed(party, where, when)
    assert len(party.lines()) == {"first commit": 0, "draw": 1, "bring": 2}[where]
    assert not (tmp_path / "out.parquet").exists()
    assert len(list((tmp_path / "ledger.db.rows").glob("staging-*"))) == 1
    check_after(party, clean[1])


def test_killed_at_any_moment(clean: tuple[Path, dict[str, list[object]]], tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "veilboost",
        "desensitise",
        "table.parquet",
        "out.parquet",
        "--policy",
        "policy.toml",
    ]
    started = time.monotonic()
    (tmp_path / "whole").mkdir()
    subprocess.run(command, cwd=copy_of(clean[0], tmp_path / "whole").folder, check=True, capture_output=True)
    whole = time.monotonic() - started
    for i in range(12):
        folder = tmp_path / str(i)
        folder.mkdir()
        party = copy_of(clean[0], folder)
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            time.sleep(whole * (0.4 + 0.6 * i / 12))
            os.kill(running.pid, signal.SIGKILL)
        check_after(party, clean[1])


def test_a_running_release_is_not_cleared_away(tmp_path: Path) -> None:
    """A second release sweeps while the first one still works in its folder."""
    from veilboost.release.staging import private_folder

    party = Party.settled(tmp_path)
    rows = tmp_path / "ledger.db.rows"
    with private_folder(rows) as mine:
        (mine / "bucket").write_text("rows")
        (rows / "staging-dead").mkdir()
        (rows / "staging-without").mkdir()
        (rows / "staging-dead" / "lock").touch()
        party.release(people(5))
        assert (mine / "bucket").read_text() == "rows"
        assert [path.name for path in rows.glob("staging-*")] == [mine.name]
    assert not list(rows.glob("staging-*"))
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 5
