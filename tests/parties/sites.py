"""A bank and a shop, and perhaps a clinic, on this machine: each with keys, a table and a file, in its own processes.

Run as a program it is the command line, which kills itself at a point: a step that is saved, a message that is sent or
received, or a function that is called.
"""

import importlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from certified import party
from veilboost.release import Ledger, new_key
from veilboost.studies.example import bank_and_shop, write_example
from veilboost.wire import new_authority

ROWS = 400
PATIENCE = 240
_ROOM = 100
_JOB = """\
format = 1
name = "risk"
purpose = "default risk"
table = "bank.csv"
label = "default"
id = "id"
keys = "bank"
listen = "127.0.0.1:{port}"
wait = {wait}
{more}
[boosting]
trees = 6
threads = 1

[partners.shop]
{asked}
"""
_PARTNER = """\
format = 1
lead = "bank"
address = "localhost:{port}"
policy = "{who}.toml"
table = "{who}.csv"
id = "id"
keys = "{who}"
wait = {wait}
"""
_PREDICT = """\
format = 1
name = "risk: predictions"
purpose = "default risk"
id = "id"
keys = "bank"
listen = "127.0.0.1:{port}"
wait = {wait}
"""
_CLINIC = """\
format = 1
party = "clinic"
noise_key = "clinic.key"
ledger = "clinic.db"
[rows]
key = "id"
type = "integer"
carry = ["id"]
[[grants]]
who = "bank"
purposes = ["default risk"]
[columns.pulse]
domain = { kind = "integers", lower = 40, upper = 139, size = 20 }
mechanism = { name = "tight", epsilon = 1.0 }
cap = 1.0
[columns.insured]
domain = { kind = "booleans" }
mechanism = { name = "grr", epsilon = 1.0 }
cap = 1.0
"""
_COMMANDS = {
    "lead": ["lead", "job.toml"],
    "join": ["join", "partner.toml"],
    "clinic": ["join", "clinic.join.toml"],
    "predict": ["predict", "model", "new.csv", "out.csv", "--partners", "predict.toml"],
}


_INTERRUPTIBLE = """
import signal
from veilboost.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""The command as a person starts it: a suite that runs in the background hands down that interrupts are ignored."""


