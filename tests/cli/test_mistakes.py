"""Every mistake on the command line is one line that names what and why, ends with 2, and writes nothing."""

import sys
from pathlib import Path

import pytest

from veilboost.cli.main import main

CERTIFY = ["certify", "--mechanism"]
AUDIT = ["audit", "table", "--mechanism", "tight", "--epsilon", "1", "--size", "10"]

MISTAKES = [
    ("nonsense", ["nonsense"], "nonsense"),
    ("unknown option", ["certify", "--epsilonn", "1"], "--epsilonn"),
    ("no mechanism", ["certify", "--epsilon", "1", "--size", "10"], "--mechanism"),
    ("unknown mechanism", [*CERTIFY, "laplacian", "--epsilon", "1", "--size", "10"], "with a table: global"),
    ("a mechanism without a table", [*CERTIFY, "clamped-laplace", "--epsilon", "1", "--size", "10"], "with a table"),
    ("no epsilon", [*CERTIFY, "global", "--size", "10"], "epsilon must be given"),
    ("no size", [*CERTIFY, "global", "--epsilon", "1"], "size must be given"),
    ("epsilon zero", [*CERTIFY, "global", "--epsilon", "0", "--size", "10"], "epsilon must be a finite number above 0"),
    ("epsilon negative", [*CERTIFY, "grr", "--epsilon", "-1", "--size", "10"], "epsilon must be a finite number"),
    ("epsilon NaN", [*CERTIFY, "tight", "--epsilon", "nan", "--size", "10"], "epsilon must be a finite number"),
    ("epsilon infinite", [*CERTIFY, "tight", "--epsilon", "inf", "--size", "10"], "epsilon must be a finite number"),
    ("epsilon is text", [*CERTIFY, "tight", "--epsilon", "much", "--size", "10"], "--epsilon"),
    ("epsilon too small", [*CERTIFY, "tight", "--epsilon", "1e-14", "--size", "10"], "smallest loss"),
    ("size one", [*CERTIFY, "tight", "--epsilon", "1", "--size", "1"], "size must be a whole number from 2"),
    ("size negative", [*CERTIFY, "tight", "--epsilon", "1", "--size", "-4"], "size must be a whole number from 2"),
    ("size fractional", [*CERTIFY, "tight", "--epsilon", "1", "--size", "2.5"], "--size"),
    ("size too large", [*CERTIFY, "global", "--epsilon", "1", "--size", "5000"], "BoundedLaplace goes up to"),
    ("size absurd", [*CERTIFY, "global", "--epsilon", "1", "--size", str(2**40)], "size must be a whole number"),
    ("theta missing", [*CERTIFY, "adj", "--epsilon", "1", "--size", "10"], "theta must be given"),
    ("theta zero", [*CERTIFY, "adj", "--epsilon", "1", "--size", "10", "--theta", "0"], "theta must be a whole number"),
    ("theta beyond size", [*CERTIFY, "local", "--epsilon", "1", "--size", "10", "--theta", "11"], "theta must be a"),
    ("theta for global", [*CERTIFY, "global", "--epsilon", "1", "--size", "10", "--theta", "2"], "theta is no setting"),
    ("alpha zero", [*CERTIFY, "adj", "-e", "1", "-s", "10", "--theta", "2", "--alpha", "0"], "alpha must be a finite"),
    ("alpha huge", [*CERTIFY, "adj", "-e", "1", "-s", "10", "--theta", "2", "--alpha", "1e300"], "must be"),
    ("alpha for tight", [*CERTIFY, "tight", "-e", "1", "-s", "10", "--alpha", "1"], "alpha is no setting"),
    ("gaps for global", [*CERTIFY, "global", "--gaps", "0.1,0.2"], "gaps is no setting"),
    ("gaps and epsilon", [*CERTIFY, "tight", "--gaps", "0.1,0.2", "--epsilon", "1", "-s", "3"], "and not both"),
    ("neither gaps nor epsilon", [*CERTIFY, "tight", "--size", "10"], "or gaps must be given"),
    ("gaps of text", [*CERTIFY, "tight", "--gaps", "0.1,x"], "gaps must be numbers with commas"),
    ("gaps with a hole", [*CERTIFY, "tight", "--gaps", "0.1,,2"], "gaps must be numbers with commas"),
    ("gaps empty", [*CERTIFY, "tight", "--gaps", ""], "gaps must be numbers with commas"),
    ("gap zero", [*CERTIFY, "tight", "--gaps", "0.1,0,2"], "gaps[1] must be a number above 0"),
    ("gap NaN", [*CERTIFY, "tight", "--gaps", "0.1,nan"], "gaps[1] must be a number above 0"),
    ("gaps against size", [*CERTIFY, "tight", "--gaps", "0.1,0.2", "--size", "9"], "one more than the 2 gaps"),
    ("an argument too many", [*CERTIFY, "tight", "-e", "1", "-s", "10", "extra"], "extra"),
    ("audit of nothing", ["audit", "table"], "--mechanism"),
    ("unknown audit", ["audit", "tables"], "tables"),
    ("too few samples", [*AUDIT, "--samples", "10"], "samples must be a whole number"),
    ("level zero", [*AUDIT, "--level", "0"], "level must be a number between"),
    ("level one", [*AUDIT, "--level", "1"], "level must be a number between"),
    ("unknown benchmark", ["bench", "samplings"], "samplings"),
    ("too few repeats", ["bench", "sampling", "--repeats", "2"], "repeats must be a whole number from 5"),
    ("too few values", ["bench", "sampling", "--values", "10"], "values must be a whole number from 100000"),
    ("an option that the demo has no more", ["demo", "--epsilon", "2"], "No such option: --epsilon"),
    ("demo into a file", ["demo", "--out", "taken"], "out must be a folder"),
    ("an audit of bits", ["audit", "table", "-m", "unary", "-e", "1", "-s", "9"], "must draw one number for each code"),
    ("an audit of rows", ["audit", "table", "-m", "duchi-vector", "-e", "1", "-s", "9"], "d must be given"),
    ("an audit of a failure", ["audit", "table", "-m", "discrete-gaussian", "-e", "1"], "delta must be given"),
    ("a theta for values", ["audit", "table", "-m", "duchi", "-e", "1", "-s", "9", "--theta", "2"], "theta is no sett"),
    ("an unknown mechanism to audit", ["audit", "table", "-m", "x", "-e", "1", "-s", "9"], "must be one of global"),
]


def test_there_are_forty_distinct_mistakes() -> None:
    assert len({tuple(arguments) for _, arguments, _ in MISTAKES}) == len(MISTAKES) >= 40


@pytest.mark.parametrize(("arguments", "words"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_one_line_and_writes_nothing(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "taken").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["veilboost", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert printed.out == ""
    assert printed.err.startswith("veilboost: ")
    assert printed.err.count("\n") == 1
    assert words in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"
