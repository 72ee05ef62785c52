"""What the benchmark of two processes does: real jobs, and a report with the ratio by rows; how fast, no test asks."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from party import run
from veilboost.benchmarks import parties
from veilboost.benchmarks.sites import Shape, Sites, Spans
from veilboost.benchmarks.training import plain
from veilboost.errors import UsageError
from veilboost.release import Ledger
from veilboost.vertical.folder import load

SPANS = Spans(
    start=1.0, keys=0.1, alignment=0.1, job=0.6, processor=0.5, release=0.2, training=0.3, partner_memory=150.0
)
ROUNDS = [(parties.Plain(0.4, 0.4), SPANS), (parties.Plain(0.5, 0.4), SPANS), (parties.Plain(0.3, 0.4), SPANS)]


@pytest.mark.slow
def test_a_job_is_done_by_two_processes_and_its_parts_are_told_apart(tmp_path: Path) -> None:
    sites = Sites.settled(tmp_path / "sites", Shape(400, 2, 3), trees=8, depth=2, threads=1)
    found = sites.job()
    parts = (found.start, found.keys, found.alignment, found.release, found.training, found.processor)
    assert min(parts) > 0
    assert found.job > found.release + found.training
    assert found.partner_memory > 10
    saved = load(sites.folder / "model")
    assert (saved.model.trees, saved.statement.rows) == (8, 400)
    assert [each.column for each in saved.statement.features] == ["a0", "a1", "c0", "c1", "c2"]
    assert saved.statement.released[0].noise == "permanent"
    with Ledger(sites.folder / "ledger.db") as ledger:
        charged = [line.body["columns"] for line in ledger.lines() if line.body["event"] == "charged"]
    assert [[each["new_values"] for each in columns] for columns in charged] == [[400, 400, 400]]


def test_the_plain_way_gets_the_codes_of_all_columns(tmp_path: Path) -> None:
    sites = Sites.settled(tmp_path / "sites", Shape(3000, 2, 3), trees=8, depth=2, threads=1)
    codes, label = sites.pooled()
    assert codes.dtype == np.uint8
    assert (codes.shape, int(codes.min()), int(codes.max())) == ((3000, 5), 1, 100)
    assert set(label.tolist()) == {0.0, 1.0}
    assert len(plain(codes, label, 1)().get_score()) == 5


@pytest.mark.parametrize("full", [False, True])
def test_the_report_has_the_ratio_by_rows(
    full: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parties, "_in_turn", lambda *_: [*ROUNDS[:2], (ROUNDS[2][0], replace(SPANS, job=0.9))])
    monkeypatch.setattr(parties, "_partner_memory", lambda _, shape: 100 + shape.rows / (1 << 20))
    assert run(["bench", "parties", "--json", *(["--full"] if full else [])], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["ratio_to_plain"]) == (["30000", "1000000"] if full else ["30000"])
    assert found["ratio_to_plain"]["30000"] == pytest.approx(1.5)
    assert (found["lowest_ratio"]["30000"], found["highest_ratio"]["30000"]) == pytest.approx((1.2, 3.0))
    assert found["processor_ratio_to_plain"]["30000"] == pytest.approx(1.25)
    assert found["columns"]["30000"] == [4, 10]
    assert list(found["partner_memory_mb"]) == (["1000000", "10000000"] if full else ["30000"])
    assert found["partner_memory_bytes_per_row"] == (pytest.approx(1.0) if full else None)
    assert run(["bench", "parties", *(["--full"] if full else [])], monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "30,000 rows of 4 + 10 columns, 80 trees of depth 3" in shown
    assert ("1 bytes for every row more" in shown) == full


def test_a_job_that_fails_is_one_line_and_leaves_no_process(tmp_path: Path) -> None:
    sites = Sites.settled(tmp_path / "sites", Shape(400, 2, 3), trees=8, depth=2, threads=1)
    (sites.folder / "job.toml").write_text("format = 2\n")
    (sites.folder / "partner.toml").write_text("format = 2\n")
    with pytest.raises(UsageError, match="could not be measured"):
        sites.job()
