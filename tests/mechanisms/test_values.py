"""Piecewise, Duchi and Laplace for one value: exact laws, unbiased estimates, published variances, crafted words."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from battery import Crafted, example, loses_at_most
from hypothesis import given, settings
from hypothesis import strategies as st

from veilboost.domain import Domain
from veilboost.mechanisms import VALUE_MECHANISMS, Duchi, Piecewise, RangeLaplace, _words, piecewise
from veilboost.mechanisms._laplace import endless
from veilboost.privacy import TOTAL

EPSILONS = (2.0**-20, 0.01, 0.5, 1.0, 2.5, 4.0, 8.0, 20.0, 43.7, 60.0, 700.0)
SIZES = (2, 3, 10, 201, 2**20 + 1, 2**31)
HALF = TOTAL // 2


def law(mechanism: Any, code: int) -> dict[int, int]:
    """The weight of each output, out of 2^63."""
    if isinstance(mechanism, Duchi):
        more = mechanism.slope * (2 * code - mechanism.size - 1)
        return {-1: HALF - more, 1: HALF + more}
    cells, centre = mechanism.cells, mechanism.cells.stride * (2 * code - mechanism.size - 1)
    weights = {
        output: cells.near if abs(output - centre) <= cells.reach else cells.far
        for output in range(-cells.last, cells.last + 1)
    }
    weights[0] += TOTAL - sum(weights.values())
    return weights


def check_law(mechanism: Any) -> None:
    rows = [law(mechanism, code) for code in range(1, mechanism.size + 1)]
    arrays = [np.array(list(row.values()), dtype=object) for row in rows]
    for code, row in enumerate(rows, 1):
        assert min(row.values()) > 0
        assert sum(row.values()) == TOTAL
        assert loses_at_most(arrays[0], arrays[code - 1], mechanism.epsilon)
        assert loses_at_most(arrays[code // 2], arrays[code - 1], mechanism.epsilon)
        mean, square = (Fraction(sum(o**power * w for o, w in row.items()), TOTAL) for power in (1, 2))
        assert mean * mechanism.unit == mechanism.point(code)
        assert square * mechanism.unit**2 == mechanism.second_moment(code)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 3, 6, 9])
def test_laws_are_private_and_unbiased_to_the_last_unit(
    size: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piecewise, "_FEWEST_CELLS", 30)
    check_law(Piecewise(epsilon=epsilon, size=size))
    check_law(Duchi(epsilon=epsilon, size=size))


@settings(max_examples=200, deadline=None)
@given(st.floats(2.0**-20, 100), st.integers(2, 2**31))
def test_any_parameters_keep_the_budget(epsilon: float, size: int) -> None:
    duchi, cells = Duchi(epsilon=epsilon, size=size), Piecewise(epsilon=epsilon, size=size).cells
    ends = np.array([law(duchi, 1)[1], law(duchi, size)[1]], dtype=object)
    assert loses_at_most(ends, ends[::-1], epsilon)
    weights = np.array([cells.near, cells.far], dtype=object)
    assert loses_at_most(weights, weights[::-1], epsilon)
    left = TOTAL - cells.near * cells.window - cells.far * cells.outside
    assert 0 <= left <= (cells.near // cells.far + 2) * cells.window + cells.outside or cells.far == 1
    assert cells.last == cells.stride * (size - 1) + cells.reach


def published(name: str, epsilon: float, point: float) -> float:
    root, whole = math.expm1(epsilon / 2), math.expm1(epsilon)
    if name == "piecewise":
        return point**2 / root + (root + 4) / (3 * root**2)
    if name == "duchi":
        return ((whole + 2) / whole) ** 2 - point**2
    return 8 / epsilon**2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("size", [101, 1024, 2**20 + 1])
@pytest.mark.parametrize("name", VALUE_MECHANISMS)
def test_variances_are_the_published_ones(name: str, size: int, epsilon: float) -> None:
    mechanism = VALUE_MECHANISMS[name](epsilon=epsilon, size=size)
    for code in (1, size // 3, (size + 1) // 2, size):
        expected = published(name, epsilon, float(mechanism.point(code)))
        assert mechanism.variance(code) == pytest.approx(expected, rel=2e-3)


def edges(mechanism: Piecewise, code: int) -> Iterator[int]:
    cells, centre = mechanism.cells, mechanism.cells.stride * (2 * code - mechanism.size - 1)
    window, left = cells.near * cells.window, centre - cells.reach + cells.last
    spent = window + cells.far * cells.outside
    near = (0, cells.near, 7 * cells.near, window)
    far = (window + cells.far, window + cells.far * left, window + cells.far * (left + 1), spent - cells.far, spent)
    for edge in (*near, *far, TOTAL):
        yield from (word for word in (edge - 1, edge) if 0 <= word < TOTAL)


def by_hand(mechanism: Piecewise, code: int, word: int) -> int:
    cells, centre = mechanism.cells, mechanism.cells.stride * (2 * code - mechanism.size - 1)
    if word < cells.near * cells.window:
        return centre - cells.reach + word // cells.near
    place, left = (word - cells.near * cells.window) // cells.far, cells.last + centre - cells.reach
    if place < left:
        return place - cells.last
    return centre + cells.reach + 1 + place - left if place < cells.outside else 0


def halves(word: int) -> list[int]:
    return [word >> 31, (word & (2**31 - 1)) << 1 | word & 1]


def drawn(mechanism: Any, code: int, words: list[int]) -> list[int]:
    tape = Crafted([halves(word) for word in words])
    out = np.empty(len(words), dtype=np.int64)
    codes: Any = np.full(len(words), code)
    _words.fill(out, lambda here, read: mechanism.decide(codes[here], read[:, 0]), tape, 1, 1)
    assert tape.per_value == {2}
    assert tape.asked == []
    return out.tolist()


@pytest.mark.parametrize("epsilon", [2.0**-20, 0.5, 4.0, 30.0, 60.0])
@pytest.mark.parametrize("size", [2, 9, 10, 2**20 + 1])
def test_words_at_every_edge_of_the_window(size: int, epsilon: float) -> None:
    mechanism = Piecewise(epsilon=epsilon, size=size)
    for code in {1, 2, size // 2, size - 1, size} - {0}:
        words = list(edges(mechanism, code))
        assert drawn(mechanism, code, words) == [by_hand(mechanism, code, word) for word in words]


@pytest.mark.parametrize("size", [2, 9, 10, 2**31])
def test_words_at_the_threshold(size: int) -> None:
    mechanism = Duchi(epsilon=1.0, size=size)
    for code in (1, 2, size // 2, size):
        border = HALF + mechanism.slope * (2 * code - size - 1)
        assert drawn(mechanism, code, [0, border - 1, border, TOTAL - 1]) == [1, 1, -1, -1]


@pytest.mark.parametrize("name", VALUE_MECHANISMS)
def test_codes_are_points_from_minus_one_to_one(name: str) -> None:
    mechanism: Any = example(name)
    points = Domain.numbers(-1, 1, size=10).decode(np.arange(1, 11))
    assert [float(mechanism.point(code)) for code in range(1, 11)] == pytest.approx(points, abs=1e-15)
    assert (mechanism.values([3, -2, 0]) == np.array([3, -2, 0]) * float(mechanism.unit)).all()
    assert mechanism.values(np.array([], dtype=np.int64)).shape == (0,)


@pytest.mark.parametrize("epsilon", [0.001, 0.7, 3.3, 20.0])
@pytest.mark.parametrize("size", [2, 3, 10, 1000, 2**20 + 1])
def test_the_rate_is_the_largest_that_keeps_the_range(size: int, epsilon: float) -> None:
    mechanism = RangeLaplace(epsilon=epsilon, size=size)
    assert Fraction(mechanism.rate) * (size - 1) <= Fraction(epsilon)
    assert Fraction(math.nextafter(mechanism.rate, 1e9)) * (size - 1) > Fraction(epsilon)
    assert mechanism.definition.loss(size - 1) <= epsilon
    assert mechanism.definition.pair_loss(1, 2) == mechanism.rate


def test_laplace_noise_is_that_of_its_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, noise = RangeLaplace(epsilon=4.5, size=10), endless(0.5)
    assert mechanism.rate == noise.rate
    strips = np.full((2, noise.coins), 2**32 - 1)
    strips[0, 0] = 0  # the sign; no other coin shows heads
    monkeypatch.setattr("veilboost.mechanisms.mechanism.Tapes.step", lambda self, name: Crafted(strips))
    assert mechanism.draw([3, 3], threads=1).tolist() == [2 * 3 - 11, 2 * 2 - 11]  # no noise, then one code less
