"""What the benchmark of the local protocol reports; how fast this machine is, no test asks."""

import json
import sys

import pytest

from veilboost.benchmarks import clock, local
from veilboost.cli.main import main


@pytest.mark.slow
def test_the_benchmark_reports_every_case(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_LARGEST_SPREAD", 1e9)
    monkeypatch.setattr(sys, "argv", ["veilboost", "bench", "local", "--json", "--owners", "10000", "--repeats", "3"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ratio_to_draw_and_pass"] == found["ratio"]["local sample, piecewise"] > 0
    assert len(found["ratio"]) == 3
    for name, ratio in found["ratio"].items():
        assert 0 < found["lowest_ratio"][name] <= ratio <= found["highest_ratio"][name]
    few, many = found["peak_memory_mb"].values()
    assert many < 1.1 * few  # a round's owners and answers take 140 MB, and are gone after it


def test_a_bench_over_streamed_owners_asks_each_once() -> None:
    found = local.boost_over_streamed_owners(1)
    assert found.complete
    assert found.asked == 100_000 * len(found.rounds)


def test_results_are_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    case = {"local sample, piecewise": 3.25}
    local.show(
        local.LocalReport(
            owners=1000,
            columns=67,
            threads=2,
            ratio_to_draw_and_pass=3.25,
            draw_and_pass_seconds=case,
            round_seconds=case,
            ratio=case,
            lowest_ratio=case,
            highest_ratio=case,
            peak_memory_mb={"3": 300.0},
        )
    )
    printed = capsys.readouterr().out
    for text in ("1,000 owners", "local sample, piecewise", "3.25", "300 MB"):
        assert text in printed
