"""What a step left is whole and its owner's alone, or is refused; two processes never work on one job."""

from pathlib import Path

import msgspec
import pytest

from veilboost.errors import EvidenceError, FileError
from veilboost.vertical.steps import Steps


class State(msgspec.Struct, frozen=True):
    run: str


def test_a_step_is_there_again_and_its_owners_alone(tmp_path: Path) -> None:
    with Steps(tmp_path / "job.state") as steps:
        assert steps.load("aligned", State) is None
        steps.save("aligned", State("one"))
        steps.save("aligned", State("two"))
    with Steps(tmp_path / "job.state") as steps:
        assert steps.load("aligned", State) == State("two")
        (file,) = steps.folder.iterdir()
        assert (file.stat().st_mode & 0o777, steps.folder.stat().st_mode & 0o777) == (0o600, 0o700)
        steps.forget("aligned")
        assert not steps.has("aligned")


@pytest.mark.parametrize("place", [0, 20, -1])
def test_a_byte_that_was_altered_is_noticed(place: int, tmp_path: Path) -> None:
    with Steps(tmp_path / "job.state") as steps:
        steps.save("aligned", State("one"))
        file = steps.folder / "aligned.step"
        content = bytearray(file.read_bytes())
        content[place] ^= 1
        file.write_bytes(content)
        with pytest.raises(EvidenceError, match="is not what was saved; remove"):
            steps.load("aligned", State)


def test_a_step_of_another_version_is_refused(tmp_path: Path) -> None:
    with Steps(tmp_path / "job.state") as steps:
        steps.save("aligned", {"other": 1})
        with pytest.raises(FileError, match="was saved by another version"):
            steps.load("aligned", State)


def test_one_process_works_on_a_job(tmp_path: Path) -> None:
    folder = tmp_path / "job.state"
    with Steps(folder), pytest.raises(FileError, match="is in use: another process works on this job"):
        Steps(folder)
    Steps(folder).__exit__(None, None, None)


def test_a_job_that_is_done_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / ".job.state.done").mkdir()
    with Steps(tmp_path / "job.state") as steps:
        steps.save("aligned", State("one"))
        steps.finish()
    assert not list(tmp_path.iterdir())
