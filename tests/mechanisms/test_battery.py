"""What every mechanism in the catalogue must do; a new one is found here and meets every check."""

import inspect
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from battery import CHANGED, column, example, permanent, taken, width

from veilboost import mechanisms
from veilboost.errors import DataError
from veilboost.mechanisms import (
    CODE_MECHANISMS,
    MECHANISMS,
    TABLE_MECHANISMS,
    VECTOR_MECHANISMS,
    Mechanism,
    TableMechanism,
    from_settings,
)
from veilboost.privacy import Definition, Guarantee
from veilboost.randomness import Bits, FreshBits, ReplayableBits
from veilboost.settings import MechanismSettings

pytestmark = pytest.mark.parametrize("name", MECHANISMS)

UNBOUNDED = {"discrete-laplace", "discrete-gaussian"}
PROOFS = Path(inspect.getfile(mechanisms)).parent
NUMBERS: dict[str, Any] = {"epsilon": (1, 1.0, np.float64(1), np.float32(1)), "size": (10, np.int64(10), np.uint8(10))}


def test_the_proof_lies_beside_it(name: str) -> None:
    module = Path(inspect.getfile(MECHANISMS[name]))
    proof = (PROOFS / f"{module.stem}.proof.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ +(.+?)\s*$", proof, flags=re.MULTILINE)
    assert [h for h in headings if h in {"Precondition", "Pseudocode", "Postcondition", "Proof"}] == [
        "Precondition",
        "Pseudocode",
        "Postcondition",
        "Proof",
    ]
    assert len(proof.split("Proof")[-1].split()) > 40


def test_it_states_one_readable_guarantee(name: str) -> None:
    mechanism = example(name)
    assert isinstance(mechanism.definition, Definition)
    assert isinstance(mechanism.guarantee, Guarantee)
    stated = str(mechanism.definition)
    assert re.fullmatch(r"[A-Z][^\n]+\.", stated)
    assert 80 < len(stated) < 400
    assert str(mechanism.guarantee).startswith(stated)
    assert "**Guarantee**" in inspect.cleandoc(MECHANISMS[name].__doc__ or "")


def test_its_digest_is_its_identity(name: str) -> None:
    digests = [example(name).digest, *(example(name, **{key: CHANGED[key]}).digest for key in taken(name))]
    assert len(set(digests)) == len(digests) == len(taken(name)) + 1
    assert {len(digest) for digest in digests} == {32}
    assert example(name).digest == digests[0]


def test_equal_mechanisms_have_equal_digests_whatever_the_numbers_type(name: str) -> None:
    for key in NUMBERS.keys() & taken(name).keys():
        alike = [example(name, **{key: number}) for number in NUMBERS[key]]
        assert len(set(alike)) == len({mechanism.digest for mechanism in alike}) == 1
        draws = [mechanism.draw(column(name, [1, 9] * 50), bits=ReplayableBits(seed=1)).tolist() for mechanism in alike]
        assert all(drawn == draws[0] for drawn in draws)
        assert len({repr(mechanism) for mechanism in alike}) == 1


def test_it_is_a_frozen_value(name: str) -> None:
    mechanism, same, key = example(name), example(name), next(iter(taken(name)))
    other = example(name, **{key: CHANGED[key]})
    assert mechanism == same != other
    assert hash(mechanism) == hash(same)
    assert len({mechanism, same, other}) == 2
    with pytest.raises(FrozenInstanceError):
        setattr(mechanism, key, CHANGED[key])
    assert eval(repr(mechanism), vars(mechanisms)) == mechanism
    assert replace(mechanism) == mechanism
    assert pickle.loads(pickle.dumps(mechanism)).digest == mechanism.digest


def test_settings_make_it(name: str) -> None:
    assert from_settings(MechanismSettings(mechanism=name, **taken(name))) == example(name)


@pytest.mark.parametrize(
    "codes", [[3, 1, 4, 10], (1, 2), np.array([5, 6]), np.array([1], np.uint8), np.arange(1, 9)[::-2], range(1, 5)]
)
def test_it_draws_once_for_each(name: str, codes: Any) -> None:
    drawn = example(name).draw(column(name, codes))
    assert drawn.shape == (len(codes), *width(name))
    assert drawn.dtype.kind in "iu"
    if name in CODE_MECHANISMS.keys() - UNBOUNDED:
        assert drawn.dtype == np.uint8
        assert set(drawn.tolist()) <= set(range(1, 11))


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=np.int64)], ids=["list", "tuple", "array"])
def test_it_draws_nothing_from_nothing(name: str, empty: Any) -> None:
    for bits in (FreshBits(), permanent(0)):
        drawn = example(name).draw(column(name, empty), bits=bits)
        assert drawn.shape == (0, *width(name))
        assert drawn.dtype == example(name).draw(column(name, [1])).dtype


