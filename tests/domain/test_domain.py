"""What a domain accepts, refuses, counts and says about itself."""

import copy
import datetime as dt
import hashlib
import pickle
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError

D: Any = Domain  # for calls that break the hints on purpose
UTC = dt.UTC
NAN = float("nan")


class Unequal:
    """Answers comparisons with itself and refuses to be a truth value, as pandas' NA does."""

    def __ne__(self, other: object) -> Any:
        return self

    def __eq__(self, other: object) -> Any:
        return self

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def codes(domain: Domain, values: Any) -> list[int]:
    found: list[int] = domain.encode(values).codes.tolist()
    return found


# The rule


def test_only_the_lower_bound_gets_code_one() -> None:
    domain = Domain.numbers(0, 90, size=10)
    assert codes(domain, [0.0, -0.0, 5e-324, 10.0, 10.000000000000002, 90.0]) == [1, 1, 2, 2, 3, 10]


def test_values_beyond_the_bounds_are_clipped_and_counted_apart() -> None:
    coded = Domain.numbers(0, 90, size=10).encode([-1.0, -2.0, 0.0, 90.0, 90.5])
    assert coded.codes.tolist() == [1, 1, 1, 10, 10]
    assert (coded.clipped_low, coded.clipped_high, coded.missing) == (2, 1, 0)


def test_tenths_are_not_decided_in_floats() -> None:
    # As floats 0.3 and 0.7 lie just below three and seven tenths, 0.1 just above one tenth.
    assert codes(Domain.numbers(0, 1, size=11), [0.1, 0.3, 0.7, 0.5]) == [3, 4, 8, 6]


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(2, "u1"), (255, "u1"), (256, "u2"), (65535, "u2"), (65536, "u4"), (65537, "u4"), (2**31, "u4")],
)
def test_codes_are_as_narrow_as_the_size_allows(size: int, dtype: str) -> None:
    coded = Domain.numbers(0, 1, size=size).encode([0.0, 1.0])
    assert coded.codes.dtype == np.dtype(dtype)
    assert coded.codes.tolist() == [1, size]


def test_a_constant_column_is_fine_because_bounds_are_public() -> None:
    assert codes(Domain.numbers(0, 10, size=11), np.full(3, 5.0)) == [6, 6, 6]


def test_word_extremes_are_exact() -> None:
    full = Domain.integers(-(2**63), 2**63 - 1, size=3)
    assert codes(full, [-(2**63), -(2**63) + 1, -1, 0, 2**63 - 1]) == [1, 2, 2, 3, 3]
    assert full.borders().tolist() == [-(2**63), -1]


def test_unsigned_words_do_not_wrap() -> None:
    values = np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)
    coded = Domain.integers(-5, 2**63, size=4).encode(values)
    assert coded.codes.tolist() == [2, 4, 4]
    assert (coded.clipped_low, coded.clipped_high) == (0, 1)
    assert codes(Domain.integers(0, 2**64 - 1, size=2**20), values) == [1, 2**19 + 1, 2**20]
    assert codes(Domain.integers(-(2**70), 2**70, size=3), values) == [2, 3, 3]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_every_numeric_dtype_is_read(dtype: str) -> None:
    values = np.array([0, 3, 7, 100], dtype=dtype)
    for domain in (Domain.numbers(-200, 200, size=401), Domain.integers(-200, 200)):
        assert codes(domain, values) == [201, 204, 208, 301]
    assert codes(Domain.integers(10, 10**6), values) == [1, 1, 1, 91]


def test_lists_tuples_and_object_arrays_code_alike() -> None:
    domain = Domain.numbers(0, 10, size=6)
    values = [0, 2.5, np.float32(7.5), np.int8(10), np.float64(1)]
    assert codes(domain, values) == [1, 3, 5, 6, 2]
    assert codes(domain, tuple(values)) == codes(domain, np.array(values, dtype=object)) == [1, 3, 5, 6, 2]
    assert codes(domain, np.arange(10.0)[::-3]) == [6, 4, 3, 1]


def test_integers_far_beyond_a_word_are_clipped() -> None:
    coded = Domain.numbers(0, 1, size=3).encode([10**400, -(10**400), 0.5])
    assert (coded.codes.tolist(), coded.clipped_low, coded.clipped_high) == ([3, 1, 2], 1, 1)


