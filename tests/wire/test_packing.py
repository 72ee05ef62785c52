"""Packed columns take about as many bits as their entropy, unpack to what they were, and bear any bytes."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.stats import entropy

from unpacking import unpacked
from veilboost.mechanisms import ClampedLaplace, GlobalMap, Mechanism, RandomizedResponse, TightMap
from veilboost.wire import Values
from veilboost.wire.packing import Pack, pack

Draw = Callable[[np.random.Generator, int], NDArray[Any]]


def ranked(values: NDArray[Any]) -> NDArray[Any]:
    """Return dense ranks from 1, in the smallest type."""
    _, ranks = np.unique(values, return_inverse=True)
    return np.asarray(ranks + 1).astype(np.min_scalar_type(int(ranks.max()) + 1))


def noisy(mechanism: Mechanism, size: int, spread: float) -> Draw:
    """Return ranks of noisy codes, as a partner sends them."""

    def draw(chance: np.random.Generator, count: int) -> NDArray[Any]:
        codes = np.clip(chance.normal(0.5, spread, count) * size, 1, size).astype(np.int64)
        return ranked(mechanism.draw(codes))

    return draw


def spiky(share: float, others: int) -> Draw:
    return lambda chance, count: np.where(chance.random(count) < share, 1, chance.integers(2, others + 2, count))


DRAWS: dict[str, Draw] = {
    "two alike": lambda chance, count: chance.integers(1, 3, count),
    "uniform over 10": lambda chance, count: chance.integers(1, 11, count),
    "uniform over 100": lambda chance, count: chance.integers(1, 101, count),
    "uniform over 1000": lambda chance, count: chance.integers(1, 1001, count),
    "normal over 100": lambda chance, count: np.clip(chance.normal(50, 15, count), 1, 100),
    "geometric": lambda chance, count: np.minimum(chance.geometric(0.3, count), 200),
    "one in 5 missing": lambda chance, count: np.where(chance.random(count) < 0.2, 0, chance.integers(1, 60, count)),
    "a spike of 80 %": spiky(0.8, 20),
    "a spike of 90 %": spiky(0.9, 2000),
    "a long tail": lambda chance, count: np.minimum(chance.zipf(1.3, count), 2000),
    "all different": lambda chance, count: chance.permutation(count) + 1,
    "spikes at both ends": lambda chance, count: ranked(np.clip(chance.normal(0, 1e5, count), -7e4, 1.5e5).astype(int)),
    "round numbers": lambda chance, count: ranked(chance.choice([1, 50, 1000], count) * chance.integers(1, 100, count)),
    "tight, 100 codes": noisy(TightMap(epsilon=0.5, size=100), 100, 0.2),
    "tight, strong noise": noisy(TightMap(epsilon=0.02, size=100), 100, 0.2),
    "global, 10 codes": noisy(GlobalMap(epsilon=0.64, size=10), 10, 0.3),
    "responses, 10 codes": noisy(RandomizedResponse(epsilon=2.0, size=10), 10, 0.1),
    "clamped, a million codes": noisy(ClampedLaplace(epsilon=0.0001, size=10**6), 10**6, 0.2),
}


def drawn(name: str, count: int) -> NDArray[Any]:
    values = DRAWS[name](np.random.default_rng(), count)
    return values.astype(np.min_scalar_type(int(values.max())))


def size_of(values: Values) -> int:
    return len(msgspec.msgpack.encode(values))


@pytest.mark.parametrize("count", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DRAWS)
def test_a_column_takes_at_most_a_tenth_more_than_its_entropy(name: str, count: int) -> None:
    values = drawn(name, count)
    sent = Values.of(values)
    assert sent.is_packed
    _, counts = np.unique(values, return_counts=True)
    bits = float(entropy(counts, base=2))
    assert bits > 0.95
    assert size_of(sent) * 8 <= 1.1 * bits * count
    assert size_of(sent) * 8 >= 0.999 * bits * count  # what is shorter has lost something
    assert (sent.read(count) == values).all()


@pytest.mark.parametrize("name", DRAWS)
def test_a_second_decoder_reads_the_same(name: str) -> None:
    values = drawn(name, 2_000)
    found = msgspec.to_builtins(Values.of(values), builtin_types=(bytes,))
    assert (unpacked(found) == values).all()


def test_columns_in_any_layout_are_packed() -> None:
    values = drawn("geometric", 4_000)
    for each in (values[::3], values[::-1], values.astype(">u2"), values.reshape(2, -1)[1]):
        assert (Values.of(each).read(len(each)) == each).all()
    with pytest.raises(ValueError, match="a column must be of one of the types"):
        Values.of(values.astype(np.uint64))


def test_a_column_of_one_value_takes_next_to_nothing() -> None:
    values = np.full(10**6, 7, np.uint16)
    sent = Values.of(values)
    assert size_of(sent) < 100
    assert (sent.read(10**6) == values).all()


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).integers(0, 256, 50_000).astype(np.uint8),
        np.arange(10, dtype=np.uint8),
        np.empty(0, np.uint32),
        np.array([2**32 - 1] * 100, np.uint32),
        np.arange(1000),
        np.linspace(0, 1, 1000),
    ],
    ids=["nothing to gain", "short", "empty", "far from dense", "signed", "floats"],
)
def test_what_does_not_become_shorter_goes_as_it_is(values: NDArray[Any]) -> None:
    sent = Values.of(values)
    assert not sent.is_packed
    assert sent.dtype == values.dtype.newbyteorder("<").str
    assert (sent.read(len(values)) == values).all()


COLUMNS = hnp.arrays(
    st.sampled_from([np.uint8, np.uint16, np.uint32]),
    st.integers(0, 600),
    elements=st.one_of(st.integers(0, 9), st.integers(0, 255)),
)


@settings(max_examples=300, deadline=None)
@given(COLUMNS)
def test_any_column_comes_back(values: NDArray[Any]) -> None:
    sent = Values.of(values)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Values)
    found = again.read(len(values))
    assert found.dtype == values.dtype
    assert (found == values).all()
    assert size_of(sent) <= size_of(Values.plain(values)) + 64


KNOWN = (
    "9678949202009201019201029201039500cd03ffcd0266cccecccd94ce000e01efcd9a02ce000df451cda445c4186ee67fd1"
    "1155bf8f09c73b33df1aac7cf5d6d625a2318167c40c060606060606060606060606"
)


def test_a_pack_of_today_is_read_tomorrow() -> None:
    """The format is fixed: these bytes were packed when it was."""
    found = msgspec.msgpack.decode(bytes.fromhex(KNOWN), type=Pack)
    assert found.unpack(120, np.dtype(np.uint8)).tolist() == [1, 1, 2, 3, 1, 5, 2, 1, 8, 1] * 12


def packed(name: str = "tight, 100 codes", count: int = 1000) -> Pack:
    found = pack(drawn(name, count))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"count": 999}, "has 999 values where 1000 were agreed"),
        ({"count": 2**39}, "has 549755813888 values where 1000 were agreed"),
        ({"frequencies": [2048]}, "classes that do not fit"),
        ({"runs": [(1, 0)], "frequencies": [2048]}, "does not unpack"),
        ({"runs": [(1, 9)], "frequencies": [2048]}, "classes that do not fit"),
        ({"runs": [(2, 0)], "frequencies": [2048, 1]}, "lengths that do not fit"),
        ({"runs": [(2, 0)], "frequencies": [2047, 2]}, "lengths that do not fit"),
        ({"runs": [(2, 0)], "frequencies": [0, 0]}, "lengths that do not fit"),
        ({"runs": [(4096, 32)], "frequencies": [1] * 4096}, "classes that do not fit"),
        ({"words": b""}, "does not unpack"),
        ({"words": b"x"}, "lengths that do not fit"),
        ({"words": b"xy" * 10**5}, "does not unpack"),
        ({"bits": b"abcd"}, "does not unpack"),
        ({"bits": b"abc"}, "lengths that do not fit"),
        ({"states": [2**15] * 4}, "does not unpack"),
    ],
)
def test_a_pack_that_does_not_hold_is_a_value_error(change: dict[str, Any], problem: str) -> None:
    spoilt = msgspec.structs.replace(packed("geometric"), **change)
    with pytest.raises(ValueError, match=problem):
        spoilt.unpack(1000, np.dtype(np.uint8))


@pytest.mark.parametrize(
    "change",
    [
        {"states": [0, 1, 2, 3]},
        {"states": [2**31] * 4},
        {"states": [2**15] * 3},
        {"runs": []},
        {"runs": [(0, 1)]},
        {"runs": [(1, 33)]},
        {"runs": [(10**9, 1)]},
        {"runs": [(1, 1)] * 5000},
        {"frequencies": [-1, 2049]},
        {"frequencies": [2**16]},
        {"count": -1},
        {"count": 2**62},
    ],
)
def test_a_pack_out_of_bounds_is_no_message(change: dict[str, Any]) -> None:
    body = msgspec.msgpack.encode(Values("|u1", msgspec.structs.replace(packed("geometric"), **change)))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(body, type=Values)


def test_only_unsigned_numbers_may_be_packed() -> None:
    for kind in ("<i8", "<f8", "|O", "<u8"):
        body = msgspec.msgpack.encode({"dtype": kind, "data": packed()})
        with pytest.raises(
            msgspec.ValidationError, match=r"packed column must be of unsigned|must be of one of the type"
        ):
            msgspec.msgpack.decode(body, type=Values)
