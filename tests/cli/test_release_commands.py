"""A first release by hand, from the draft of a policy to the auditor: what is written and said, and what is not."""

import base64
import json
import re
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from party import Party, people, run
from veilboost.data import MemorySource
from veilboost.errors import FileError
from veilboost.release import Ledger, draft, load_key

PLANTED = "Tr0ub4dor_und_drei"
BLANKS = {
    '"<your name>"': '"Bänk"',
    '"<column>"': '"Nr"',
    '"<receiver>"': '"shop"',
    '"<purpose>"': '"churn"',
    '"<lowest>"': "0",
    '"<highest>"': "5000",
}
RELEASE = ["desensitise", "table.csv", "out.csv", "--policy", "policy.toml"]


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was printed since the last time."""
    found = capsys.readouterr()
    return found.out + found.err


def modes(*names: str) -> list[int]:
    return [Path(name).stat().st_mode & 0o777 for name in names]


def test_from_the_draft_to_the_auditor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_bytes("Nr;Größe;Lohn\n7;1,80;1234,5\n8;1,65;99,0\n".encode("latin-1"))

    def step(*arguments: str) -> str:
        assert run(["-v", "--log", "log", *arguments], monkeypatch) == 0
        return printed(capsys)

    step("init", "policy", "table.csv", "--delimiter", ";", "--encoding", "latin-1", "--decimal", ",")
    policy = Path("policy.toml").read_text(encoding="utf-8")
    assert set(re.findall(r'"<[a-z ]+>"', policy)) == BLANKS.keys()
    assert not any(value in policy for value in ("1,80", "1234", "99"))
    for blank, mine in BLANKS.items():
        policy = policy.replace(blank, mine)
    Path("policy.toml").write_text(policy, encoding="utf-8")
    step("keys", "noise", "new")
    step("ledger", "new")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "log"}
    assert "Dry run: nothing was drawn, charged or written" in step(*RELEASE, "--dry-run")
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "log"}
    assert "staged 2 rows of table.csv" in step(*RELEASE)
    assert "2 rows, permanent noise, key version 1" in step("ledger", "show")
    step("ledger", "export", "export.jsonl")
    assert "whole, 2 lines, among them the 2 of the receipt" in step(
        "ledger", "verify", "--receipt", "out.csv.privacy.json"
    )
    step("keys", "noise", "rotate")
    assert "version 2" in step("keys", "noise", "show")
    assert modes("noise.key", "ledger.db", "ledger.db.rows", "ledger.db.rows/1.history", "export.jsonl") == [
        0o600, 0o600, 0o700, 0o600, 0o600,
    ]  # fmt: skip
    statement = json.loads(Path("out.csv.privacy.json").read_text(encoding="utf-8"))
    assert [(each["column"], each["source"]) for each in statement["columns"]][1] == ("Größe", "Bänk/Größe")
    words = Path("out.csv.privacy.txt").read_text(encoding="utf-8")
    assert all(line in words for line in ("Privacy statement of Bänk for shop", "One column changed.", "The whole row"))
    assert re.search(
        r"^20.* veilboost\.release INFO staged 2 rows of table\.csv$", Path("log").read_text(), re.MULTILINE
    )


@pytest.mark.parametrize("kept", [False, True])
def test_the_noise_key_is_in_no_output(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the key nor a password that lies about is in anything printed, logged or written; rotated, it is gone."""
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"\ncarry = ["id"]')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGPASSWORD", PLANTED)
    party.write(people(50), "table.csv")
    if kept:  # by a link, as a mounted secret is
        Path("noise.key").rename("secret")
        Path("noise.key").symlink_to("secret")
    secret = load_key(Path("noise.key")).secret
    for arguments in (RELEASE, ["keys", "noise", "show"], ["ledger", "show", "--json"], ["keys", "noise", "rotate"]):
        assert run(["-v", "--log", "log", *arguments], monkeypatch) == 0
    assert load_key(Path("noise.key")).version == 2
    texts = [printed(capsys).encode(), *(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())]
    for text in texts:
        for form in (secret, base64.b64encode(secret), secret.hex().encode(), PLANTED.encode()):
            assert form not in text
    assert Path("noise.key").is_symlink() == kept


def test_a_draft_needs_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"a\n]b": pa.int8(), "day": pa.date32(), "yes": pa.bool_(), "list": pa.list_(pa.int8()), "m": pa.float64()}
    source = MemorySource(pa.table({name: pa.nulls(1, kind) for name, kind in kinds.items()}))
    monkeypatch.setattr(MemorySource, "batches", None)
    text = draft(source)
    assert text.count("[columns.") == 5
    assert '[columns."a\\n]b"]' in text


def test_a_ledger_that_may_not_be_opened_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Party.settled(tmp_path)

    def refused(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refused)
    with pytest.raises(FileError, match=r"ledger\.db: unable to open database file"):
        Ledger(tmp_path / "ledger.db")


def test_a_table_that_may_not_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    party = Party.settled(tmp_path)
    party.write(people(5))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != "table.parquet")
    assert run(["desensitise", "table.parquet", "out.csv", "--policy", "policy.toml"], monkeypatch) == 2
    assert capsys.readouterr().err == "veilboost: table.parquet: may not be read by you\n"
    assert party.left_over() == {"table.parquet"}