@dataclass(frozen=True)
class Sites:
    """Two parties in one folder, or three."""

    folder: Path

    @classmethod
    def settled(cls, folder: Path, *, clinic: bool = False) -> "Sites":
        """Give all of them their keys, tables, ledgers and policies."""
        write_example(folder, ROWS)
        by = new_authority(folder / "authority", "consortium")
        party(by, folder / "bank", "bank")
        party(by, folder / "shop", "shop")
        new_key(folder / "noise.key")
        Ledger.create(folder / "ledger.db").close()
        if clinic:
            party(by, folder / "clinic", "clinic")
            new_key(folder / "clinic.key")
            Ledger.create(folder / "clinic.db").close()
            (folder / "clinic.toml").write_text(_CLINIC)
            write_csv(table("clinic"), folder / "clinic.csv")
        return cls(folder)

    def copied(self, to: Path, **plans: Any) -> "Sites":
        """Return sites of the same keys and tables that have done nothing yet, with plans of their own."""
        shutil.copytree(self.folder, to, dirs_exist_ok=True)
        Sites(to).plan(**plans)
        return Sites(to)

    def plan(self, *, wait: float = 60.0, wait_partner: float = 60.0, more: str = "", asked: str = "") -> None:
        """Write what all of them plan to do."""
        port, clinic = free_port(), (self.folder / "clinic").is_dir()
        job = _JOB.format(port=port, wait=wait, more=more, asked=asked)
        (self.folder / "job.toml").write_text(job + "[partners.clinic]\n" * clinic)
        (self.folder / "partner.toml").write_text(_PARTNER.format(who="shop", port=port, wait=wait_partner))
        (self.folder / "predict.toml").write_text(_PREDICT.format(port=port, wait=wait))
        if clinic:
            joins = _PARTNER.format(who="clinic", port=port, wait=wait_partner)
            (self.folder / "clinic.join.toml").write_text(joins)

    def bring_samples(self) -> None:
        """Let all hold new samples: some were trained on, some are new, in another order."""
        order = np.random.default_rng(0).permutation(np.arange(ROWS - 60, ROWS + 40))
        write_csv(table("bank", ROWS + 40).drop_columns(["default"]).take(order), self.folder / "new.csv")
        for who in ("shop", "clinic"):
            write_csv(table(who, ROWS + 40).take(order), self.folder / f"{who}.csv")

    def start(self, side: str, *options: str, dies: str = "") -> "subprocess.Popen[str]":
        """Start the process of one side, which perhaps ``dies`` at a point."""
        given = [*_COMMANDS[side], *options]
        program = [sys.executable, __file__, dies] if dies else [sys.executable, "-c", _INTERRUPTIBLE]
        paths = os.pathsep.join([str(Path(__file__).parents[1])])
        return subprocess.Popen(
            [*program, *given],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def model(self) -> bytes:
        return (self.folder / "model" / "model.json").read_bytes()

    def charged(self, ledger_file: str = "ledger.db") -> list[int]:
        """Return how many new values each charge was for."""
        with Ledger(self.folder / ledger_file) as ledger:
            lines = [line.body for line in ledger.lines() if line.body["event"] == "charged"]
        return [sum(column["new_values"] for column in body["columns"]) for body in lines]

    def left_over(self) -> set[str]:
        """Return files of steps, and what was half written."""
        return {path.name for path in self.folder.glob("*.state")} | {path.name for path in self.folder.glob(".*")}


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Return how a process ended, and what it said; one that does not end in time is killed."""
    try:
        said, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        raise AssertionError(f"did not end within {PATIENCE} seconds: {said}") from None
    return process.returncode, said


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def table(name: str, rows: int = ROWS) -> Any:
    """Return the table of the bank, of the shop or of the clinic; whoever is in two of them has the same values."""
    made = bank_and_shop(ROWS)
    both = {who: getattr(made, who) for who in ("bank", "shop")}
    if rows > ROWS:
        more = bank_and_shop(rows - ROWS, seed=2)
        ids = pa.array(range(ROWS + 1, rows + 1))
        both = {who: pa.concat_tables([both[who], getattr(more, who).set_column(0, "id", ids)]) for who in both}
    ids, age = (both["bank"][each].to_numpy() for each in ("id", "age"))
    both["clinic"] = pa.table({"id": ids, "pulse": 60 + (ids * 37 + age) % 70, "insured": ids * 7 % 11 < 5})
    return both[name]


def write_csv(made: Any, file: Path) -> None:
    csv.write_csv(made, file)


def _dies(when: str, function: Callable[..., Any], chosen: Callable[..., bool]) -> Callable[..., Any]:
    def wrapped(*given: Any, **named: Any) -> Any:
        hit = chosen(*given, **named)
        if hit and when == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM, _ROOM))
            return function(*given, **named)
        if hit and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = function(*given, **named)
        if hit:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return wrapped


def _arm(point: str) -> None:
    """Prepare to die, as in ``before save aligned``, ``after send Ranks``, ``before call release.door:state``.

    ``full save aligned`` leaves no room on the disk instead.
    """
    from veilboost.vertical.steps import Steps
    from veilboost.wire.tls_channel import TlsChannel

    when, what, name = point.split(" ", 2)
    if what == "save":
        setattr(Steps, what, _dies(when, getattr(Steps, what), lambda _self, step, *_: step.endswith(name)))
    elif what in ("send", "receive"):
        setattr(
            TlsChannel, what, _dies(when, getattr(TlsChannel, what), lambda _self, said, *_, **__: _kind(said) == name)
        )
    else:
        module, _, path = name.partition(":")
        place: Any = importlib.import_module(f"veilboost.{module}")
        *owners, attribute = path.split(".")
        for each in owners:
            place = getattr(place, each)
        setattr(place, attribute, _dies(when, getattr(place, attribute), lambda *_, **__: True))


def _kind(said: Any) -> str:
    return str((said if isinstance(said, type) else type(said)).__name__)


if __name__ == "__main__":
    from veilboost.cli.main import main

    _arm(sys.argv.pop(1))
    sys.argv[0] = "veilboost"
    main()
