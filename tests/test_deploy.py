"""What operators are given: a unit, a container and a page that agree with each other and with the program."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from veilboost.cli import main as command_line
from veilboost.errors import EvidenceError, GuaranteeError, LineError, PeerError, RefusalError, UsageError
from veilboost.release import load_policy
from veilboost.studies.example import write_example
from veilboost.vertical.plans import PartnerPlan, load_plan

ROOT = Path(__file__).parents[1]
UNIT = ROOT / "deploy" / "veilboost-join@.service"
CONTAINER = ROOT / "deploy" / "Containerfile"
PAGE = (ROOT / "docs" / "running-a-partner.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SYSTEMD = shutil.which("systemd-analyze")
NEEDS_SYSTEMD = pytest.mark.skipif(SYSTEMD is None, reason="needs systemd-analyze, which comes with systemd")


def settings(text: str) -> dict[str, list[str]]:
    """Return what a unit sets, by name; a name may come more than once."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


UNIT_SAYS = settings(UNIT.read_text(encoding="utf-8"))


def one(name: str) -> str:
    (value,) = UNIT_SAYS[name]
    return value


def variables(text: str) -> dict[str, str]:
    return dict(each.split("=", 1) for each in text.split())


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile, each on one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in whole.splitlines())]


CONTAINER_SAYS = instructions(CONTAINER.read_text(encoding="utf-8"))
IMAGE_SAYS = CONTAINER_SAYS[max(at for at, (word, _) in enumerate(CONTAINER_SAYS) if word == "FROM") :]


def image(word: str) -> str:
    (value,) = [rest for each, rest in IMAGE_SAYS if each == word]
    return value


def page_block(kind: str, containing: str) -> str:
    (found,) = [each for each in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) if containing in each]
    return str(found)


def test_the_unit_starts_what_the_container_installs_with_the_page_s_plan() -> None:
    program, command, plan = one("ExecStart").split()
    assert (command, plan) == ("join", "/etc/veilboost/%i/partner.toml")
    assert command in {each.name for each in command_line.app.registered_commands}
    assert image("COPY") == "--from=build /opt/veilboost /opt/veilboost"
    assert Path(program) == Path("/opt/veilboost/bin") / Path(image("ENTRYPOINT").strip('[]"'))
    assert Path(program).name in PROJECT["scripts"]
    assert plan.replace("%i", "risk") in PAGE


def test_exactly_the_codes_with_which_the_same_command_goes_on_start_it_again() -> None:
    said = {"Restart": "on-abnormal", "RestartForceExitStatus": "5", "SuccessExitStatus": "130", "KillSignal": "SIGINT"}
    assert {name: one(name) for name in said} == said
    ends = {
        type(error): command_line._ended(error)
        for error in (
            LineError("bank", "broke"), PeerError("bank", "lied"), UsageError(""), RefusalError(""), EvidenceError(),
            GuaranteeError(),
        )
    }  # fmt: skip
    assert {kind for kind, code in ends.items() if str(code) == one("RestartForceExitStatus")} == {LineError, PeerError}
    assert str(command_line._INTERRUPTED) == one("SuccessExitStatus")
    told = dict(
        re.findall(r"^\| (\w[\w ]*) \| .* \| (rests|starts again after a minute.*?) \| .* \|$", PAGE, re.MULTILINE)
    )
    again = {code for code, done in told.items() if done.startswith("starts again")}
    assert again == {"5", "a signal"}
    assert told.keys() == {"0", "5", "130", "a signal", *(str(each) for each in ends.values())}
    assert one("RestartSec") == "60"
    assert f"up to {one('StartLimitBurst')} times a day" in told["5"]


def test_a_job_writes_only_where_the_unit_and_the_container_let_it(tmp_path: Path) -> None:
    folders = {f"/var/lib/{one('StateDirectory')}", f"/var/cache/{one('CacheDirectory')}"}
    assert {one("StateDirectoryMode"), one("CacheDirectoryMode")} == {"0700"}
    assert one("ProtectSystem") == "strict"
    for said in (one("Environment"), image("ENV")):
        assert variables(said)["NUMBA_CACHE_DIR"] in folders
        assert variables(said)["PYTHONDONTWRITEBYTECODE"] == "1"
    assert set(re.findall(r'"(/[\w/]+)"', image("VOLUME"))) == {*folders, "/etc/veilboost", "/srv"}
    assert {one("WorkingDirectory"), image("WORKDIR")} <= folders
    write_example(tmp_path)
    line = re.search(r'`(ledger = "[^"]+")`', PAGE)
    assert line is not None
    policy = (tmp_path / "shop.toml").read_text().replace('ledger = "ledger.db"', line[1])
    (tmp_path / "policy.toml").write_text(policy)
    (tmp_path / "risk").mkdir()
    (tmp_path / "risk" / "partner.toml").write_text(page_block("toml", "lead ="))
    plan = load_plan(tmp_path / "risk" / "partner.toml", PartnerPlan)
    for written in (Path(plan.state), load_policy(plan.policy).ledger):
        assert str(written.parent) in folders
    for read in (plan.keys, plan.policy):
        assert Path(read).resolve().parent == tmp_path
    assert plan.table.startswith("/srv/")


