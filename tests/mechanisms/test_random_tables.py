"""Whatever the parameters: exact rows, no loss above the stated one, draws that stay where they may."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from battery import loses_at_most, row_sums
from hypothesis import given, settings
from hypothesis import strategies as st

from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, RandomizedResponse, TableMechanism, TightMap
from veilboost.privacy import TOTAL, ApproximateDP

BUDGETS = st.floats(1e-6, 60.0) | st.sampled_from([0.001, math.log(2), 20.0, 43.6, 44.0, 1e3, 1e300])
GAPS = st.lists(BUDGETS | st.just(math.inf), min_size=1, max_size=8)


@st.composite
def mechanisms(draw: st.DrawFn) -> TableMechanism:
    size, epsilon = draw(st.integers(2, 9)), draw(BUDGETS)
    theta, alpha = draw(st.integers(1, size)), draw(st.floats(0.01, 100))
    made: list[Callable[[], TableMechanism]] = [
        lambda: GlobalMap(epsilon=epsilon, size=size),
        lambda: AdjMap(epsilon=epsilon, size=size, theta=theta, alpha=alpha),
        lambda: LocalMap(epsilon=epsilon, size=size, theta=theta),
        lambda: RandomizedResponse(epsilon=epsilon, size=size),
        lambda: TightMap(epsilon=epsilon, size=size),
    ]
    return draw(st.sampled_from(made))()


def check(mechanism: TableMechanism) -> None:
    weights, definition, size = mechanism.table.weights, mechanism.definition, mechanism.size
    assert not isinstance(definition, ApproximateDP)
    assert row_sums(weights) == [TOTAL] * size
    group = np.concatenate(([0], np.cumsum(np.isinf(mechanism.promised_gaps()))))
    assert ((weights > 0) == (group[:, None] == group)).all()
    for x, y in combinations(range(1, size + 1), 2):
        assert loses_at_most(weights[x - 1], weights[y - 1], definition.pair_loss(x, y))
        if group[x - 1] == group[y - 1]:
            assert mechanism.profile().pair(x, y) <= definition.pair_loss(x, y)
    for x, gap in enumerate(mechanism.promised_gaps()):
        assert loses_at_most(weights[x], weights[x + 1], gap)
    codes = np.arange(60) % size + 1
    drawn = mechanism.draw(codes).astype(int)
    assert 1 <= drawn.min() <= drawn.max() <= size
    assert (group[drawn - 1] == group[codes - 1]).all()


@settings(max_examples=150, deadline=None)
@given(mechanisms())
def test_any_mechanism_keeps_its_word(mechanism: TableMechanism) -> None:
    check(mechanism)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(GAPS)
def test_any_gaps_are_kept(gaps: list[float]) -> None:
    mechanism = TightMap(gaps=tuple(gaps))
    assert mechanism.promised_gaps() == tuple(gaps)
    check(mechanism)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5).filter(lambda lengths: sum(lengths) > 1), BUDGETS, BUDGETS)
def test_any_groups_are_kept(lengths: list[int], inside: float, between: float) -> None:
    mechanism = TightMap.grouped(lengths, inside=inside, between=between)
    starts = [0, *np.cumsum(lengths).tolist()][1:-1]
    expected = [between if code in starts else inside for code in range(1, sum(lengths))]
    assert list(mechanism.promised_gaps()) == expected
    check(mechanism)
    check(TightMap.grouped(lengths, inside=inside, between=math.inf))
