"""Order preservation by brute force and fractions, against the paper's tables and bounds."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ideal import Floats, adj_budgets, adj_map, global_map, integers, local_map, randomised_response, tight_map
from mpmath import mp

from veilboost.errors import SettingError
from veilboost.privacy import (
    adj_bound,
    beta,
    global_bound,
    grr_bound,
    local_bound,
    mean_absolute_noise,
    order_preserving,
    order_preserving_pairs,
    probabilities,
)

SIZES = (2, 3, 4, 7, 10, 33, 100)
BUDGETS = (0.001, 0.08, 0.1, 0.64, 1.28, 3.0, 8.0)
NOISE = 1e-11  # floats cancel where the budget is small


@pytest.mark.parametrize("ideal", [global_map(6, 0.7), adj_map(7, 3, 0.5, 0.2), tight_map([0.2, 1.0, 0.4])])
def test_every_pair_by_exact_enumeration(ideal: Floats) -> None:
    table = integers(ideal, 0.02)
    pairs = order_preserving_pairs(table)
    for x1, x2 in itertools.product(range(len(table)), repeat=2):
        low, high = table[x1].tolist(), table[x2].tolist()
        exact = sum(Fraction(a * b, 4**63) for i, a in enumerate(low) for b in high[i + 1 :])
        assert pairs[x1, x2] == pytest.approx(float(exact), abs=1e-14)
    by_distance = [min(pairs[x, x + t] for x in range(len(pairs) - t)) for t in range(1, len(pairs))]
    assert order_preserving(probabilities(table)).tolist() == by_distance


def test_the_printed_values_of_global_map() -> None:
    at = np.array([5, 15, 25, 95]) - 1
    assert order_preserving(global_map(100, 0.1))[at].round(4).tolist() == [0.5133, 0.6091, 0.7050, 0.9706]
    assert global_bound(0.1, size=100)[at].round(4).tolist() == [0.5098, 0.6050, 0.7002, 0.9618]


def test_table_5_of_the_paper_with_the_true_number_of_partitions() -> None:
    at = np.arange(5, 100, 10) - 1
    row = [0.4067, 0.5213, 0.6304, 0.7204, 0.7908, 0.8441, 0.8833, 0.9111, 0.9293, 0.9383]
    partition, near = adj_budgets(100, 0.1, 10, 1)
    bound = adj_bound(partition, theta=10, size=100)
    assert bound[at].round(4).tolist() == row
    assert (order_preserving(adj_map(100, 10, partition, near)) >= bound).all()
    many = adj_bound(partition, theta=10, size=10**5)
    assert many[at] == pytest.approx(
        [0.4133, 0.5282, 0.6378, 0.7287, 0.8004, 0.8551, 0.8962, 0.9263, 0.9482, 0.9639], abs=3e-4
    )


def test_the_local_map_and_response_rows_of_table_5() -> None:
    at = np.arange(5, 100, 10) - 1
    printed = [0.4950, 0.4951, 0.4953, 0.4954, 0.4955, 0.4956, 0.4957, 0.4958, 0.4959, 0.4960]
    assert grr_bound(0.1, size=100)[at] == pytest.approx(printed, abs=1e-4)
    found = order_preserving(local_map(100, 10, 0.1))[at]
    assert found[0] == pytest.approx(0.5024, abs=0.004)
    assert found[1:] == pytest.approx([1.0] * 9, abs=1e-12)


@pytest.mark.parametrize(("size", "epsilon"), list(itertools.product(SIZES, BUDGETS)))
def test_theorem_4_2_is_a_bound_and_theorem_4_3_the_value(size: int, epsilon: float) -> None:
    assert (global_bound(epsilon, size=size) <= order_preserving(global_map(size, epsilon)) + NOISE).all()
    every = order_preserving_pairs(randomised_response(size, epsilon))
    for distance, value in enumerate(grr_bound(epsilon, size=size), 1):
        assert np.diagonal(every, distance) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("size", "theta"), [(7, 3), (10, 4), (12, 4), (5, 9), (33, 10), (9, 1)])
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_theorem_4_7_also_in_a_shorter_last_partition(size: int, theta: int, epsilon: float) -> None:
    bound, exact = local_bound(epsilon, theta=theta, size=size), order_preserving(local_map(size, theta, epsilon))
    assert (bound <= exact + NOISE).all()
    assert (bound[theta - 1 :] == 1).all()


def ties_inside(table: Floats, theta: int) -> float:
    """Largest probability that two codes mapped into one partition come out equal."""
    worst = 0.0
    for start in range(0, len(table), theta):
        inside = table[:, start : start + theta] / table[:, start : start + theta].sum(axis=1, keepdims=True)
        worst = max(worst, float(np.triu(inside @ inside.T, 1).max()))
    return worst


@pytest.mark.parametrize(("size", "theta"), [(7, 3), (10, 4), (12, 2), (8, 1), (33, 10), (100, 10)])
def test_theorem_4_6_holds_once_ties_are_counted(size: int, theta: int) -> None:
    for partition, near in itertools.product(BUDGETS, BUDGETS):
        table = adj_map(size, theta, partition, near)
        exact = order_preserving(table)
        for ties in (ties_inside(table, theta), 1.0):
            assert (adj_bound(partition, theta=theta, size=size, ties=ties) <= exact + NOISE).all()
        if partition < 0.4 and theta > 1:
            assert (adj_bound(partition, theta=theta, size=size) <= exact + NOISE).all()


def test_theorem_4_6_as_printed_is_no_bound_in_the_papers_own_range() -> None:
    partition, near = adj_budgets(10, 1.28, 4, 10)
    excess = adj_bound(partition, theta=4, size=10) - order_preserving(adj_map(10, 4, partition, near))
    assert excess.max() == pytest.approx(0.1303, abs=1e-4)


def brute_beta(table: Floats, left: list[int], right: list[int]) -> float:
    values, total = [*left, *right], 0.0
    for outputs in itertools.product(range(1, len(table) + 1), repeat=len(values)):
        if max(outputs[: len(left)]) < min(outputs[len(left) :]):
            total += math.prod(table[x - 1, o - 1] for x, o in zip(values, outputs, strict=True))
    return total


@pytest.mark.parametrize(
    ("left", "right"), [([1], [2]), ([1, 1, 2], [3, 4]), ([2, 3], [3]), ([4], [1]), ([1, 2, 2], [4, 4, 4])]
)
@pytest.mark.parametrize("table", [global_map(4, 0.9), adj_map(4, 3, 0.5, 0.2), local_map(4, 2, 1.0)])
def test_beta_by_enumeration(table: Floats, left: list[int], right: list[int]) -> None:
    assert beta(table, np.array(left), np.array(right)) == pytest.approx(brute_beta(table, left, right), abs=1e-14)


def test_beta_where_the_printed_sum_passes_one() -> None:
    clear = np.eye(5)
    assert beta(clear, np.array([3, 3]), np.array([5])) == 1
    assert beta(clear, np.array([3, 3]), np.array([3])) == 0


@pytest.mark.parametrize(("low", "high", "count"), [(49, 50, 50), (40, 60, 3000), (20, 60, 10**6)])
def test_beta_of_many_values_by_powers_of_high_precision(low: int, high: int, count: int) -> None:
    table = global_map(100, 3.0)
    with mp.workdps(60):
        at_most = [mp.fsum(table[low - 1, : o + 1].tolist()) / mp.fsum(table[low - 1].tolist()) for o in range(100)]
        above = [mp.fsum(table[high - 1, o + 1 :].tolist()) / mp.fsum(table[high - 1].tolist()) for o in range(100)]
        steps = [a**count - b**count for a, b in zip(at_most, [mp.mpf(0), *at_most], strict=False)]
        exact = float(mp.fsum(step * s**count for step, s in zip(steps, above, strict=True)))
    assert beta(table, np.repeat(low, count), np.repeat(high, count)) == pytest.approx(exact, rel=1e-12)


def test_mean_noise_by_summing() -> None:
    table = global_map(6, 0.4)
    mean = sum(table[x, o] * abs(o - x) for x in range(6) for o in range(6)) / 6
    assert mean_absolute_noise(table) == pytest.approx(mean)
    assert mean_absolute_noise(integers(table, 0.2)) == pytest.approx(mean)


def test_what_is_no_table_or_code_is_refused() -> None:
    with pytest.raises(SettingError, match="table must have rows that sum to one"):
        order_preserving(np.ones((2, 2)))
    tables: list[Any] = [[["a", "b"], ["c", "d"]], "ab", 3, None, [[1.0]], [[0.5, 0.5]]]
    for table in tables:
        with pytest.raises(SettingError, match=r"^table must be square, with numbers for 2 codes or more; got"):
            mean_absolute_noise(table)
    with pytest.raises(SettingError, match=r"^table must have rows that sum to one"):
        order_preserving(np.array([[0.5, math.nan], [0.5, 0.5]]))
    with pytest.raises(SettingError, match="negative"):
        order_preserving(np.array([[1.5, -0.5], [0.5, 0.5]]))
    with pytest.raises(SettingError, match="right_values must be one or more codes from 1 to 2"):
        beta(np.eye(2), np.array([1]), np.array([3]))
    columns: list[Any] = [[], [1.5], ["a"], [[1]], 1, None]
    for column in columns:
        with pytest.raises(SettingError, match=r"^left_values must be one or more codes from 1 to 2; got"):
            beta(np.eye(2), column, np.array([2]))
    with pytest.raises(SettingError, match="ties must be a probability"):
        adj_bound(1.0, theta=2, size=4, ties=1.5)


def test_tables_may_be_lists() -> None:
    flip = [[0.75, 0.25], [0.25, 0.75]]
    assert order_preserving(flip).tolist() == [0.5625]
    assert mean_absolute_noise(flip) == 0.25


def test_a_thousand_codes() -> None:
    assert order_preserving(tight_map([0.1] * 1023)).shape == (1023,)