def test_it_leaves_the_input_as_it_was(name: str) -> None:
    for dtype in (np.uint8, np.int32, np.int64):
        codes = column(name, np.arange(1, 11, dtype=dtype))
        example(name).draw(codes)
        assert (codes == column(name, np.arange(1, 11))).all()


BAD_CODES: dict[str, Any] = {
    "two dimensions": np.ones((2, 2), dtype=np.int64),
    "a scalar": 3,
    "floats": [1.0, 2.0],
    "NaN": [1, float("nan")],
    "booleans": [True, False],
    "text": ["1", "2"],
    "nothing": None,
    "missing": [1, None],
    "ragged": [[1], [1, 2]],
    "beyond 64 bits": [1, 2**70],
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
}
BEYOND: dict[str, Any] = {
    "zero": [0, 1],
    "negative": [-1, 1],
    "size + 1": [1, 11],
    "wraps to 1": [257],
    "uint64": np.array([2**64 - 1], dtype=np.uint64),
}


@pytest.mark.parametrize("case", BAD_CODES)
def test_it_refuses_what_is_no_column_of_codes(name: str, case: str) -> None:
    rule = "rows of 3" if name in VECTOR_MECHANISMS else "a one-dimensional list of"
    with pytest.raises(DataError, match=rf"^column 'codes' must be {rule} whole numbers; found .+$"):
        example(name).draw(BAD_CODES[case])


@pytest.mark.parametrize("case", BEYOND)
def test_it_refuses_codes_beyond_its_domain(name: str, case: str) -> None:
    if name in UNBOUNDED:
        with pytest.raises(
            DataError, match=r"^column 'codes' must lie from -2147483647 to 2147483647; found \S+ to \d+$"
        ):
            example(name).draw([-(2**31), 1])
        return
    with pytest.raises(DataError, match=r"^column 'codes' must lie from 1 to 10; found \S+ to \d+$"):
        example(name).draw(column(name, BEYOND[case]))


def sources(count: int) -> list[Any]:
    return [lambda: permanent(count), lambda: ReplayableBits(seed=5), FreshBits]


def test_threads_change_nothing(name: str) -> None:
    mechanism = example(name)
    count = 30_000 if "laplace" in name else 100_009 if "vector" in name else 2**18 + 9  # more than one part
    codes = column(name, np.random.default_rng(1).integers(1, 11, count))
    for number, source in enumerate(sources(count)):
        bits: list[Bits] = [source(), source()]
        one, two = (mechanism.draw(codes, bits=b, threads=threads) for b, threads in zip(bits, (1, 2), strict=True))
        assert (one == two).all() == (number < 2)


def test_permanent_noise_stays_with_its_row(name: str) -> None:
    mechanism, codes = example(name), column(name, np.arange(200) % 10 + 1)
    drawn = mechanism.draw(codes, bits=permanent(200))
    again = mechanism.draw(codes[50:150], bits=permanent(100, first=50))
    assert (again == drawn[50:150]).all()
    other = example(name, epsilon=0.7001).draw(codes, bits=permanent(200))
    assert (other != drawn).mean() > 0.3  # another table, other bits


def test_replayable_noise_repeats_and_moves_on(name: str) -> None:
    mechanism, codes, bits = example(name), column(name, [5] * 200), ReplayableBits(seed=2)
    first, second = mechanism.draw(codes, bits=bits), mechanism.draw(codes, bits=bits)
    assert (first != second).any()
    assert (mechanism.draw(codes, bits=ReplayableBits(seed=2)) == first).all()


def test_the_catalogue_is_complete(name: str) -> None:
    kinds = {kind for kind in vars(mechanisms).values() if inspect.isclass(kind) and not inspect.isabstract(kind)}
    listed = {kind for kind in kinds if issubclass(kind, Mechanism)}
    assert listed == set(MECHANISMS.values())
    assert (name in TABLE_MECHANISMS) == issubclass(MECHANISMS[name], TableMechanism)