def test_the_unit_is_nobody_s_root_and_lets_compiled_code_run() -> None:
    assert one("User") == one("Group") == "veilboost"
    assert one("CapabilityBoundingSet") == ""
    assert one("MemoryDenyWriteExecute") == "no"
    hardened = [name for name, values in UNIT_SAYS.items() if values == ["yes"]]
    assert {"NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictNamespaces"} <= set(hardened)
    assert set(one("RestrictAddressFamilies").split()) == {"AF_INET", "AF_INET6", "AF_UNIX"}
    assert UNIT_SAYS["SystemCallFilter"][0] == "@system-service"


@NEEDS_SYSTEMD
def test_systemd_takes_the_unit_and_finds_it_well_closed(tmp_path: Path) -> None:
    program = sys.executable  # verify wants a program that is there
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/opt/veilboost/bin/veilboost", program))
    for given in (["verify", "--man=no"], ["security", "--offline=true", "--threshold=20"]):
        done = subprocess.run(
            [str(SYSTEMD), *given, str(unit)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert UNIT.name not in done.stderr
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=stricter"))
    done = subprocess.run([str(SYSTEMD), "verify", str(unit)], capture_output=True, text=True, check=False, timeout=60)
    assert "stricter" in done.stderr  # it does look


def test_the_container_is_made_of_what_is_here() -> None:
    copied = [rest.split()[:-1] for word, rest in CONTAINER_SAYS if word == "COPY" and not rest.startswith("--from")]
    sources = [each for group in copied for each in group]
    assert all((ROOT / each).exists() for each in sources)
    taken = {each.removeprefix("!") for each in (ROOT / ".dockerignore").read_text().splitlines() if each[:1] == "!"}
    assert {each.partition("/")[0] for each in sources} == taken
    runs = " && ".join(rest for word, rest in CONTAINER_SAYS if word == "RUN")
    assert "--require-hashes -r requirements/build.txt -r requirements/core.txt" in runs
    assert "--no-deps --no-build-isolation ." in runs
    for name in ("build.txt", "core.txt"):
        assert "--hash=sha256:" in (ROOT / "requirements" / name).read_text()
    assert not re.search(r"(index-url|find-links|https?://)", CONTAINER.read_text(encoding="utf-8"))


def test_the_container_has_a_python_that_is_supported_and_never_runs_as_root() -> None:
    ((_, python),) = [each for each in CONTAINER_SAYS if each[0] == "ARG"]
    version = tuple(map(int, python.removeprefix("PYTHON=").split(".")))
    lowest, highest = (tuple(map(int, each.split("."))) for each in re.findall(r"[\d.]+", PROJECT["requires-python"]))
    assert lowest <= version < highest
    assert {rest.split()[0] for word, rest in CONTAINER_SAYS if word == "FROM"} == {"python:${PYTHON}-slim"}
    words = [word for word, _ in IMAGE_SAYS]
    assert words.index("USER") > max(at for at, word in enumerate(words) if word in ("RUN", "COPY"))
    user = image("USER")
    assert int(user) > 0
    assert f"--uid {user} " in " ".join(rest for word, rest in IMAGE_SAYS if word == "RUN")
    assert f"user {user} " in PAGE
    assert image("STOPSIGNAL") == one("KillSignal")


def test_every_command_of_the_page_is_one() -> None:
    known = {each.name for each in command_line.app.registered_commands}
    known |= {each.name for each in command_line.app.registered_groups}
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    said = re.findall(r"(?:^|; )veilboost (\w+)", blocks, re.MULTILINE)
    assert {"doctor", "join", "keys", "ledger", "init"} <= set(said) <= known


def test_compiled_code_is_kept_where_the_variable_says(tmp_path: Path) -> None:
    code = "import numpy as np; from veilboost.release.history import match; print(match(*np.ones((2, 1, 2), 'u8')))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert found.stdout == "[0]\n"
    assert list(tmp_path.rglob("*.nbi"))
