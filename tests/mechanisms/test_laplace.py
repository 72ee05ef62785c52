"""Discrete Laplace noise: its coins and laws exactly, its kernel against the slow path, crafted ties and tails."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from battery import Crafted, example, taken
from mpmath import mp, mpf

from veilboost.errors import DataError
from veilboost.mechanisms import BoundedLaplace, GlobalMap, LocalMap, TableMechanism, TightMap, _laplace
from veilboost.mechanisms._laplace import Noise
from veilboost.privacy import TOTAL

RATES = (2.0**-41, 1e-6, 0.01, 0.35, 0.7, 5.0, 40.0, 60.0, 70.0, 200.0, 1e3)
LAPLACE = ("bounded-laplace", "clamped-laplace", "adj-laplace", "local-laplace", "discrete-laplace")
FINITE = LAPLACE[:-1]
TWINS = {"bounded-laplace": "global", "local-laplace": "local", "adj-laplace": "adj", "clamped-laplace": "tight"}
DIGITS = 320
ONES = 2**32 - 1


def twin(name: str, **changes: Any) -> TableMechanism:
    mechanism = example(TWINS[name], **changes)
    assert isinstance(mechanism, TableMechanism)
    return mechanism


def parted(name: str, theta: int) -> dict[str, int]:
    return {"theta": theta} if "theta" in taken(name) else {}


# The coins


@pytest.mark.parametrize("digits", [32, 64, 96, 320])
@pytest.mark.parametrize("rate", RATES)
def test_odds_are_the_first_digits_of_the_real_number(rate: float, digits: int) -> None:
    with mp.workprec(6000):
        for power in (-1, 1, 2, 3, 64, 2**20, 2**30):
            weight = mp.exp(-mpf(rate) * power)
            assert _laplace._odds(rate, power, digits, tail=False) == mp.floor(mp.ldexp(weight / (1 + weight), digits))
            if power > 0:
                assert _laplace._odds(rate, power, digits, tail=True) == mp.floor(mp.ldexp(weight, digits))


@pytest.mark.parametrize("rate", RATES[:8])
def test_the_first_half_of_every_coin_is_its_threshold(rate: float) -> None:
    noise = _laplace.endless(rate)
    assert noise.coins == len(noise.thresholds) == noise.bits + 2
    assert noise.thresholds.tolist() == [noise.odds(coin, 64) >> 32 for coin in range(noise.coins)]
    assert noise.rate * 2**noise.bits >= 32  # a tail is rarer than 2^-46


def law(noise: Noise, low: int, high: int) -> dict[int, Fraction]:
    """The distribution of one candidate in a range, from its coins' odds alone."""
    odds = [Fraction(noise.odds(coin, DIGITS), 2**DIGITS) for coin in range(noise.coins)]
    bits = (high - low).bit_length()
    found: dict[int, Fraction] = {}
    for flips in product((0, 1), repeat=1 + bits):
        chance = Fraction(1)
        for flip, p in zip(flips, odds, strict=False):
            chance *= p if flip else 1 - p
        size = sum(flip << bit for bit, flip in enumerate(flips[1:]))
        value = size if flips[0] else -1 - size
        if low <= value <= high:
            found[value] = chance
    return found


def normalised(found: dict[int, Fraction]) -> dict[int, Fraction]:
    total = sum(found.values(), Fraction(0))
    return {value: chance / total for value, chance in found.items()}


