"""Permanent bits of whole rows: a second implementation byte by byte, stored answers, and what they depend on."""

import hashlib
import hmac
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_randomness import DIGEST, KEYS, SECRET, Key, aes, permanent, raw_key, strip, words
from veilboost.domain import Domain
from veilboost.errors import DataError, GuaranteeError
from veilboost.randomness import PermanentBits

VECTORS = json.loads((Path(__file__).parent / "vectors" / "permanent_rows.json").read_text(encoding="utf-8"))
SPARE = 1 << 15


def reference(key: Key, codes: list[int], counter: int) -> list[int]:
    context = b"veilboost permanent rows 1" + len(codes).to_bytes(4, "little") + (10).to_bytes(4, "little")
    context += b"clinic/age" + (3).to_bytes(4, "little") + len(DIGEST).to_bytes(4, "little") + DIGEST
    derived = hmac.new(SECRET, context, hashlib.sha256).digest()
    kind, raw = raw_key(key)
    message = (len(raw) | kind << 12).to_bytes(2, "little") + raw
    message += bytes(-(len(message) + 6) % 16 + 6)
    message += b"".join((code % 2**32).to_bytes(4, "little") for code in codes) + bytes(-4 * len(codes) % 16)
    message += bytes(14) + counter.to_bytes(2, "little")
    state = bytes(16)
    for at in range(0, len(message), 16):
        state = aes(derived, bytes(a ^ b for a, b in zip(state, message[at : at + 16], strict=True)))
    return [int.from_bytes(state[at : at + 4], "little") for at in range(0, 16, 4)]


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("kind", KEYS)
def test_against_the_second_implementation(kind: str, d: int) -> None:
    keys = KEYS[kind]
    codes = np.resize(np.array([1, 2, 255, 2**16, 2**31, 7], dtype=np.uint32), (len(keys), d))
    tape = permanent(keys).tape(codes, DIGEST)
    rows = list(zip(keys, codes.tolist(), strict=True))
    assert strip(tape, len(keys), 9) == [
        [half for counter in range(3) for half in reference(*row, counter)][:9] for row in rows
    ]
    for position in (0, len(keys) - 1):
        spare = reference(*rows[position], SPARE) + reference(*rows[position], SPARE + 1)
        assert list(islice(tape.more(position), 8)) == spare


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_known_answers(vector: dict[str, Any]) -> None:
    tape = permanent([vector["key"]]).tape(np.array([vector["codes"]]), DIGEST)
    assert strip(tape, 1, 4) == [vector["halves"]]
    assert list(islice(tape.more(0), 4)) == vector["more"]


def test_codes_below_zero_take_their_four_bytes() -> None:
    assert words(permanent([1]), np.array([[-5, 3]], dtype=np.int32)) == [reference(1, [-5, 3], 0)]


def test_they_follow_the_row_and_not_the_order() -> None:
    order = np.random.default_rng(1).permutation(50)
    codes, keys = np.arange(150).reshape(50, 3) % 9 + 1, np.array([f"row {i}" for i in range(50)])
    plain = np.array(words(permanent(keys), codes))
    assert (np.array(words(permanent(keys[order]), codes[order])) == plain[order]).all()


ROW = st.lists(st.integers(1, 3), min_size=1, max_size=9)


@settings(max_examples=200, deadline=None)
@given(ROW, ROW)
def test_every_code_and_the_length_of_the_row_count(one: list[int], other: list[int]) -> None:
    alike = words(permanent([1]), [one]) == words(permanent([1]), [other])
    assert alike == (one == other)


def test_a_row_of_one_is_no_single_code() -> None:
    assert words(permanent([1]), [[4]]) != words(permanent([1]), [4])


def test_every_code_must_lie_in_the_domain() -> None:
    with pytest.raises(DataError, match=r"^column 'clinic/age' must have codes up to 9, as its domain; found 10$"):
        permanent([1], domain=Domain.numbers(0, 1, size=9)).tape(np.array([[1, 10]]), DIGEST)
    with pytest.raises(DataError, match=r"must have one code for each of the 2 row keys; found 1 codes"):
        permanent([1, 2]).tape(np.array([[1, 10]]), DIGEST)


@pytest.mark.parametrize("codes", [np.array([1]), np.array([[1, 2]])], ids=["code", "row"])
def test_no_draw_reaches_the_spare_strip(codes: Any) -> None:
    bits: PermanentBits = permanent([1])
    assert next(bits.tape(codes, DIGEST).batches(0, 1, 1, 4 * SPARE))[1].shape == (1, 4 * SPARE)
    with pytest.raises(GuaranteeError, match="would reach its spare ones"):
        next(bits.tape(codes, DIGEST).batches(0, 1, 1, 4 * SPARE + 1))
