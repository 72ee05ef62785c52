"""What guarantees promise, refuse and say."""

import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilboost.errors import SettingError
from veilboost.privacy import (
    LDP,
    ApproximateDP,
    Definition,
    DistanceLDP,
    GapLDP,
    Guarantee,
    Neighbours,
    PartitionLDP,
)

WRONG: Any = "anything"
EVERY = [LDP(1.5), DistanceLDP(0.1), PartitionLDP(0.4, 0.1, 4), GapLDP((0.1, math.inf, 0.2, 0.2))]


@pytest.mark.parametrize("definition", EVERY)
def test_pairs_and_distances_agree(definition: LDP | DistanceLDP | PartitionLDP | GapLDP) -> None:
    assert definition.loss(0) == 0
    for distance in range(1, 5):
        pairs = [definition.pair_loss(x, x + distance) for x in range(1, 6 - distance)]
        assert definition.loss(distance) == max(pairs)
        assert definition.pair_loss(5, 5 - distance) == definition.pair_loss(5 - distance, 5) > 0


def test_losses_are_rounded_up_from_the_exact_sum() -> None:
    assert (
        Fraction(DistanceLDP(0.1).loss(3)) >= Fraction(0.1) * 3 > Fraction(math.nextafter(DistanceLDP(0.1).loss(3), 0))
    )
    assert Fraction(GapLDP((0.1, 0.2)).pair_loss(1, 3)) >= Fraction(0.1) + Fraction(0.2)
    assert PartitionLDP(0.4, 0.1, 4).loss(9) == pytest.approx(3 * 0.4 + 3 * 0.1, abs=1e-15)
    assert [PartitionLDP(0.4, 0.1, 4).loss(t) for t in (4, 5)] == pytest.approx([0.7, 1.1], abs=1e-15)


def test_a_pair_pays_for_the_borders_between_its_codes() -> None:
    promise = PartitionLDP(0.5, 0.25, 4)
    assert [promise.pair_loss(1, y) for y in (2, 4, 5, 9)] == [0.25, 0.75, 1.25, 1.75]
    assert [promise.pair_loss(4, y) for y in (5, 6, 9)] == [0.5, 0.75, 1.75]
    assert promise.loss(1) == 0.5
    whole_row = PartitionLDP(0.5, 0.25, 4, neighbours=Neighbours.ONE_ROW)
    assert whole_row.pair_loss(1, 2) == whole_row.loss(1)
    released = PartitionLDP(math.inf, 0.25, 4)
    assert [released.pair_loss(*pair) for pair in ((1, 4), (4, 5), (5, 6))] == [0.75, math.inf, 0.25]
    assert released.loss(1) == math.inf
    assert "none across them" in str(released)


def test_in_a_row_each_column_crosses_its_own_borders() -> None:
    for near, between in ((0.001, 0.1), (0.1, 0.001)):
        column = PartitionLDP(between, near, 4)
        row = PartitionLDP(between, near, 4, neighbours=Neighbours.ONE_ROW)
        for t in range(1, 20):
            assert row.loss(t) >= max(column.pair_loss(x, x + t) for x in range(1, 9))
            assert row.loss(t) <= row.loss(t + 1)
    assert "ceil(t/4)" in str(row)


@given(st.floats(0.01, 2), st.floats(0.01, 2), st.integers(1, 6), st.integers(1, 30), st.integers(1, 30))
def test_the_sentence_about_partitions_says_what_a_pair_may_lose(
    between: float, near: float, theta: int, x: int, y: int
) -> None:
    promise = PartitionLDP(between, near, theta)
    formula = re.search(r"exp\((b \* .*)\) times", str(promise))
    assert formula
    t, b = abs(x - y), abs((x - 1) // theta - (y - 1) // theta)
    said = eval(formula.group(1), {"b": b, "t": t, "min": min})
    assert promise.pair_loss(x, y) == pytest.approx(said, rel=2e-5)
    assert promise.pair_loss(x, y) <= said * (1 + 1e-12)


def test_equal_gaps_are_the_distance_definition() -> None:
    assert [GapLDP((0.3,) * 6).loss(t) for t in range(7)] == [DistanceLDP(0.3).loss(t) for t in range(7)]


def test_bad_parameters_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match="epsilon must be a number above 0; got 0"):
        DistanceLDP(0)
    with pytest.raises(SettingError, match="epsilon_near must"):
        PartitionLDP(0.1, math.inf, 4)
    with pytest.raises(SettingError, match="theta must be a whole number"):
        PartitionLDP(0.1, 0.1, 0)
    with pytest.raises(SettingError, match=r"gaps\[1\] must be a number above 0; got 0.0"):
        GapLDP((0.1, 0.0))
    with pytest.raises(SettingError, match="delta must be a number between"):
        ApproximateDP(1.0, 1.0, neighbours=Neighbours.ONE_ROW)
    with pytest.raises(SettingError, match="neighbours must be one of"):
        LDP(1.0, neighbours=WRONG)
    with pytest.raises(SettingError, match="y must be a whole number from 1 to 3"):
        GapLDP((0.1, 0.1)).pair_loss(1, 4)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("definition", [LDP, DistanceLDP])
def test_sentences_name_the_neighbours_and_the_budget(
    definition: type[LDP | DistanceLDP], neighbours: Neighbours
) -> None:
    sentence = str(definition(0.25, neighbours=neighbours))
    assert neighbours.value in sentence
    assert "0.25" in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("definition", [*EVERY, ApproximateDP(1.0, 1e-6, neighbours=Neighbours.ONE_ROW)])
def test_a_guarantee_names_everyone(definition: Definition) -> None:
    promise = Guarantee(definition, protects="the shop", against="the bank", assumptions=("AES holds", "keys stay"))
    assert str(promise).startswith(str(definition))
    assert str(promise).endswith("Protects the shop against the bank. Assumes AES holds; keys stay.")


def test_a_guarantee_without_words_is_refused() -> None:
    with pytest.raises(SettingError, match="against must be words"):
        Guarantee(LDP(1.0), protects="the shop", against=" ")
    with pytest.raises(SettingError, match="assumptions must be words"):
        Guarantee(LDP(1.0), protects="the shop", against="the bank", assumptions=("",))
    with pytest.raises(SettingError, match="definition must be one"):
        Guarantee(WRONG, protects="the shop", against="the bank")
