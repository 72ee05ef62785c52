"""Groups and sizes by other routes, and advice that the figures can refute."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from veilboost.mechanisms import AdjMap, TightMap
from veilboost.privacy import expected_weighted_kendall, weighted_kendall
from veilboost.randomness import ReplayableBits
from veilboost.studies import choosing
from veilboost.studies.choosing_claims import claims
from veilboost.studies.choosing_groups import BETWEEN, GROUPED, by_border, with_exact_losses
from veilboost.studies.outcome import Outcome
from veilboost.studies.study import study


@pytest.fixture(scope="module")
def small() -> tuple[choosing.Settings, Outcome]:
    settings: Any = study("opboost-choosing").checked(quick=True)
    domains = [choosing.Partitions(size=10, theta=2)]
    fair = choosing.Partitions(size=10, theta=2)
    settings = msgspec.structs.replace(settings, domains=domains, fair=fair, sizes=[2, 5, 10, 20], groups=[3, 3, 4])
    return settings, choosing.run(settings, lambda step, share: None)


def test_raw_values_of_one_code_tie(small: tuple[choosing.Settings, Outcome]) -> None:
    """The share of order that a size allows, against 40,000 raw values that are coded and drawn."""
    cell = small[1].cell(choosing.SIZES, "the ends lose 4.5", "5")
    assert cell is not None
    raw = np.random.default_rng(1).permutation(40_000)
    codes = raw * 5 // 40_000 + 1
    mechanism = TightMap(epsilon=4.5 / 4, size=5)
    drawn = [weighted_kendall(raw, mechanism.draw(codes, bits=ReplayableBits(seed=seed))) for seed in range(8)]
    assert np.mean(drawn) == pytest.approx(cell.mean, abs=0.01)
    assert abs(np.mean(drawn) - expected_weighted_kendall(mechanism.table.weights)) > 0.015, "ties of raw values count"


def test_order_inside_and_between_groups_is_all_order() -> None:
    inside, between = by_border([3, 4, 3], inside=0.2, border=1.0)[GROUPED]
    whole = expected_weighted_kendall(TightMap.grouped([3, 4, 3], inside=0.2, between=1.0).table.weights)
    lengths = (3, 4, 3)
    own = sum(length * (length * length - 1) / 6 for length in lengths)
    every = 10 * 99 / 6
    assert (own * inside + (every - own) * between) / every == pytest.approx(whole, rel=1e-12)


def test_gaps_as_large_as_the_worst_of_adj_map() -> None:
    rival = AdjMap(epsilon=0.1, size=100, theta=10)
    gaps = with_exact_losses(rival).promised_gaps()
    assert sorted(set(np.round(gaps, 4))) == [0.0803, 0.6601]
    assert [code for code, gap in enumerate(gaps, 1) if gap > 0.5] == list(range(10, 100, 10))
    exact = np.array(rival.profile().gaps)
    assert (exact <= np.array(gaps) * (1 + 1e-12)).all()


def test_an_endless_border_keeps_all_order_between_groups() -> None:
    assert by_border([2, 2], inside=0.1, border=30.0)[GROUPED][1] == pytest.approx(1)
    assert math.isfinite(by_border([2, 2], inside=0.1, border=30.0)[GROUPED][0])


def test_every_claim_can_fail(small: tuple[choosing.Settings, Outcome]) -> None:
    settings, found = small
    upside_down = [msgspec.structs.replace(cell, values=[-cell.mean]) for cell in found.cells]
    held = {each.says for each in claims(found, settings) if each.holds}
    still = {each.says for each in claims(Outcome(cells=upside_down), settings) if each.holds}
    assert any("groups" in says for says in held)
    assert any(each.panel == BETWEEN for each in found.cells)
    assert not [says for says in held & still if "no obvious improvement" not in says and "hardly matters" not in says]
