"""`veilboost doctor`: every check is seen to find what is wrong, and looking writes, draws and charges nothing."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sites import Sites, table, write_csv

from certified import days_away, forced, party, sign
from party import run
from veilboost.release import Ledger
from veilboost.vertical import doctor, machine
from veilboost.vertical.doctor import examined
from veilboost.vertical.meeting import MESSAGES, Standing
from veilboost.vertical.plans import LeadPlan, load_plan
from veilboost.vertical.steps import Steps
from veilboost.wire import Listener, deny, dial, install, load_authority, load_party, new_authority, parse_address
from veilboost.wire.listener import bound

Spoil = Callable[[Path], Any]
Case = tuple[str, Spoil, str, str, str]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites.settled(tmp_path_factory.mktemp("settled"))


@pytest.fixture
def here(settled: Sites, tmp_path: Path) -> Path:
    return settled.copied(tmp_path / "here").folder


def listen_at(folder: Path) -> tuple[str, int]:
    return parse_address(load_plan(folder / "job.toml", LeadPlan).listen)


@contextmanager
def led(folder: Path, messages: Any = MESSAGES, parties: tuple[str, ...] = ("shop",)) -> Iterator[list[str]]:
    """Listen as the lead would, and return what is said of those who are turned away."""
    turned: list[str] = []
    with Listener(load_party(folder / "bank"), listen_at(folder), parties, messages, refused=turned.append):
        yield turned


def found(file: Path) -> dict[str, tuple[str, str]]:
    """Return what is found, by check; of several lines of one check the worst."""
    lines = sorted(examined(file).lines, key=lambda each: ("ok", "warning", "problem").index(each.state))
    assert all("\n" not in each.says for each in lines)
    return {each.check: (each.state, each.says) for each in lines}


def everything(folder: Path) -> dict[str, Any]:
    """Return every file and folder: content, mode, and when it was written."""
    return {
        str(each): (each.stat().st_mode, each.stat().st_mtime_ns, each.read_bytes() if each.is_file() else b"")
        for each in folder.rglob("*")
    }


def test_where_all_is_well_nothing_is_wrong_and_nothing_is_touched(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(here)
    assert {state for state, _ in found(here / "job.toml").values()} == {"ok"}
    with led(here) as turned:
        assert run(["doctor", str(here / "partner.toml")], monkeypatch) == 0
        lines = capsys.readouterr().out.splitlines()
        assert run(["doctor", str(here / "partner.toml"), "--json"], monkeypatch) == 0
    said = json.loads(capsys.readouterr().out)
    assert {each["state"] for each in said} == {"ok"}
    assert [line.split(":")[0] for line in lines] == [
        *(f"{'ok':8} {each['check']}" for each in said),
        "",
        "All is well.",
    ]
    assert turned == ["127.0.0.1 'shop' stopped for now: it only looked whether it would be let in"] * 2
    assert everything(here) == before


def test_what_is_wrong_is_the_exit_code(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "bank.csv").unlink()
    assert run(["doctor", str(here / "job.toml")], monkeypatch) == 2
    assert capsys.readouterr().out.splitlines()[-1] == "1 problem."
    assert run(["doctor", str(here / "shop.toml")], monkeypatch) == 2
    assert "shop.toml: Object contains unknown field" in capsys.readouterr().err


def test_a_line_that_stands_is_not_touched(here: Path) -> None:
    address = listen_at(here)
    with (
        Listener(load_party(here / "bank"), address, ["shop"], MESSAGES, refused=lambda _: None) as listener,
        dial(load_party(here / "shop"), "bank", ("localhost", address[1]), MESSAGES) as line,
    ):
        theirs = listener.channel("shop", 20)
        assert found(here / "partner.toml")["lead"][0] == "ok"
        line.send(Standing(step="nothing"))
        assert theirs.receive(Standing, 20).step == "nothing"


def made(folder: Path, mode: int = 0o700) -> Path:
    folder.mkdir()
    folder.chmod(mode)
    return folder


def later(file: Path) -> None:
    file.touch()
    os.utime(file, (time.time() + 86400,) * 2)


def renewed(folder: Path, name: str, **more: Any) -> None:
    party(load_authority(folder / "authority"), folder / name, name, **more)


def expired(folder: Path, name: str) -> None:
    forced(load_authority(folder / "authority"), folder / name, name, start=-60)


def ends_soon(folder: Path) -> None:
    with days_away(-20):
        file = sign(load_authority(folder / "authority"), folder / "shop", "shop", days=40)
    install(folder / "shop", file)


def foreign(folder: Path) -> None:
    """Trust somebody else than who signed."""
    other = new_authority(folder / "others", "others")
    (folder / "shop" / "trusted.pem").write_bytes((other.folder / "authority.pem").read_bytes())


def of_another_key(folder: Path) -> None:
    party(load_authority(folder / "authority"), folder / "else", "else")
    shutil.copy(folder / "else" / "certificate.pem", folder / "shop" / "certificate.pem")


def altered_line(folder: Path) -> None:
    with Ledger(folder / "ledger.db") as ledger, ledger.held():
        ledger.append({"event": "left", "job": "risk"})
    base = sqlite3.connect(folder / "ledger.db")
    base.execute("UPDATE lines SET body = replace(body, 'risk', 'rest')")
    base.commit()
    base.close()


def edited(name: str, old: str, new: str) -> Spoil:
    def spoil(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return spoil


def shop_csv(change: Callable[[Any], Any]) -> Spoil:
    return lambda folder: write_csv(change(table("shop")), folder / "shop.csv")


SHOP: list[Case] = [
    ("no key", lambda f: (f / "shop/party.key").unlink(), "keys", "problem", "make one with: veilboost keys party"),
    ("open key", lambda f: (f / "shop/party.key").chmod(0o640), "keys", "problem", "readable by its owner alone"),
    ("open folder", lambda f: (f / "shop").chmod(0o777), "keys", "problem", "others can write into this folder"),
    ("no certificate", lambda f: (f / "shop/certificate.pem").unlink(), "keys", "problem", "is not there yet"),
    ("another key's", of_another_key, "keys", "problem", "is not the certificate of the key in"),
    ("foreign", foreign, "keys", "problem", "was signed by none of the authorities 'others'"),
    ("expired", lambda f: expired(f, "shop"), "keys", "problem", "has expired: it is valid from"),
    ("expired, or is it the clock", lambda f: expired(f, "shop"), "clock", "problem", "see whether the clock is right"),
    ("ends soon", ends_soon, "keys", "warning", "write the request anew (veilboost keys party shop)"),
    ("denied", lambda f: deny(f / "shop", str(f / "shop/certificate.pem")), "keys", "problem", "own deny list"),
    ("no keys to dial with", lambda f: (f / "shop/party.key").unlink(), "lead", "warning", "because of the keys"),
    ("no policy", lambda f: (f / "shop.toml").unlink(), "policy", "problem", "shop.toml: No such file"),
    ("bad policy", edited("shop.toml", "cap = 0.8", "cap = 0.1"), "policy", "problem", "cap must be at least"),
    ("another's", edited("shop.toml", 'party = "shop"', 'party = "town"'), "policy", "problem", "must be 'shop' in"),
    ("no grant", edited("shop.toml", 'who = "bank"', 'who = "town"'), "policy", "problem", "grants nothing to 'bank'"),
    ("no noise key", lambda f: (f / "noise.key").unlink(), "noise key", "problem", "veilboost keys noise new"),
    ("open noise key", lambda f: (f / "noise.key").chmod(0o644), "noise key", "problem", "owner alone (mode 0600)"),
    ("no ledger", lambda f: (f / "ledger.db").unlink(), "ledger", "problem", "with: veilboost ledger new"),
    ("altered ledger", altered_line, "ledger", "problem", "line 1 was altered, added or removed"),
    ("no history", lambda f: (f / "ledger.db.rows").rmdir(), "ledger", "problem", "the history of the ledger must lie"),
    ("open ledger", lambda f: (f / "ledger.db").chmod(0o644), "ledger", "warning", "chmod go-rwx it"),
    ("clock", lambda f: later(f / "ledger.db"), "clock", "problem", "ledger.db was written at"),
    ("no table", lambda f: (f / "shop.csv").unlink(), "table", "problem", "shop.csv: there is no such file"),
    ("no id", shop_csv(lambda t: t.drop_columns(["id"])), "table", "problem", "column 'id' must be in the table"),
    ("no column", shop_csv(lambda t: t.drop_columns(["town"])), "table", "problem", "column 'town' must be in the tab"),
    ("ids twice", shop_csv(lambda t: t.take([0, 0, 1])), "table", "problem", "must name each row once"),
    ("dead lead", lambda f: None, "lead", "problem", "nobody listens there; is the lead running"),
    ("open state", lambda f: made(f / "partner.state", 0o777), "disk (state)", "problem", "others can write into this"),
    ("no folder", lambda f: (f / "partner.state").touch(), "disk (state)", "problem", "must be a folder in which the"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "check", "state", "words"), [e[1:] for e in SHOP], ids=[e[0] for e in SHOP])
def test_what_is_wrong_with_a_partner_is_found(spoil: Spoil, check: str, state: str, words: str, here: Path) -> None:
    spoil(here)
    said = found(here / "partner.toml")
    assert said[check][0] == state, said
    assert words in said[check][1]


def test_fresh_noise_needs_no_key(here: Path) -> None:
    edited("shop.toml", 'key = "id"\ntype = "integer"', 'noise = "fresh"')(here)
    (here / "noise.key").unlink()
    assert found(here / "partner.toml")["noise key"][0] == "ok"


BANK: list[Case] = [
    ("expired", lambda f: expired(f, "bank"), "keys", "problem", "has expired: it is valid from"),
    ("no address", lambda f: renewed(f, "bank", at=()), "keys", "problem", "names no address under which partners"),
    ("no label", edited("job.toml", '"default"', '"ruined"'), "table", "problem", "'ruined' must be in the table"),
    ("no id", edited("job.toml", 'id = "id"', 'id = "key"'), "table", "problem", "column 'key' must be in the table"),
    ("itself", edited("job.toml", "partners.shop", "partners.bank"), "table", "problem", "of different names"),
    ("model", lambda f: later(made(f / "model") / "mine"), "model", "problem", "is no model folder alone"),
    ("clock", lambda f: later(made(f / "job.state") / "run.step"), "clock", "problem", "run.step was written at"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "check", "state", "words"), [e[1:] for e in BANK], ids=[e[0] for e in BANK])
def test_what_is_wrong_with_a_lead_is_found(spoil: Spoil, check: str, state: str, words: str, here: Path) -> None:
    spoil(here)
    said = found(here / "job.toml")
    assert said[check][0] == state, said
    assert words in said[check][1]


def test_a_port_that_is_taken_is_found_unless_it_is_this_job_s(here: Path) -> None:
    with bound(listen_at(here)):
        state, says = found(here / "job.toml")["port"]
        assert (state, "must be a free address of this machine" in says) == ("problem", True)
        with Steps(here / "job.state"):
            state, says = found(here / "job.toml")["port"]
        assert (state, "another process works on this job" in says) == ("ok", True)


def test_a_file_for_predictions_is_looked_at_without_a_table(here: Path) -> None:
    """The samples are named when they come: what can be seen before is keys, clock, versions and port."""
    plan = (here / "job.toml").read_text().partition("[boosting]")[0]
    kept = [line for line in plan.splitlines() if line.partition(" = ")[0] not in ("table", "label")]
    (here / "predict.toml").write_text("\n".join(kept))
    said = found(here / "predict.toml")
    assert {state for state, _ in said.values()} == {"ok"}
    assert list(said) == ["keys", "clock", "versions", "port"]
    with bound(listen_at(here)):
        assert found(here / "predict.toml")["port"][0] == "problem"


def test_a_lead_that_would_not_let_this_party_in_says_why(here: Path) -> None:
    with led(here, parties=("town",)):
        assert found(here / "partner.toml")["lead"] == ("problem", "bank: you came where only 'town' may come")
    deny(here / "bank", str(here / "shop" / "certificate.pem"))
    with led(here):
        assert "is on this party's deny list" in found(here / "partner.toml")["lead"][1]


def test_a_lead_of_another_version_name_or_address_is_found(here: Path) -> None:
    with led(here, messages=MESSAGES[1:]):
        assert "install the same version on both" in found(here / "partner.toml")["lead"][1]
    plan = (here / "partner.toml").read_text()
    for old, new, words in (
        ('lead = "bank"', 'lead = "casino"', "came where only 'casino' may come"),
        ("wait =", 'known_as = "casino.example"\nwait =', "and not for casino.example"),
    ):
        (here / "partner.toml").write_text(plan.replace(old, new))
        with led(here):
            state, says = found(here / "partner.toml")["lead"]
        assert (state, words in says) == ("problem", True), says


@pytest.mark.parametrize(
    ("whose", "words"),
    [
        ("bank", "showed a certificate of 'bank' that has expired"),
        ("shop", "this party's certificate for expired"),
    ],
)
def test_a_handshake_that_fails_over_dates_speaks_of_the_clock(
    whose: str, words: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock here the lead's certificate has expired, or by the clock there this party's."""
    expired(here, whose)
    monkeypatch.setattr("veilboost.wire.party_keys.untimely", lambda _: None)
    monkeypatch.setattr(machine, "untimely", lambda _: None)
    with led(here):
        said = found(here / "partner.toml")
    assert said["lead"][0] == "problem"
    assert words in said["lead"][1]
    assert said["clock"] == ("problem", f"{said['lead'][1]}; see whether the clock is right")


