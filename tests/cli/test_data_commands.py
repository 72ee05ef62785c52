"""`veilboost data`: which public tables there are, and fetching them."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from veilboost.cli.main import main
from veilboost.data.public import PUBLIC_SETS

PAYS = b"Id,TotalPay,Notes\n1,567595.43,\n2,-618.13,\n3,0.0,\n"


@pytest.fixture(autouse=True)
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave one small table in the catalogue, with its file in place, and one whose file is not."""
    monkeypatch.setenv("VEILBOOST_CACHE", str(tmp_path))
    monkeypatch.delenv("VEILBOOST_DATA", raising=False)
    for name in set(PUBLIC_SETS) - {"salaries", "give-me-some-credit"}:
        monkeypatch.delitem(PUBLIC_SETS, name)
    monkeypatch.setitem(PUBLIC_SETS, "salaries", replace(PUBLIC_SETS["salaries"], rows=3, digest=None))
    (tmp_path / "salaries").mkdir()
    (tmp_path / "salaries" / "Salaries.csv").write_bytes(PAYS)
    return tmp_path / "salaries"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["veilboost", "data", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


def test_a_table_is_listed_fetched_and_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "list") == 0
    assert capsys.readouterr().out.count("not yet") == 2
    assert run(monkeypatch, "fetch", "salaries") == 0
    printed = capsys.readouterr().out
    assert f"salaries: 3 rows, 1 columns, in {tmp_path / 'salaries.parquet'}" in printed
    assert "Nobody has told us this digest." in printed
    assert run(monkeypatch, "list", "--json") == 0
    first, _ = json.loads(capsys.readouterr().out)
    assert (first["name"], first["rows"], first["here"]) == ("salaries", 3, str(tmp_path / "salaries.parquet"))
    assert first["page"] == "https://www.kaggle.com/datasets/kaggle/sf-salaries"


def test_a_digest_can_be_demanded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "fetch", "salaries", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["fetched"]
    assert (found["known"], list(found["files"])) == (False, ["Salaries.csv"])
    assert run(monkeypatch, "fetch", "salaries", "--digest", found["digest"]) == 0
    assert "Nobody" not in capsys.readouterr().out
    assert run(monkeypatch, "fetch", "salaries", "--digest", "0" * 64) == 1
    assert "ALTERED: " in capsys.readouterr().err


def test_all_goes_on_past_what_is_missing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "fetch", "all") == 2
    printed = capsys.readouterr()
    assert "salaries: 3 rows" in printed.out
    assert "give-me-some-credit is missing: " in printed.out
    assert printed.err == "veilboost: give-me-some-credit: could not be had\n"
    assert run(monkeypatch, "fetch", "all", "--json") == 2
    assert list(json.loads(capsys.readouterr().out)["missing"]) == ["give-me-some-credit"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["fetch", "iris"], "name must be one of give-me-some-credit, salaries; got 'iris'"),
        (["fetch", "all", "--digest", "0" * 64], "digest must be left out where all tables are fetched"),
        (["fetch", "salaries", "--digest", "0"], "digest must be 64 of the characters 0-9 and a-f; got '0'"),
        (["fetch", "give-me-some-credit"], "sign in at https://www.kaggle.com/competitions/GiveMeSomeCredit/data"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert problem in printed.err
    assert printed.err.count("\n") == 1