@pytest.mark.parametrize("rate", [0.05, 0.35, 2.0])
def test_coins_give_the_closed_form_without_bounds(rate: float) -> None:
    noise = _laplace.endless(rate)
    with mp.workdps(60):
        q, odds = mp.exp(-mpf(rate)), [mpf(noise.odds(coin, DIGITS)) / mpf(2) ** DIGITS for coin in range(noise.coins)]
        for value in (-9, -3, -1, 0, 1, 2, 7, 31, 50):
            size = value if value >= 0 else -1 - value
            chance = odds[-1] ** (size >> noise.bits) * (1 - odds[-1])
            for coin, p in enumerate(odds[:-1]):
                heads = value >= 0 if coin == 0 else size >> (coin - 1) & 1
                chance *= p if heads else 1 - p
            assert abs(chance / ((1 - q) / (1 + q) * q ** abs(value)) - 1) < mpf(10) ** -40


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 10, 16])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 4.0])
@pytest.mark.parametrize("kind", ["global", "local", "adj"])
def test_candidates_in_a_range_have_the_law_of_the_table(kind: str, epsilon: float, size: int) -> None:
    theta = max(1, size // 2 - 1)
    table = example(kind, epsilon=epsilon, size=size, **({} if kind == "global" else {"theta": theta}))
    assert isinstance(table, TableMechanism)
    for x, row in enumerate(table.table.weights.tolist()):
        for o, weight in enumerate(row):
            chance = _stepwise(table, x, o, size if kind == "global" else theta)
            assert abs(chance - Fraction(weight, TOTAL)) < Fraction(1, 10**12)


def _stepwise(table: Any, x: int, o: int, theta: int) -> Fraction:
    start = o // theta * theta
    stop = min(start + theta, table.size)
    inside = _bounded(getattr(table, "epsilon_near", table.epsilon), min(max(x, start), stop - 1), o, start, stop)
    if hasattr(table, "epsilon_partition"):
        return inside * _bounded(table.epsilon_partition, x // theta, start // theta, 0, -(-table.size // theta))
    return inside if start <= x < stop else Fraction(0)


def _bounded(epsilon: float, x: int, o: int, start: int, stop: int) -> Fraction:
    noise = _laplace.within(epsilon / 2, stop - start, stop - start)
    return normalised(law(noise, start - x, stop - 1 - x)).get(o - x, Fraction(0))


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 4.0])
def test_clamped_noise_has_the_law_of_tight_map(epsilon: float) -> None:
    with mp.workdps(40):
        q = mp.exp(-mpf(epsilon))
        for size in (2, 3, 10):
            for x, row in enumerate(TightMap(epsilon=epsilon, size=size).table.weights.tolist()):
                for o, weight in enumerate(row):
                    at_end = o in (0, size - 1)
                    chance = q ** abs(x - o) * (1 if at_end else 1 - q) / (1 + q)
                    assert abs(chance - mpf(weight) / TOTAL) < mpf(10) ** -12


@pytest.mark.parametrize(("longest", "shortest"), [(2, 2), (10, 1), (17, 3), (2**20 + 1, 2**20 + 1), (2**31, 2**31)])
@pytest.mark.parametrize("rate", [1e-9, 0.01, 0.5, 20.0])
def test_candidates_fail_less_often_than_two_to_the_minus_64(rate: float, longest: int, shortest: int) -> None:
    noise = _laplace.within(rate, longest, shortest)
    with mp.workdps(60):
        q = mp.exp(-mpf(rate))
        for length in (longest, shortest):  # the worst place for a value is an end of its range
            reach = 1 << (length - 1).bit_length()
            fits = (1 - q**length) / (1 - q**reach) / (1 + q)
            assert (1 - fits) ** noise.candidates <= mpf(2) ** -63.99
    assert 2**noise.bits >= longest


# The kernel against the slow path


def noises() -> Iterator[tuple[Noise, int, int]]:
    for rate in (0.02, 0.35, 3.0):
        yield _laplace.endless(rate), -(2**62), 2**62
        for length, low in ((2, 0), (10, -9), (10, 0), (10, -4), (17, -16), (1, 0)):
            yield _laplace.within(rate, 17, length), low, low + length - 1
    yield _laplace.endless(40.0), -(2**62), 2**62