def test_integers_are_counted_against_fractional_bounds() -> None:
    coded = Domain.numbers(0.5, 2.5, size=5).encode(np.array([0, 1, 2, 3]))
    assert (coded.codes.tolist(), coded.clipped_low, coded.clipped_high) == ([1, 2, 4, 5], 1, 1)


def test_whole_floats_too_large_for_a_word_are_clipped() -> None:
    coded = Domain.integers(0, 9).encode(np.array([1e30, -(2.0**63), 4.0]))
    assert (coded.codes.tolist(), coded.clipped_low, coded.clipped_high) == ([10, 1, 5], 1, 1)


def test_two_neighbouring_floats_make_two_codes() -> None:
    assert codes(Domain.numbers(1 - 2**-53, 1, size=2), [1 - 2**-53, 1.0]) == [1, 2]


# Kinds


def test_integers_have_one_code_each_or_fewer() -> None:
    assert Domain.integers(3, 7).size == 5
    assert codes(Domain.integers(3, 7), [3, 4, 7]) == [1, 2, 5]
    assert Domain.integers(0, 100, size=3).borders().tolist() == [0, 50]
    assert Domain.integers(0, 5, size=3).borders().tolist() == [0, 2]
    assert Domain.integers(3, 7, missing="code").size == 6


def test_dates_come_as_dates_text_or_datetime64() -> None:
    domain = Domain.dates("2024-02-28", dt.date(2024, 3, 1))
    assert domain.size == 3
    assert codes(domain, [dt.date(2024, 2, 29), "2024-03-01", np.datetime64("2024-02-28")]) == [2, 3, 1]
    assert codes(domain, np.array(["2024-02-29", "1999-01-01"])) == [2, 1]
    assert codes(domain, np.array(["2024-02-29", "2030-01-01"], dtype="M8[ns]")) == [2, 3]
    assert domain.borders().dtype == np.dtype("M8[D]")
    assert str(domain.border(2)) == "2024-02-29"


def test_timestamps_are_compared_in_microseconds() -> None:
    domain = Domain.timestamps("2024-01-01", dt.datetime(2024, 1, 1, 0, 0, 0, 3), size=4)
    values = ["2024-01-01T00:00:00.000001", np.datetime64("2024-01-01T00:00:00.000002"), "2024-01-02"]
    assert codes(domain, values) == [2, 3, 4]
    assert codes(domain, np.array(values, dtype="M8[us]")) == [2, 3, 4]
    assert codes(domain, np.array(["2024-01-01", "2024-01-02"], dtype="M8[h]")) == [1, 4]
    assert domain.borders().dtype == np.dtype("M8[us]")


def test_time_zones_are_turned_to_utc() -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    domain = Domain.timestamps(dt.datetime(2024, 1, 1, 2, tzinfo=east), "2024-01-02T00:00Z", size=25)
    assert codes(domain, [dt.datetime(2024, 1, 1, 4, tzinfo=east), "2024-01-01T02:00Z"]) == [3, 3]
    assert domain.border(2) == dt.datetime(2024, 1, 1, 1, tzinfo=UTC)
    assert codes(domain, domain.decode([1, 7, 25])) == [1, 7, 25]


def test_decimals_are_exact() -> None:
    domain = Domain.decimals("0", Decimal(1), size=11, places=30)
    tiny = "0.100000000000000000000000000001"
    assert codes(domain, ["0.1", tiny, Decimal("0.30"), 1, "1E+2", "-0"]) == [2, 3, 4, 11, 11, 1]
    assert codes(domain, np.array([0, 1, -4])) == [1, 11, 1]
    assert domain.border(4) == Decimal("0.3")
    assert domain.encode(["1e99", "-2"]).clipped_high == 1


def test_decimals_do_not_depend_on_the_context_or_hang_on_exponents() -> None:
    domain = Domain.decimals("0", "1", size=4, places=40)
    assert domain.border(2) == Decimal("0." + "3" * 40)
    assert codes(domain, [Decimal("0E+999999"), Decimal("0E-999999")]) == [1, 1]
    for far in ("1E+999999", "1E-999999"):
        with pytest.raises(DataError, match="exact decimal number"):
            domain.encode([far])


