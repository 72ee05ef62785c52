"""Tables up to the largest size: exact rows, no gap above its promise, columns that hold every unit of weight."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, RandomizedResponse, TableMechanism, TightMap
from veilboost.privacy import TOTAL, ApproximateDP

pytestmark = pytest.mark.slow


MADE: dict[str, Callable[[int, float], TableMechanism]] = {
    "global": lambda size, epsilon: GlobalMap(epsilon=epsilon, size=size),
    "adj": lambda size, epsilon: AdjMap(epsilon=epsilon, size=size, theta=100, alpha=0.4),
    "adj, one partition": lambda size, epsilon: AdjMap(epsilon=epsilon, size=size, theta=size, alpha=1.0),
    "local": lambda size, epsilon: LocalMap(epsilon=epsilon, size=size, theta=100),
    "grr": lambda size, epsilon: RandomizedResponse(epsilon=epsilon, size=size),
    "tight": lambda size, epsilon: TightMap(epsilon=epsilon, size=size),
    "tight, uneven": lambda size, epsilon: TightMap(gaps=uneven(size, epsilon)),
}


def uneven(size: int, epsilon: float) -> tuple[float, ...]:
    return tuple(math.inf if i % 300 == 299 else epsilon * (1 + i % 3) for i in range(size - 1))


CASES = [(257, 0.001), (257, 20.0), (1024, 0.001), (1024, 1.28), (1024, 20.0)]


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(("size", "epsilon"), CASES)
def test_large_tables_are_exact_and_keep_their_gaps(kind: str, size: int, epsilon: float) -> None:
    mechanism = MADE[kind](size, epsilon)
    definition, weights = mechanism.definition, mechanism.table.weights.astype(object)
    assert (weights.sum(axis=1) == TOTAL).all()
    group = np.concatenate(([0], np.cumsum(np.isinf(mechanism.promised_gaps()))))
    assert ((weights > 0) == (group[:, None] == group)).all()
    found = mechanism.profile()
    assert not isinstance(definition, ApproximateDP)
    assert all(loss <= gap for loss, gap in zip(found.gaps, mechanism.promised_gaps(), strict=True))
    for distance in (1, 2, 99, 100, size - 1):
        assert found.epsilon_by_distance[distance - 1] <= definition.loss(distance) * (1 + 2**-50)
    check_columns(mechanism, weights)


def check_columns(mechanism: TableMechanism, weights: Any) -> None:
    layout, size = mechanism.table.alias, mechanism.size
    column = 1 << (63 - layout.bits)
    for code in sorted({1, 2, size // 2, size}):
        part = slice(code << layout.bits, (code + 1) << layout.bits)
        row = [0] * (1 << layout.bits)
        for entry, threshold in zip(layout.entries[part].tolist(), layout.thresholds[part].tolist(), strict=True):
            assert entry >> 32 == threshold >> 31
            row[(entry & 0xFFFF) - 1] += threshold
            row[(entry >> 16 & 0xFFFF) - 1] += column - threshold
        assert row[:size] == weights[code - 1].tolist()
        assert not any(row[size:])