@pytest.mark.parametrize(("noise", "low", "high"), list(noises()))
def test_kernel_and_slow_path_agree_where_nothing_ties(noise: Noise, low: int, high: int) -> None:
    count, per_value = 300, noise.candidates * noise.coins
    halves = np.random.default_rng(noise.coins).integers(0, 2**32, (count, per_value), dtype=np.uint32)
    lows, highs = np.full(count, low), np.full(count, high)
    out, rare = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.bool_)
    _laplace._flip_all(noise.thresholds, noise.bits, noise.candidates, halves, lows, highs, out, rare)
    assert rare.mean() < 0.05
    for i in np.flatnonzero(~rare):
        strip = iter(halves[i].tolist())
        assert _laplace._flip_slowly(noise, strip, iter(()), low, high) == out[i]
    assert low <= out[~rare].min()
    assert out[~rare].max() <= high
    assert len(set(out.tolist())) > 1 or high == low or noise.rate == 40


def halves_for(noise: Noise, flips: list[int]) -> list[int]:
    """Halves that plainly decide the first candidate's coins, and every later candidate's for zero noise."""
    first = [0 if flip else ONES for flip in flips]
    return first + ([0] + [ONES] * (noise.coins - 1)) * (noise.candidates - 1)


def drawn(noise: Noise, halves: list[int], more: list[int], low: int, high: int) -> tuple[int, list[int]]:
    tape = Crafted([halves], {0: more})
    found = _laplace.draw(noise, np.array([low]), np.array([high]), tape, threads=1)
    return int(found[0]), tape.asked


@pytest.mark.parametrize("coin", range(5))
@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("ties", [1, 2, 3])
def test_ties_are_continued_as_far_as_it_takes(coin: int, heads: bool, ties: int) -> None:
    noise, flips = _laplace.within(0.35, 16, 16), [1, 0, 0, 1, 0]
    halves = halves_for(noise, flips)
    digits = [noise.odds(coin, 32 * (i + 1)) & ONES for i in range(ties + 1)]
    halves[coin] = digits[0]
    more = [*digits[1:-1], digits[-1] - 1 if heads else digits[-1] + 1]
    flips[coin] = int(heads)
    size = sum(flip << bit for bit, flip in enumerate(flips[1:]))
    expected = size if flips[0] else -1 - size
    fits = -9 <= expected <= 6
    assert drawn(noise, halves, more, -9, 6) == (expected if fits else 0, [0])


def test_every_tie_is_continued_with_its_own_values_bits() -> None:
    noise = _laplace.within(0.35, 16, 16)
    plain = halves_for(noise, [1, 0, 0, 1, 0])
    tied = [int(noise.thresholds[0]), *plain[1:]]
    below, above = noise.odds(0, 64) & ONES, (noise.odds(0, 64) & ONES) + 1
    tape = Crafted([plain, tied, plain, tied], {1: [below - 1], 3: [above]})
    found = _laplace.draw(noise, np.full(4, -9), np.full(4, 6), tape, threads=1)
    assert found.tolist() == [4, 4, 4, -5]
    assert tape.asked == [1, 3]


def test_a_tie_in_a_candidate_that_is_not_taken_changes_nothing() -> None:
    noise = _laplace.within(0.35, 16, 16)
    halves = halves_for(noise, [1, 0, 0, 1, 0])
    halves[2 * noise.coins + 1] = int(noise.thresholds[1])
    assert drawn(noise, halves, [], -9, 6) == (4, [0])


@pytest.mark.parametrize("beyond", [1, 2, 5])
@pytest.mark.parametrize("sign", [1, 0])
def test_tails_go_on_from_the_largest_size(beyond: int, sign: int) -> None:
    noise = _laplace.endless(0.5)
    assert (noise.bits, int(noise.thresholds[-1])) == (6, 0)
    halves = halves_for(noise, [sign, 1, 0, 1, 0, 0, 0, 0])
    halves[-1] = 0
    more = [1] + [0, 1] * (beyond - 1) + [ONES]  # each tail ties with its first 32 bits, then lies below the rest
    value = 0b101 + 64 * beyond
    assert drawn(noise, halves, more, -(2**62), 2**62) == (value if sign else -1 - value, [0])
    assert drawn(noise, halves, [ONES], -(2**62), 2**62) == (5 if sign else -6, [0])  # a tie that is no tail


