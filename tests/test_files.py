"""A file is written whole or not at all."""

from pathlib import Path

import pytest

from veilboost.files import write_whole


def test_it_writes_into_a_new_folder_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_whole(path, "first")
    write_whole(path, "second ε")
    assert path.read_text(encoding="utf-8") == "second ε"
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    write_whole(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
