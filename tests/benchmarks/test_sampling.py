"""What the sampling benchmark reports; how fast this machine is, no test asks."""

import json
import sys
import time

import pytest

from veilboost.benchmarks import clock, sampling
from veilboost.benchmarks.clock import own_seconds, seconds
from veilboost.benchmarks.rivals import Rival, rivals
from veilboost.cli.main import main
from veilboost.errors import UsageError


@pytest.mark.slow
def test_the_benchmark_reports_every_sampler(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "_LARGEST_SPREAD", 1e9)
    monkeypatch.setattr(sampling, "rivals", list)
    monkeypatch.setattr(
        sys, "argv", ["veilboost", "bench", "sampling", "--json", "--repeats", "5", "--values", "100000"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["keystream_words_per_s"] > 0
    keys = {"mechanism", "size", "epsilon", "bits", "values_per_s", "ratio_to_keystream"}
    assert all(keys <= set(case) for case in found["cases"])
    assert {case["bits"] for case in found["cases"]} == {"fresh", "permanent"}
    assert {case["size"] for case in found["cases"]} == {10, 100, 10**6}
    assert {case["threads"] for case in found["cases"]} == {1, 2}
    assert found["left_out"] is None
    assert all(case["values_per_s"] > 0 and case["ratio_to_keystream"] > 0 for case in found["cases"])


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = iter(range(1, 10_000))
    monkeypatch.setattr(sampling, "_keystream", lambda clock: float(next(speeds)))
    with pytest.raises(UsageError, match="too busy to measure"):
        sampling.measure(repeats=5, values=100_000)


def test_waiting_is_not_computing() -> None:
    def wait() -> None:
        time.sleep(0.3)

    assert own_seconds(wait) < 0.2 < seconds(wait)


def test_where_only_the_clock_on_the_wall_jumps_only_two_threads_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = iter(range(1, 10_000))
    monkeypatch.setattr(sampling, "_keystream", lambda clock: 1e9 if clock is own_seconds else float(next(speeds)))
    monkeypatch.setattr(sampling, "rivals", list)
    found = sampling.measure(repeats=5, values=100_000)
    assert {case.threads for case in found.cases} == {1}
    assert found.keystream_spread == 1.0
    assert found.left_out is not None
    assert found.left_out.startswith("two threads: the machine is too busy")


@pytest.mark.slow
def test_rivals_are_measured_or_say_why_not() -> None:
    for rival in rivals(repeats=1):
        assert rival.note
        assert rival.our_speed_over_theirs is None or rival.our_speed_over_theirs > 0


def test_results_are_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    case = sampling.SamplingCase(
        mechanism="tight",
        size=10,
        epsilon=0.5,
        bits="fresh",
        threads=1,
        values_per_s=4e8,
        ratio_to_keystream=0.4,
        spread=1.1,
    )
    rival = Rival(library="slow", our_speed_over_theirs=12.0, note="the same job")
    absent = Rival(library="gone", our_speed_over_theirs=None, note="not measured: no such module")
    sampling.show(
        sampling.SamplingReport(
            keystream_words_per_s=1e9,
            keystream_spread=1.2,
            cases=[case],
            left_out="two threads: too busy",
            rivals=[rival, absent],
        )
    )
    printed = capsys.readouterr().out
    for text in ("1,000 million words", "0.400", "Left out: two threads", "12 times as fast", "no such module"):
        assert text in printed
