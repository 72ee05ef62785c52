"""A disk that is full, wherever it happens, is one line and leaves nothing behind but what was charged."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from party import Party, people
from veilboost.release import Ledger, verify

pytestmark = pytest.mark.slow

DRIVER = """
import importlib, resource, sys
where, most = sys.argv[1], int(sys.argv[2])
from veilboost.release import ledger
desensitise = importlib.import_module("veilboost.release.desensitise")
place, name = {
    "staging": (desensitise, "stage"), "history": (desensitise, "charge"), "ledger": (ledger.Ledger, "append"),
    "output": (desensitise, "_draw"), "statement": (desensitise.statements, "state"),
    "moving": (desensitise, "move_together"),
}[where]
real = getattr(place, name)
def full(*a, **k):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return real(*a, **k)
setattr(place, name, full)
sys.argv = ["veilboost", "desensitise", "table.parquet", sys.argv[3], "--policy", "policy.toml"]
from veilboost.cli.main import main
main()
"""
CARRIED = 'key = "id"\ntype = "integer"\ncarry = ["id"]'


def fill(party: Party, where: str, most: int, out: str = "out.parquet") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", DRIVER, where, str(most), out]
    return subprocess.run(command, cwd=party.folder, capture_output=True, text=True, check=False)


PLACES = [
    ("staging", 2000, "out.parquet", "ledger.db", 0),
    ("history", 5000, "out.parquet", "ledger.db", 0),
    ("ledger", 5000, "out.parquet", "ledger.db", 0),
    ("output", 2000, "out.parquet", "ledger.db", 1),
    ("output", 2000, "out.csv", "ledger.db", 1),
    ("statement", 200, "out.csv", "ledger.db", 2),
]


@pytest.mark.parametrize(("where", "most", "out", "named", "lines"), PLACES, ids=[f"{p[0]} {p[2]}" for p in PLACES])
def test_a_full_disk_is_one_line(where: str, most: int, out: str, named: str, lines: int, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=CARRIED)
    party.write(people(3000))
    done = fill(party, where, most, out)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"veilboost: {named}")
    assert done.stderr.count("\n") == 1
    assert "table.parquet" not in done.stderr
    assert party.left_over() == {"table.parquet"}
    assert len(party.lines()) == lines
    with Ledger(tmp_path / "ledger.db") as ledger:
        verify(ledger)
    party.release(tmp_path / "table.parquet")
    assert party.out().num_rows == 3000
    assert [sum(each[name] for each in party.charges()) for name in ("age", "colour")] == [3000, 3000]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    shared = Path("/dev/shm")
    if not shared.is_dir() or os.stat(shared).st_dev == os.stat(tmp_path).st_dev:  # noqa: PTH116
        pytest.skip("only one disk here: moving to another one cannot be tried")
    return shared


def test_what_leaves_can_go_to_another_disk(elsewhere: Path, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=CARRIED)
    with tempfile.TemporaryDirectory(dir=elsewhere) as folder:
        out = Path(folder) / "new" / "out.parquet"
        party.release(people(3000), str(out))
        assert {path.name for path in out.parent.iterdir()} == {
            "out.parquet", "out.parquet.privacy.json", "out.parquet.privacy.txt",
        }  # fmt: skip
        assert {path.stat().st_mode & 0o777 for path in out.parent.iterdir()} == {0o644}
        assert party.out(str(out)).num_rows == 3000
    assert party.left_over() == {"table.parquet"}


def test_another_disk_that_is_full_keeps_the_old_files(elsewhere: Path, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=CARRIED)
    party.write(people(3000))
    with tempfile.TemporaryDirectory(dir=elsewhere) as folder:
        out = Path(folder) / "out.parquet"
        party.release(people(10), str(out))
        before = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        party.write(people(3000))
        done = fill(party, "moving", 5000, str(out))
        assert done.returncode == 2
        assert done.stderr == f"veilboost: {out}: File too large\n"
        assert {path.name: path.read_bytes() for path in Path(folder).iterdir()} == before
    assert len(party.lines()) == 4


@pytest.mark.parametrize("most", [0, 3000, 9000])
def test_a_ledger_is_made_whole_or_not_at_all(most: int, tmp_path: Path) -> None:
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "sys.argv = ['veilboost', 'ledger', 'new', 'ledger.db']\n"
        "from veilboost.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_output_that_exists_is_replaced_together_with_its_statements(tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=CARRIED)
    party.release(people(10))
    party.write(people(3000))
    names = ["out.parquet", "out.parquet.privacy.json", "out.parquet.privacy.txt"]
    before = [(tmp_path / name).read_bytes() for name in names]
    for where in ("output", "statement"):
        assert fill(party, where, 200).returncode == 2
        assert [(tmp_path / name).read_bytes() for name in names] == before
    party.release(tmp_path / "table.parquet")
    assert not any((tmp_path / name).read_bytes() == old for name, old in zip(names, before, strict=True))
