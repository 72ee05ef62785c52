"""What a domain refuses: settings at once, columns before anything is coded, and in one line each."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError

D: Any = Domain  # for calls that break the hints on purpose
NAN = float("nan")


# Malformed settings: each message is one line with name, rule and value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: D.numbers(1, 1, size=5), "lower must be below upper = 1; got 1.0"),
        (lambda: D.numbers(2, 1, size=5), "lower must be below upper = 1; got"),
        (lambda: D.numbers(NAN, 1, size=5), "lower must be a finite number; got nan"),
        (lambda: D.numbers(0, float("inf"), size=5), "upper must be a finite number; got inf"),
        (lambda: D.numbers("0", 1, size=5), "lower must be a finite number; got '0'"),
        (lambda: D.numbers(False, 1, size=5), "lower must be a finite number; got False"),
        (lambda: D.numbers(0, None, size=5), "upper must be a finite number; got None"),
        (lambda: D.numbers(0, [1], size=5), "upper must be a finite number; got [1]"),
        (lambda: D.numbers(0, 2**60 + 1, size=5), "upper must be a finite number that is held without rounding"),
        (lambda: D.numbers(0, 10**400, size=5), "upper must be a finite number that is held without rounding"),
        (lambda: D.numbers(0, 1, size=1), "size must be a whole number from 2 to 2147483648; got 1"),
        (lambda: D.numbers(0, 1, size=2**31 + 1), "size must be a whole number from 2 to 2147483648; got"),
        (lambda: D.numbers(0, 1, size=10.0), "size must be a whole number from 2 to 2147483648; got 10.0"),
        (lambda: D.numbers(0, 1, size=True), "size must be a whole number from 2 to 2147483648; got True"),
        (lambda: D.numbers(0, 1, size=None), "size must be a whole number from 2 to 2147483648; got None"),
        (lambda: D.numbers(0, 1, size=2, missing="code"), "size must be a whole number from 3 to 2147483648; got 2"),
        (lambda: D.numbers(1, 1 + 2**-50, size=9), "size must be a whole number from 2 to 5; got 9"),
        (lambda: D.numbers(0, 1, size=5, missing="drop"), "missing must be one of refuse, code, impute; got 'drop'"),
        (lambda: D.numbers(0, 1, size=5, missing=["code"]), "missing must be one of refuse, code, impute; got"),
        (lambda: D.numbers(0, 1, size=5, missing="impute"), "impute must be given with missing='impute'"),
        (lambda: D.numbers(0, 1, size=5, impute=0.5), "impute must be given with missing='impute'"),
        (
            lambda: D.numbers(0, 1, size=5, missing="impute", impute=1.5),
            "impute must lie inside the bounds 0 to 1; got 1.5",
        ),
        (lambda: D.numbers(0, 1, size=5, missing="impute", impute=NAN), "impute must be a finite number; got nan"),
        (lambda: D.numbers(0, 1, size=5, column=3), "column must be text; got 3"),
        (lambda: D.integers(0, 1.5), "upper must be a whole number; got 1.5"),
        (lambda: D.integers(0, 9, size=11), "size must be a whole number from 2 to 10; got 11"),
        (lambda: D.integers(0, 2**40), "size must be a whole number from 2 to 2147483648; got"),
        (lambda: D.integers(5, 4), "lower must be below upper = 4; got 5"),
        (lambda: D.dates("2024-01-02", "2024-01-02"), "first must be below last = 2024-01-02; got"),
        (lambda: D.dates("2024-13-02", "2025-01-02"), "first must be a date without a time of day"),
        (lambda: D.dates("2024-01-01", dt.datetime(2024, 1, 2)), "last must be a date without a time of day"),
        (lambda: D.dates("2024-01-01", np.datetime64("NaT", "D")), "last must be a date without a time of day"),
        (lambda: D.dates("2024-01-01", "2024-01-05", size=6), "size must be a whole number from 2 to 5; got 6"),
        (lambda: D.timestamps("2024-01-01T00Z", "2024-01-02", size=5), "last must be a timestamp with a time zone"),
        (lambda: D.timestamps("2024-01-01", "2024-01-02T00Z", size=5), "last must be a timestamp without a time zone"),
        (lambda: D.timestamps(0, "2024-01-02", size=5), "first must be a timestamp without a time zone"),
        (lambda: D.decimals(0.5, 1, size=5), "lower must be an exact decimal number"),
        (lambda: D.decimals("0", "Infinity", size=5), "upper must be an exact decimal number"),
        (lambda: D.decimals("0", "1.23", size=5, places=1), "upper must be an exact decimal number"),
        (lambda: D.decimals("0", "1", size=5, places=-1), "places must be a whole number from 0 to 100; got -1"),
        (lambda: D.booleans(missing="impute", impute=1), "impute must be True or False; got 1"),
        (lambda: D.ordered(["a"]), "categories must be at least 2, all different; got ['a']"),
        (lambda: D.ordered([]), "categories must be at least 2"),
        (lambda: D.ordered(["a", "b", "a"]), "categories must be at least 2, all different; got ['a', 'b', 'a']"),
        (lambda: D.unordered(["a", 1]), "categories must be at least 2, all text or all whole numbers; got ['a', 1]"),
        (lambda: D.unordered([True, False]), "categories must be at least 2, all text or all whole numbers"),
        (lambda: D.unordered(["a", None]), "categories must be at least 2, all text or all whole numbers"),
        (lambda: D.ordered("abc"), "categories must be a list; got 'abc'"),
        (lambda: D.ordered({"a", "b"}), "categories must be a list; got {"),
        (lambda: D.ordered(["a", "b"], missing="impute", impute="c"), "impute must be one of the 2 categories"),
        (lambda: D.unordered(["a", "b"]).borders(), "categories must be ordered to have borders; got"),
        (lambda: D.unordered(["a", "b"]).border(1), "categories must be ordered to have borders; got"),
        (lambda: D.numbers(0, 1, size=5).border(5), "code must be a whole number from 1 to 4; got 5"),
        (lambda: D.numbers(0, 1, size=5).border(0), "code must be a whole number from 1 to 4; got 0"),
    ],
)
def test_malformed_settings_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SettingError) as refusal:
        make()
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


# Malformed columns: each message is one line with the column, the rule, the value and its row

NUMBERS = D.numbers(0, 1, size=5, column="c")
INTEGERS = D.integers(0, 9, column="c")
DATES = D.dates("2024-01-01", "2024-02-01", column="c")
TIMES = D.timestamps("2024-01-01", "2024-02-01", size=5, column="c")
AWARE = D.timestamps("2024-01-01T00Z", "2024-02-01T00Z", size=5, column="c")
DECIMALS = D.decimals(0, 1, size=5, places=2, column="c")
TEXTS = D.ordered(["a", "b"], column="c")


@pytest.mark.parametrize(
    ("domain", "values", "message"),
    [
        (NUMBERS, [0.5, "x"], "must hold a finite number in every row; found 'x' at row 1"),
        (NUMBERS, np.array(["1", "2"]), "must hold a finite number in every row; found '1' at row 0"),
        (NUMBERS, [0.5, True], "must hold a finite number in every row; found True at row 1"),
        (NUMBERS, np.array([True]), "must hold a finite number in every row; found True at row 0"),
        (NUMBERS, [0.5, 1j], "must hold a finite number in every row; found 1j at row 1"),
        (NUMBERS, np.array([0, 1j]), "must hold a finite number in every row; found 0j at row 0"),
        (NUMBERS, [0.5, [1]], "must hold a finite number in every row; found [1] at row 1"),
        (NUMBERS, [0.5, np.eye(2)], "must hold a finite number in every row; found array"),
        (NUMBERS, [0.5, float("inf")], "must hold a finite number in every row; found inf at row 1"),
        (NUMBERS, np.array([0.5, -np.inf]), "must hold a finite number in every row; found -inf at row 1"),
        (NUMBERS, [Decimal(1)], "must hold a finite number in every row; found Decimal('1') at row 0"),
        (NUMBERS, np.array([1], "m8[s]"), "must hold a finite number in every row; found"),
        (NUMBERS, np.array([1], np.longdouble) / 3, "must hold a finite number in every row; found"),
        (NUMBERS, [0.5, dt.date(2024, 1, 1)], "must hold a finite number in every row; found datetime.date"),
        (NUMBERS, [], "must not be empty; found no values"),
        (NUMBERS, np.empty(0), "must not be empty; found no values"),
        (NUMBERS, np.zeros((2, 2)), "must have one dimension; found 2 dimensions"),
        (NUMBERS, np.array(0.5), "must have one dimension; found 0 dimensions"),
        (NUMBERS, 0.5, "must be a list, a tuple or a numpy array; found float"),
        (NUMBERS, {0.5}, "must be a list, a tuple or a numpy array; found set"),
        (NUMBERS, [0.5, None], "must not hold missing values; found one at row 1"),
        (INTEGERS, np.array([1.0, 2.5]), "must hold a whole number in every row; found 2.5 at row 1"),
        (INTEGERS, np.array([1.0, np.inf]), "must hold a whole number in every row; found inf at row 1"),
        (INTEGERS, [1, 2.5], "must hold a whole number in every row; found 2.5 at row 1"),
        (INTEGERS, [1, False], "must hold a whole number in every row; found False at row 1"),
        (INTEGERS, np.array(["1"]), "must hold a whole number in every row; found '1' at row 0"),
        (DATES, ["2024-01-01", "2024-02-30"], "must hold a date without a time of day"),
        (DATES, [dt.datetime(2024, 1, 1)], "must hold a date without a time of day"),
        (DATES, np.array(["2024-01-01", "2024-01-01T12"], "M8[s]"), "must hold a date without a time of day"),
        (DATES, [np.datetime64("2024-01")], "must hold a date without a time of day"),
        (DATES, np.array(["2024-01"], "M8[M]"), "must hold a date without a time of day"),
        (DATES, np.array([20240101]), "must hold a date without a time of day"),
        (TIMES, ["2024-01-01T00Z"], "must hold a timestamp without a time zone"),
        (TIMES, [dt.date(2024, 1, 1)], "must hold a timestamp without a time zone"),
        (TIMES, ["2024-01-01T00:00:00.0000001"], "must hold a timestamp without a time zone"),
        (TIMES, np.array([1], "M8[ns]"), "must hold a timestamp without a time zone, in whole microseconds"),
        (TIMES, np.array([2**62], "M8[s]"), "must hold a timestamp without a time zone, in whole microseconds"),
        (AWARE, ["2024-01-01T00"], "must hold a timestamp with a time zone"),
        (AWARE, np.array(["2024-01-01"], "M8[us]"), "must hold a timestamp with a time zone"),
        (AWARE, ["0001-01-01T00:00+05:00"], "must hold a timestamp with a time zone"),
        (DECIMALS, [0.5], "must hold an exact decimal number of at most 2 places"),
        (DECIMALS, ["0.5", "0.123"], "must hold an exact decimal number of at most 2 places"),
        (DECIMALS, ["half"], "must hold an exact decimal number of at most 2 places"),
        (DECIMALS, [Decimal("-Infinity")], "must hold an exact decimal number of at most 2 places"),
        (DECIMALS, [True], "must hold an exact decimal number of at most 2 places"),
        (D.booleans(column="c"), [True, 1], "must hold True or False in every row; found 1 at row 1"),
        (D.booleans(column="c"), np.array([1, 0]), "must hold True or False in every row; found 1 at row 0"),
        (TEXTS, ["a", "B"], "must hold one of the 2 categories in every row; found 'B' at row 1"),
        (TEXTS, np.array(["a", "b", "q"]), "must hold one of the 2 categories in every row; found 'q' at row 2"),
        (TEXTS, np.array([b"a"]), "must hold one of the 2 categories in every row; found"),
        (TEXTS, ["a", 1], "must hold one of the 2 categories in every row; found 1 at row 1"),
    ],
)
def test_malformed_columns_are_refused(domain: Domain, values: Any, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        domain.encode(values)
    assert str(refusal.value).startswith(f"column 'c' {message}")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "values",
    [
        [1, 0],
        [1, 6],
        [1, 2.0],
        np.array([1.0, 2.5]),
        [1, True],
        [1, None],
        [1, "2"],
        [3, -1],
        [2, 2**70],
        np.ma.array([1, 2], mask=[False, True]),
    ],
)
def test_unknown_codes_are_refused(values: Any) -> None:
    with pytest.raises(DataError, match=r"^column 'c' must hold codes from 1 to 5; found .* at row [01]$"):
        NUMBERS.decode(values)


def test_from_data_needs_two_values() -> None:
    with pytest.raises(DataError, match=r"column 'c' must hold two different values to take bounds from; found 4"):
        Domain.from_data([4, 4], size=3, column="c")
    with pytest.raises(DataError, match=r"column 'c' must not hold missing values; found one at row 1"):
        Domain.from_data([4, None], size=3, column="c")