def test_booleans_are_one_and_two() -> None:
    assert codes(Domain.booleans(), [False, True, np.True_]) == [1, 2, 2]
    assert codes(Domain.booleans(), np.array([True, False])) == [2, 1]
    assert Domain.booleans().order
    assert Domain.booleans().borders().tolist() == [False]


@pytest.mark.parametrize("values", [["b", "a", "c"], np.array(["b", "a", "c"])])
def test_categories_are_coded_by_place(values: Any) -> None:
    assert codes(Domain.ordered(["c", "b", "a"]), values) == [2, 3, 1]
    assert codes(Domain.unordered(("c", "b", "a")), values) == [2, 3, 1]


def test_text_arrays_of_variable_width_may_hold_missing_values() -> None:
    kind: Any = np.dtypes.StringDType
    values = np.array(["b", None, "a"], dtype=kind(na_object=None))
    assert codes(Domain.unordered(["a", "b"], missing="code"), values) == [2, 3, 1]


def test_whole_number_categories_are_no_truth_values() -> None:
    domain = Domain.unordered([1, 0, 7])
    assert codes(domain, [7, 1.0, np.int8(0)]) == [3, 1, 2]
    assert codes(domain, np.array([7.0, 0.0])) == codes(domain, np.array([7, 0])) == [3, 2]
    for wrong in ([True], np.array([True]), ["1"], [0.5]):
        with pytest.raises(DataError, match="one of the 3 categories in every row"):
            domain.encode(wrong)


def test_order_tells_which_domains_order_preserving_mechanisms_may_take() -> None:
    assert Domain.ordered(["a", "b"]).order
    assert Domain.numbers(0, 1, size=2).order
    assert not Domain.unordered(["a", "b"]).order
    assert Domain.ordered(["a", "b", "c"]).borders().tolist() == ["a", "b"]


# Missing values

MISSING: list[Any] = [
    [None, 1.0, NAN],
    [Unequal(), 1, np.float32("nan")],
    [np.ma.masked, 1, Decimal("NaN")],
    [np.datetime64("NaT", "D"), 1, Decimal("sNaN")],
    np.array([NAN, 1.0, NAN]),
    np.array([None, 1.0, NAN], dtype=object),
    np.ma.array([7.0, 1.0, NAN], mask=[True, False, False]),
    np.ma.array([7, 1, 9], mask=[True, False, True]),
]


@pytest.mark.parametrize("values", MISSING)
def test_missing_values_get_the_last_code(values: Any) -> None:
    coded = Domain.numbers(0, 8, size=10, missing="code").encode(values)
    assert (coded.codes.tolist(), coded.missing, coded.clipped_high) == ([10, 2, 10], 2, 0)


@pytest.mark.parametrize("values", MISSING)
def test_missing_values_are_imputed_publicly(values: Any) -> None:
    coded = Domain.numbers(0, 8, size=9, missing="impute", impute=3.5).encode(values)
    assert (coded.codes.tolist(), coded.missing) == ([5, 2, 5], 2)


@pytest.mark.parametrize("values", MISSING)
def test_missing_values_are_refused_by_default(values: Any) -> None:
    with pytest.raises(DataError, match=r"^column 'age' must not hold missing values; found one at row 0$"):
        Domain.numbers(0, 8, size=9, column="age").encode(values)


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (Domain.integers(0, 3, missing="impute", impute=0), 0),
        (Domain.dates("2024-01-01", "2024-01-03", missing="impute", impute="2024-01-02"), "2024-01-02"),
        (Domain.timestamps("2024-01-01", "2024-01-03", size=9, missing="impute", impute="2024-01-02"), "2024-01-02"),
        (Domain.decimals(0, 1, size=5, missing="impute", impute="0.3"), "0.3"),
        (Domain.booleans(missing="impute", impute=False), False),
        (Domain.unordered(["x", "refuse"], missing="impute", impute="refuse"), "refuse"),
        (Domain.numbers(0, 1, size=10**6, missing="impute", impute=0.3), 0.3),
    ],
)
def test_imputing_is_the_same_as_filling_in_the_value(domain: Domain, value: Any) -> None:
    assert codes(domain, [None, None]) == codes(domain, [value, value])


def test_a_column_may_be_missing_throughout() -> None:
    for domain in (Domain.dates("2024-01-01", "2024-01-03", missing="code"), Domain.booleans(missing="code")):
        assert codes(domain, np.array([NAN, NAN])) == [domain.size] * 2
    assert codes(Domain.dates("2024-01-01", "2024-01-03", missing="code"), np.array(["NaT"], "M8[D]")) == [4]


