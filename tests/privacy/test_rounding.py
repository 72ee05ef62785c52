"""Directed rounding against mpmath with far more digits."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from veilboost.privacy.rounding import log_up, sum_up, up

words = st.integers(1, 2**63)


@given(st.fractions(min_value=0, max_value=10**6))
def test_up_is_the_smallest_float_not_below(exact: Fraction) -> None:
    assert Fraction(up(exact)) >= exact
    assert Fraction(math.nextafter(up(exact), -math.inf)) < exact


@given(words, words)
def test_log_up_is_the_smallest_float_not_below(a: int, b: int) -> None:
    high, low = max(a, b), min(a, b)
    with mp.workdps(200):
        exact = mp.log(mp.mpf(high) / low)
        assert log_up(high, low) >= exact
        assert log_up(high, low) == 0 or math.nextafter(log_up(high, low), 0) < exact


def test_logarithms_of_ratios_a_hair_above_one_are_not_lost() -> None:
    assert log_up(2**61, 2**61 - 1) == math.nextafter(2.0**-61, 1)
    assert log_up(2**61 + 1, 2**61) == 2.0**-61


@given(st.lists(st.floats(0, 1e6), max_size=20))
def test_sum_up_covers_the_exact_sum(terms: list[float]) -> None:
    exact = sum(map(Fraction, terms), Fraction(0))
    assert Fraction(sum_up(tuple(terms))) >= exact
    assert Fraction(math.nextafter(sum_up(tuple(terms)), -math.inf)) < exact
