"""The profile against fractions and mpmath on small tables, the values on record on the large ones."""

import dataclasses
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ideal import (
    TOTAL,
    Floats,
    adj_map,
    global_map,
    integers,
    local_map,
    nominal_adj_map,
    randomised_response,
    tight_map,
)
from mpmath import mp
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError, SettingError
from veilboost.privacy import profile
from veilboost.privacy.profile import LOG_MARGIN, Weights


def exact_loss(first: Weights, second: Weights) -> float:
    """Smallest float not below the largest log-ratio, by fractions and 100 digits."""
    worst = Fraction(1)
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if a != b and min(a, b) == 0:
            return math.inf
        if a:
            worst = max(worst, Fraction(a, b), Fraction(b, a))
    with mp.workdps(100):
        exact = mp.log(mp.mpf(worst.numerator) / worst.denominator)
        bound = float(exact)
        return bound if bound >= exact else math.nextafter(bound, math.inf)


@st.composite
def tables(draw: st.DrawFn) -> Weights:
    size = draw(st.integers(1, 5))
    table = np.zeros((size, size), dtype=np.uint64)
    for row in table:
        shares = draw(st.lists(st.integers(0, 9) | st.integers(0, TOTAL), min_size=size, max_size=size))
        shares[0] += sum(shares) == 0
        exact = [TOTAL * share // sum(shares) for share in shares]
        exact[exact.index(max(exact))] += TOTAL - sum(exact)
        row[:] = exact
    return table


@settings(max_examples=300, deadline=None)
@given(tables())
def test_every_figure_against_fractions(table: Weights) -> None:
    found, size = profile(table), len(table)
    exact = [[exact_loss(table[x], table[y]) for y in range(size)] for x in range(size)]
    assert found.gaps == tuple(exact[x][x + 1] for x in range(size - 1))
    assert found.worst == max(map(max, exact))
    assert found.pairs().tolist() == exact
    assert found.pair(1, size) == exact[0][-1]
    for distance, loss in enumerate(found.epsilon_by_distance, 1):
        truth = max(exact[x][x + distance] for x in range(size - distance))
        assert truth <= loss <= truth + 2 * LOG_MARGIN
    assert list(map(found.within, range(size))) == [max(found.epsilon_by_distance[:t], default=0) for t in range(size)]


def test_integers_decide_where_floats_see_no_difference() -> None:
    big, row = 2**61, np.zeros((3, 3), dtype=np.uint64)
    row[0] = big + 1, big, TOTAL - 2 * big - 1
    row[1] = big, big - 1, TOTAL - 2 * big + 1
    row[2] = row[1]
    assert profile(row).gaps == (math.nextafter(2.0**-61, 1), 0.0)


def test_the_largest_ratio_may_look_smaller_in_floats() -> None:
    table = np.zeros((3, 3), dtype=np.uint64)
    table[0] = 2**61 + 257, 2**61 + 255, TOTAL - 2**62 - 512
    table[1:] = 2**61, 2**61 - 127, TOTAL - 2**62 + 127
    seen = np.abs(np.log(table[0] / table[1]))
    assert seen.argmax() == 0
    assert profile(table).gaps[0] == exact_loss(table[0, 1:2], table[1, 1:2]) > exact_loss(table[0, :1], table[1, :1])


ON_RECORD = [
    (global_map(100, 0.1), 100, 0.0953, None, None),
    (global_map(10, 1.28), 10, 0.8617, None, None),
    (nominal_adj_map(100, 0.1, 10, 1), 10, 0.0803, 0.6601, 1.0692),
    (nominal_adj_map(100, 0.1, 10, 0.2), 10, 0.2782, 0.5123, 2.0123),
    (nominal_adj_map(100, 0.1, 10, 10), 10, 0.0089, 0.7062, 0.7508),
    (nominal_adj_map(10, 0.08, 4, 1), 4, 0.0426, 0.1495, 0.2352),
]


@pytest.mark.parametrize(("ideal", "theta", "inside", "border", "at_theta"), ON_RECORD)
def test_what_the_nominal_budget_buys(
    ideal: Floats,
    theta: int,
    inside: float,
    border: float | None,
    at_theta: float | None,
) -> None:
    found = profile(integers(ideal, 0.005))
    gaps, across = np.array(found.gaps), np.arange(1, found.size) % theta == 0
    assert round(gaps[~across].max(), 4) == inside
    if border is not None:
        assert round(gaps[across].max(), 4) == border
        assert round(found.epsilon_by_distance[theta - 1], 4) == at_theta


@pytest.mark.parametrize(("size", "epsilon"), [(10, 0.08), (100, 0.1), (100, 0.003)])
def test_a_distance_costs_no_more_than_its_gaps(size: int, epsilon: float) -> None:
    found = profile(integers(tight_map([epsilon] * (size - 1)), epsilon))
    largest = Fraction(max(found.gaps))
    assert epsilon * (1 - 1e-9) < largest < epsilon * (1 + 1e-9)
    for distance, loss in enumerate(found.epsilon_by_distance, 1):
        assert loss <= math.nextafter(float(largest * distance), math.inf)


def test_randomised_response_costs_the_same_at_every_distance() -> None:
    found = profile(integers(randomised_response(50, 0.7), 0.7))
    assert set(found.epsilon_by_distance) <= {found.worst}
    assert found.worst == pytest.approx(0.7, abs=1e-12)


def test_partitions_that_cannot_be_reached() -> None:
    found = profile(integers(local_map(7, 3, 0.5), 0.25))
    assert [gap == math.inf for gap in found.gaps] == [False, False, True, False, False, True]
    assert set(found.epsilon_by_distance) == {math.inf}
    assert found.worst == math.inf
    assert 0 < found.pair(1, 3) < math.inf
    assert found.pair(7, 7) == 0


def test_adj_map_keeps_the_bound_with_theta_less_one() -> None:
    found = profile(integers(adj_map(23, 4, 0.4, 0.3), 0.1))
    for distance, loss in enumerate(found.epsilon_by_distance, 1):
        assert loss <= -(-distance // 4) * 0.4 + 3 * 0.3 + 1e-9


def bad_tables() -> list[NDArray[Any]]:
    fair = np.full((2, 2), TOTAL // 2, dtype=np.uint64)
    off_by_one, wraps = fair.copy(), np.full((3, 3), TOTAL, dtype=np.uint64)
    off_by_one[1, 1] += np.uint64(1)
    return [off_by_one, wraps, fair.astype(np.int64), fair[:1], fair[0], np.zeros((0, 0), dtype=np.uint64)]


@pytest.mark.parametrize("number", range(6))
def test_what_is_no_table_is_refused(number: int) -> None:
    with pytest.raises(GuaranteeError):
        profile(bad_tables()[number])


def test_a_profile_does_not_change_with_the_array_it_was_made_from() -> None:
    table = integers(global_map(4, 1.0), 0.5)
    found = profile(table)
    table[0] = table[3]
    assert found.pair(1, 2) == found.gaps[0] > 0
    for name in ("worst", "weights"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, name, 0)
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0] = 0
    with pytest.raises(SettingError, match="y must be a whole number from 1 to 4"):
        found.pair(1, 5)


def test_a_thousand_codes_take_seconds_at_most() -> None:
    table = integers(global_map(1024, 0.1), 0.05)
    start = time.process_time()
    found = profile(table)
    assert time.process_time() - start < 5
    assert len(found.epsilon_by_distance) == 1023
    assert found.epsilon_by_distance[0] == max(found.gaps)
