"""Discrete Gaussian noise: its weights, and its δ against sums over the integers and against the formula."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from battery import Crafted
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from veilboost.mechanisms import DiscreteGaussian
from veilboost.mechanisms._gaussian import GRID_SIZE, LARGEST_SIGMA, SMALLEST_SIGMA, Gaussian, gaussian, grid
from veilboost.mechanisms.discrete_gaussian import pick
from veilboost.mechanisms.table import odds_below
from veilboost.privacy import TOTAL, ApproximateDP, Neighbours

SIGMAS = (0.125, 0.25, 0.6875, 1.0, 3.25, 40.0)


def density(sigma: float, z: int) -> mpf:
    return mp.exp(-(mpf(z) ** 2) / (2 * mpf(sigma) ** 2))


def published_delta(sigma: float, epsilon: float, shift: int) -> mpf:
    """P[z > εσ²/s - s/2] - e^ε P[z > εσ²/s + s/2] for the discrete Gaussian on all integers."""
    reach = int(60 * sigma) + 10 * shift + 10
    total = mp.fsum(density(sigma, z) for z in range(-reach, reach + 1))
    middle = mpf(epsilon) * mpf(sigma) ** 2 / shift

    def above(border: mpf) -> mpf:
        return mp.fsum(density(sigma, z) for z in range(int(mp.floor(border)) + 1, reach + 1)) / total

    return above(middle - mpf(shift) / 2) - mp.exp(epsilon) * above(middle + mpf(shift) / 2)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_weights_follow_the_formula_and_sum_to_the_total(sigma: float) -> None:
    noise = gaussian(sigma)
    assert 2 * sum(noise.weights) - noise.weights[0] == TOTAL == noise.below[-1]
    with mp.workdps(40):
        total = mp.fsum(density(sigma, z) for z in range(-int(60 * sigma) - 10, int(60 * sigma) + 11))
        for z in range(noise.last + 3):
            assert abs(mpf(noise.weight(z)) / TOTAL - density(sigma, z) / total) < mpf(2) ** -45
            assert noise.weight(z) == noise.weight(-z)
    assert noise.weight(noise.last) > 0 == noise.weight(noise.last + 1)
    assert float(noise.variance()) == pytest.approx(sum(z * z * noise.weight(z) / TOTAL for z in range(-3000, 3001)))


@pytest.mark.parametrize("index", [0, 5, 31, 100, 200, 333])
def test_weights_are_log_concave(index: int) -> None:
    check_log_concave(gaussian(grid(index)))


@pytest.mark.slow
@pytest.mark.parametrize("index", range(416, GRID_SIZE, 16))
def test_large_weights_are_log_concave(index: int) -> None:
    check_log_concave(gaussian(grid(index)))


def check_log_concave(noise: Gaussian) -> None:
    span = range(-noise.last - 1, noise.last + 2)
    assert all(noise.weight(z) ** 2 >= noise.weight(z - 1) * noise.weight(z + 1) for z in span)
    assert min(noise.weights) > 0
    ratio = float(noise.variance()) / noise.sigma**2
    assert noise.sigma < 2 or ratio == pytest.approx(1, abs=1e-5)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 330), st.floats(1e-3, 12), st.integers(1, 40))
def test_delta_is_the_sum_over_all_outputs(index: int, epsilon: float, shift: int) -> None:
    noise, (numerator, scale) = gaussian(grid(index)), odds_below(epsilon)
    for moved in (shift, -shift):
        span = range(-noise.last, noise.last + 1)
        gains = ((noise.weight(z) << scale) - numerator * noise.weight(z - moved) for z in span)
        assert noise.delta(epsilon, shift) == Fraction(sum(max(0, gain) for gain in gains), TOTAL << scale)
    assert noise.delta(epsilon, shift) <= noise.delta(epsilon, shift + 1) <= 1
    assert noise.delta(epsilon, shift) >= noise.delta(epsilon * 1.1, shift)


@pytest.mark.parametrize("shift", [1, 2, 9])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("sigma", [0.6875, 1.0, 5.0, 20.0])
def test_delta_against_the_formula(sigma: float, epsilon: float, shift: int) -> None:
    with mp.workdps(50):
        expected = published_delta(sigma, epsilon, shift)
        found = gaussian(sigma).delta(epsilon, shift)
        assert abs(mpf(found.numerator) / found.denominator - expected) < mpf(2) ** -50


@pytest.mark.parametrize("sensitivity", [1, 3, 25])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 1e-6), (1.0, 1e-12), (6.0, 1e-9), (60.0, 1e-3)])
def test_sigma_keeps_delta_and_the_next_smaller_one_does_not(epsilon: float, delta: float, sensitivity: int) -> None:
    mechanism = DiscreteGaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    index = next(i for i in range(GRID_SIZE) if grid(i) == mechanism.sigma)
    assert mechanism.noise.delta(epsilon, sensitivity) <= delta
    assert index == 0 or gaussian(grid(index - 1)).delta(epsilon, sensitivity) > delta
    assert Fraction(mechanism.delta_at(epsilon)) >= mechanism.noise.delta(epsilon, sensitivity)
    assert mechanism.delta_at(epsilon) <= delta
    assert mechanism.definition == ApproximateDP(
        epsilon, delta, neighbours=Neighbours.ONE_VALUE, codes=mechanism.sensitivity
    )
    assert f"by at most {sensitivity} code" in str(mechanism.definition)


def test_the_grid_has_32_for_every_doubling_of_six_binary_digits() -> None:
    sigmas = [grid(index) for index in range(GRID_SIZE)]
    assert (sigmas[0], sigmas[-1]) == (SMALLEST_SIGMA, LARGEST_SIGMA)
    assert all(1 < after / before <= 33 / 32 for before, after in pairwise(sigmas))
    assert all((math.frexp(sigma)[0] * 64).is_integer() for sigma in sigmas)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_words_at_every_edge(sigma: float) -> None:
    noise = gaussian(sigma)
    for place, first in enumerate(noise.below[:-1]):
        words: Any = np.array([first, noise.below[place + 1] - 1])
        assert pick(noise, words).tolist() == [place - noise.last] * 2


def test_noise_is_added_by_one_word_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = DiscreteGaussian(epsilon=1.0, delta=1e-6)
    last, tape = mechanism.noise.last, Crafted([[0, 0], [2**31, 0], [2**32 - 1] * 2])
    monkeypatch.setattr("veilboost.mechanisms.mechanism.Tapes.step", lambda self, name: tape)
    assert mechanism.draw([10, -10, 2**31 - 1], threads=1).tolist() == [10 - last, -10, 2**31 - 1 + last]
    assert (tape.per_value, tape.asked) == ({2}, [])
