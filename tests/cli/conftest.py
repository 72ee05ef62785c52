"""What the tests of commands share."""

from pathlib import Path

import pytest

from party import Party, people
from veilboost.release import Ledger


@pytest.fixture
def party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Party:
    """Return a party in the current folder, with one table in three formats, that waits for no lock."""
    party = Party.settled(tmp_path)
    for name in ("table.csv", "table.parquet", "table.arrow"):
        party.write(people(20), name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Ledger.__init__, "__kwdefaults__", {"patience": 0.1})
    (tmp_path / "sub").mkdir()
    return party
