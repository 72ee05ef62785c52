"""The sampler of every table: exact to the last unit of weight, ties included."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from battery import Crafted, example, permanent, variants
from hypothesis import given, settings
from hypothesis import strategies as st

from veilboost.mechanisms import TABLE_MECHANISMS, GlobalMap, TableMechanism, TightMap, _alias
from veilboost.mechanisms._alias import Alias, alias
from veilboost.privacy import TOTAL, TOTAL_BITS

REST = 31  # bits of a 63-bit word after the first half


def column_weight(layout: Alias) -> int:
    return 1 << (TOTAL_BITS - layout.bits)


def reconstructed(layout: Alias, size: int) -> list[list[int]]:
    """Each row's weights, added up from its columns in Python's integers."""
    rows = [[0] * size for _ in range(size)]
    for at in range(1 << layout.bits, len(layout.entries)):
        entry, threshold = int(layout.entries[at]), int(layout.thresholds[at])
        row = rows[(at >> layout.bits) - 1]
        if threshold:
            row[(entry & 0xFFFF) - 1] += threshold
        row[(entry >> 16 & 0xFFFF) - 1] += column_weight(layout) - threshold
    return rows


def check_layout(layout: Alias, weights: Any) -> None:
    size = len(weights)
    assert layout.bits == max(1, (size - 1).bit_length())
    assert len(layout.entries) == len(layout.thresholds) == (size + 1) << layout.bits
    assert (layout.thresholds < column_weight(layout)).all()
    assert (layout.entries >> 32 == layout.thresholds >> REST).all()
    assert reconstructed(layout, size) == weights.tolist()


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("size", [2, 3, 5, 8, 10, 33, 64])
@pytest.mark.parametrize("name", TABLE_MECHANISMS)
def test_the_columns_hold_every_row_to_the_last_unit(name: str, size: int, epsilon: float) -> None:
    for mechanism in variants(name, size, epsilon):
        check_layout(mechanism.table.alias, mechanism.table.weights)


@st.composite
def any_weights(draw: st.DrawFn) -> Any:
    size = draw(st.integers(1, 9))
    cuts = [sorted(draw(st.lists(st.integers(0, TOTAL), min_size=size - 1, max_size=size - 1))) for _ in range(size)]
    return np.array([[b - a for a, b in pairwise([0, *cut, TOTAL])] for cut in cuts], dtype=np.uint64)


@settings(max_examples=200, deadline=None)
@given(any_weights())
def test_any_weights_are_laid_out_exactly(weights: Any) -> None:
    check_layout(alias(weights), weights)


@pytest.mark.parametrize("name", TABLE_MECHANISMS)
def test_a_tie_is_equally_likely_for_every_input(name: str) -> None:
    for size in (3, 10, 64):
        layout = next(variants(name, size, 0.5)).table.alias
        free = 32 - layout.bits
        prefixes = (layout.entries >> 32).reshape(-1, 1 << layout.bits)[1:]
        assert (prefixes < 1 << free).all()  # so that exactly one half in each column ties
        for code in range(1, size + 1):
            tying = ((np.arange(1 << layout.bits) << free) | prefixes[code - 1].astype(np.int64)).astype(np.uint32)
            assert len(set(tying.tolist())) == 1 << layout.bits
            codes = np.full(len(tying), code, dtype=np.uint8)
            assert _alias._ties(layout, codes, tying).tolist() == list(range(len(tying)))


def by_whole_word(layout: Alias, code: int, half: int, rest: int) -> int:
    """The alias method as the books have it: the 63-bit word picks the column, then meets its threshold."""
    word = (half << REST) | rest
    column, fraction = divmod(word, column_weight(layout))
    at = (code << layout.bits) | column
    entry = int(layout.entries[at])
    return entry & 0xFFFF if fraction < int(layout.thresholds[at]) else entry >> 16 & 0xFFFF


def crafted(mechanism: TableMechanism, seed: int) -> tuple[list[int], list[int], list[int]]:
    """Codes, halves and rests around every threshold: one below, a tie (rest below, at, above) and one above."""
    layout, random = mechanism.table.alias, np.random.default_rng(seed)
    codes, halves, rests = [], [], []
    for at in range(1 << layout.bits, len(layout.entries)):
        code, column = divmod(at, 1 << layout.bits)
        prefix, exact = int(layout.entries[at]) >> 32, int(layout.thresholds[at]) % 2**REST
        tied = (column << (32 - layout.bits)) | prefix
        near = [(tied, rest) for rest in (exact - 1, exact, exact + 1, 0, 2**REST - 1) if 0 <= rest < 2**REST]
        near += [(half, 0) for half in (tied - 1, tied + 1) if 0 <= half < 2**32]
        near += [(int(half), 0) for half in random.integers(0, 2**32, 2)]
        for half, rest in near:
            codes.append(code)
            halves.append(half)
            rests.append(rest)
    return codes, halves, rests


@pytest.mark.parametrize("size", [2, 3, 10, 64])
@pytest.mark.parametrize("name", TABLE_MECHANISMS)
def test_first_half_and_tie_break_decide_as_the_whole_word_would(name: str, size: int) -> None:
    mechanism = next(variants(name, size, 0.9))
    layout = mechanism.table.alias
    codes, halves, rests = crafted(mechanism, size)
    tape = Crafted(np.array(halves)[:, None], {i: [2 * rest + i % 2] for i, rest in enumerate(rests)})
    drawn = _alias.draw(layout, np.array(codes, dtype=np.uint8), tape, threads=1)
    assert drawn.tolist() == [by_whole_word(layout, *each) for each in zip(codes, halves, rests, strict=True)]
    free = 32 - layout.bits
    ties = [
        i
        for i, (code, half) in enumerate(zip(codes, halves, strict=True))
        if half % 2**free == int(layout.entries[(code << layout.bits) | (half >> free)]) >> 32
    ]
    assert tape.asked == ties
    assert len(ties) >= 3 * size << layout.bits


def test_a_column_filled_by_one_output_never_gives_another() -> None:
    layout = alias(np.array([[TOTAL, 0], [0, TOTAL]], dtype=np.uint64))
    tape = Crafted([[0], [2**31], [0], [2**31]], {i: [0] for i in range(4)})
    assert _alias.draw(layout, np.array([1, 1, 2, 2], dtype=np.uint8), tape).tolist() == [1, 1, 2, 2]


def test_more_halves_than_needed_are_passed_over() -> None:
    mechanism, halves = GlobalMap(epsilon=0.5, size=10), np.random.default_rng(3).integers(0, 2**32, (500, 4))
    codes = (np.arange(500) % 10 + 1).astype(np.uint8)
    wide, narrow = (_alias.draw(mechanism.table.alias, codes, Crafted(part)) for part in (halves, halves[:, :1]))
    assert (wide == narrow).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_the_type_of_the_codes_changes_nothing(dtype: Any) -> None:
    layout, codes = TightMap(epsilon=0.4, size=10).table.alias, np.arange(1000) % 10 + 1
    expected = _alias.draw(layout, codes, permanent(1000).tape(codes, b""))
    drawn = _alias.draw(layout, codes.astype(dtype), permanent(1000).tape(codes, b""))
    assert drawn.dtype == dtype
    assert (drawn == expected).all()


def test_the_largest_table_packs_into_its_entries() -> None:
    mechanism = example("local", size=2048, theta=2)
    assert isinstance(mechanism, TableMechanism)
    codes = np.repeat(np.arange(1, 2049), 50)
    drawn = mechanism.draw(codes)
    assert ((drawn.astype(int) - 1) // 2 == (codes - 1) // 2).all()
    assert len(set(drawn.tolist())) == 2048
