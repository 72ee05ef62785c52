"""Integer tables against their formulas in 80 digits, and what they lose against what they state."""

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from battery import EPSILONS, example, gap_lists, ideal, loses_at_most, row_sums, variants
from mpmath import mp, mpf

from veilboost.errors import GuaranteeError, SettingError
from veilboost.mechanisms import (
    LARGEST_SIZE,
    TABLE_MECHANISMS,
    AdjMap,
    GlobalMap,
    LocalMap,
    RandomizedResponse,
    TableMechanism,
    TightMap,
)
from veilboost.mechanisms import table as tables
from veilboost.privacy import TOTAL, ApproximateDP

every_table = pytest.mark.parametrize("name", TABLE_MECHANISMS)
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)


def smallest_loss(mechanism: TableMechanism) -> float:
    return min((gap for gap in mechanism.promised_gaps() if gap < math.inf), default=math.inf)


def moved(size: int, loss: float) -> int:
    """The most that rounding may move in one cell: the slack of a row, and its remainder."""
    slack = 4 if loss > 40 else math.ceil((size + 4 + 2 * math.exp(loss)) / math.expm1(loss)) + 1
    return size * slack + size + 2


@every_epsilon
@pytest.mark.parametrize("size", [2, 3, 10, 17])
@every_table
def test_weights_follow_the_formula_and_sum_exactly(name: str, size: int, epsilon: float) -> None:
    for mechanism in variants(name, size, epsilon):
        exact = ideal(name, mechanism)
        limit = moved(size, smallest_loss(mechanism))
        assert limit < TOTAL / 1e12
        weights = mechanism.table.weights
        assert weights.dtype == np.uint64
        assert not weights.flags.writeable
        assert row_sums(weights) == [TOTAL] * size
        for row, formula in zip(weights.tolist(), exact, strict=True):
            assert abs(mp.fsum(formula) - 1) < mpf(10) ** -15
            for weight, p in zip(row, formula, strict=True):
                assert (weight == 0) == (p == 0)
                with mp.workdps(80):
                    assert abs(weight - p * TOTAL) <= limit


@every_epsilon
@pytest.mark.parametrize("size", [2, 3, 5, 10])
@every_table
def test_no_pair_loses_more_than_stated(name: str, size: int, epsilon: float) -> None:
    for mechanism in variants(name, size, epsilon):
        weights, definition = mechanism.table.weights, mechanism.definition
        assert not isinstance(definition, ApproximateDP)
        for x, y in combinations(range(1, size + 1), 2):
            assert loses_at_most(weights[x - 1], weights[y - 1], definition.pair_loss(x, y))
        for x, gap in enumerate(mechanism.promised_gaps()):
            assert loses_at_most(weights[x], weights[x + 1], gap)
            assert gap <= definition.pair_loss(x + 1, x + 2)


@pytest.mark.slow
@every_epsilon
@pytest.mark.parametrize("size", [64, 100])
@every_table
def test_no_gap_of_a_larger_table_loses_more_than_promised(name: str, size: int, epsilon: float) -> None:
    for mechanism in variants(name, size, epsilon):
        weights = mechanism.table.weights
        assert row_sums(weights) == [TOTAL] * size
        for x, (gap, loss) in enumerate(zip(mechanism.promised_gaps(), mechanism.profile().gaps, strict=True)):
            assert loses_at_most(weights[x], weights[x + 1], gap)
            assert loss <= gap


def test_the_comparison_itself_sees_the_smallest_excess() -> None:
    row, other = np.array([TOTAL - 2, 2], dtype=np.uint64), np.array([TOTAL - 4, 4], dtype=np.uint64)
    assert loses_at_most(row, other, math.nextafter(math.log(2), 1))
    assert not loses_at_most(row, other, math.log(2))  # the float below ln 2
    assert not loses_at_most(row, np.array([TOTAL, 0], dtype=np.uint64), 1e3)


@pytest.mark.parametrize("size", [2, 10, 64])
@pytest.mark.parametrize("kind", range(4))
def test_zeros_stand_between_groups_and_nowhere_else(kind: int, size: int) -> None:
    gaps = gap_lists(size - 1, 20.0)[kind]
    weights = TightMap(gaps=gaps).table.weights
    group = np.concatenate(([0], np.cumsum(np.isinf(gaps))))
    assert ((weights > 0) == (group[:, None] == group)).all()


