"""The digest of a table, worked out again without our code; and what makes two tables one."""

import hashlib
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from veilboost.data.public.exact import TEXT, digest, exact
from veilboost.errors import DataError

TABLE = pa.table(
    {
        "whole": pa.array([1, None, -300], pa.int16()),
        "Größe": pa.array([0.1, -0.0, None], pa.float64()),
        "text": pa.array(["ä", None, ""], pa.string()).dictionary_encode(),
    }
)


def by_hand() -> str:
    """Return the digest of TABLE as its description says it: field by field, with nothing but struct."""
    parts = [struct.pack("<q", 5), b"whole", b"integers", bytes([1, 0, 1]), struct.pack("<3q", 1, 0, -300)]
    parts += [struct.pack("<q", 7), "Größe".encode(), b"floats", bytes([1, 1, 0]), struct.pack("<3d", 0.1, -0.0, 0)]
    parts += [struct.pack("<q", 4), b"text", b"texts", bytes([1, 0, 1]), struct.pack("<3q", 2, 0, 0), "ä".encode()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_the_digest_is_what_it_is_said_to_be() -> None:
    assert digest(TABLE) == by_hand()


def test_how_a_table_is_stored_makes_no_difference(tmp_path: Path) -> None:
    other = pa.table(
        {
            "whole": pa.chunked_array([[1], [None, -300]], pa.int64()),
            "Größe": pa.array([0.1, -0.0, None], pa.float64()),
            "text": pa.array(["ä", None, ""], pa.large_string()),
        }
    )
    assert digest(other) == digest(TABLE)
    assert digest(pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])) == digest(TABLE)


@pytest.mark.parametrize(
    "other",
    [
        TABLE.rename_columns(["Whole", "Größe", "text"]),
        TABLE.select(["Größe", "whole", "text"]),
        TABLE.slice(0, 2),
        TABLE.take([1, 0, 2]),
        TABLE.set_column(0, "whole", pa.array([1, 0, -300])),
        TABLE.set_column(0, "whole", pa.array([1.0, None, -300.0])),
        TABLE.set_column(1, "Größe", pa.array([0.1, 0.0, None])),
        TABLE.set_column(1, "Größe", pa.array([0.1 + 2e-17, -0.0, None])),
        TABLE.set_column(2, "text", pa.array(["ä", "", None])),
        TABLE.set_column(2, "text", pa.array(["", None, "ä"])),
        TABLE.append_column("more", pa.array([1, 2, 3])),
    ],
)
def test_any_other_table_has_another_digest(other: pa.Table) -> None:
    assert digest(other) != digest(TABLE)


def test_one_form_comes_out_whatever_went_in() -> None:
    kinds = {"b": TEXT, "a": pa.int8()}
    first = exact(pa.table({"a": ["2", "1", None], "b": ["y", None, "x"], "c": [1, 2, 3]}), kinds)
    second = exact(pa.table({"b": pa.array(["y", None, "x"]).dictionary_encode(), "a": [2, 1, None]}), kinds)
    assert first.equals(second)
    assert first.schema == pa.schema(kinds)
    assert first["b"].chunk(0).dictionary.to_pylist() == ["x", "y"]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pa.table({"b": [1]}), "column 'a' must be in the table once; found b"),
        (pa.table([[1], [2]], names=["a", "a"]), "column 'a' must be in the table once; found a, a"),
        (pa.table({"a": [128]}), "column 'a' must be int8"),
        (pa.table({"a": [1.5]}), "column 'a' must be int8"),
        (pa.table({"a": ["one"]}), "column 'a' must be int8"),
    ],
)
def test_what_does_not_fit_is_refused(table: pa.Table, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        exact(table, {"a": pa.int8()})


def test_too_many_texts_for_a_category_are_refused() -> None:
    with pytest.raises(DataError, match="must hold at most 128 different texts"):
        exact(pa.table({"a": [str(number) for number in range(200)]}), {"a": TEXT})
