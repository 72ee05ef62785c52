"""Bytes of each party: those of the channels, the theorem by another route, and what hangs on who holds columns."""

import math

import pytest

from public_data import FOLDER, needs_data
from veilboost.studies import traffic
from veilboost.studies.traffic_claims import FORMULA, LEAD, MEASURED, PARTNER, PARTNERS, REQUESTS, SPLITS, WIDE

SETTINGS = traffic.Settings(
    tasks=["Adult", "Pen-digits"],
    size=10,
    epsilon=0.5,
    epsilons=[0.5, 4.0],
    theta=4,
    alphas=[0.4],
    lines=["Global-map", "TightMap"],
    trees=3,
    repeats=1,
    parties=[2, 3],
    each_holds=4,
    shared="Pen-digits",
    rows=500,
)


@pytest.mark.slow
@needs_data
def test_every_figure_is_there_and_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEILBOOST_DATA", str(FOLDER))
    found = traffic.run(SETTINGS, lambda _step, _share: None)
    assert found.panels[:3] == [LEAD, PARTNER, WIDE]
    assert {cell.mean for cell in found.of(WIDE)} == {4 * 4 * 500, 4 * 16 * 500}
    for name, columns in (("Adult", 4), ("Pen-digits", 16)):
        for cell in found.of(REQUESTS.format(name)):
            splits = found.cell(SPLITS.format(name), cell.line, cell.where)
            assert splits is not None
            assert cell.mean <= splits.mean
            assert cell.mean <= 9 * columns
        values = found.cell(PARTNER, "TightMap", f"XGBoost, {name}")
        assert values is not None
        assert values.mean > 500 * columns
    shared = {(cell.line, cell.at): cell.mean for cell in found.of(PARTNERS)}
    assert len(shared) == 3 * 2
    assert shared[MEASURED.format("on-request"), 3.0] > 1.9 * shared[MEASURED.format("on-request"), 2.0]
    assert shared[FORMULA, 3.0] == traffic.theorem(3, 4, 500, 3 * 10, 10) / 8


def test_the_theorem_counts_values_and_nodes() -> None:
    values = 3 * 4 * 7494 * math.log2(7494)
    nodes = 7 * 800 * (math.log2(7494) + math.log2(10))
    assert traffic.theorem(3, 4, 7494, 800, 10) == pytest.approx(values + nodes)
