"""The coding rule against its formula in exact rational arithmetic, on inputs that hypothesis picks."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from veilboost.domain import Domain
from veilboost.errors import SettingError

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.integers(-(2**63), 2**63 - 1)
SIZES = st.one_of(st.integers(2, 40), st.sampled_from([255, 256, 65537, 10**6, 2**31]))
RUN = settings(max_examples=120, deadline=None)


def formula(value: Fraction, lower: Fraction, upper: Fraction, codes: int) -> int:
    """Evaluate ceil(L + (x - lower) / (upper - lower) (R - L)) with L = 1 and R = codes, as printed."""
    value = min(max(value, lower), upper)
    return math.ceil(1 + (value - lower) / (upper - lower) * (codes - 1))


def numbers(a: float, b: float, size: int) -> Domain:
    assume(a != b)
    try:
        return Domain.numbers(min(a, b), max(a, b), size=size)
    except SettingError as refusal:
        assume(refusal.name != "size")
        raise


def around(value: float) -> list[float]:
    near = [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]
    return [number for number in near if math.isfinite(number)]


@RUN
@given(FLOATS, FLOATS, SIZES, st.lists(FLOATS, max_size=6), st.lists(st.floats(0, 1), max_size=6))
@example(0.0, 1.0, 11, [0.1, 0.3, 0.7, -0.0], [])
@example(0.0, 5e-324 * 40, 9, [5e-324, 1e-323], [0.5])
@example(-1.7e308, 1.7e308, 2**31, [1.79e308, -1.79e308], [0.3])
@example(0.1, 0.7, 65537, [0.1 + 0.6 / 65536], [0.25, 0.5])
def test_float_codes_follow_the_formula_at_borders_and_their_neighbours(
    a: float, b: float, size: int, values: list[float], shares: list[float]
) -> None:
    domain = numbers(a, b, size)
    low, high = Fraction(min(a, b)), Fraction(max(a, b))
    cuts = [domain.border(1 + int(share * (size - 2))) for share in shares]
    cuts += [min(a, b), max(a, b), *values]
    found = np.array([near for cut in cuts for near in around(float(cut))])
    coded = domain.encode(found)
    expected = [formula(Fraction(x), low, high, size) for x in found.tolist()]
    assert coded.codes.tolist() == expected
    assert coded.clipped_low == sum(x < low for x in found.tolist())
    assert coded.clipped_high == sum(x > high for x in found.tolist())
    assert domain.encode(found.tolist()).codes.tolist() == expected


@RUN
@given(WORDS, WORDS, SIZES, st.lists(WORDS, min_size=1, max_size=8))
@example(-(2**63), 2**63 - 1, 10, [-(2**63), -(2**63) + 1, 0, 2**63 - 1])
@example(-(2**63), 2**63 - 1, 2**31, [-(2**63), -(2**63) + 1, 0, 2**63 - 1])
def test_integer_codes_follow_the_formula(a: int, b: int, size: int, values: list[int]) -> None:
    low, high = min(a, b), max(a, b)
    assume(high - low + 1 >= size)
    domain = Domain.integers(low, high, size=size)
    near = [domain.border(code) + step for code in {1, size // 2, size - 1} if code for step in (-1, 0, 1)]
    held = values + [word for word in near if -(2**63) <= word < 2**63]
    expected = [formula(Fraction(x), Fraction(low), Fraction(high), size) for x in held]
    assert domain.encode(np.array(held, dtype=np.int64)).codes.tolist() == expected
    assert domain.encode(held).codes.tolist() == expected


@RUN
@given(FLOATS, FLOATS, SIZES, st.lists(st.integers(-(2**70), 2**70), min_size=1))
@example(0.0, 2.0**62, 7, [2**60 + 1, 2**61 - 1, 3 * 2**59 + 1])
@example(0.0, 2.0**62 + 1024.0, 65537, [2**60 + 1, 2**61 - 1])
def test_integers_in_a_numbers_column_are_not_rounded_to_floats(
    a: float, b: float, size: int, values: list[int]
) -> None:
    domain = numbers(a, b, size)
    low, high = Fraction(min(a, b)), Fraction(max(a, b))
    expected = [formula(Fraction(x), low, high, size) for x in values]
    assert domain.encode(values).codes.tolist() == expected
    assert domain.encode([*values, 0.5]).codes.tolist()[:-1] == expected
    words = [x for x in values if 0 <= x < 2**64] or [2**64 - 1]
    expected = [formula(Fraction(x), low, high, size) for x in words]
    assert domain.encode(np.array(words, dtype=np.uint64)).codes.tolist() == expected


@RUN
@given(
    st.decimals(-1000, 1000, places=3),
    st.decimals(-1000, 1000, places=3),
    SIZES,
    st.lists(st.decimals(-2000, 2000, places=4), min_size=1),
)
def test_decimal_codes_follow_the_formula(a: Decimal, b: Decimal, size: int, values: list[Decimal]) -> None:
    low, high = min(a, b), max(a, b)
    assume((high - low) * 10**4 + 1 >= size)
    domain = Domain.decimals(low, high, size=size, places=4)
    values = [*values, domain.border(size // 2), domain.border(size // 2) + Decimal("0.0001")]
    expected = [formula(Fraction(x), Fraction(low), Fraction(high), size) for x in values]
    assert domain.encode(values).codes.tolist() == expected
    assert domain.encode([str(value) for value in values]).codes.tolist() == expected


@RUN
@given(st.dates(), st.dates(), st.integers(2, 60), st.lists(st.dates(), min_size=1))
def test_date_codes_follow_the_formula(a: dt.date, b: dt.date, size: int, values: list[dt.date]) -> None:
    assume(abs((b - a).days) + 1 >= size)
    low, high = min(a, b), max(a, b)
    domain = Domain.dates(low, high, size=size)
    days = [Fraction(day.toordinal()) for day in (low, high, *values)]
    expected = [formula(day, days[0], days[1], size) for day in days]
    assert domain.encode([low, high, *values]).codes.tolist() == expected
    assert domain.encode(np.array([low, high, *values], dtype="M8[D]")).codes.tolist() == expected


@RUN
@given(st.datetimes(), st.datetimes(), SIZES, st.lists(st.datetimes(), min_size=1))
def test_timestamp_codes_follow_the_formula(
    a: dt.datetime, b: dt.datetime, size: int, values: list[dt.datetime]
) -> None:
    low, high = min(a, b), max(a, b)
    assume((high - low) // dt.timedelta(microseconds=1) + 1 >= size)
    domain = Domain.timestamps(low, high, size=size)
    ticks = [Fraction((time - low) // dt.timedelta(microseconds=1)) for time in (low, high, *values)]
    expected = [formula(tick, ticks[0], ticks[1], size) for tick in ticks]
    assert domain.encode([low, high, *values]).codes.tolist() == expected
    assert domain.encode(np.array([low, high, *values], dtype="M8[us]")).codes.tolist() == expected


@RUN
@given(FLOATS, FLOATS, SIZES, st.lists(st.floats(0, 1), min_size=1), st.booleans())
def test_float_codes_survive_decoding(a: float, b: float, size: int, shares: list[float], spare: bool) -> None:
    plain = numbers(a, b, size)
    domain = plain
    if spare and size < 2**31:
        domain = Domain.numbers(min(a, b), max(a, b), size=size + 1, missing="code")
    codes = [1, size, *(1 + int(share * (size - 1)) for share in shares), domain.size]
    back = domain.encode(domain.decode(codes))
    assert back.codes.tolist() == codes
    assert back.clipped_low == back.clipped_high == 0


@RUN
@given(WORDS, WORDS, st.integers(2, 300))
def test_integer_codes_survive_decoding(a: int, b: int, size: int) -> None:
    assume(abs(a - b) + 1 >= size)
    domain = Domain.integers(min(a, b), max(a, b), size=size)
    codes = np.arange(1, size + 1)
    assert domain.encode(domain.decode(codes)).codes.tolist() == codes.tolist()


@RUN
@given(FLOATS, FLOATS, st.integers(2, 300), st.lists(FLOATS, min_size=2))
def test_float_codes_count_the_borders_below_and_never_fall(a: float, b: float, size: int, values: list[float]) -> None:
    domain = numbers(a, b, size)
    borders = domain.borders()
    values = sorted([*values, *borders.tolist()])
    codes = domain.encode(values).codes.astype(int)
    assert borders.size == size - 1
    assert (np.diff(codes) >= 0).all()
    assert codes.tolist() == [1 + int((borders < value).sum()) for value in values]
    exact = [Fraction(a + 0.0) for a in borders.tolist()]
    step = (domain.upper - domain.lower) / (size - 1)
    for number, border in enumerate(exact):
        assert border <= domain.lower + number * step < Fraction(math.nextafter(float(border), math.inf))


@pytest.mark.parametrize("size", [65536, 65537, 10**5])
def test_small_and_large_routes_agree_on_a_dense_column(size: int) -> None:
    domain = Domain.numbers(0.1, 0.7, size=size)
    values = np.random.default_rng(size).uniform(0, 1, 2000)
    expected = [formula(Fraction(x), domain.lower, domain.upper, size) for x in values.tolist()]
    assert domain.encode(values).codes.tolist() == expected
    assert domain.encode(values.astype(object)).codes.tolist() == expected
