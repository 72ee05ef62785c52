"""Several releases from one ledger at the same time: all go through, and every value is charged once."""

import subprocess
import sys
from pathlib import Path

import pytest

from party import Party, people
from veilboost.release import Ledger, verify

pytestmark = pytest.mark.slow


def started(party: Party, out: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "veilboost", "desensitise", "table.parquet", out, "--policy", "policy.toml"]
    return subprocess.Popen(command, cwd=party.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def together(party: Party, count: int) -> list[int]:
    running = [started(party, f"out{i}.parquet") for i in range(count)]
    ended = [(each.communicate(), each.returncode) for each in running]
    assert all(code != 0 or not errors for (_, errors), code in ended), ended
    return [code for _, code in ended]


@pytest.mark.parametrize("count", [2, 6])
def test_both_succeed_and_values_are_charged_once(count: int, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"\ncarry = ["id"]')
    party.write(people(5000))
    assert together(party, count) == [0] * count
    assert sorted(each["age"] for each in party.charges()) == [0] * (count - 1) + [5000]
    outs = [party.out(f"out{i}.parquet").to_pydict() for i in range(count)]
    assert all(out == outs[0] for out in outs)
    assert len(party.lines()) == 2 * count
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert verify(ledger) == 2 * count
    assert not list((tmp_path / "ledger.db.rows").glob("staging-*"))


def test_a_cap_on_releases_holds_against_the_clock(tmp_path: Path) -> None:
    party = Party.settled(tmp_path, caps="releases = 1")
    party.write(people(5000))
    assert sorted(together(party, 2)) == [0, 4]
    assert len(party.charges()) == 1
    assert sum((tmp_path / f"out{i}.parquet").exists() for i in (0, 1)) == 1
