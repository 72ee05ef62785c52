"""A model folder: written whole or not at all, checked byte by byte, and of a format that is known."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import HELD, job, people, train, trained

from veilboost.errors import EvidenceError, FileError, SettingError
from veilboost.vertical import Trained, samples
from veilboost.vertical.folder import check_place, load, save
from veilboost.vertical.statement import ModelStatement, state

BACKENDS = ["xgboost", "lightgbm"]


@cache
def made(backend: str) -> tuple[Trained, ModelStatement]:
    found = trained(train(job(list(HELD), backend=backend)))
    return found, state(found, job(list(HELD), backend=backend), rows=300, classes=[0, 1])


@pytest.fixture(scope="module", params=BACKENDS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "model"
    save(folder, *made(request.param), "<html>a report</html>")
    return folder


def seal(folder: Path) -> None:
    """Write the digests anew, as someone would who alters a folder on purpose."""
    names = sorted(path.name for path in folder.iterdir() if path.name != "SHA256SUMS")
    sums = "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text(sums)


def test_a_folder_is_read_as_it_was_written(saved: Path) -> None:
    found = load(saved)
    trained, statement = made(found.model.backend)
    assert (found.model, found.statement) == (trained.model, statement)
    assert found.for_noise == trained.model
    name = {"xgboost": "model.json", "lightgbm": "model.txt"}[found.model.backend]
    assert {path.name for path in saved.iterdir()} == {name, "statement.json", "report.html", "SHA256SUMS"}
    assert [path.name for path in saved.parent.iterdir()] == ["model"]
    done = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=saved, capture_output=True, check=False)
    assert (done.returncode, done.stdout.count(b"OK")) == (0, 3)


def test_the_model_opens_in_its_library_and_predicts_the_same(saved: Path) -> None:
    found = load(saved)
    X = samples(found.statement.features, people())
    if found.model.backend == "xgboost":
        booster = xgboost.Booster(model_file=saved / "model.json")
        matrix = xgboost.DMatrix(X, feature_names=booster.feature_names)
        assert np.array_equal(booster.predict(matrix), found.model.predict(X))
        parts = np.asarray(booster.predict(matrix, pred_contribs=True))  # XGBoost's own SHAP
        assert np.allclose(parts.sum(axis=1), booster.predict(matrix, output_margin=True), atol=1e-5)
    else:
        predicted = np.asarray(lightgbm.Booster(model_file=saved / "model.txt").predict(X))
        assert np.array_equal(predicted, found.model.predict(X))
    for path in saved.glob("model.*"):
        assert "veilboost" not in path.read_text().lower()


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 10**9), flip=st.integers(1, 255), which=st.integers(0, 3))
def test_one_byte_altered_anywhere_is_refused(saved: Path, place: int, flip: int, which: int) -> None:
    file = sorted(saved.iterdir())[which]
    before = file.read_bytes()
    content = bytearray(before)
    content[place % len(content)] ^= flip
    file.write_bytes(content)
    with pytest.raises(EvidenceError) as refused:
        load(saved)
    file.write_bytes(before)
    assert str(file) in str(refused.value) or file.name == "SHA256SUMS"
    assert "\n" not in str(refused.value)


def test_every_byte_of_the_digests_counts(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save(folder, *made("xgboost"), "report")
    sums = (folder / "SHA256SUMS").read_bytes()
    for place in range(len(sums)):
        for put in {b"\r", b"0", sums[place : place + 1].upper(), b""} - {sums[place : place + 1]}:
            (folder / "SHA256SUMS").write_bytes(sums[:place] + put + sums[place + 1 :])
            with pytest.raises(EvidenceError):
                load(folder)


def edited(file: str, change: Callable[[Any], Any]) -> Callable[[Path], Any]:
    """Change a JSON file on purpose, and its digest with it."""

    def spoil(folder: Path) -> None:
        content = json.loads((folder / file).read_bytes())
        (folder / file).write_text(json.dumps(change(content)))
        seal(folder)

    return spoil


def without(*names: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return spoil


def sealed_without(name: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        seal(folder)

    return spoil


def sealed_with(name: str, content: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_text(content)
        seal(folder)

    return spoil


SPOILT: list[tuple[str, Callable[[Path], Any], type[Exception], str]] = [
    ("no folder", shutil.rmtree, FileError, "is no model folder: it has no SHA256SUMS"),
    ("no digests", without("SHA256SUMS"), FileError, "is no model folder: it has no SHA256SUMS"),
    ("no model", without("model.json"), EvidenceError, "model.json is missing"),
    ("no statement", without("statement.json"), EvidenceError, "statement.json is missing"),
    ("no report", without("report.html"), EvidenceError, "report.html is missing"),
    ("no model listed", sealed_without("model.json"), EvidenceError, "is not as it was written"),
    ("no report listed", sealed_without("report.html"), EvidenceError, "is not as it was written"),
    ("two models listed", sealed_with("model.txt", "tree"), EvidenceError, "is not as it was written"),
    ("one more listed", sealed_with("notes.txt", "mine"), EvidenceError, "is not as it was written"),
    ("newer", edited("statement.json", lambda s: s | {"format": 2}), FileError, "is of format 2; this version"),
    ("older", edited("statement.json", lambda s: s | {"format": 0}), FileError, "is of format 0; this version"),
    ("newer, with more", edited("statement.json", lambda s: s | {"format": 3, "x": 1}), FileError, "of format 3"),
    ("more in it", edited("statement.json", lambda s: s | {"x": 1}), FileError, "is no statement of a model: Object"),
    ("no format", edited("statement.json", lambda _: {}), FileError, "is no statement of a model: Object missing"),
    ("a list", edited("statement.json", lambda _: []), FileError, "is no statement of a model: Expected `object`"),
    ("deep", sealed_with("statement.json", '{"a":' * 10**5), FileError, "is no statement of a model"),
    ("no JSON", sealed_with("statement.json", "{"), FileError, "is no statement of a model: Input data was trunc"),
    ("fewer features", edited("statement.json", lambda s: s | {"features": s["features"][1:]}), EvidenceError,
        "is not about model.json, which has 11 features"),
    ("another model", sealed_with("model.json", "{}"), FileError, "model.json: "),
    ("no model at all", sealed_with("model.json", "tree"), FileError, "model.json: "),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "kind", "words"), [e[1:] for e in SPOILT], ids=[e[0] for e in SPOILT])
def test_a_spoilt_folder_is_refused_with_the_reason(spoil: Any, kind: Any, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save(folder, *made("xgboost"), "report")
    spoil(folder)
    with pytest.raises(kind) as refused:
        load(folder)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_nobody_lists_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save(folder, *made("xgboost"), "report")
    (folder / "model.txt").write_text("another")
    (folder / "notes.txt").write_text("mine")
    assert load(folder).model == made("xgboost")[0].model


def test_an_older_model_is_replaced_also_by_one_of_the_other_library(tmp_path: Path) -> None:
    for backend in (*BACKENDS, "xgboost"):
        save(tmp_path / "model", *made(backend), "report")
        assert load(tmp_path / "model").model.backend == backend
        assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_only_a_model_folder_is_ever_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("mine")
    save(tmp_path / "model", *made("xgboost"), "report")
    (tmp_path / "model" / "notes.txt").write_text("mine too")
    for name in ("mine", "model"):
        with pytest.raises(FileError, match="is there already and is no model folder alone"):
            save(tmp_path / name, *made("xgboost"), "report")
    with pytest.raises(SettingError, match="out must be a folder"):
        check_place(tmp_path / "file")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    assert (tmp_path / "model" / "notes.txt").exists()
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty", *made("xgboost"), "report")
    save(tmp_path / "new" / "deep" / "model", *made("xgboost"), "report")


class StopError(BaseException):
    """The program ends here."""


@pytest.mark.parametrize("step", range(11))
@pytest.mark.parametrize("before", [False, True])
def test_a_program_that_stops_leaves_the_old_model_or_none(
    before: bool, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop before each thing that is done to the disk, one after the other; after the last the new model is there."""
    folder, count = tmp_path / "model", iter(range(100))
    if before:
        save(folder, *made("lightgbm"), "report")

    def stopping(work: Any) -> Any:
        def stop(*given: Any, **more: Any) -> Any:
            if next(count) == step:
                raise StopError
            return work(*given, **more)

        return stop

    with monkeypatch.context() as patch:
        for owner, name in ((Path, "write_bytes"), (Path, "write_text"), (Path, "rename"), (Path, "replace")):
            patch.setattr(owner, name, stopping(getattr(owner, name)))
        patch.setattr("veilboost.files.settle", stopping(lambda _: None))
        try:
            save(folder, *made("xgboost"), "report")
        except StopError:
            expected = "lightgbm" if before else None
        else:
            expected = "xgboost"
    steps = 4 + 4 + before + 1  # four files, each settled, the old one away, the new one in
    assert (expected == "xgboost") == (step >= steps)
    assert (load(folder).model.backend if folder.exists() else None) == expected
    assert {path.name for path in tmp_path.iterdir()} <= {"model"}
