"""The ledger as an auditor sees it: a chain that anyone can recompute, and no way back behind a receipt."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from party import Party, people, run
from veilboost.errors import EvidenceError
from veilboost.release import Ledger, Receipt, verify
from veilboost.release.verify import load_receipts


def audited(export: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Recompute the chain of an export as its description says, or fail; knows nothing of veilboost."""
    head, *lines = map(json.loads, export.splitlines())
    before = bytes(32)
    for number, line in enumerate(lines, 1):
        assert line["number"] == number
        body = json.dumps(line["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        text = f"{line['at']}\n{body}".encode()
        assert line["head"] == hashlib.sha256(before + number.to_bytes(8, "big") + text).hexdigest()
        before = bytes.fromhex(line["head"])
    assert head["lines"] == len(lines)
    return head, lines


def test_an_export_proves_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    party = Party.settled(tmp_path, top='format = 1\nparty = "Bänk \\"日本\\""')
    for rows in (5, 9):
        party.release(people(rows))
    export = tmp_path / "export.jsonl"
    assert run(["ledger", "export", str(export), str(tmp_path / "ledger.db")], monkeypatch) == 0
    head, lines = audited(export.read_text(encoding="utf-8"))
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.receipt() == Receipt(ledger=head["ledger"], lines=4, head=lines[-1]["head"])
    charged = [line["body"] for line in lines if line["body"]["event"] == "charged"]
    assert [column["new_values"] for body in charged for column in body["columns"]] == [5, 5, 4, 4]
    sums = [
        (c["column"], c["budget"], c["spent"], c["cap"] - c["spent"] == c["remaining"]) for c in charged[1]["columns"]
    ]
    assert sums == [("age", 5 * 10**11, 5 * 10**11, True), ("colour", 10**12, 10**12, True)]
    left = lines[-1]["body"]
    assert left["sha256"] == hashlib.sha256((tmp_path / "out.parquet").read_bytes()).hexdigest()
    for i in range(1, 5):
        text = export.read_text(encoding="utf-8").splitlines()
        text[i] = text[i].replace('"shop"', '"shed"')
        with pytest.raises(AssertionError):
            audited("\n".join(text))


def test_a_restored_copy_is_caught_by_receipt_and_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    party = Party.settled(tmp_path)
    monkeypatch.chdir(tmp_path)
    party.release(people(5))
    shutil.copy("ledger.db", "backup.db")
    shutil.copytree("ledger.db.rows", "backup.db.rows")
    party.release(people(9))
    capsys.readouterr()
    assert run(["ledger", "receipt"], monkeypatch) == 0
    Path("receipt.json").write_text(capsys.readouterr().out)
    for kept in ("receipt.json", "out.parquet.privacy.json"):
        assert run(["ledger", "verify", "--receipt", kept], monkeypatch) == 0
        assert run(["ledger", "verify", "backup.db", "--receipt", kept], monkeypatch) == 1
        assert capsys.readouterr().err == (
            "veilboost: ALTERED: backup.db: is older than the receipt, as a restored copy would be: "
            "the receipt has 4 lines, the ledger 2\n"
        )
    backup = Party(tmp_path / "other")
    backup.folder.mkdir()
    for path in Path().glob("*"):
        if path.is_file():
            shutil.copy(path, backup.folder)
    shutil.move("backup.db.rows", backup.folder / "ledger.db.rows")
    shutil.move("backup.db", backup.folder / "ledger.db")
    for rows in (11, 12):
        backup.release(people(rows))  # grows to the same length, with another past
    assert run(["ledger", "verify", "other/ledger.db", "--receipt", "receipt.json"], monkeypatch) == 1
    assert "line 4 is not the one of the receipt" in capsys.readouterr().err


def test_a_restored_ledger_beside_newer_history_is_caught_without_a_receipt(tmp_path: Path) -> None:
    party = Party.settled(tmp_path)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "backup.db")
    for rows in (5, 9):
        party.release(people(rows))
    (tmp_path / "backup.db").replace(tmp_path / "ledger.db")
    with pytest.raises(EvidenceError, match="is newer than its ledger, which may be a restored copy: it has 0 lines"):
        party.release(people(9))
    with Ledger(tmp_path / "ledger.db") as ledger, pytest.raises(EvidenceError, match="is newer than its ledger"):
        verify(ledger)


def test_every_single_change_to_a_line_is_caught(tmp_path: Path) -> None:
    party = Party.settled(tmp_path)
    party.release(people(3))
    good = (tmp_path / "ledger.db").read_bytes()
    body = json.dumps(party.lines()[0].body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for i in range(0, len(body), 29):
        changed = body[:i] + chr(ord(body[i]) ^ 1) + body[i + 1 :]
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as base, base:
            base.execute("UPDATE lines SET body = ? WHERE number = 1", (changed,))
        with pytest.raises(EvidenceError, match="line 1 was altered"):
            party.lines()
    (tmp_path / "ledger.db").write_bytes(good)
    assert len(party.lines()) == 2


def test_every_history_file_is_checked_to_the_last_bit(tmp_path: Path) -> None:
    party = Party.settled(tmp_path)
    party.release(people(3))
    history = tmp_path / "ledger.db.rows" / "1.history"
    good = history.read_bytes()
    for i in range(0, len(good), len(good) // 9):
        history.write_bytes(good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :])
        with Ledger(tmp_path / "ledger.db") as ledger, pytest.raises(EvidenceError, match=r"1\.history: was altered"):
            verify(ledger)
        with pytest.raises(EvidenceError, match=r"1\.history: was altered since line 1"):
            party.release(people(3))
    history.write_bytes(good)
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert verify(ledger) == 2


def test_what_fails_under_the_hold_is_not_entered(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        history = tmp_path / "history"
        history.write_text("rows")

        def half() -> None:
            with ledger.held():
                ledger.keep(history)
                ledger.append({"event": "left"})
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            half()
        assert ledger.lines() == []
        assert not list(ledger.folder.iterdir())
        with ledger.held():
            ledger.append({"event": "left"})
        assert [line.number for line in ledger.lines()] == [1]


def test_secrets_of_ledger_and_key_are_for_their_owner_alone(tmp_path: Path) -> None:
    party = Party.settled(tmp_path)
    party.release(people(3))
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    private = {name: modes[name] for name in ("noise.key", "ledger.db", "ledger.db.rows", "1.history")}
    assert private == {"noise.key": 0o600, "ledger.db": 0o600, "ledger.db.rows": 0o700, "1.history": 0o600}


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '"x"', "{", "\ufeff{}", "{}" * 9, '{"receipt":{}}', '{"receipt":3}']
)
def test_a_receipt_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "receipt").write_text(text)
    with pytest.raises(ValueError, match="is neither a receipt nor a privacy statement with one"):
        load_receipts(tmp_path / "receipt")
