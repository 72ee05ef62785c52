"""Permanent noise keeps its word; fresh noise, and bits that serve twice, are caught. Draws are not seeded."""

import os
from typing import Any, Literal

import pytest

from veilboost.audits import audit_permanence
from veilboost.audits.permanence import fresh
from veilboost.audits.sabotage import CarelessBits
from veilboost.errors import SettingError
from veilboost.mechanisms import AdjMap, GlobalMap, RandomizedResponse, TableMechanism, TightMap
from veilboost.randomness import Bits, RowKeys

SAMPLES = 200_000
OTHER = TightMap(epsilon=0.5, size=10)


@pytest.mark.parametrize(
    "mechanism",
    [
        TightMap(epsilon=1.0, size=10),
        GlobalMap(epsilon=1.0, size=10),
        AdjMap(epsilon=0.5, size=10, theta=4),
        RandomizedResponse(epsilon=1.0, size=10),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_permanent_noise_keeps_its_word(mechanism: TableMechanism) -> None:
    found = audit_permanence(mechanism, OTHER, samples=SAMPLES)
    assert not found.refuted
    assert found.averaging.right_from_all == found.averaging.right_from_one
    assert 0 < found.change.loss_at_least <= found.change.allowed
    assert 0 < found.tables.loss_at_least <= found.tables.allowed


def test_averaging_succeeds_against_fresh_noise() -> None:
    found = audit_permanence(TightMap(epsilon=1.0, size=10), OTHER, samples=1000, source=fresh)
    assert found.averaging.refuted
    assert found.averaging.right_from_all > 1.5 * found.averaging.right_from_one
    assert "REFUTED" in str(found)


def careless(forget: Literal["code", "table"]) -> Any:
    secret = os.urandom(32)

    def source(rows: RowKeys) -> Bits:
        return CarelessBits(forget=forget, secret=secret, source="a", version=1, row_keys=rows, domain=None)

    return source


def test_a_word_that_serves_two_codes_is_caught() -> None:
    found = audit_permanence(TightMap(epsilon=1.0, size=10), OTHER, samples=SAMPLES, source=careless("code"))
    assert found.change.refuted
    assert not found.averaging.refuted


def test_a_word_that_serves_two_tables_is_caught() -> None:
    found = audit_permanence(TightMap(epsilon=1.0, size=10), OTHER, samples=SAMPLES, source=careless("table"))
    assert found.tables.refuted
    assert not found.change.refuted


@pytest.mark.parametrize(
    ("mechanism", "other"),
    [
        (TightMap(epsilon=1.0, size=10), TightMap(epsilon=1.0, size=9)),
        (TightMap(epsilon=1.0, size=200), TightMap(epsilon=1.0, size=200)),
        (TightMap(epsilon=1.0, size=2), TightMap(epsilon=1.0, size=2)),
        (None, OTHER),
    ],
)
def test_what_cannot_be_audited_is_refused(mechanism: Any, other: Any) -> None:
    with pytest.raises(SettingError, match=r"^(mechanism|other) must have"):
        audit_permanence(mechanism, other)
