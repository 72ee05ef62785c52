"""What the commands print, and that they open at once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import veilboost
from veilboost.cli.main import main
from veilboost.mechanisms import VALUE_MECHANISMS

KEYS = [
    "mechanism",
    "size",
    "nominal_epsilon",
    "gaps",
    "epsilon_by_distance",
    "order_preserving_by_distance",
    "order_preserving_bound_by_distance",
    "expected_weighted_kendall",
    "mean_absolute_noise",
]
TABLES = {
    "global": ["--epsilon", "0.64", "--size", "10"],
    "adj": ["--epsilon", "0.64", "--size", "10", "--theta", "4", "--alpha", "0.4"],
    "local": ["--epsilon", "0.64", "--size", "10", "--theta", "4"],
    "tight": ["--epsilon", "0.64", "--size", "10"],
    "grr": ["--epsilon", "0.64", "--size", "10"],
}


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["veilboost", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


def printed_json(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int = 0
) -> Any:
    assert run([*arguments, "--json"], monkeypatch) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


@pytest.mark.parametrize(("name", "options"), TABLES.items())
def test_certify_prints_the_agreed_keys(
    name: str, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed_json(["certify", "--mechanism", name, *options], monkeypatch, capsys)
    assert list(found) == KEYS
    assert found["mechanism"] == name
    lists = [found[key] for key in KEYS if key.endswith(("gaps", "_by_distance")) and found[key] is not None]
    assert {len(values) for values in lists} == {9}
    assert (found["order_preserving_bound_by_distance"] is None) == (name == "tight")


@pytest.mark.parametrize(
    ("name", "kendall"), [("global", 0.558), ("tight", 0.826), ("adj", 0.411)], ids=["global", "tight", "adj"]
)
def test_certify_gives_the_reference_values(
    name: str, kendall: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed_json(["certify", "--mechanism", name, *TABLES[name]], monkeypatch, capsys)
    assert found["expected_weighted_kendall"] == pytest.approx(kendall, abs=6e-4)


def test_an_infinite_loss_is_a_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed_json(["certify", "-m", "tight", "--gaps", "0.1,inf,2"], monkeypatch, capsys)
    assert found["gaps"] == [0.1, "inf", 2.0]
    assert found["nominal_epsilon"] == "inf"
    assert found["epsilon_by_distance"] == ["inf", "inf", "inf"]


def test_certify_for_people_has_table_notes_and_picture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["certify", "-m", "adj", "-e", "0.1", "-s", "100", "--theta", "10"], monkeypatch) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "0.6601, 6.6 times the nominal ε" in printed
    assert "█" in printed
    assert run(["certify", "-m", "tight", "-e", "20", "-s", "10"], monkeypatch) == 0
    assert "saturates" in capsys.readouterr().out


def test_an_audit_says_whether_it_refuted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", "table", "-m", "tight", "-e", "1", "-s", "5", "--samples", "20000"]
    assert printed_json(arguments, monkeypatch, capsys)["refuted"] is False
    assert run(arguments, monkeypatch) == 0
    assert "Not refuted" in capsys.readouterr().out


@pytest.mark.parametrize("name", VALUE_MECHANISMS)
def test_mechanisms_for_one_value_can_be_attacked(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["audit", "table", "-m", name, "-e", "1", "-s", "5", "--samples", "20000"]
    found = printed_json(arguments, monkeypatch, capsys)
    assert (found["refuted"], found["agreement_p_value"]) == (False, None)


@pytest.mark.slow
def test_the_demo_trains_and_writes_a_report_and_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--out", str(tmp_path / "out")], monkeypatch) == 0
    assert "TightMap" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 6  # three pictures, each for a desk and for a phone
    assert "http-equiv" not in page
    assert "<script" not in page
    assert "src=" not in page
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "model"}
    assert {path.name for path in (tmp_path / "out" / "model").iterdir()} == {
        "SHA256SUMS",
        "model.json",
        "report.html",
        "statement.json",
    }


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "veilboost", *arguments], capture_output=True, text=True, check=False)


def test_version_and_help_as_a_program() -> None:
    assert command("--version").stdout == f"veilboost {veilboost.__version__}\n"
    helped = command("certify", "--help")
    assert helped.returncode == 0
    assert "--gaps" in helped.stdout
    assert command().returncode == 2


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['veilboost', '--help']\n"
        "from veilboost.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([n for n in ('numpy', 'numba', 'scipy', 'mpmath', 'sklearn') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_full_disk_is_one_line() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sys; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n"
            "sys.argv = ['veilboost', 'certify', '-m', 'grr', '-e', '1', '-s', '4']\n"
            "from veilboost.cli.main import main; main()",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert "No space left" in done.stderr


def test_reports_are_plain_values() -> None:
    from veilboost.mechanisms import TightMap, certify

    found = certify(TightMap(epsilon=1.0, size=3))
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
