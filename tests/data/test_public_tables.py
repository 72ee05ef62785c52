"""Public tables from a folder of Parquet files: checked, and always of one form."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from public_data import FOLDER, needs_data
from veilboost.data.public import PUBLIC_SETS, public_table
from veilboost.errors import EvidenceError, FileError, SettingError

AT_HAND = sorted(name for name, each in PUBLIC_SETS.items() if each.digest)


@needs_data
@pytest.mark.parametrize("name", AT_HAND)
def test_a_table_at_hand_is_the_one_whose_digest_we_know(name: str) -> None:
    table, stored = public_table(name, folder=FOLDER), pq.read_table(FOLDER / f"{name}.parquet")
    assert table.schema.remove_metadata() == stored.schema.remove_metadata()
    for column in table.column_names:
        assert table[column].cast(pa.string()).equals(stored[column].cast(pa.string())), column


@needs_data
def test_one_changed_value_is_refused(tmp_path: Path) -> None:
    stored = pq.read_table(FOLDER / "powerplant.parquet")
    values = stored["PE"].to_pylist()
    values[7] += 0.01
    pq.write_table(stored.set_column(4, "PE", pa.array(values)), tmp_path / "powerplant.parquet")
    with pytest.raises(EvidenceError, match=r"powerplant\.parquet: the digest of the table must be"):
        public_table("powerplant", folder=tmp_path)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(SettingError, match="name must be one of adult, bank, casp"):
        public_table("iris")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="folder must be a folder"):
        public_table("adult", folder=tmp_path / "none")


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adult.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileError, match="is no Parquet file, or a damaged one"):
        public_table("adult", folder=tmp_path)
