"""The example tables: whole, never over other files, and a policy that lets them out."""

from pathlib import Path

import pytest

from veilboost.data import open_source
from veilboost.errors import FileError
from veilboost.release import load_policy
from veilboost.studies.example import SHOP, write_example


def test_the_example_is_two_tables_and_a_policy_that_fits(tmp_path: Path) -> None:
    bank, shop, policy = write_example(tmp_path, rows=50)
    assert open_source(str(bank)).schema.names == ["id", "income", "age", "used", "default"]
    assert open_source(str(shop)).schema.names == ["id", *SHOP]
    domains = {name: column.domain for name, column in load_policy(policy).columns.items()}
    assert domains == SHOP


def test_files_that_are_there_already_stay(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("mine")
    with pytest.raises(FileError, match="there already"):
        write_example(tmp_path, rows=50)
    assert [path.name for path in tmp_path.iterdir()] == ["shop.csv"]
