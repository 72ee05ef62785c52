"""What the training benchmark reports, and that both its ways do the same work; how fast they are, no test asks."""

import json

import numpy as np
import pytest

from party import run
from veilboost.benchmarks import clock, training
from veilboost.errors import UsageError


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_SHAPES", ((500, 4), (700, 3)))
    monkeypatch.setattr(clock, "_LARGEST_SPREAD", 1e9)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_benchmark_reports_a_ratio_for_every_shape(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["bench", "training", "--json", "--repeats", "3"], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["trees"], found["depth"]) == (80, 3)
    for name in ("plain_seconds", "opboost_seconds", "ratio_to_plain", "lowest_ratio", "highest_ratio"):
        assert list(found[name]) == ["500x4", "700x3"]
    for shape, ratio in found["ratio_to_plain"].items():
        assert 0 < found["lowest_ratio"][shape] <= ratio <= found["highest_ratio"][shape]
    assert run(["bench", "training", "--repeats", "3"], monkeypatch) == 0
    assert "500 rows of 4 columns, 80 trees of depth 3" in capsys.readouterr().out


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_SHAPES", ((500, 4),))
    speeds = iter(range(1, 10_000))
    monkeypatch.setattr(training, "seconds", lambda _: float(next(speeds)))
    with pytest.raises(UsageError, match="too busy to measure"):
        training.measure(repeats=5)


def test_both_ways_train_as_many_trees_as_deep_on_all_columns() -> None:
    """A ratio means something where the plain way does the same: also, ours ends with raw thresholds."""
    raw, target = training._table(4000, 4)
    plain, ours = training.plain(training._codes(raw), target, 1)(), training._opboost(raw, target, 1)()
    assert plain.num_boosted_rounds() == ours.model.booster.num_boosted_rounds() == 80
    frames = [booster.get_dump() for booster in (plain, ours.model.booster)]
    depths = [max(line.count("\t") for tree in trees for line in tree.splitlines()) for trees in frames]
    assert depths == [3, 3]
    assert len(plain.get_score()) == len(ours.model.booster.get_score()) >= 2
    margins = ours.model.margins(raw.T)
    assert np.corrcoef(margins, target)[0, 1] > 0.3
    assert ours.statements[0].columns[0].nominal_epsilon == 0.5
