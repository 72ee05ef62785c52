"""Ticks and scales: few, round, sorted, around all the data, however large or small it is."""

import itertools
import math
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veilboost.errors import SettingError
from veilboost.report.axes import Axis, log_ticks, scale, texts, ticks

ANY = st.floats(allow_nan=False, allow_infinity=False)
ABOVE_ZERO = st.floats(5e-324, allow_infinity=False)
MOST = st.integers(3, 12)


def significant(tick: Decimal) -> tuple[int, ...]:
    return tick.normalize().as_tuple().digits


@given(st.tuples(ANY, ANY).map(sorted), MOST, st.booleans())
@example([-1.7976931348623157e308, 1.7976931348623157e308], 3, False)
@example([0.0, 5e-324], 8, False)
@example([0.0, 5e-324], 8, True)
@example([1e15, 1e15 + 1], 5, False)
@example([0.1, 0.3], 8, False)
def test_ticks_are_few_round_sorted_and_enclose_the_data(ends: list[float], most: int, whole: bool) -> None:
    found = ticks(*ends, most=most, whole=whole)
    assert 2 <= len(found) <= most
    assert found[0] <= Decimal(repr(ends[0])) <= Decimal(repr(ends[1])) <= found[-1]
    steps = {after - before for before, after in itertools.pairwise(found)}
    assert len(steps) == 1
    step = steps.pop()
    assert step > 0
    assert significant(step) in {(1,), (2,), (5,)}
    assert all(tick % step == 0 for tick in found)
    assert not whole or step >= 1


@given(st.floats(-1e3, 1e3), st.floats(0.01, 1e6), MOST)
def test_ticks_leave_little_room_beside_the_data(low: float, span: float, most: int) -> None:
    found = ticks(low, low + span, most=most)
    assert len(found) > 2 or found[-1] - found[0] <= 10 * Decimal(span)
    assert found[1] >= Decimal(repr(low))
    assert found[-2] <= Decimal(repr(low + span))
    assert len(ticks(low, low + span)) >= 3


@given(st.tuples(ABOVE_ZERO, ABOVE_ZERO).map(sorted), MOST)
@example([5e-324, 1.7976931348623157e308], 3)
@example([1.0, 1.0], 3)
def test_logarithmic_ticks_are_few_round_sorted_and_enclose_the_data(ends: list[float], most: int) -> None:
    found = log_ticks(*ends, most=most)
    assert 2 <= len(found) <= most
    assert found == sorted(set(found))
    assert found[0] <= Decimal(repr(ends[0])) <= Decimal(repr(ends[1])) <= found[-1]
    assert {significant(tick) for tick in found} <= {(1,), (2,), (5,)}


@given(st.lists(ANY, max_size=5), st.builds(Axis, zero=st.booleans(), tight=st.booleans(), whole=st.booleans()))
def test_every_value_lies_on_its_scale_in_order(values: list[float], axis: Axis) -> None:
    found = scale(axis, values, most=6)
    places = [found.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)
    assert not axis.zero or 0 <= found.place(0.0) <= 1
    assert [found.place(tick) for tick in found.ticks] == sorted({found.place(tick) for tick in found.ticks})
    assert len(set(found.texts)) == len(found.ticks) >= 2


@given(st.lists(ABOVE_ZERO, max_size=5))
def test_every_value_lies_on_its_logarithmic_scale(values: list[float]) -> None:
    found = scale(Axis(log=True), values, most=6)
    assert all(-1e-12 <= found.place(value) <= 1 + 1e-12 for value in values)
    assert len(set(found.texts)) == len(found.ticks)


def test_equal_factors_are_equally_long_on_a_logarithmic_axis() -> None:
    found = scale(Axis(log=True), [1.0, 100.0], most=8)
    assert found.place(10.0) == pytest.approx(0.5)
    assert (found.place(1.0), found.place(100.0)) == (0, 1)


def test_a_tight_axis_ends_where_the_data_ends() -> None:
    assert [scale(Axis(tight=True), [8.7, 61.3], most=8).place(value) for value in (8.7, 61.3)] == [0, 1]
    assert scale(Axis(tight=True), [8.7, 61.3], most=8).texts == ["10", "20", "30", "40", "50", "60"]
    assert scale(Axis(tight=True), [3.0], most=8).place(3.0) == 0.5


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (["-1", "-0.5", "0"], ["−1.0", "−0.5", "0.0"]),
        (["0", "5000", "10000"], ["0", "5,000", "10,000"]),
        (["0", "2E+7", "1E+8"], ["0", "0.2×10⁸", "1×10⁸"]),
        (["-2E-300", "0"], ["−2×10⁻³⁰⁰", "0"]),
        (["0.0001"], ["0.0001"]),
        (["0.00001"], ["10⁻⁵"]),
    ],
)
def test_ticks_are_written_alike(values: list[str], written: list[str]) -> None:
    assert texts([Decimal(value) for value in values]) == written


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(SettingError, match="'loss' must be shown by finite numbers"):
        scale(Axis(label="loss"), [1.0, wrong], most=8)


@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_a_logarithmic_axis_refuses_what_has_no_logarithm(wrong: float) -> None:
    with pytest.raises(SettingError, match="'loss' must be above 0"):
        scale(Axis(label="loss", log=True), [1.0, wrong], most=8)
