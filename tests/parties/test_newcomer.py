"""The newcomer's path of the README, command by command, and the other examples that `veilboost init` writes."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sites import free_port

from party import run
from veilboost.vertical.folder import load
from veilboost.vertical.plans import LeadPlan, PartnerPlan, PredictPlan, load_plan

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("who", ["bank", "shop", "clinic"])
def test_every_example_is_a_plan(who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "job", who], monkeypatch) == 0
    assert run(["init", "partner", who], monkeypatch) == 0
    assert run(["init", "predict", who], monkeypatch) == 0
    assert load_plan(Path("predict.toml"), PredictPlan).purpose == load_plan(Path("job.toml"), LeadPlan).purpose
    assert load_plan(Path("job.toml"), LeadPlan).table == f"{who}.csv"
    assert load_plan(Path("partner.toml"), PartnerPlan).policy == f"{who}.toml"
    for kind in ("job", "partner", "predict"):
        assert run(["init", kind, who], monkeypatch) == 2
    assert run(["init", "job", "casino", "--out", "other.toml"], monkeypatch) == 2


def test_every_line_that_is_commented_out_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example offers in comments is read when it is taken in, each alone."""
    monkeypatch.chdir(tmp_path)
    assert run(["init", "job"], monkeypatch) == 0
    assert run(["init", "partner"], monkeypatch) == 0
    kinds: dict[str, Callable[[Path], object]] = {
        "job.toml": lambda file: load_plan(file, LeadPlan),
        "partner.toml": lambda file: load_plan(file, PartnerPlan),
    }
    for name, read in kinds.items():
        text = Path(name).read_text()
        offered = re.findall(r"^# (\w+ = .*)$", text, flags=re.MULTILINE)
        assert len(offered) >= 3
        for line in offered:
            plan = text.replace(f"# {line}", line.replace('"...", "..."', '"one", "two"'))
            Path("tried.toml").write_text(plan)
            read(Path("tried.toml"))


@pytest.mark.slow
def test_the_readme_leads_from_nothing_to_a_joint_model(tmp_path: Path) -> None:
    section = README.read_text(encoding="utf-8").partition("## Between two organisations\n")[2]
    lines = section.partition("```sh\n")[2].partition("```")[0].splitlines()
    commands = [part.strip() for line in lines for part in line.partition("#")[0].split("&&")]
    waiting, folder = [], tmp_path
    for command in commands:
        program, *given = command.split()
        if program == "cd":
            folder = folder / given[0]
            continue
        assert program == "veilboost"
        if given[0] == "lead":
            _elsewhere(folder)
            waiting.append(_started(given, folder))
            continue
        process = _started(given, folder)
        said, _ = process.communicate(timeout=240)
        assert process.returncode == 0, f"{command}: {said}"
    said, _ = waiting[0].communicate(timeout=240)
    assert waiting[0].returncode == 0, said
    saved = load(folder / "model")
    assert saved.statement.rows == 20_000
    assert {each.party for each in saved.statement.features} == {"bank", "shop"}


def _started(given: list[str], folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "veilboost", *given]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _elsewhere(folder: Path) -> None:
    """Take a port that is free here."""
    port = free_port()
    for name in ("job.toml", "partner.toml"):
        file = folder / name
        file.write_text(file.read_text().replace(":7340", f":{port}"))
