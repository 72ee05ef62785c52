"""The best gaps under a rival's losses: admissible, no worse than on record, and not to be improved."""

import math
from typing import Any

import numpy as np
import pytest
from ideal import Floats, global_map, integers, local_map, nominal_adj_map, tight_map
from scipy.optimize import LinearConstraint, minimize

from veilboost.errors import SettingError
from veilboost.mechanisms import TightMap
from veilboost.privacy import best_under_pairs, best_under_profile, expected_weighted_kendall, profile

RIVALS = [
    (global_map(10, 0.64), 0.633, 0.599),
    (nominal_adj_map(10, 0.08, 4, 0.4), 0.092, 0.083),
    (nominal_adj_map(10, 0.64, 4, 0.4), 0.563, 0.531),
    (nominal_adj_map(10, 1.28, 4, 0.4), 0.784, 0.768),
]


@pytest.mark.parametrize(("rival", "by_profile", "by_pairs"), RIVALS)
def test_the_columns_on_record_are_reached(rival: Floats, by_profile: float, by_pairs: float) -> None:
    loss = profile(integers(rival, 0.02))
    second = expected_weighted_kendall(tight_map(best_under_profile(loss.epsilon_by_distance)))
    third = expected_weighted_kendall(tight_map(best_under_pairs(loss.pairs())))
    assert by_profile - 0.002 <= second <= by_profile + 0.015  # for Adj-map the record is not the best there is
    assert by_pairs - 0.002 <= third <= by_pairs + 0.003


@pytest.mark.parametrize(("rival", "by_profile", "by_pairs"), RIVALS)
def test_the_tight_map_really_loses_no_more(rival: Floats, by_profile: float, by_pairs: float) -> None:
    loss = profile(integers(rival, 0.02))
    second, third = best_under_profile(loss.epsilon_by_distance), best_under_pairs(loss.pairs())
    assert min(second) > 0 < min(third)
    assert second == pytest.approx(second[::-1])
    for x in range(10):
        for y in range(x + 1, 10):
            assert math.fsum(second[x:y]) <= loss.epsilon_by_distance[y - x - 1]
            assert math.fsum(third[x:y]) <= loss.pair(x + 1, y + 1)


@pytest.mark.parametrize(("rival", "by_profile", "by_pairs"), RIVALS)
def test_no_search_finds_better_gaps_for_the_order(rival: Floats, by_profile: float, by_pairs: float) -> None:
    loss = profile(integers(rival, 0.02))
    spans = np.array([[x <= i < y for i in range(9)] for x in range(10) for y in range(x + 1, 10)], dtype=np.float64)
    limits = np.array([loss.epsilon_by_distance[y - x - 1] for x in range(10) for y in range(x + 1, 10)])
    found = best_under_profile(loss.epsilon_by_distance)

    def disorder(gaps: Floats) -> float:
        return -expected_weighted_kendall(tight_map(np.maximum(gaps, 1e-9).tolist()))

    searched = minimize(
        disorder,
        np.full(9, float((limits / spans.sum(axis=1)).min())),
        constraints=LinearConstraint(spans, -math.inf, limits),
        bounds=[(1e-6, None)] * 9,
        method="SLSQP",
    )
    assert -searched.fun <= expected_weighted_kendall(tight_map(found)) + 0.002


def test_equal_budgets_come_back_as_they_are() -> None:
    loss = profile(integers(tight_map([0.3] * 19), 0.3))
    assert best_under_profile(loss.epsilon_by_distance) == pytest.approx([0.3] * 19, abs=1e-6)
    assert best_under_pairs(loss.pairs()) == pytest.approx([0.3] * 19, abs=1e-6)


def test_under_global_map_by_pairs_the_most_even_budgets_are_half_the_nominal_one() -> None:
    loss = profile(integers(global_map(10, 0.64), 0.32))
    assert best_under_pairs(loss.pairs()) == pytest.approx([0.32] * 9, abs=1e-6)


def test_what_the_rival_gives_away_is_given_away() -> None:
    loss = profile(integers(local_map(7, 3, 0.5), 0.25))
    gaps = best_under_pairs(loss.pairs())
    assert [gap == math.inf for gap in gaps] == [False, False, True, False, False, True]
    assert set(best_under_profile(loss.epsilon_by_distance)) == {math.inf}


def test_a_hundred_codes() -> None:
    loss = profile(integers(nominal_adj_map(100, 0.64, 10, 0.4), 0.05))
    gaps = best_under_profile(loss.epsilon_by_distance)
    assert len(gaps) == 99
    assert all(math.fsum(gaps[:t]) <= loss.epsilon_by_distance[t - 1] for t in range(1, 100))


def test_a_rival_that_loses_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^loss must be a number above 0; got 0.0"):
        best_under_profile([0.0, 1.0])
    with pytest.raises(SettingError, match="pair_losses must be a square matrix"):
        best_under_pairs(np.ones((2, 3)))


@pytest.mark.parametrize("wrong", [[], 3, [1.0] * 256], ids=["nothing", "a number", "too long"])
def test_a_rival_must_be_a_list_of_a_size_that_can_be_solved(wrong: Any) -> None:
    with pytest.raises(SettingError, match=r"epsilon_by_distance must be a list|size of the rival must be"):
        best_under_profile(wrong)


@pytest.mark.parametrize("wrong", ["a", math.nan, -1.0, None])
def test_a_loss_must_be_a_number(wrong: Any) -> None:
    with pytest.raises(SettingError, match=r"^loss must be a number above 0; got"):
        best_under_profile([wrong])
    with pytest.raises(SettingError, match=r"^loss must be a number above 0; got"):
        best_under_pairs(np.array([[1.0, wrong], [wrong, 1.0]], dtype=object))


@pytest.mark.parametrize(
    "gaps",
    [
        (1e-3, 20.0, 1e-3, math.inf, 1.0, 1e-3, 18.0),
        (0.00364, 0.00132, 0.0251, 9.65, 0.2535, 5.527, 0.00333, 0.932, 4.91),
        (3e-6, 20.0),
    ],
)
def test_budgets_of_very_different_size_come_back_too(gaps: tuple[float, ...]) -> None:
    losses = TightMap(gaps=gaps).profile().pairs()
    assert best_under_pairs(losses) == pytest.approx(gaps, rel=1e-4)
    assert min(best_under_profile([1e-300, 1e300])) > 0


@pytest.mark.parametrize("wrong", [3, np.zeros((2, 3)), np.ones((257, 257)), [[1.0]]], ids=["a", "b", "c", "d"])
def test_pair_losses_must_be_a_square_matrix(wrong: Any) -> None:
    with pytest.raises(SettingError, match=r"pair_losses must be a square|size of the rival must be"):
        best_under_pairs(wrong)
