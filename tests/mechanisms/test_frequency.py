"""Unary encoding and counts from noisy answers: exact odds, crafted words, unbiased estimates."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from battery import Crafted, loses_at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from veilboost.errors import DataError
from veilboost.mechanisms import RandomizedResponse, UnaryEncoding
from veilboost.privacy import LDP, TOTAL

BITS = list(product((0, 1), repeat=3))
EPSILONS = (2.0**-20, 0.01, 0.7, 2.0, 10.0, 43.7, 88.0, 1e3)


def answers(mechanism: Any) -> tuple[int, int]:
    return mechanism.answers.kept, mechanism.answers.raised


def exp_below(epsilon: float) -> int:
    with mp.workprec(2500):
        return int(mp.floor(mp.ldexp(mp.exp(epsilon), 256)))


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rows_of_bits_are_private(epsilon: float, optimised: bool) -> None:
    mechanism = UnaryEncoding(epsilon=epsilon, size=3, optimised=optimised)
    kept, raised = answers(mechanism)
    laws = []
    for code in range(3):
        odds = [kept if place == code else raised for place in range(3)]
        laws.append([math.prod(w if bit else TOTAL - w for bit, w in zip(bits, odds, strict=True)) for bits in BITS])
        assert sum(laws[-1]) == TOTAL**3
    first, second, third = (np.array(law, dtype=object) for law in laws)
    for one, other in ((first, second), (third, second)):
        assert (one * 2**256 <= other * exp_below(epsilon)).all()
        assert (other * 2**256 <= one * exp_below(epsilon)).all()
    assert mechanism.definition == LDP(epsilon)


@settings(max_examples=200, deadline=None)
@given(st.floats(2.0**-20, 20), st.booleans())
def test_any_budget_is_kept_and_nearly_spent(epsilon: float, optimised: bool) -> None:
    kept, raised = answers(UnaryEncoding(epsilon=epsilon, size=2, optimised=optimised))
    odds = np.array([kept * (TOTAL - raised), raised * (TOTAL - kept)], dtype=object)
    assert loses_at_most(odds, odds[::-1], epsilon)
    assert math.log(odds[0] / odds[1]) == pytest.approx(epsilon, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_published_odds(epsilon: float) -> None:
    symmetric, optimised = (UnaryEncoding(epsilon=epsilon, size=2, optimised=kind) for kind in (False, True))
    half, whole = math.exp(epsilon / 2), math.exp(epsilon)
    assert np.array(answers(symmetric)) / TOTAL == pytest.approx([half / (half + 1), 1 / (half + 1)], rel=1e-14)
    assert np.array(answers(optimised)) / TOTAL == pytest.approx([0.5, 1 / (whole + 1)], rel=1e-14)
    assert optimised.count_variance(0, 1) == pytest.approx(4 * whole / (whole - 1) ** 2)
    assert optimised.count_variance(0, 1) < symmetric.count_variance(0, 1)


def halves(word: int) -> list[int]:
    return [word >> 31, (word & (2**31 - 1)) << 1]


def test_each_bit_is_one_word_against_its_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = UnaryEncoding(epsilon=1.0, size=4)
    kept, raised = answers(mechanism)
    words = [[raised - 1, kept - 1, 0, raised], [raised, kept, TOTAL - 1, raised - 1]]
    tape = Crafted([[half for word in row for half in halves(word)] for row in words])
    monkeypatch.setattr("veilboost.mechanisms.mechanism.Tapes.step", lambda self, name: tape)
    assert mechanism.draw([2, 2], threads=1).tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]
    assert (tape.per_value, tape.asked) == ({8}, [])


BINARY = RandomizedResponse(epsilon=1.0, size=2)


@pytest.mark.parametrize(
    "mechanism",
    [UnaryEncoding(epsilon=1.0, size=3), UnaryEncoding(epsilon=2.0, size=3, optimised=True), BINARY],
    ids=repr,
)
def test_counts_are_unbiased_with_the_stated_variance(mechanism: Any) -> None:
    """Over all answers of three rows, of which two hold the code."""
    odds = [Fraction(weight, TOTAL) for weight in answers(mechanism)]
    true = [odds[0], odds[0], odds[1]]
    mean = square = Fraction(0)
    for yes in BITS:
        chance = math.prod(p if answer else 1 - p for answer, p in zip(yes, true, strict=True))
        estimate = Fraction(float(mechanism.answers.counts(np.array([sum(yes)]), 3)[0]))
        mean, square = mean + chance * estimate, square + chance * estimate**2
    assert float(mean) == pytest.approx(2, rel=1e-12)
    assert float(square - mean**2) == pytest.approx(mechanism.count_variance(2, 3), rel=1e-9)


def test_binary_randomised_response() -> None:
    kept, raised = answers(BINARY)
    assert BINARY.table.weights.tolist() == [[kept, raised], [raised, kept]]
    assert kept / raised == pytest.approx(math.e, rel=1e-12)
    assert loses_at_most(BINARY.table.weights[0], BINARY.table.weights[1], 1.0)
    drawn = np.repeat([1, 2], [600, 400])
    share = (0.6 - raised / TOTAL) / ((kept - raised) / TOTAL)
    assert BINARY.counts(drawn) == pytest.approx([1000 * share, 1000 * (1 - share)])


def test_counts_of_answers() -> None:
    mechanism = UnaryEncoding(epsilon=2.0, size=3, optimised=True)
    assert mechanism.counts(np.zeros((0, 3), dtype=np.uint8)).tolist() == [0, 0, 0]
    with pytest.raises(DataError, match=r"^column 'bits' must be rows of 3; found an array of shape \(3,\)$"):
        mechanism.counts([1, 0, 0])
    raised = answers(mechanism)[1] / TOTAL
    assert mechanism.counts([[1, 0, 0], [1, 1, 0]]) == pytest.approx(
        [(ones - 2 * raised) / (0.5 - raised) for ones in (2, 1, 0)]
    )