def test_a_disk_that_is_full_or_read_only_is_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, state in ((63, "problem"), (100, "warning"), (200, "ok")):
        with monkeypatch.context() as disk:
            left = SimpleNamespace(free=free << 20)
            disk.setattr("shutil.disk_usage", lambda _, left=left: left)
            for file, places in (("job.toml", ("state", "model")), ("partner.toml", ("state", "ledger and spool"))):
                said = found(here / file)
                assert {said[f"disk ({place})"][0] for place in places} == {state}
    with monkeypatch.context() as rows:
        rows.setattr(doctor, "_SENT", 1 << 20)
        assert f"up to about {400 * 5:,} MB needed" in found(here / "partner.toml")["disk (state)"][1]
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "in which the user who runs this can write" in found(here / "job.toml")["disk (state)"][1]


def test_a_library_that_does_not_load_is_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lead needs the one that it trains with; without the other it is warned."""
    problem = "libgomp.so.1: cannot open shared object file"

    def failing(name: str) -> Callable[[str], Any]:
        def load(wanted: str) -> Any:
            if wanted == name:
                raise OSError(problem)
            return import_module(wanted)

        return load

    for file, name, state in (
        ("job.toml", "xgboost", "problem"),
        ("job.toml", "lightgbm", "warning"),
        ("partner.toml", "xgboost", "warning"),
        ("partner.toml", "pyarrow", "problem"),
    ):
        monkeypatch.setattr(machine, "import_module", failing(name))
        assert found(here / file)["versions"] == (state, f"{name} cannot be loaded: {problem}")
