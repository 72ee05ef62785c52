"""Draws against the stated distribution: accepted as stated, rejected at a budget 30 % off, for every mechanism.

Unseeded. A right sampler fails one of these about once in 10^12 runs; a wrong budget passes as rarely.
"""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from veilboost.mechanisms import CODE_MECHANISMS, TABLE_MECHANISMS, DiscreteGaussian, Mechanism, TableMechanism
from veilboost.privacy import TOTAL
from veilboost.randomness import Bits, FreshBits, PermanentBits, ReplayableBits

Floats = NDArray[np.float64]

PARAMETERS: dict[str, Any] = {"epsilon": 0.7, "size": 10, "theta": 4, "alpha": 0.4, "delta": 1e-3}
TWINS = {"bounded-laplace": "global", "clamped-laplace": "tight", "adj-laplace": "adj", "local-laplace": "local"}
UNBOUNDED = ("discrete-laplace", "discrete-gaussian")
CODES = (1, 4, 5, 10)
DRAWS = 200_000  # for each code
REACH = 40  # how far from the value unbounded noise is told apart
THRESHOLD = 1e-12

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("name", CODE_MECHANISMS)]


def made(name: str, epsilon: float) -> Mechanism:
    known = {field.name for field in fields(CODE_MECHANISMS[name])} & PARAMETERS.keys()
    mechanism: Mechanism = CODE_MECHANISMS[name](**({key: PARAMETERS[key] for key in known} | {"epsilon": epsilon}))
    return mechanism


def stated(name: str, epsilon: float, code: int) -> Floats:
    """The probabilities of the outputs 1 to 10, or of noise within ±REACH with the tails put on its ends."""
    if name == "discrete-laplace":
        q, at = np.exp(-epsilon), np.abs(np.arange(-REACH, REACH + 1))
        noise: Floats = q**at * np.where(at == REACH, 1, 1 - q) / (1 + q)
        return noise
    if name == "discrete-gaussian":
        gaussian = DiscreteGaussian(epsilon=epsilon, delta=PARAMETERS["delta"]).noise
        return np.array([gaussian.weight(z) for z in range(-REACH, REACH + 1)]) / TOTAL
    table = made(TWINS.get(name, name), epsilon)
    assert name in TABLE_MECHANISMS or name in TWINS, "name the table whose distribution the new mechanism has"
    assert isinstance(table, TableMechanism)
    row: Floats = table.probabilities()[code - 1]
    return row


def counts(name: str, code: int, drawn: NDArray[Any]) -> Floats:
    if name in UNBOUNDED:
        drawn, low = np.clip(drawn - code, -REACH, REACH) + REACH, 0
    else:
        low = 1
    found = np.bincount(drawn.astype(np.int64) - low, minlength=2 * REACH + 1 if low == 0 else PARAMETERS["size"])
    return found.astype(np.float64)


def p_value(observed: list[Floats], expected: list[Floats]) -> float:
    """Chi-square over all codes; outcomes with fewer than 20 expected draws are put together with the next."""
    statistic, freedom = 0.0, 0
    for seen, shares in zip(observed, expected, strict=True):
        assert not seen[shares == 0].any()
        order = np.argsort(-shares)
        likely = shares[order] * seen.sum() >= 20
        mean = np.append((shares[order] * seen.sum())[likely], (shares[order] * seen.sum())[~likely].sum())
        found = np.append(seen[order][likely], seen[order][~likely].sum())
        if mean[-1] < 20:
            mean, found = (np.append(x[:-2], x[-2:].sum()) for x in (mean, found))
        statistic += float(((found - mean) ** 2 / mean).sum())
        freedom += len(mean) - 1
    return float(chi2.sf(statistic, freedom))


def bits(source: str, code: int) -> Bits:
    if source == "fresh":
        return FreshBits()
    if source == "replayable":
        return ReplayableBits(seed=int(np.random.default_rng().integers(2**63)))
    secret = np.random.default_rng().bytes(32)
    return PermanentBits(secret=secret, source=f"column {code}", version=1, row_keys=np.arange(DRAWS), domain=None)


@pytest.mark.parametrize("source", ["fresh", "permanent", "replayable"])
def test_draws_have_the_stated_distribution_and_no_other(name: str, source: str) -> None:
    mechanism = made(name, PARAMETERS["epsilon"])
    observed = []
    for code in CODES:
        observed.append(counts(name, code, mechanism.draw(np.full(DRAWS, code), bits=bits(source, code))))
    chance = {
        factor: p_value(observed, [stated(name, PARAMETERS["epsilon"] * factor, code) for code in CODES])
        for factor in (0.7, 1.0, 1.3)
    }
    assert chance[1.0] > THRESHOLD
    assert max(chance[0.7], chance[1.3]) < THRESHOLD


@pytest.mark.parametrize("source", ["fresh", "permanent"])
def test_neighbouring_values_are_drawn_independently(name: str, source: str) -> None:
    drawn = made(name, PARAMETERS["epsilon"]).draw(np.full(DRAWS, 5), bits=bits(source, 5))
    low = (drawn <= np.median(drawn)).astype(np.int64)
    for lag in (1, 2, 4, 1000):
        one, other = low[:-lag], low[lag:]
        pairs = np.bincount(2 * one + other, minlength=4).reshape(2, 2).astype(np.float64)
        expected = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0) / pairs.sum()
        possible = expected > 0
        assert chi2.sf(float(((pairs - expected)[possible] ** 2 / expected[possible]).sum()), 1) > THRESHOLD
