"""Mechanisms for whole rows: every output's exact probability, crafted choices, and strips that never overlap."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from battery import loses_at_most, permanent

from veilboost.mechanisms import DuchiVector, LaplaceVector, RangeLaplace, SampledVector
from veilboost.mechanisms.laplace_vector import ByValue
from veilboost.privacy import TOTAL, Neighbours
from veilboost.randomness import Bits, FreshBits, ReplayableBits, Tape

Row = tuple[int, ...]
HALF = TOTAL // 2


def signs(d: int) -> list[Row]:
    return list(product((-1, 1), repeat=d))


def packed(bits: Sequence[int]) -> list[int]:
    """Words of 63 bits, the first bit the lowest."""
    words = [bits[at : at + 63] for at in range(0, len(bits), 63)]
    return [sum(bit << place for place, bit in enumerate(word)) for word in words]


def turned(mechanism: DuchiVector, u: Row, t: Row, towards: bool) -> Row:
    """What the code makes of words that spell out u, t and the turn."""
    spelt = [0 if sign > 0 else TOTAL - 1 for sign in u] + packed([sign > 0 for sign in t])
    words = np.array([[*spelt, mechanism.towards - towards]])
    middle = np.full((1, mechanism.d), (mechanism.size + 1) // 2)
    return tuple(mechanism._decide(middle, words)[0].tolist())


def given_signs(mechanism: DuchiVector) -> dict[Row, Counter[Row]]:
    """For each u the weight of each output, out of 2^63 for each t."""
    weights: dict[Row, Counter[Row]] = {u: Counter() for u in signs(mechanism.d)}
    for u, t in product(signs(mechanism.d), repeat=2):
        weights[u][turned(mechanism, u, t, towards=True)] += mechanism.towards
        weights[u][turned(mechanism, u, t, towards=False)] += TOTAL - mechanism.towards
    return weights


def law(mechanism: DuchiVector, row: Row, weights: dict[Row, Counter[Row]]) -> dict[Row, int]:
    """The weight of each output for ``row``, out of 2^63 for each sign in u and each t."""
    ups = [HALF + mechanism.slope * (2 * code - mechanism.size - 1) for code in row]
    chances = {u: math.prod(up if sign > 0 else TOTAL - up for sign, up in zip(u, ups, strict=True)) for u in weights}
    return {o: sum(chances[u] * weights[u][o] for u in weights) for o in signs(mechanism.d)}


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_duchi_is_private_and_unbiased_to_the_last_unit(d: int, epsilon: float) -> None:
    mechanism = DuchiVector(epsilon=epsilon, size=3, d=d)
    weights = given_signs(mechanism)
    rows = {row: law(mechanism, row, weights) for row in product((1, 2, 3), repeat=d)}
    total, arrays = TOTAL ** (d + 1) << d, [np.array(list(found.values()), dtype=object) for found in rows.values()]
    highest, lowest = (np.array([extreme(column) for column in zip(*arrays, strict=True)]) for extreme in (max, min))
    assert loses_at_most(highest, lowest, epsilon)
    for row, found in rows.items():
        assert sum(found.values()) == total
        for place, code in enumerate(row):
            mean = Fraction(sum(output[place] * weight for output, weight in found.items()), total)
            assert mean * mechanism.unit == mechanism.point(code)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 257, 2**20 + 1, 2**31])
def test_signs_of_the_ends_are_all_but_certain(size: int) -> None:
    mechanism = DuchiVector(epsilon=1.0, size=size, d=3)
    border = HALF + mechanism.slope * (size - 1)
    assert TOTAL - size <= border < TOTAL
    for code, word, sign in ((size, border - 1, 1), (1, TOTAL - border, -1), (1, TOTAL - border - 1, 1)):
        words = np.array([[word] * 3 + [7, 0]])  # t all ones, turned towards u
        assert mechanism._decide(np.full((1, 3), code), words).tolist() == [[sign] * 3]


@pytest.mark.parametrize("d", [2, 4, 6])
def test_the_published_rule_for_even_d_loses_more_than_epsilon(d: int) -> None:
    """Uniform over the closed half of outputs on u's side with odds e^ε, else over the closed half on the other."""
    epsilon, u = 1.0, (1,) * d
    stays = math.exp(epsilon) / (math.exp(epsilon) + 1)
    agree = {o: sum(a * b for a, b in zip(o, u, strict=True)) for o in signs(d)}
    size = sum(value >= 0 for value in agree.values())
    chances = {value: ((value >= 0) * stays + (value <= 0) * (1 - stays)) / size for value in agree.values()}
    assert sum(chances[value] for value in agree.values()) == pytest.approx(1)
    assert math.log(max(chances.values()) / min(chances.values())) == pytest.approx(math.log(1 + math.exp(epsilon)))
    mean = sum(o[0] * chances[value] for o, value in agree.items())
    published = (2 ** (d - 1) + math.comb(d, d // 2) / 2) / math.comb(d - 1, d // 2) / math.tanh(epsilon / 2)
    assert published == pytest.approx(1 / mean)
    assert DuchiVector(epsilon=epsilon, size=3, d=d).step < published


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("d", [1, 3, 5, 101, 2047])
def test_duchi_is_the_published_one_for_odd_d(d: int, epsilon: float) -> None:
    constant = Fraction(2 ** (d - 1), math.comb(d - 1, (d - 1) // 2))
    expected = float(constant) * (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    mechanism = DuchiVector(epsilon=epsilon, size=1001, d=d)
    assert mechanism.step == pytest.approx(expected, rel=1e-12)
    assert mechanism.variance(251) == pytest.approx(expected**2 - 0.25, rel=1e-9)


@pytest.mark.parametrize("d", [63, 64, 127, 130])
def test_every_sign_has_a_bit_of_its_own(d: int) -> None:
    mechanism, random = DuchiVector(epsilon=1.0, size=3, d=d), np.random.default_rng(d)
    for _ in range(20):
        u, t = (tuple(random.choice([-1, 1], d).tolist()) for _ in range(2))
        agree = sum(a * b for a, b in zip(t, u, strict=True))
        for towards in (True, False):
            kept = agree == 0 or (agree > 0) == towards
            assert turned(mechanism, u, t, towards) == (t if kept else tuple(-sign for sign in t))


# Sampled attributes


class Spelt(Bits):
    """Bits that spell out chosen words of 63 bits, row by row."""

    def __init__(self, words: Any) -> None:
        self.halves = np.stack([words >> 31, (words & (2**31 - 1)) << 1], axis=2).astype(np.uint32)

    def tape(self, codes: Any, digest: bytes) -> Tape:
        return SpeltTape(self.halves.reshape(len(self.halves), -1))


class SpeltTape(Tape):
    def __init__(self, halves: Any) -> None:
        self.halves = halves

    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Any]]:
        for at in range(start, stop, step):
            yield at, self.halves[at : min(at + step, stop), :per_value].copy()

    def more(self, position: int) -> Iterator[int]:
        raise AssertionError("nothing more is needed")


def dealt(words: Sequence[int], d: int) -> list[int]:
    """Which cards of d come, if each word says how far down the rest of the deck the next one lies."""
    deck, found = list(range(d)), []
    for j, word in enumerate(words):
        at = j + word % (d - j)
        deck[j], deck[at] = deck[at], deck[j]
        found.append(deck[j])
    return found


@pytest.mark.parametrize("each", ["piecewise", "duchi"])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 1), (5, 3), (5, 5), (2048, 40)])
def test_the_chosen_attributes_are_drawn_and_the_others_are_zero(d: int, k: int, each: str) -> None:
    mechanism, random = SampledVector(epsilon=4.0, size=9, d=d, k=k, each=each), np.random.default_rng(k)
    codes = random.integers(1, 10, (50, d))
    words = random.integers(0, 2**63, (50, 2 * k))
    found = mechanism.draw(codes, bits=Spelt(words))
    for row in range(50):
        expected = [0] * d
        for word, place in zip(words[row, k:], dealt(words[row, :k].tolist(), d), strict=True):
            expected[place] = int(mechanism.inner.decide(codes[row, [place]], np.array([word]))[0])
        assert found[row].tolist() == expected


