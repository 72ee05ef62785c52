"""`veilboost keys`: from nothing to two parties that know each other, and mistakes in one line."""

from pathlib import Path

import pytest

from party import run
from veilboost.wire import load_party

STEPS = [
    "keys authority consortium",
    "keys party bank --folder bank --address localhost --authority authority",
    "keys party shop --folder shop",
    "keys sign shop/request.pem shop.pem",
    "keys install shop.pem --folder shop",
]


@pytest.fixture
def settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for step in STEPS:
        assert run(step.split(), monkeypatch) == 0
    return tmp_path


def test_five_commands_lead_to_two_parties(settled: Path) -> None:
    bank, shop = load_party(settled / "bank"), load_party(settled / "shop")
    assert (bank.name, bank.reached_at, shop.name, shop.reached_at) == ("bank", ["localhost"], "shop", [])
    assert bank.trusted == shop.trusted
    assert not list(settled.rglob("signed.pem"))


def test_show_names_everything_but_the_key(
    settled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["keys", "revoke", "shop.pem", "--folder", "bank", "--why", "stolen"], monkeypatch)
    capsys.readouterr()
    assert run(["keys", "show", "--folder", "bank"], monkeypatch) == 0
    shown = capsys.readouterr().out
    for word in ("name: 'bank'", "trusts: 'consortium'", "addresses: localhost", "denied: 2 fingerprints", "valid: 20"):
        assert word in shown
    assert load_party(settled / "bank").fingerprint in shown
    secret = (settled / "bank/party.key").read_text().splitlines()[1]
    for file in ("shop/request.pem", "shop.pem"):
        run(["keys", "show", file], monkeypatch)
        assert "name: 'shop'" in capsys.readouterr().out
    assert secret not in shown


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("keys party shop --folder bank", "bank: holds the key of 'bank'; another party has a folder of its own"),
        ("keys authority other", "authority/authority.key: is there already; a key is never written over"),
        ("keys party x --authority nowhere", "nowhere/authority.key: there is no such authority; make one with"),
        ("keys sign nothing.pem out.pem", "nothing.pem: there is no such file"),
        ("keys sign shop.pem out.pem", "shop.pem: holds no request for a certificate in PEM form"),
        ("keys sign shop/request.pem out.pem --days 0", "days must be a whole number from 1 to 3"),
        ("keys install shop.pem --folder bank", "shop.pem: is not the certificate of the key in bank/party.key"),
        ("keys show nothing.pem", "nothing.pem: there is no such file"),
        ("keys show --folder nowhere", "nowhere/party.key: there is no such key; make one with: veilboost keys party"),
        ("keys revoke shop --folder bank", "what must be the file of a certificate or a SHA-256 fingerprint of 64"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(
    command: str, problem: str, settled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file: file.read_bytes() for file in settled.rglob("*") if file.is_file()}
    capsys.readouterr()
    assert run(command.split(), monkeypatch) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1
    assert {file: file.read_bytes() for file in settled.rglob("*") if file.is_file()} == before
