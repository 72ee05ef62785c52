"""Weighted Kendall against its definition pair by pair, the values on record, and samples."""

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ideal import Floats, global_map, nominal_adj_map, tight_map

from veilboost.errors import SettingError
from veilboost.privacy import expected_weighted_kendall, weighted_kendall
from veilboost.privacy.kendall import Norm, _dot


def by_definition(r: list[int], s: list[int], norm: Norm) -> float:
    ordinal = {value: number for number, value in enumerate(sorted(set(r)))}
    sums = [0, 0, 0]
    for i in range(len(r)):
        for j in range(i):
            w = abs(ordinal[r[i]] - ordinal[r[j]])
            a, b = int(np.sign(r[i] - r[j])), int(np.sign(s[i] - s[j]))
            for k, sign in enumerate((a * b, a * a, b * b)):
                sums[k] += sign * w
    both, raw, noisy = sums
    if norm == "raw":
        return both / raw
    return both / math.sqrt(raw * noisy) if noisy else 0.0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=25),
    st.sampled_from(["raw", "both"]),
)
def test_against_the_definition_pair_by_pair(pairs: list[tuple[int, int]], norm: Norm) -> None:
    r, s = [a for a, _ in pairs], [b for _, b in pairs]
    if len(set(r)) > 1:
        found = weighted_kendall(np.array(r), np.array(s), norm=norm)
        assert found == pytest.approx(by_definition(r, s, norm), abs=1e-15)


ON_RECORD = [
    (global_map(10, 0.64), 0.558),
    (nominal_adj_map(10, 0.08, 4, 0.4), 0.053),
    (nominal_adj_map(10, 0.64, 4, 0.4), 0.411),
    (nominal_adj_map(10, 1.28, 4, 0.4), 0.701),
    (tight_map([0.08] * 9), 0.194),
    (tight_map([0.64] * 9), 0.826),
    (tight_map([1.28] * 9), 0.949),
]


@pytest.mark.parametrize(("table", "printed"), ON_RECORD)
def test_the_expected_values_on_record(table: Floats, printed: float) -> None:
    assert abs(expected_weighted_kendall(table) - printed) <= 0.00055  # 0.05254 stands there as 0.053
    assert expected_weighted_kendall(table, norm="both") > printed + 0.002


@pytest.mark.parametrize("norm", ["raw", "both"])
@pytest.mark.parametrize("table", [global_map(10, 0.64), tight_map([0.64] * 9)])
def test_samples_approach_the_expected_value(table: Floats, norm: Norm) -> None:
    random = np.random.default_rng(7)
    codes = random.integers(0, 10, 20_000)
    noisy = (random.random(20_000)[:, None] > np.cumsum(table, axis=1)[codes]).sum(axis=1)
    expected = expected_weighted_kendall(table, norm=norm)
    assert weighted_kendall(codes, noisy, norm=norm) == pytest.approx(expected, abs=0.015)
    assert weighted_kendall(codes, random.permutation(noisy), norm=norm) == pytest.approx(0, abs=0.03)


def test_a_million_values_stay_exact_and_quick() -> None:
    random, count = np.random.default_rng(3), 10**6
    raw = random.permutation(count)
    start = time.process_time()
    assert weighted_kendall(raw, raw * 2.5) == 1
    assert weighted_kendall(raw, -raw, norm="both") == -1
    swapped = np.where(raw < 2, 1 - raw, raw)
    total = (count**3 - count) // 6
    assert weighted_kendall(raw, swapped) == (total - 2) / total
    assert time.process_time() - start < 10


def test_sums_beyond_63_bits_are_exact() -> None:
    count = 3_000_000
    largest = np.full(count, count - 1)
    assert _dot(largest, largest) == count * (count - 1) ** 2 > 2**63


def test_columns_without_order_are_named() -> None:
    with pytest.raises(SettingError, match="raw must hold two different values"):
        weighted_kendall(np.array([3, 3]), np.array([1, 2]))
    with pytest.raises(SettingError, match="noisy must hold 2 values"):
        weighted_kendall(np.array([1, 3]), np.array([1]))
    gap = np.ma.array([1, 2], mask=[False, True])
    for missing in (np.array([1.0, math.nan]), np.array(["2020", "NaT"], dtype="M8[Y]"), gap):
        with pytest.raises(SettingError, match=r"^noisy must be without missing values"):
            weighted_kendall(np.array([1, 3]), missing)
    columns: list[Any] = [[1, None], [1, "b"], [[1, 2]], 3]
    for column in columns:
        with pytest.raises(SettingError, match=r"^noisy must be one column of numbers or times; got"):
            weighted_kendall(np.array([1, 3]), column)
    neither: Any = "neither"
    with pytest.raises(SettingError, match="norm must be"):
        weighted_kendall(np.array([1, 3]), np.array([1, 2]), norm=neither)
    assert weighted_kendall(np.array([1, 3]), np.array([2, 2]), norm="both") == 0


def test_the_expectation_for_one_column_is_exact() -> None:
    """All 3^4 outcomes of a column of four values, each with its probability."""
    raw, table = np.array([1, 1, 3, 2]), tight_map([0.4, 1.1])
    total = 0.0
    for outcome in np.ndindex(3, 3, 3, 3):
        chance = math.prod(float(table[x - 1][o]) for x, o in zip(raw.tolist(), outcome, strict=True))
        total += chance * weighted_kendall(raw, np.array(outcome))
    assert expected_weighted_kendall(table, counts=[2, 1, 1]) == pytest.approx(total, abs=1e-12)


def test_a_code_that_nobody_holds_has_no_rank() -> None:
    table = tight_map([0.4, 1.1, 0.7])
    raw = np.array([1, 1, 3, 4])
    drawn = [weighted_kendall(raw, np.array(o)) for o in np.ndindex(4, 4, 4, 4)]
    chances = [
        math.prod(float(table[x - 1][o]) for x, o in zip(raw.tolist(), outcome, strict=True))
        for outcome in np.ndindex(4, 4, 4, 4)
    ]
    found = expected_weighted_kendall(table, counts=[2, 0, 1, 1])
    assert found == pytest.approx(math.fsum(a * b for a, b in zip(drawn, chances, strict=True)), abs=1e-12)


@pytest.mark.parametrize("counts", [[1, 1], [0, 0, 5], [1, -1, 1]])
def test_counts_that_fit_no_column_are_refused(counts: list[int]) -> None:
    with pytest.raises(SettingError, match="counts must be 3 numbers"):
        expected_weighted_kendall(tight_map([0.4, 1.1]), counts=counts)