def test_identical_rows_are_rounded_identically() -> None:
    mechanism = AdjMap(epsilon=0.3, size=17, theta=5)
    weights = mechanism.table.weights
    # Outside a partition, an input acts as the nearest code inside: all of the far inputs' rows are one row there.
    for first in (0, 5, 10, 15):
        for x in range(first, min(first + 5, 17) - 1):
            far = [o for o in range(17) if not first <= o < first + 5]
            assert np.abs(weights[x, far].astype(object) - weights[x + 1, far].astype(object)).max() <= 17 + 2


ON_RECORD: list[tuple[TableMechanism, int, float, float | None, float | None]] = [
    (GlobalMap(epsilon=0.1, size=100), 10, 0.0953, None, None),
    (GlobalMap(epsilon=1.28, size=10), 4, 0.8617, None, None),
    (AdjMap(epsilon=0.1, size=100, theta=10, alpha=1.0), 10, 0.0803, 0.6601, 1.0692),
    (AdjMap(epsilon=0.1, size=100, theta=10, alpha=0.2), 10, 0.2782, 0.5123, 2.0123),
    (AdjMap(epsilon=0.1, size=100, theta=10, alpha=10.0), 10, 0.0089, 0.7062, 0.7508),
    (AdjMap(epsilon=0.08, size=10, theta=4, alpha=1.0), 4, 0.0426, 0.1495, 0.2352),
]


@pytest.mark.parametrize(("mechanism", "theta", "inside", "border", "at_theta"), ON_RECORD, ids=str)
def test_what_six_nominal_budgets_really_buy(
    mechanism: TableMechanism, theta: int, inside: float, border: float | None, at_theta: float | None
) -> None:
    found = mechanism.profile()
    at_border = [gap for code, gap in enumerate(found.gaps, 1) if code % theta == 0]
    within = [gap for code, gap in enumerate(found.gaps, 1) if border is None or code % theta]
    assert round(max(within), 4) == inside
    if border is not None:
        assert (round(max(at_border), 4), round(found.epsilon_by_distance[theta - 1], 4)) == (border, at_theta)


def test_thin_tails_saturate_below_the_nominal_loss() -> None:
    thin, thick = TightMap(epsilon=20.0, size=10), TightMap(epsilon=0.5, size=10)
    losses = thin.profile().epsilon_by_distance
    assert 19.999 < losses[0] <= 20.0
    assert all(40 < loss < 44 for loss in losses[2:])
    assert thin.definition.pair_loss(1, 10) == 180.0
    assert (thin.table.flat, thick.table.flat) == (True, False)
    assert thick.profile().worst == pytest.approx(4.5, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.08, 0.64, 5.0])
def test_tight_spends_every_gap_at_every_output(epsilon: float) -> None:
    weights = TightMap(epsilon=epsilon, size=6).table.weights.astype(np.float64)
    assert np.abs(np.abs(np.diff(np.log(weights), axis=0)) - epsilon).max() < 1e-5


# Limits


LARGE: dict[str, Any] = {
    "BoundedLaplace": lambda size: GlobalMap(epsilon=0.5, size=size),
    "AdjLaplace": lambda size: AdjMap(epsilon=0.5, size=size, theta=4),
    "LocalLaplace": lambda size: LocalMap(epsilon=0.5, size=size, theta=4),
    "for ordered codes ClampedLaplace": lambda size: RandomizedResponse(epsilon=0.5, size=size),
    "ClampedLaplace": lambda size: TightMap(epsilon=0.5, size=size),
    "(ClampedLaplace": lambda size: TightMap(gaps=(0.5,) * (size - 1)),
}


@pytest.mark.parametrize("instead", LARGE)
@pytest.mark.parametrize("size", [2049, 2**31])
def test_too_large_a_table_is_refused_and_the_twin_named(instead: str, size: int) -> None:
    assert LARGEST_SIZE == 2048
    with pytest.raises(SettingError) as caught:
        LARGE[instead](min(size, 3000) if instead.startswith("(") else size)
    assert str(caught.value).startswith("size must be at most 2048 for an exact table (")
    assert instead in str(caught.value)


