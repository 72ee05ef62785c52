"""One rule for each kind of value, and settings that are frozen and closed."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilboost.errors import SettingError
from veilboost.settings import MechanismSettings, positive, whole


@pytest.mark.parametrize("value", [1, 0.5, 5e-324, 1.7e308, Fraction(1, 3), np.float32(0.5), np.int64(3), np.uint8(7)])
def test_numbers_above_zero_pass_as_floats(value: Any) -> None:
    found = positive("epsilon", value)
    assert type(found) is float
    assert found == float(value)


def test_infinity_passes_only_where_it_may() -> None:
    assert positive("gap", math.inf, infinite=True) == math.inf
    with pytest.raises(SettingError, match=r"^gap must be a finite number above 0; got inf$"):
        positive("gap", math.inf)


NO_NUMBERS = ["1", None, True, np.bool_(True), 1j, [1.0], Decimal(1), np.array([1.0])]
TOO_SMALL = [0, -1, -0.0, -math.inf, math.nan, np.float64("nan"), Fraction(-1, 2), Fraction(1, 10**400)]


@pytest.mark.parametrize("infinite", [True, False])
@pytest.mark.parametrize("value", [*NO_NUMBERS, *TOO_SMALL, -(10**400)], ids=lambda value: f"{value!r:.30}")
def test_what_is_no_number_above_zero_is_refused(value: Any, infinite: bool) -> None:
    rule = "must be a number above 0" if infinite else "must be a finite number above 0"
    with pytest.raises(SettingError, match=rf"^alpha {rule}; got [^\n]+$"):
        positive("alpha", value, infinite=infinite)


def test_a_number_too_large_for_a_float_is_not_finite() -> None:
    with pytest.raises(SettingError, match=r"^epsilon must be a finite number above 0; got 1000"):
        positive("epsilon", 10**400)


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_whole_numbers_pass_from_low_to_high(value: int, low: int, high: int) -> None:
    if low <= value <= high:
        assert whole("n", value, low, high) == value
    else:
        with pytest.raises(
            SettingError, match=re.escape(f"n must be a whole number from {low} to {high}; got {value}")
        ):
            whole("n", value, low, high)


@pytest.mark.parametrize("value", [np.uint8(200), np.int64(200)])
def test_whole_numbers_of_numpy_pass_as_integers(value: Any) -> None:
    found = whole("size", value, 2, 300)
    assert type(found) is int
    assert found == 200


@pytest.mark.parametrize(
    "value", [2.0, "2", None, True, np.bool_(True), np.float64(2), Fraction(2), [2], Decimal(2)], ids=repr
)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(SettingError, match=r"^size must be a whole number from 1 to 3; got "):
        whole("size", value, 1, 3)


def test_mechanism_settings_are_frozen_closed_and_say_what_they_hold() -> None:
    loose: Any = MechanismSettings
    frozen: Any = MechanismSettings(mechanism="tight", gaps=[0.5, 1.0])
    assert {name: value for name, value in frozen.values().items() if value is not None} == {"gaps": [0.5, 1.0]}
    with pytest.raises(AttributeError):
        frozen.size = 3
    with pytest.raises(TypeError):
        loose(mechanism="tight", beta=1.0)
    with pytest.raises(TypeError):
        loose("tight")
    with pytest.raises(msgspec.ValidationError, match="unknown field `beta`"):
        msgspec.convert({"mechanism": "tight", "beta": 1.0}, MechanismSettings)
