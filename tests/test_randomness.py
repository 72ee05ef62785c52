"""The random bits: standard vectors, an independent second implementation, and what must and must not repeat."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from veilboost import randomness
from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError, UsageError
from veilboost.randomness import Bits, FreshBits, PermanentBits, ReplayableBits, Tape

Key = int | str | bytes

VECTORS = Path(__file__).parent / "vectors"
SECRET = bytes(range(32))
DIGEST = hashlib.sha256(b"a table").digest()
EXTREMES: list[int] = [0, 1, -1, 2**63 - 1, -(2**63), 2**16, 2**48, -(2**48), 258]
LOOSE: Any = PermanentBits  # for calls that break the hints on purpose


def permanent(row_keys: Any, **changes: Any) -> PermanentBits:
    given: dict[str, Any] = {
        "domain": None,
        "secret": SECRET,
        "source": "clinic/age",
        "version": 3,
        "row_keys": row_keys,
    }
    return PermanentBits(**(given | changes))


def vectors(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def strip(tape: Tape, count: int, per_value: int = 1, step: int = 7) -> list[list[int]]:
    """The first ``per_value`` halves of each value, and a check that positions come in order."""
    rows: list[list[int]] = []
    for position, halves in tape.batches(0, count, step, per_value):
        assert position == len(rows)
        rows += halves[:, :per_value].tolist()
    return rows


def words(bits: Bits, codes: Any, per_value: int = 4) -> list[list[int]]:
    return strip(bits.tape(np.asarray(codes), DIGEST), len(codes), per_value)


# AES itself, through the permutation that every permanent bit comes from


def test_nist_ecb_and_counter_vectors() -> None:
    nist = vectors("aes256_sp800_38a.json")
    permutation = randomness._permutation(bytes.fromhex(nist["key"]))
    plain = bytes.fromhex("".join(nist["plaintext"]))
    assert permutation.update(plain).hex() == "".join(nist["ecb"])
    first = int(nist["counter"], 16)
    stream = permutation.update(b"".join((first + i).to_bytes(16, "big") for i in range(4)))
    assert bytes(a ^ b for a, b in zip(stream, plain, strict=True)).hex() == "".join(nist["ctr"])


@pytest.mark.parametrize(("call", "start", "per_value"), [(0, 0, 1), (5, 9, 3), (2**31 - 1, 2**40, 8)])
def test_keystream_is_aes_of_its_counter_blocks(call: int, start: int, per_value: int) -> None:
    tape, count = randomness._Keystream(SECRET, call), 20
    halves = np.concatenate([part.copy() for _, part in tape.batches(start, start + count, 6, per_value)])
    first = (call << 96) | (start << 48)
    assert halves.shape == (count, per_value)
    assert halves.tobytes() == aes_of_counters(SECRET, first, halves.nbytes)
    spare = b"".join(half.to_bytes(4, "little") for half in islice(tape.more(start), 40))
    assert spare == aes_of_counters(SECRET, first | (1 << 127), len(spare))


def aes_of_counters(key: bytes, first: int, length: int) -> bytes:
    blocks = range(first, first + -(-length // 16))
    return b"".join(aes(key, block.to_bytes(16, "big")) for block in blocks)[:length]


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES256(key), modes.CBC(bytes(16))).encryptor().update(block)


# Permanent bits, written a second time: byte by byte, value by value


def raw_key(key: Key) -> tuple[int, bytes]:
    if isinstance(key, int):
        return 1, key.to_bytes(8, "little", signed=True)
    return (2, key.encode()) if isinstance(key, str) else (3, key)


def reference(
    key: Key, code: int, counter: int, *, source: str = "clinic/age", version: int = 3, digest: bytes = DIGEST
) -> list[int]:
    name = source.encode()
    context = b"veilboost permanent 1" + len(name).to_bytes(4, "little") + name
    context += version.to_bytes(4, "little") + len(digest).to_bytes(4, "little") + digest
    derived = hmac.new(SECRET, context, hashlib.sha256).digest()
    kind, raw = raw_key(key)
    message = (len(raw) | kind << 12).to_bytes(2, "little") + raw
    message += bytes(-(len(message) + 6) % 16) + (code % 2**32).to_bytes(4, "little") + counter.to_bytes(2, "little")
    state = bytes(16)
    for at in range(0, len(message), 16):
        state = aes(derived, bytes(a ^ b for a, b in zip(state, message[at : at + 16], strict=True)))
    return [int.from_bytes(state[at : at + 4], "little") for at in range(0, 16, 4)]


def counted(key: Key, code: int, first: int, halves: int) -> list[int]:
    counters = range(first, first + -(-halves // 4))
    return [half for counter in counters for half in reference(key, code, counter)][:halves]


KEYS: dict[str, list[Any]] = {
    "int": EXTREMES,
    "str": ["x" * n for n in range(41)] + ["é€", "\0", "\0\0"],
    "bytes": [b"\xff" * n for n in range(41)] + [bytes(n) for n in range(1, 41)],
    "longest": [b"a" * 4095, b"", b"b" * 4094],
}


@pytest.mark.parametrize("per_value", [1, 4, 9])
@pytest.mark.parametrize("kind", KEYS)
def test_permanent_against_the_second_implementation(kind: str, per_value: int) -> None:
    keys = KEYS[kind]
    codes = np.resize(np.array([1, 2, 255, 2**16, 2**31], dtype=np.uint32), len(keys))
    tape = permanent(keys).tape(codes, DIGEST)
    expected = [counted(key, int(code), 0, per_value) for key, code in zip(keys, codes, strict=True)]
    assert strip(tape, len(keys), per_value) == expected
    for position in (0, len(keys) - 1):
        spare = counted(keys[position], int(codes[position]), 1 << 15, 11)
        assert list(islice(tape.more(position), 11)) == spare


def test_permanent_codes_below_zero_take_their_four_bytes_and_no_more() -> None:
    codes = np.array([-5, -(2**31) + 1], dtype=np.int32)
    assert words(permanent([1, 2]), codes) == [reference(1, -5, 0), reference(2, -(2**31) + 1, 0)]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16])
def test_integer_row_keys_of_every_type_are_the_same_key(dtype: Any) -> None:
    assert words(permanent(np.array([7, 300], dtype=dtype)), [1, 2]) == words(permanent([7, 300]), [1, 2])


@pytest.mark.parametrize("vector", vectors("permanent_bits.json"), ids=lambda vector: vector["name"])
def test_permanent_known_answers(vector: dict[str, Any]) -> None:
    key = bytes.fromhex(vector["key"]) if vector["kind"] == "bytes" else vector["key"]
    bits = permanent([key], secret=bytes.fromhex(vector["secret"]), source=vector["source"], version=vector["version"])
    tape = bits.tape(np.array([vector["code"]]), bytes.fromhex(vector["digest"]))
    assert strip(tape, 1, 8) == [vector["halves"]]
    assert list(islice(tape.more(0), 8)) == vector["more"]


@pytest.mark.parametrize("vector", vectors("replayable_bits.json"), ids=lambda vector: f"seed {vector['seed']}")
def test_replayable_known_answers(vector: dict[str, Any]) -> None:
    bits = ReplayableBits(seed=vector["seed"])
    for call in vector["calls"]:
        tape = bits.tape(np.array([1, 1]), b"")
        assert strip(tape, 2, 3) == call["halves"]
        assert list(islice(tape.more(1), 4)) == call["more"]


# What permanent noise depends on, and what not


def test_permanent_bits_follow_the_row_and_not_the_order() -> None:
    order = np.random.default_rng(1).permutation(50)
    codes, keys = np.arange(50) % 9 + 1, np.array([f"row {i}" for i in range(50)])
    plain = np.array(words(permanent(keys), codes))
    assert (np.array(words(permanent(keys[order]), codes[order])) == plain[order]).all()


@pytest.mark.parametrize("bits", [ReplayableBits(seed=3), permanent(np.arange(100))])
@pytest.mark.parametrize("per_value", [1, 5, 8])
def test_bits_do_not_depend_on_the_step(bits: Bits, per_value: int) -> None:
    codes = np.arange(100) + 1
    tape = bits.tape(codes, DIGEST)
    whole = strip(tape, 100, per_value, step=100)
    assert all(strip(tape, 100, per_value, step=step) == whole for step in (1, 7, 99, 1000))
    if isinstance(bits, PermanentBits):  # there also a part that starts elsewhere
        assert next(tape.batches(40, 45, 5, per_value))[1][:, :per_value].tolist() == whole[40:45]


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "clinic/agf"},
        {"domain": Domain.integers(1, 9)},
        {"version": 4},
        {"version": 0},
        {"secret": bytes(32)},
    ],
    ids=str,
)
def test_permanent_bits_change_with_their_key(changes: dict[str, Any]) -> None:
    codes = [1 + code % 9 for code in EXTREMES]
    before, after = words(permanent(EXTREMES), codes), words(permanent(EXTREMES, **changes), codes)
    assert not {half for row in before for half in row} & {half for row in after for half in row}


def test_permanent_bits_never_serve_two_sets_of_bounds() -> None:
    near, far = Domain.numbers(0, 100, size=9), Domain.numbers(0, 110, size=9)
    halves = [
        {half for row in words(permanent(EXTREMES, domain=domain), [1] * 9) for half in row} for domain in (near, far)
    ]
    assert not halves[0] & halves[1]
    with pytest.raises(DataError, match=r"^column 'clinic/age' must have codes up to 9, as its domain; found 10$"):
        permanent([1], domain=near).tape(np.array([10]), DIGEST)
    with pytest.raises(SettingError, match="domain must be the column's Domain"):
        permanent([1], domain=9)


@pytest.mark.parametrize("keys", [[4, 9, 4], np.zeros(3, np.int64), ["a", "b", "a"], [b"", b""]], ids=str)
def test_repeated_row_keys_are_refused(keys: Any) -> None:
    with pytest.raises(DataError, match=r"^column 'row keys' must be distinct; found \d repeated$"):
        permanent(keys)


def test_permanent_bits_change_with_table_row_code_and_counter() -> None:
    digests, keys, codes = (b"", DIGEST, DIGEST + b"x"), (0, 1, 2), (1, 2, 300)
    seen: list[tuple[int, ...]] = []
    for digest, key, code in product(digests, keys, codes):
        tape = permanent([key]).tape(np.array([code]), digest)
        halves = strip(tape, 1, 12)[0] + list(islice(tape.more(0), 12))
        seen += [tuple(halves[i : i + 4]) for i in range(0, 24, 4)]
    assert len(set(seen)) == len(seen) == 3 * 3 * 3 * 6


def test_a_number_its_text_and_its_bytes_are_three_rows() -> None:
    alike: list[list[Any]] = [[5], ["5"], [b"5"], [(5).to_bytes(8, "little")]]
    assert len({tuple(words(permanent(keys), [1])[0]) for keys in alike}) == 4


KEY = (
    st.integers(-(2**63), 2**63 - 1)
    | st.text("\0\1a", max_size=40)
    | st.lists(st.integers(0, 1), max_size=40).map(bytes)
)
INPUT = st.tuples(KEY, st.integers(1, 2**31), st.integers(0, 2**16 - 1))


def encoded(key: Key, code: int, counter: int) -> bytes:
    """The message as the code under test lays it out, in blocks."""
    keys: Any = [key]
    row, last = randomness.RowKeys.of(keys), np.empty((1, 2), dtype=np.uint64)
    fill = randomness._fill_from_blocks if row.tails.shape[1] == 2 else randomness._fill_from_integers
    fill(row.tails, np.array([code]), counter, last)
    return bytes(row.whole[0, : int(row.counts[0])].astype("<u8").tobytes() + last.astype("<u8").tobytes())


@settings(max_examples=400, deadline=None)
@given(INPUT, INPUT)
def test_no_two_inputs_share_a_message_and_none_begins_another(one: Any, other: Any) -> None:
    first, second = encoded(*one), encoded(*other)
    assert len(first) % 16 == 0
    if (type(one[0]), *one) != (type(other[0]), *other):
        assert not first.startswith(second)
        assert not second.startswith(first)


@settings(max_examples=200, deadline=None)
@given(st.text("\0a", max_size=40), st.text("\0a", max_size=3), st.integers(1, 2), st.integers(1, 2))
def test_close_messages_differ_too(key: str, tail: str, code: int, other: int) -> None:
    first, second = encoded(key, code, 0), encoded(key + tail, other, 0)
    assert first.startswith(second) == second.startswith(first) == (not tail and code == other)


# Fresh and replayable


def test_replayable_repeats_advances_and_says_so() -> None:
    codes, one, two = [1] * 40, ReplayableBits(seed=7), ReplayableBits(seed=7)
    first, second = words(one, codes), words(one, codes)
    assert [words(two, codes), words(two, codes)] == [first, second]
    assert first != second
    assert words(ReplayableBits(seed=8), codes) != first
    assert one.simulated
    assert not FreshBits().simulated
    assert not permanent([1]).simulated


def test_fresh_bits_never_come_again() -> None:
    bits, seen = FreshBits(), set()
    for _ in range(20):
        seen |= {tuple(row) for row in words(bits, [1, 1])}
    assert len(seen) == 40


@pytest.mark.parametrize("bits", [FreshBits(), ReplayableBits(seed=1), permanent(np.arange(30))])
def test_more_never_repeats_what_the_batches_gave(bits: Bits) -> None:
    tape = bits.tape(np.ones(30, dtype=np.uint8), DIGEST)
    blocks = [tuple(row[i : i + 4]) for row in strip(tape, 30, 40) for i in range(0, 40, 4)]
    for position in range(30):
        blocks += grouped(tape.more(position), 20)
    assert len(set(blocks)) == len(blocks) == 30 * 30
    assert grouped(tape.more(3), 20) == grouped(tape.more(3), 20)


def grouped(halves: Iterator[int], blocks: int) -> list[tuple[int, ...]]:
    return [tuple(islice(halves, 4)) for _ in range(blocks)]


# Malformed


REFUSED: list[tuple[type[UsageError], str, Any]] = [
    (SettingError, "secret", {"secret": bytes(31)}),
    (SettingError, "secret", {"secret": bytes(33)}),
    (SettingError, "secret", {"secret": "x" * 32}),
    (SettingError, "secret", {"secret": bytearray(32)}),
    (SettingError, "version", {"version": -1}),
    (SettingError, "version", {"version": 2**32}),
    (SettingError, "version", {"version": True}),
    (SettingError, "source", {"source": 5}),
    (SettingError, "source", {"source": None}),
    (DataError, "row keys", {"row_keys": [1, "a"]}),
    (DataError, "row keys", {"row_keys": ["a", b"a"]}),
    (DataError, "row keys", {"row_keys": [1.0, 2.0]}),
    (DataError, "row keys", {"row_keys": [True, False]}),
    (DataError, "row keys", {"row_keys": [None, 1]}),
    (DataError, "row keys", {"row_keys": np.array([[1], [2]])}),
    (DataError, "row keys", {"row_keys": [2**63, 0]}),
    (DataError, "row keys", {"row_keys": [-(2**63) - 1, 0]}),
    (DataError, "row keys", {"row_keys": np.array([2**63, 0], dtype=np.uint64)}),
    (DataError, "row keys", {"row_keys": ["a" * 4096, "b"]}),
    (DataError, "row keys", {"row_keys": ["é" * 2048, "b"]}),
]


@pytest.mark.parametrize(("error", "name", "changes"), REFUSED, ids=lambda value: str(value)[:40])
def test_permanent_bits_refuse(error: type[UsageError], name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(error, match=name) as caught:
        permanent(**({"row_keys": [1, 2]} | changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_code_for_each_row_key(count: int) -> None:
    with pytest.raises(DataError, match=rf"'clinic/age' must have one code for each of the 2 .*; found {count} codes"):
        permanent([1, 2]).tape(np.ones(count, dtype=np.uint8), DIGEST)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "7", None])
def test_seeds_out_of_range_are_refused(seed: Any) -> None:
    with pytest.raises(SettingError, match=r"^seed must be a whole number from 0 to \d+; got .*$"):
        ReplayableBits(seed=seed)


def test_no_repr_shows_a_secret() -> None:
    bits = permanent(["private row key"])
    tape = bits.tape(np.array([1]), DIGEST)
    with pytest.raises(SettingError) as caught:
        LOOSE(secret=SECRET[:31], source="a", version=1, row_keys=[1], domain=None)
    shown = f"{bits!r} {bits!s} {tape!r} {ReplayableBits(seed=1).tape(np.array([1]), b'')!r} {caught.value}"
    assert not any(text in shown for text in (repr(SECRET)[2:20], SECRET.hex()[:16], "private row key"))
    assert repr(bits) == "PermanentBits(source='clinic/age', version=3, rows=1)"