def test_rows_are_counted_with_the_missing_ones() -> None:
    with pytest.raises(DataError, match="found 'x' at row 3"):
        Domain.numbers(0, 1, size=4, missing="code").encode([None, 0.5, None, "x"])


# Decoding and borders


@pytest.mark.parametrize(
    ("domain", "last"),
    [
        (Domain.numbers(0, 1, size=8, missing="code"), "nan"),
        (Domain.integers(-7, 9, size=8, missing="code"), "None"),
        (Domain.dates("2024-01-01", "2024-02-01", size=8, missing="code"), "NaT"),
        (Domain.timestamps("2024-01-01", "2024-02-01", size=8, missing="code"), "NaT"),
        (Domain.timestamps("2024-01-01T00Z", "2024-02-01T00Z", size=8, missing="code"), "None"),
        (Domain.decimals("0.1", "9.7", size=8, places=1, missing="code"), "None"),
        (Domain.booleans(missing="code"), "None"),
        (Domain.ordered(["x", "y", "z"], missing="code"), "None"),
        (Domain.unordered([5, -5], missing="code"), "None"),
    ],
)
def test_codes_survive_decoding(domain: Domain, last: str) -> None:
    every = list(range(1, domain.size + 1))
    raw = domain.decode(every)
    assert codes(domain, raw) == every
    assert codes(domain, raw.tolist() if raw.dtype.kind != "M" else list(raw)) == every
    assert str(raw[-1]) == last


def test_decoded_values_are_the_upper_ends_in_raw_units() -> None:
    assert Domain.numbers(0, 9, size=10).decode(np.array([3, 1, 10], dtype=np.uint8)).tolist() == [2, 0, 9]
    assert Domain.integers(0, 9, size=4).decode([4, 2]).dtype == np.int64
    assert Domain.integers(0, 2**64, size=2).decode([2]).tolist() == [2**64]
    assert Domain.decimals(0, 1, size=4, places=2).decode([2, 4]).tolist() == [Decimal("0.33"), Decimal("1")]


def test_a_border_belongs_to_the_code_below_it() -> None:
    third = Domain.numbers(0, 1, size=4).border(2)
    assert Fraction(third) < Fraction(1, 3) < Fraction(np.nextafter(third, 1))
    assert isinstance(third, float)
    assert codes(Domain.numbers(0, 1, size=4), [third, np.nextafter(third, 1)]) == [2, 3]
    assert type(Domain.integers(0, 9).border(9)) is int


def test_many_codes_answer_for_single_borders_only() -> None:
    domain = Domain.numbers(0, 1, size=2**31)
    assert codes(domain, [domain.border(12345), np.nextafter(domain.border(12345), 1)]) == [12345, 12346]
    with pytest.raises(SettingError, match=r"size must be at most 65536 to list borders: use border\(code\)"):
        domain.borders()
    assert Domain.integers(0, 65535).borders().size == 65535


# What a domain says about itself


@pytest.mark.parametrize(
    ("domain", "text", "width"),
    [
        (Domain.numbers(0, 100, size=10), "numbers 0 to 100 in 10 codes", Fraction(100, 9)),
        (
            Domain.numbers(0, 0.5, size=10, missing="code"),
            "numbers 0 to 0.5 in 10 codes, missing values as code 10",
            Fraction(1, 16),
        ),
        (Domain.integers(-3, 3, size=4), "integers -3 to 3 in 4 codes", Fraction(2)),
        (
            Domain.dates("2024-01-01", "2024-12-31"),
            "dates 2024-01-01 to 2024-12-31 in 366 codes",
            Fraction(1),
        ),
        (
            Domain.timestamps("2024-01-01", "2024-01-02", size=25),
            "timestamps 2024-01-01T00:00:00.000000 to 2024-01-02T00:00:00.000000 in 25 codes",
            Fraction(3600),
        ),
        (
            Domain.decimals("0", "1.5", size=4, places=1, missing="impute", impute="0.2"),
            "decimals 0.0 to 1.5 in 4 codes, missing values as 0.2",
            Fraction(1, 2),
        ),
        (Domain.booleans(), "booleans False to True in 2 codes", None),
        (Domain.ordered(["a", "b\n"]), r"ordered categories 'a' to 'b\n' in 2 codes", None),
        (Domain.unordered([4, 2]), "unordered categories 4 to 2 in 2 codes", None),
    ],
)
def test_descriptions_and_widths(domain: Domain, text: str, width: Fraction | None) -> None:
    assert domain.describe() == text
    assert domain.unit_width == width


