"""Draws of the mechanisms for values, rows and counts: accepted as stated, rejected at a budget 30 % off.

Unseeded. A right sampler fails one of these about once in 10^12 runs; a wrong budget passes as rarely.
"""

from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_distributions import THRESHOLD, Floats, bits, p_value

from veilboost.mechanisms import MECHANISMS
from veilboost.privacy import TOTAL

EPSILON, SIZE, D, K = 1.4, 9, 3, 2
CODES = (1, 4, 5, 9)
DRAWS = 200_000  # for each code
BINS, REACH = 12, 30
NAMES = ("piecewise", "duchi", "range-laplace", "sampled-vector", "duchi-vector", "laplace-vector", "unary")
TAKES = {"sampled-vector": {"d": D, "k": K}, "duchi-vector": {"d": D}, "laplace-vector": {"d": D}}

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("name", NAMES)]


PAIRS = list(product((0, 1), repeat=2))
CHOICES = list(combinations(range(D), K))


def made(name: str, epsilon: float) -> Any:
    kind: Any = MECHANISMS[name]
    return kind(epsilon=epsilon, size=SIZE, **TAKES.get(name, {}))


EDGES = np.linspace(-1, 1, BINS + 1)[1:-1] * made("piecewise", EPSILON).cells.last


def up_to(cells: Any, centre: int, edge: float) -> Any:
    """The probability of an output of the Piecewise mechanism below ``edge``."""
    first, below = centre - cells.reach, int(np.ceil(edge))
    near = cells.near * min(max(0, below - first), cells.window)
    far = cells.far * (min(max(0, below + cells.last), 2 * cells.last + 1))
    rest = TOTAL - cells.near * cells.window - cells.far * cells.outside
    return (far + near - near * cells.far / cells.near + rest * (below > 0)) / TOTAL


def one_value(mechanism: Any, code: int) -> Floats:
    centre = mechanism.cells.stride * (2 * code - SIZE - 1)
    return np.diff([0.0, *(up_to(mechanism.cells, centre, edge) for edge in EDGES), 1.0])


def laplace(rate: float) -> Floats:
    q, at = np.exp(-rate), np.abs(np.arange(-REACH, REACH + 1))
    noise: Floats = q**at * np.where(at == REACH, 1, 1 - q) / (1 + q)
    return noise


def signs(mechanism: Any, code: int) -> Floats:
    """Each output of D signs, by summing over u and the side that o is on."""
    up = (1 + float(mechanism.point(code))) / 2
    towards = mechanism.towards / TOTAL
    outputs = list(product((-1, 1), repeat=D))
    return np.array(
        [
            sum(
                prod(up if sign > 0 else 1 - up for sign in u)
                * (towards if np.dot(u, o) > 0 else 1 - towards)
                / 2 ** (D - 1)
                for u in outputs
            )
            for o in outputs
        ]
    )


def stated(name: str, mechanism: Any, code: int) -> Floats:
    if name == "piecewise":
        return one_value(mechanism, code)
    if name == "duchi":
        up = 0.5 + mechanism.slope * (2 * code - SIZE - 1) / TOTAL
        return np.array([1 - up, up])
    if name == "sampled-vector":
        return np.tile(one_value(mechanism.inner, code), comb(D, K)) / comb(D, K)
    if name == "duchi-vector":
        return signs(mechanism, code)
    if name == "unary":
        odds = [mechanism.answers.kept / TOTAL, mechanism.answers.raised / TOTAL]
        return np.array([prod(p if yes else 1 - p for p, yes in zip(odds, o, strict=True)) for o in PAIRS])
    return laplace(mechanism.rate)


def outcomes(name: str, code: int, drawn: NDArray[Any]) -> Any:
    """The number of each draw's outcome, in the order of ``stated``."""
    if name == "piecewise":
        return np.digitize(drawn, EDGES)
    if name == "duchi":
        return (drawn + 1) // 2
    if name == "sampled-vector":
        choice = np.array([0, 0, 0, 2, 0, 1, 0, 0])[(drawn != 0) @ np.array([4, 2, 1])]  # a drawn 0 is one in 10^7
        return choice * BINS + np.digitize(drawn[np.arange(len(drawn)), np.array(CHOICES)[choice, 0]], EDGES)
    if name == "duchi-vector":
        return ((drawn + 1) // 2) @ np.array([4, 2, 1])
    if name == "unary":
        return drawn[:, code - 1] * 2 + drawn[:, code % SIZE]
    noise = (drawn if name == "range-laplace" else drawn[:, 1]) - (2 * code - SIZE - 1)
    return np.clip(noise // 2, -REACH, REACH) + REACH


@pytest.mark.parametrize("source", ["fresh", "permanent", "replayable"])
def test_draws_have_the_stated_distribution_and_no_other(name: str, source: str) -> None:
    mechanism, observed = made(name, EPSILON), []
    for code in CODES:
        codes = np.full((DRAWS, D), code) if name in TAKES else np.full(DRAWS, code)
        drawn = mechanism.draw(codes, bits=bits(source, code))
        found = np.bincount(outcomes(name, code, drawn), minlength=len(stated(name, mechanism, code)))
        observed.append(found.astype(np.float64))
    chance = {
        factor: p_value(observed, [stated(name, made(name, EPSILON * factor), code) for code in CODES])
        for factor in (0.7, 1.0, 1.3)
    }
    assert chance[1.0] > THRESHOLD
    assert max(chance[0.7], chance[1.3]) < THRESHOLD


@pytest.mark.parametrize("source", ["fresh", "permanent"])
def test_estimates_have_the_stated_mean_and_variance(name: str, source: str) -> None:
    mechanism = made(name, EPSILON)
    for code in CODES:
        codes = np.full((DRAWS, D), code) if name in TAKES else np.full(DRAWS, code)
        drawn = mechanism.draw(codes, bits=bits(source, code))
        if name == "unary":
            error = mechanism.counts(drawn) - DRAWS * (np.arange(1, SIZE + 1) == code)
            deviation = np.sqrt([mechanism.count_variance(DRAWS * (c == code), DRAWS) for c in range(1, SIZE + 1)])
            assert np.abs(error / deviation).max() < 8
            continue
        estimates, variance = mechanism.values(drawn), mechanism.variance(code)
        mean = np.abs(estimates.mean(axis=0) - float(mechanism.point(code)))
        assert mean.max() < 8 * np.sqrt(variance / DRAWS)
        assert np.abs(estimates.var(axis=0) / variance - 1).max() < 0.1


def test_attributes_of_a_row_are_drawn_apart(name: str) -> None:
    """Noise on two attributes of one row, and of neighbouring rows, has no correlation beyond the stated one."""
    mechanism, middle = made(name, EPSILON), (SIZE + 1) // 2
    codes = np.full((DRAWS, D), middle) if name in TAKES else np.full(DRAWS, middle)
    drawn = mechanism.draw(codes).reshape(DRAWS, -1).astype(np.float64)
    drawn -= drawn.mean(axis=0)
    for one, other in [(drawn[1:], drawn[:-1]), *([(drawn, np.roll(drawn, 1, axis=1))] if drawn.shape[1] > 1 else [])]:
        spread = np.sqrt((one**2).mean(axis=0) * (other**2).mean(axis=0))
        assert np.abs((one * other).mean(axis=0) / spread).max() < 8 / np.sqrt(DRAWS)
