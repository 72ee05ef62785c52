"""Columns that do not leave as one column of codes: values with an estimate, and one bit for each category."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from party import Party
from veilboost.errors import FileError
from veilboost.mechanisms import Duchi, Piecewise, UnaryEncoding
from veilboost.randomness import PermanentBits
from veilboost.release import load_key, load_policy

ROWS = 400
ROW_KEY = 'key = "id"\ntype = "integer"\ncarry = ["id"]'
TABLE = pa.table(
    {
        "id": np.arange(ROWS),
        "x": np.linspace(-50, 150, ROWS),
        "colour": np.resize(["red", "green", "blue"], ROWS),
    }
)


def bits(party: Party, column: str) -> PermanentBits:
    policy = load_policy(party.folder / "policy.toml")
    key = load_key(policy.noise_key)
    return PermanentBits(
        secret=key.secret,
        source=policy.columns[column].source,
        version=key.version,
        row_keys=np.arange(ROWS),
        domain=policy.columns[column].domain,
    )


@pytest.mark.parametrize(("name", "kind"), [("piecewise", Piecewise), ("duchi", Duchi)])
def test_an_estimate_leaves_in_raw_units(name: str, kind: Any, tmp_path: Path) -> None:
    spec = {"domain": 'kind = "numbers", lower = -50, upper = 150, size = 201', "name": name, "epsilon": 2, "cap": 2}
    party = Party.settled(tmp_path, rows=ROW_KEY, columns={"x": spec})
    party.release(TABLE)
    left = party.out().sort_by("id")["x"].to_numpy()
    mechanism = kind(epsilon=2.0, size=201)
    codes = load_policy(tmp_path / "policy.toml").columns["x"].domain.encode(TABLE["x"].to_numpy()).codes
    assert (left == 50 + 100 * mechanism.values(mechanism.draw(codes, bits=bits(party, "x")))).all()
    assert len(np.unique(left)) > 1


def test_unary_encoding_leaves_as_a_column_for_each_category(tmp_path: Path) -> None:
    colours = 'kind = "unordered", categories = ["red", "green", "blue"]'
    spec = {"domain": colours, "name": "unary", "epsilon": 2, "cap": 2}
    party = Party.settled(tmp_path, rows=ROW_KEY, columns={"colour": spec})
    party.release(TABLE)
    left = party.out().sort_by("id")
    assert left.column_names == ["id", "colour=red", "colour=green", "colour=blue"]
    codes = np.resize([1, 2, 3], ROWS)
    drawn = UnaryEncoding(epsilon=2.0, size=3).draw(codes, bits=bits(party, "colour"))
    assert (np.column_stack([left[name].to_numpy() for name in left.column_names[1:]]) == drawn).all()


def test_two_columns_may_not_leave_under_one_name(tmp_path: Path) -> None:
    colours = 'kind = "unordered", categories = ["red", "green", "blue"]'
    numbers = 'kind = "numbers", lower = 0, upper = 1, size = 5'
    columns = {
        "colour": {"domain": colours, "name": "unary", "epsilon": 2, "cap": 2},
        "colour=red": {"domain": numbers, "name": "tight", "epsilon": 1, "cap": 2},
    }
    party = Party.settled(tmp_path, rows=ROW_KEY, columns=columns)
    with pytest.raises(FileError, match="must leave under different names"):
        party.release(TABLE.append_column("colour=red", pa.array(np.zeros(ROWS))))


@pytest.mark.parametrize("name", ["piecewise", "duchi", "range-laplace"])
@pytest.mark.parametrize(
    "domain",
    ['kind = "booleans"', 'kind = "numbers", lower = 0, upper = 1, size = 9, missing = "code"'],
    ids=["booleans", "a code for missing values"],
)
def test_an_estimate_needs_a_column_of_numbers(name: str, domain: str, tmp_path: Path) -> None:
    columns = {"x": {"domain": domain, "name": name, "epsilon": 2, "cap": 2}}
    party = Party.settled(tmp_path, rows=ROW_KEY, columns=columns)
    with pytest.raises(FileError, match=r"columns\.x: mechanism\.name must be for a column of numbers"):
        party.release(TABLE)