def test_when_no_candidate_fits_the_strip_goes_on() -> None:
    noise = _laplace.within(0.35, 16, 16)
    never = [ONES, 0, 0, 0, 0] * noise.candidates  # -16 each time
    one_more = [ONES, ONES, 0, ONES, ONES]
    assert drawn(noise, never, [*never[:5], *one_more], -9, 6) == (-3, [0])


# What nobody outside may see, and how far it goes


@pytest.mark.parametrize("name", FINITE)
def test_every_code_takes_the_same_number_of_halves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    halves = np.random.default_rng(1).integers(0, 2**32, (50, 4000))

    def watched(self: Any, step: str) -> Crafted:
        tape = Crafted(halves)
        seen.append(tape.per_value)
        return tape

    monkeypatch.setattr("veilboost.mechanisms.mechanism.Tapes.step", watched)
    for code in range(1, 11):
        example(name).draw([code] * 50, threads=1)
    steps = 2 if name == "adj-laplace" else 1
    assert len(seen) == 10 * steps
    for step in range(steps):
        assert len(set.union(*seen[step::steps])) == 1


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 5.0])
def test_two_to_the_31_codes(name: str, epsilon: float) -> None:
    codes = [1, 2**31, 2**30] * 20
    found = example(name, size=2**31, epsilon=epsilon, **parted(name, 2**20 - 1)).draw(codes)
    assert found.dtype == np.uint32
    assert 1 <= found.min() <= found.max() <= 2**31
    if epsilon == 5.0:
        assert np.abs(found.astype(np.int64) - codes).max() < 2**22
    with pytest.raises(DataError, match=f"must lie from 1 to {2**31}"):
        example(name, size=2**31).draw([2**31 + 1])


def test_unbounded_noise_at_the_largest_values() -> None:
    ends = np.array([-(2**31) + 1, 2**31 - 1] * 50)
    found = example("discrete-laplace", epsilon=2.0**-40).draw(ends)
    assert found.dtype == np.int64
    assert 2**36 < np.abs(found).max() < 2**50
    assert np.abs(example("discrete-laplace", epsilon=3.0).draw(ends) - ends).max() < 40


# What it states, against the tables


@pytest.mark.parametrize("size", [2, 3, 10, 64])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("name", FINITE)
def test_losses_against_the_profile_of_the_table(name: str, epsilon: float, size: int) -> None:
    given = {"epsilon": epsilon, "size": size, **parted(name, max(1, size // 3))}
    mechanism: Any = example(name, **given)
    for distance, loss in enumerate(twin(name, **given).profile().epsilon_by_distance, 1):
        stated = mechanism.epsilon_at(distance)
        assert loss <= stated * (1 + 1e-9)
        if name != "adj-laplace" and loss < 25:  # above, a table's tails are flat
            assert stated <= loss * (1 + 1e-4)


@pytest.mark.parametrize("size", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.7, 9.0])
def test_bounded_loss_is_rounded_up_and_that_of_the_worst_pair(epsilon: float, size: int) -> None:
    with mp.workdps(60):
        q = mp.exp(-mpf(epsilon) / 2)
        totals = [1 + q - q**x - q ** (size + 1 - x) for x in range(1, size + 1)]
        for distance in {1, 2, size // 2, size - 1} & set(range(1, size)):
            pairs = range(size - distance)
            exact = max(abs(mp.log(totals[x] / totals[x + distance])) for x in pairs) + mpf(epsilon) / 2 * distance
            found = BoundedLaplace(epsilon=epsilon, size=size).epsilon_at(distance)
            assert exact <= found <= exact * (1 + mpf(2) ** -51)


def test_local_laplace_over_one_partition_is_bounded_laplace() -> None:
    one: Any = example("local-laplace", theta=10)
    assert [one.epsilon_at(t) for t in (1, 9)] == [BoundedLaplace(epsilon=0.7, size=10).epsilon_at(t) for t in (1, 9)]
    assert (
        LocalMap(epsilon=0.7, size=10, theta=10).table.weights == GlobalMap(epsilon=0.7, size=10).table.weights
    ).all()
