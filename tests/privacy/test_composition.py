"""Composition against the realised loss of tables drawn independently, and what it refuses."""

import math

import numpy as np
import pytest
from ideal import Floats, adj_map, global_map, randomised_response, tight_map

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
    compose,
)


def joint(first: Floats, second: Floats) -> Floats:
    """Loss of each pair of codes when both tables answer for the same value."""
    outputs = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
    logs = np.log(outputs)
    losses: Floats = np.abs(logs[:, None] - logs[None]).max(axis=2)
    return losses


@pytest.mark.parametrize(
    ("tables", "definitions"),
    [
        ((global_map(8, 0.5), tight_map([0.3] * 7)), (DistanceLDP(0.5), DistanceLDP(0.3))),
        ((adj_map(8, 3, 0.5, 0.2), adj_map(8, 3, 0.1, 0.4)), (PartitionLDP(0.5, 0.2, 3), PartitionLDP(0.1, 0.4, 3))),
        ((tight_map([0.1, 0.9] * 3), tight_map([0.4] * 6)), (GapLDP((0.1, 0.9) * 3), GapLDP((0.4,) * 6))),
    ],
)
def test_two_releases_of_one_value_lose_at_most_the_sum(
    tables: tuple[Floats, Floats], definitions: tuple[Definition, Definition]
) -> None:
    spent = compose({"age": definitions}).one_column
    assert not isinstance(spent, ApproximateDP)
    losses = joint(*tables)
    for x in range(len(losses)):
        for y in range(len(losses)):
            assert losses[x, y] <= spent.pair_loss(x + 1, y + 1) + 1e-12
    assert losses[0, -1] > np.log(tables[0][0, 0] / tables[0][-1, 0])  # the second release did cost something


def test_worst_column_and_whole_row() -> None:
    spent = compose(
        {"age": [DistanceLDP(0.25)], "pay": [DistanceLDP(0.5), DistanceLDP(0.5)], "zip": [DistanceLDP(0.5)]}
    )
    assert spent.one_column == DistanceLDP(1.0)
    assert spent.whole_row == DistanceLDP(1.75, neighbours=Neighbours.ONE_ROW)
    first, second = str(spent).splitlines()
    assert first.startswith("One column changed.")
    assert "exp(t * 1)" in first
    assert second.startswith("The whole row changed.")
    assert "exp(t * 1.75)" in second


def test_the_worst_of_partition_budgets_is_taken_part_by_part() -> None:
    spent = compose({"a": [PartitionLDP(0.5, 0.1, 4)], "b": [PartitionLDP(0.25, 0.3, 4)]})
    assert spent.one_column == PartitionLDP(0.5, 0.3, 4)
    assert spent.whole_row == PartitionLDP(0.75, 0.4, 4, neighbours=Neighbours.ONE_ROW)


def test_gaps_of_one_domain_add_and_of_two_become_distances() -> None:
    here, there = GapLDP((0.5, math.inf)), GapLDP((0.25, 0.5))
    assert compose({"a": [here, there]}).one_column == GapLDP((0.75, math.inf))
    assert compose({"a": [there], "b": [GapLDP((0.25,))]}).whole_row == DistanceLDP(0.75, neighbours=Neighbours.ONE_ROW)
    assert compose({"a": [there, DistanceLDP(1.0)]}).one_column == DistanceLDP(1.5)
    unbounded = compose({"a": [here], "b": [DistanceLDP(1.0)]}).whole_row
    assert unbounded == DistanceLDP(math.inf, neighbours=Neighbours.ONE_ROW)
    assert DistanceLDP(math.inf).loss(1) == math.inf
    assert "with certainty" in str(unbounded)


@pytest.mark.parametrize(
    ("mixed", "column", "row"),
    [
        ({"a": [DistanceLDP(0.5)], "b": [LDP(1.0)]}, 1.0, 1.5),
        ({"a": [LDP(1.0), DistanceLDP(1.0)]}, 2.0, 2.0),
        ({"a": [PartitionLDP(1.0, 0.5, 4)], "b": [PartitionLDP(0.25, 2.0, 5)]}, 2.0, 3.0),
        ({"a": [PartitionLDP(1.0, 0.5, 4), GapLDP((0.25, 3.0))], "b": [DistanceLDP(0.5)]}, 4.0, 4.5),
        ({"a": [PartitionLDP(math.inf, 0.5, 4)], "b": [LDP(1.0)]}, math.inf, math.inf),
    ],
)
def test_different_promises_are_read_as_what_neighbours_lose(
    mixed: dict[str, list[Definition]], column: float, row: float
) -> None:
    spent = compose(mixed)
    assert spent.one_column == DistanceLDP(column)
    assert spent.whole_row == DistanceLDP(row, neighbours=Neighbours.ONE_ROW)


def test_a_mixture_loses_at_most_what_is_stated() -> None:
    tables = adj_map(8, 3, 0.5, 0.2), randomised_response(8, 0.7)
    spent = compose({"age": [PartitionLDP(0.5, 0.2, 3), LDP(0.7)]}).one_column
    assert not isinstance(spent, ApproximateDP)
    losses = joint(*tables)
    assert all(losses[x, y] <= spent.pair_loss(x + 1, y + 1) + 1e-12 for x in range(8) for y in range(8))


def test_in_a_whole_row_every_column_may_cross_its_own_worst_gap() -> None:
    spent = compose({"a": [GapLDP((0.1, 5.0))], "b": [GapLDP((5.0, 0.1))]})
    assert spent.whole_row == DistanceLDP(10.0, neighbours=Neighbours.ONE_ROW)
    assert spent.one_column == GapLDP((5.0, 5.0))


def test_guarantees_count_as_their_definitions() -> None:
    promise = Guarantee(LDP(0.5), protects="the shop", against="the bank")
    assert compose({"a": [promise, LDP(0.25)]}).one_column == LDP(0.75)


@pytest.mark.parametrize(
    "releases",
    [
        {},
        {"a": []},
        {"a": [ApproximateDP(1.0, 1e-6, neighbours=Neighbours.ONE_VALUE)]},
        {"a": [DistanceLDP(1.0, neighbours=Neighbours.ONE_OWNER)]},
    ],
)
def test_what_does_not_add_is_refused(releases: dict[str, list[Definition]]) -> None:
    with pytest.raises(SettingError, match="releases must"):
        compose(releases)