@pytest.mark.parametrize(("d", "k"), [(4, 1), (4, 2), (4, 4), (5, 3)])
def test_every_choice_is_dealt_alike(d: int, k: int) -> None:
    hands = Counter(tuple(sorted(dealt(words, d))) for words in product(*(range(d - j) for j in range(k))))
    assert len(hands) == math.comb(d, k)
    assert set(hands.values()) == {math.factorial(k)}


@pytest.mark.parametrize("k", [1, 3, 5, 7])
def test_shares_never_add_up_to_more_than_the_budget(k: int) -> None:
    for epsilon in np.linspace(0.1, 9, 50).tolist():
        share = SampledVector(epsilon=epsilon, size=9, d=9, k=k).epsilon_each
        assert Fraction(share) * k <= Fraction(epsilon) < Fraction(math.nextafter(share, 10)) * k


@pytest.mark.parametrize(("epsilon", "d", "k"), [(0.5, 9, 1), (4.9, 9, 1), (5.0, 9, 2), (26.0, 9, 9), (7.6, 2, 2)])
def test_as_many_are_chosen_as_published(epsilon: float, d: int, k: int) -> None:
    mechanism = SampledVector(epsilon=epsilon, size=9, d=d)
    assert mechanism.k == mechanism.chosen == k
    assert mechanism.inner.epsilon == pytest.approx(epsilon / k, rel=1e-15)