@pytest.mark.slow
@every_table
@pytest.mark.parametrize("epsilon", [1e-9, 1e-15, 5e-324])
def test_too_small_a_budget_is_refused_with_the_reason(name: str, epsilon: float) -> None:
    whole = {"theta": 1000} if name == "local" else {}
    with pytest.raises(
        SettingError, match=r"smallest loss .* must be at least \S+ for a table of 1000 codes of 63 bits; got"
    ):
        example(name, epsilon=epsilon, size=1000, **whole)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 10, 1024])
def test_the_smallest_budget_that_is_named_would_fit_and_a_smaller_one_not(size: int) -> None:
    with pytest.raises(SettingError) as caught:
        TightMap(epsilon=1e-15, size=size)
    found = re.search(r"at least (\S+) for", str(caught.value))
    assert found is not None
    least = float(found[1])
    assert TightMap(epsilon=least, size=size).size == size
    with pytest.raises(SettingError, match="smallest loss"):
        TightMap(epsilon=least * (1 - 1e-4), size=size)


def test_the_smallest_budget_is_that_of_the_groups_and_not_of_the_borders() -> None:
    assert LocalMap(epsilon=1e-15, size=10, theta=1).profile().gaps == (math.inf,) * 9
    with pytest.raises(SettingError, match="smallest loss"):
        TightMap(gaps=(1.0, math.inf, 1e-15, 1.0))


# Sabotage


@pytest.mark.parametrize("gap", [0.01, 0.5, math.log(2), 3.0, 20.0, 43.0])
def test_weights_that_break_a_gap_are_refused(gap: float) -> None:
    with mp.workdps(60):
        most = int(mp.floor(TOTAL * mp.exp(gap) / (1 + mp.exp(gap))))  # most / (TOTAL - most) <= e^gap

    def mirrored(weight: int) -> Any:
        return np.array([[weight, TOTAL - weight], [TOTAL - weight, weight]], dtype=np.uint64)

    tables._check(mirrored(most - 4), [gap])
    with pytest.raises(GuaranteeError, match=r"^the integer weights of codes 1 and 2 break their gap"):
        tables._check(mirrored(most + 1), [gap])


@every_table
def test_one_unit_in_the_wrong_cell_is_found(name: str) -> None:
    mechanism = example(name, theta=10) if name == "local" else example(name)
    assert isinstance(mechanism, TableMechanism)
    spoiled = mechanism.table.weights.copy()
    spoiled[4, 4] += spoiled[4, 0] - np.uint64(1)
    spoiled[4, 0] = 1  # what naive rounding leaves in a tail
    tables._check(mechanism.table.weights, mechanism.promised_gaps())
    with pytest.raises(GuaranteeError, match="codes 4 and 5"):
        tables._check(spoiled, mechanism.promised_gaps())


def test_an_ideal_that_is_no_distribution_or_breaks_its_promise_is_refused() -> None:
    half, ideal_rows = tables.ONE // 2, np.array([[tables.ONE * 3 // 4, tables.ONE // 4]] * 2, dtype=object)
    ideal_rows[1] = ideal_rows[1, ::-1]
    assert tables.build(ideal_rows, [1.1]).weights[0, 0] > TOTAL // 2
    with pytest.raises(GuaranteeError, match=r"break their gap 1\.09"):
        tables.build(ideal_rows, [1.09])
    for wrong in (half - 2**70, half + 2**70):
        with pytest.raises(GuaranteeError, match="do not sum to one"):
            tables.build(np.array([[half, wrong], [half, half]], dtype=object), [1.0])


@pytest.mark.parametrize("gap", [1e-9, 0.001, math.log(2), 1.0, 20.0, 43.6, 44.0, 1e6])
def test_rational_odds_lie_just_below_the_exponential(gap: float) -> None:
    numerator, shift = tables.odds_below(gap)
    with mp.workdps(60):
        found = mpf(numerator) / mpf(2) ** shift
        assert found <= mp.exp(gap)
        assert found >= min(mp.exp(gap) * (1 - mpf(2) ** -61), mpf(TOTAL))
