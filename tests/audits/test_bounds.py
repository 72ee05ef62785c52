"""The confidence bounds and p-values of the audit against sums over all outcomes."""

import math
from itertools import product

import numpy as np
import pytest

from veilboost.audits.agreement import least_likely
from veilboost.audits.distinguish import lower_bounds, tell_apart, upper_bounds
from veilboost.audits.sample import Counts, split
from veilboost.mechanisms import BoundedLaplace, ClampedLaplace, GlobalMap, LocalLaplace, LocalMap, TightMap

TRIALS = 12
HITS = np.arange(TRIALS + 1)


def at_least(hits: int, share: float) -> float:
    """P[Binomial(TRIALS, share) >= hits]."""
    return math.fsum(math.comb(TRIALS, k) * share**k * (1 - share) ** (TRIALS - k) for k in range(hits, TRIALS + 1))


@pytest.mark.parametrize("level", [0.3, 0.01, 1e-9, 1e-13])
def test_bounds_solve_the_binomial_equation(level: float) -> None:
    low, high = lower_bounds(HITS, TRIALS, level), upper_bounds(HITS, TRIALS, level)
    assert low[0] == 0
    assert high[-1] == 1
    for hits in range(1, TRIALS + 1):
        assert at_least(hits, low[hits]) == pytest.approx(level, rel=1e-6)
        mirrored = at_least(TRIALS - (hits - 1), 1 - high[hits - 1])
        assert mirrored == pytest.approx(level, rel=1e-6, abs=1e-16)


@pytest.mark.parametrize("level", [0.3, 0.01])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])
def test_bounds_miss_the_truth_at_most_as_often_as_allowed(share: float, level: float) -> None:
    chances = np.array([math.comb(TRIALS, k) * share**k * (1 - share) ** (TRIALS - k) for k in HITS])
    assert chances[lower_bounds(HITS, TRIALS, level) > share].sum() <= level
    assert chances[upper_bounds(HITS, TRIALS, level) < share].sum() <= level


@pytest.mark.parametrize("row", [(0.5, 0.5), (0.2, 0.3, 0.5), (0.1, 0.1, 0.4, 0.4)])
@pytest.mark.parametrize("level", [0.5, 0.1, 1e-3, 1e-9])
def test_p_values_are_small_at_most_as_often_as_allowed(row: tuple[float, ...], level: float) -> None:
    draws, missed = 100 if len(row) == 2 else 60 if len(row) == 3 else 30, 0.0
    for first in product(range(draws + 1), repeat=len(row) - 1):
        seen = (*first, draws - sum(first))
        if seen[-1] >= 0 and least_likely(_counts(seen), np.array(row)) < level:
            ways = math.factorial(draws) // math.prod(map(math.factorial, seen))
            missed += ways * math.prod(p**k for p, k in zip(row, seen, strict=True))
    assert missed <= level


def test_an_impossible_output_settles_it() -> None:
    row = np.array([0.5, 0.5, 0.0])
    assert least_likely(_counts((500, 499, 1)), row) == 0
    assert least_likely(Counts(np.array([1, 4]), np.array([999, 1])), row) == 0
    assert least_likely(Counts(np.array([0, 1]), np.array([1, 999])), row) == 0
    assert least_likely(_counts((7,)), np.array([1.0])) == 1


@pytest.mark.parametrize(
    ("untabled", "table"),
    [
        (BoundedLaplace(epsilon=1.0, size=9), GlobalMap(epsilon=1.0, size=9)),
        (ClampedLaplace(epsilon=1.0, size=9), TightMap(epsilon=1.0, size=9)),
        (LocalLaplace(epsilon=1.0, size=9, theta=4), LocalMap(epsilon=1.0, size=9, theta=4)),
    ],
    ids=repr,
)
def test_draws_without_a_table_agree_with_the_table(
    untabled: BoundedLaplace | ClampedLaplace | LocalLaplace, table: GlobalMap | TightMap | LocalMap
) -> None:
    for code in (1, 4, 9):
        drawn = split(untabled.draw(np.full(200_000, code))).every
        assert least_likely(drawn, table.probabilities()[code - 1]) > 1e-10


def test_what_is_measured_had_no_part_in_the_choice() -> None:
    first, second = np.tile([2, 2, 2, 1], 500), np.tile([1, 1, 1, 2], 500)
    samples = {1: split(np.append(first, np.full(2000, 1))), 2: split(np.append(second, np.full(2000, 2)))}
    assert tell_apart(1, 2, samples, 1e-9).epsilon_lower == 0
    kept = {1: split(np.append(first, np.full(2000, 2))), 2: split(np.append(second, np.full(2000, 1)))}
    assert tell_apart(1, 2, kept, 1e-9).epsilon_lower > 3


def test_chooses_common_outputs_over_lucky_ones() -> None:
    """Of many equally rare outputs some look telling in the first half; the set chosen must not rest on them."""
    rng = np.random.default_rng()
    noise = rng.integers(100, 1100, size=(2, 100_000))
    told = [np.where(rng.random(100_000) < share, 1, 2) for share in (0.6, 0.4)]
    rare = rng.random((2, 100_000)) < 0.5
    samples = {code: split(np.where(rare[code], noise[code], told[code])) for code in (0, 1)}
    found = tell_apart(0, 1, samples, 1e-9)
    assert 0.2 < found.epsilon_lower < math.log(1.5)


def test_measures_outputs_that_were_never_seen_before() -> None:
    samples = {0: split(np.array([5] * 500 + [1, 9] * 250)), 1: split(np.array([5] * 500 + [7] * 500))}
    assert tell_apart(0, 1, samples, 1e-3).epsilon_lower == 0


def _counts(seen: tuple[int, ...]) -> Counts:
    outputs = np.array([code for code, times in enumerate(seen, 1) if times])
    return Counts(outputs, np.array([times for times in seen if times]))