@pytest.mark.parametrize("each", ["piecewise", "duchi"])
def test_sampling_scales_value_and_square(each: str) -> None:
    mechanism: Any = SampledVector(epsilon=4.0, size=9, d=6, k=2, each=each)
    for code in (1, 4, 9):
        square = mechanism.inner.variance(code) + float(mechanism.point(code)) ** 2
        assert mechanism.variance(code) == pytest.approx(3 * square - float(mechanism.point(code)) ** 2)
    assert mechanism.unit == 3 * mechanism.inner.unit


# Laplace noise


def test_joint_noise_over_the_whole_range_is_split_noise() -> None:
    joint, split = LaplaceVector(epsilon=3.0, size=65, d=4), RangeLaplace(epsilon=0.75, size=65)
    assert joint.sensitivity == 4 * 64
    assert joint.rate == split.rate
    assert joint.variance(7) == split.variance(7)


@pytest.mark.parametrize("sensitivity", [1, 2, 18, 50, 90])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.7])
def test_laplace_states_what_holds_for_all_rows(epsilon: float, sensitivity: int) -> None:
    mechanism = LaplaceVector(epsilon=epsilon, size=10, d=10, sensitivity=sensitivity)
    stated, rate = mechanism.definition, Fraction(mechanism.rate)
    assert stated.neighbours is Neighbours.ONE_ROW
    assert rate * sensitivity <= Fraction(epsilon)
    assert rate == pytest.approx(epsilon / sensitivity, rel=1e-15)
    assert all(rate * 10 * t <= Fraction(stated.loss(t)) for t in range(1, 10))
    assert (stated.loss(9) <= epsilon) == (sensitivity == 90)


@pytest.mark.parametrize("source", [FreshBits(), ReplayableBits(seed=3), permanent(40)], ids=repr)
def test_no_two_values_of_a_row_share_a_number(source: Any) -> None:
    rows: Tape = source.tape(np.ones((40, 5), dtype=np.uint8), b"")
    tape, seen = ByValue(rows, 5), []
    for position, halves in tape.batches(0, 200, 60, 3):
        seen += [(position + i, *halves[i].tolist()) for i in range(len(halves))]
    assert [position for position, *_ in seen] == list(range(200))
    numbers = [half for _, *halves in seen for half in halves]
    numbers += [half for position in (0, 1, 4, 5) for half in islice(tape.more(position), 6)]
    assert len(numbers) == 624
    assert len(set(numbers)) >= 622  # three coincidences in 2^32: one run in 10^14


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 200, 60), (3, 199, 7), (5, 6, 1), (101, 200, 1000)])
def test_a_part_may_begin_and_end_inside_a_row(start: int, stop: int, step: int) -> None:
    tape = ByValue(permanent(40).tape(np.ones((40, 5), dtype=np.uint8), b""), 5)
    whole = np.concatenate([halves.copy() for _, halves in tape.batches(0, 200, 200, 2)])
    parts = [(position, halves.copy()) for position, halves in tape.batches(start, stop, step, 2)]
    assert np.concatenate([halves for _, halves in parts]).tolist() == whole[start:stop].tolist()
    assert [position for position, _ in parts] == [
        start + sum(len(halves) for _, halves in parts[:i]) for i in range(len(parts))
    ]