def test_domains_from_data_say_that_they_are_not_private() -> None:
    domain = Domain.from_data(np.array([3.0, -1.0, 7.0]), size=9, column="x")
    assert (domain.public, domain.column) == (False, "x")
    assert domain.describe() == "numbers -1 to 7 in 9 codes, bounds taken from the data: not private"
    assert codes(domain, [-1, 7]) == [1, 9]
    assert Domain.from_data([1, 2], size=2) != Domain.numbers(1, 2, size=2)
    whole = Domain.from_data(np.array([2**62, -(2**62)], dtype=np.int64), size=5)
    assert whole.borders().tolist() == [-(2.0**62), -(2.0**61), 0, 2.0**61]
    assert type(whole.lower.numerator) is int
    assert Domain.numbers(1, 2, size=2).public


DIFFERENT = [
    Domain.numbers(0, 1, size=2),
    Domain.numbers(0, 1, size=3),
    Domain.numbers(0, 2, size=2),
    Domain.numbers(-1, 1, size=3),
    Domain.numbers(0, 1, size=3, missing="code"),
    Domain.numbers(0, 1, size=3, missing="impute", impute=0),
    Domain.numbers(0, 1, size=3, missing="impute", impute=1),
    Domain.from_data([0, 1], size=3),
    Domain.integers(0, 1),
    Domain.dates("1970-01-01", "1970-01-02"),
    Domain.decimals(0, 1, size=3, places=0 + 1),
    Domain.decimals(0, 10, size=3, places=0),
    Domain.timestamps("1970-01-01", "1970-01-02", size=3),
    Domain.timestamps("1970-01-01T00Z", "1970-01-02T00Z", size=3),
    Domain.booleans(),
    Domain.ordered(["a", "b"]),
    Domain.unordered(["a", "b"]),
    Domain.ordered(["b", "a"]),
    Domain.ordered(["a", "b", "c"]),
    Domain.ordered(["a", "b:c"]),
    Domain.ordered(["1", "2"]),
    Domain.ordered([1, 2]),
    Domain.ordered([0, 1]),
    Domain.ordered(["x", "\ud83d\ude00"]),
    Domain.ordered(["x", "\U0001f600"]),
    Domain.ordered(["x", "\ud83d"]),
    Domain.ordered(["x", "\ude00"]),
]


def test_digests_tell_all_domains_apart() -> None:
    assert len({domain.digest() for domain in DIFFERENT}) == len(DIFFERENT) == len(set(DIFFERENT))
    assert all(len(domain.digest()) == 32 for domain in DIFFERENT)


def test_the_digest_is_pinned() -> None:
    parts = b"18:veilboost domain 1", b"7:numbers", b"1:0", b"3:1/2", b"1:3", b"6:refuse", b"4:None", b"4:True"
    assert Domain.numbers(0, 0.5, size=3).digest() == hashlib.sha256(b"".join(parts)).digest()


def test_the_name_of_the_column_defines_nothing() -> None:
    one, two = (D.numbers(-0.0, 1, size=np.int64(5), column=name) for name in ("one", "two"))
    assert one == two == Domain.numbers(0, 1, size=5)
    assert hash(one) == hash(two)
    assert one.digest() == two.digest()


def test_domains_are_frozen_and_can_be_copied() -> None:
    domain = Domain.ordered(["a", "b"])
    unchecked: Any = domain
    with pytest.raises(FrozenInstanceError):
        unchecked.size = 5
    assert domain.encode(["a"]).codes.tolist() == [1]
    assert pickle.loads(pickle.dumps(domain)) == copy.deepcopy(domain) == domain
    with pytest.raises(SettingError, match="size must be a whole number from 2 to 2"):
        replace(domain, size=3)


def test_encoding_leaves_the_column_alone() -> None:
    values = np.array([5.0, NAN, -3.0])
    Domain.numbers(0, 1, size=4, missing="code").encode(values)
    assert np.array_equal(values, [5.0, NAN, -3.0], equal_nan=True)
