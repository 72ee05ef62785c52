"""`veilboost study`: what it prints and writes, and how it refuses."""

import json
import sys
from pathlib import Path

import pytest

from veilboost.cli.main import main
from veilboost.studies.study import names

FAST = "opboost-table5"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["veilboost", "study", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


def test_a_study_writes_its_page_its_picture_an_index_and_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, figures, pins = tmp_path / "out", tmp_path / "figures.json", tmp_path / "pins"
    assert run(monkeypatch, "run", FAST, "--out", str(out), "--json", str(figures), "--pin", str(pins)) == 0
    assert sorted(path.name for path in out.iterdir()) == ["index.html", f"{FAST}.html", f"{FAST}.svg"]
    assert f'href="{FAST}.html"' in (out / "index.html").read_text()
    found = json.loads(figures.read_text())
    assert found["format"] == 1
    (study,) = found["studies"]
    assert (study["study"], study["quick"]) == (FAST, False)
    cell = study["cells"][0]
    assert {"panel", "line", "at", "values", "mean", "error", "judged"} == set(cell)
    assert {"expected", "tolerance", "source", "verdict", "reason"} == set(cell["judged"][0])
    assert {"says", "holds", "found"} == set(study["claims"][0])
    assert {"panel", "at", "ours", "rival", "mean", "error", "worse"} == set(study["differences"][0])
    from veilboost.studies import study as room

    packaged = Path(room.__file__).parent / "expected" / f"{FAST}.csv"
    assert (pins / f"{FAST}.csv").read_text() == packaged.read_text(), "pinning what is pinned changes nothing"
    printed = capsys.readouterr()
    assert "Holds:" in printed.out
    assert printed.err == ""


def test_the_list_names_every_study(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "list", "--json") == 0
    assert [each["study"] for each in json.loads(capsys.readouterr().out)] == names()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "opboost-fig0"], "study must be one of all, "),
        (["run", FAST, "opboost-fig0"], "study must be one of all, "),
        (["run", FAST, "--out", "taken"], "must be a folder in which files can be written"),
        (["run", FAST, "--out", "taken/deeper"], "must be a folder in which files can be written"),
        (["run", FAST, "--json", "taken/figures.json"], "must be a folder in which files can be written"),
        (["run", FAST, "--pin", "taken"], "must be a folder in which files can be written"),
        (["run", FAST, "--json", "."], "must be a folder in which files can be written"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("mine")
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
