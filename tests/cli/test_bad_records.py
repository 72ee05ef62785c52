"""Every bad ledger, key and receipt is one line that names it, and so is every refusal; nothing is made or changed."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from spoiling import RELEASE, Spoil, base, check, gone, nothing, policy, released, seen, text, truncated, without_rows

from party import Party, run
from veilboost.release import Ledger

VERIFY = ["ledger", "verify"]
RECEIPT = [*VERIFY, "--receipt", "receipt"]


def key(*, kind: int = 1, **held: Any) -> Spoil:
    good = {"veilboost_noise_key": kind, "version": 1, "created": "", "secret": "A" * 43 + "="}
    return text("noise.key", json.dumps(good | held))


def receipt_of_less(party: Party) -> None:
    with Ledger(party.folder / "ledger.db") as ledger:
        text("receipt", json.dumps({"ledger": ledger.name, "lines": -1, "head": "0" * 64}))(party)


OVER = [*RELEASE[:2], "taken.csv", *RELEASE[3:]]


def renamed(setting: str, name: str, new: str) -> Spoil:
    """Give the key or the ledger, with its history, the name of what is to be written."""

    def spoil(party: Party) -> None:
        for path in (party.folder / name, party.folder / f"{name}.rows"):
            if path.exists():
                path.rename(party.folder / path.name.replace(name, new))
        policy("format = 1", f'format = 1\n{setting} = "{new}"')(party)

    return spoil


RECORDS: list[tuple[str, Spoil, list[str], int, str]] = [
    ("no ledger", gone("ledger.db"), RELEASE, 2, "ledger.db: there is no such ledger"),
    ("an empty ledger", text("ledger.db", ""), RELEASE, 2, "ledger.db: is no ledger, or a damaged one"),
    (
        "a ledger of text",
        text("ledger.db", "my ledger " * 500),
        RELEASE,
        2,
        "ledger.db: is no ledger, or a damaged one",
    ),
    ("a cut ledger", truncated("ledger.db", 5000), RELEASE, 2, "ledger.db: is no ledger, or a damaged one"),
    ("a cut ledger to verify", truncated("ledger.db", 5000), VERIFY, 2, "is no ledger, or a damaged one"),
    ("another database", base("PRAGMA application_id = 7"), RELEASE, 2, "ledger.db: is no ledger, or a damaged one"),
    ("a ledger of the future", base("PRAGMA user_version = 2"), RELEASE, 2, "ledger.db: has format 2"),
    ("a ledger without a name", base("DELETE FROM ledger"), RELEASE, 2, "ledger.db: is no ledger, or a damaged one"),
    (
        "a ledger without its key",
        base("UPDATE ledger SET tag_key = x'00'"),
        RELEASE,
        2,
        "is no ledger, or a damaged one",
    ),
    ("a ledger without lines", base("DROP TABLE lines"), RELEASE, 2, "ledger.db: no such table"),
    ("no history", without_rows, RELEASE, 2, "ledger.db.rows: is missing"),
    (
        "an altered line",
        released(base("UPDATE lines SET body = replace(body, 'shop', 'shed')")),
        RELEASE,
        1,
        "ledger.db: line 1 was altered",
    ),
    (
        "a line that is no JSON",
        released(base("UPDATE lines SET body = 'x' WHERE number = 2")),
        RELEASE,
        1,
        "line 2 was altered",
    ),
    (
        "an altered time",
        released(base("UPDATE lines SET at = '1999' WHERE number = 2")),
        ["ledger", "show"],
        1,
        "line 2 was",
    ),
    (
        "a head that is none",
        released(base("UPDATE lines SET head = 'x' WHERE number = 2")),
        RELEASE,
        1,
        "line 2 was altered",
    ),
    ("a line removed", released(base("DELETE FROM lines WHERE number = 1")), VERIFY, 1, "line 1 was altered"),
    ("a line moved", released(base("UPDATE lines SET number = 9 WHERE number = 2")), RELEASE, 1, "line 2 was altered"),
    (
        "altered rows",
        released(text("ledger.db.rows/1.history", "x")),
        RELEASE,
        1,
        "1.history: was altered since line 1",
    ),
    ("altered rows to verify", released(text("ledger.db.rows/1.history", "x")), VERIFY, 1, "was altered since"),
    ("no rows", released(gone("ledger.db.rows/1.history")), RELEASE, 1, "1.history: is missing"),
    ("a ledger that is there", nothing, ["ledger", "new"], 2, "ledger.db: is there already"),
    ("history without its ledger", released(gone("ledger.db")), ["ledger", "new"], 2, "is there already"),
    ("no key", gone("noise.key"), RELEASE, 2, "noise.key: there is no such noise key"),
    (
        "a key for everybody",
        lambda party: (party.folder / "noise.key").chmod(0o644),
        RELEASE,
        2,
        "noise.key: must be readable by its owner alone",
    ),
    ("a key that is none", text("noise.key", "hunter2"), RELEASE, 2, "noise.key: is no noise key"),
    ("a cut key", truncated("noise.key", 60), RELEASE, 2, "noise.key: is no noise key"),
    ("a short key", key(secret="aGk="), RELEASE, 2, "of a format that is known"),
    ("a key not in base64", key(secret="ä"), RELEASE, 2, "is no noise key"),
    ("a key of the future", key(kind=2), RELEASE, 2, "of a format that is known"),
    ("a last key", key(version=2**32 - 1), ["keys", "noise", "rotate"], 2, "noise.key: "),
    ("a key nested without end", text("noise.key", "[" * 99999), RELEASE, 2, "noise.key: is no noise key"),
    ("a key that is there", nothing, ["keys", "noise", "new"], 2, "noise.key: is there already"),
    ("no key to show", nothing, ["keys", "noise", "show", "--file", "none"], 2, "none: there is no such noise key"),
    ("no receipt", nothing, ["ledger", "verify", "--receipt", "none"], 2, "none: No such file"),
    ("a receipt that is none", text("receipt", "{}"), RECEIPT, 2, "receipt: is neither a receipt"),
    ("a receipt nested without end", text("receipt", '{"receipt":' + "[" * 99999), RECEIPT, 2, "is neither"),
    ("a receipt of less than nothing", receipt_of_less, RECEIPT, 2, "lines of the receipt must be 0 or more"),
    (
        "a receipt of another ledger",
        text("receipt", json.dumps({"ledger": "x", "lines": 0, "head": ""})),
        RECEIPT,
        1,
        "the receipt is of another ledger",
    ),
    ("a log nowhere", nothing, ["--log", "none/log", *RELEASE], 2, "none/log"),
    ("a log in the key", nothing, ["--log", "noise.key", *RELEASE], 2, "noise.key: is there already, and is no log"),
    ("a log in the ledger", nothing, ["--log", "ledger.db", *RELEASE], 2, "ledger.db: is there already, and is no log"),
    ("a log in the table", nothing, ["--log", "table.csv", *RELEASE], 2, "table.csv: is there already, and is no log"),
    ("a ledger that is a folder", nothing, ["ledger", "new", "."], 2, ".: is there already"),
    (
        "a release over the ledger",
        renamed("ledger", "ledger.db", "taken.csv"),
        OVER,
        2,
        "taken.csv: is the ledger itself",
    ),
    ("a release over the key", renamed("noise_key", "noise.key", "taken.csv"), OVER, 2, "is the noise key itself"),
    (
        "a statement over the key",
        renamed("noise_key", "noise.key", "taken.csv.privacy.json"),
        OVER,
        2,
        "taken.csv.privacy.json: is the noise key itself",
    ),
    (
        "a statement over the policy",
        lambda party: (party.folder / "policy.toml").rename(party.folder / "taken.csv.privacy.txt"),
        [*OVER[:4], "taken.csv.privacy.txt"],
        2,
        "taken.csv.privacy.txt: is the policy itself",
    ),
    ("a draft over a policy", nothing, ["init", "policy", "table.csv"], 2, "policy.toml: is there already"),
    ("a draft of nothing", nothing, ["init", "policy", "none.csv", "--out", "p"], 2, "none.csv: there is no such file"),
    ("an export over the ledger", nothing, ["ledger", "export", "ledger.db"], 2, "ledger.db: is there already"),
    ("an export over the key", nothing, ["ledger", "export", "noise.key"], 2, "noise.key: is there already"),
    ("a job of two lines", nothing, [*RELEASE, "--job", "x.\nWhat left: nothing"], 2, "job must be printable text"),
    ("a job that is no text", nothing, [*RELEASE, "--job", "\udcff"], 2, "job must be printable text"),
    ("another receiver", nothing, [*RELEASE, "--to", "spy"], 4, "grants nothing to 'spy'"),
    ("another purpose", nothing, [*RELEASE, "--purpose", "fun"], 4, "nothing for the purpose 'fun'"),
    ("another column", nothing, [*RELEASE, "--columns", "age,wage"], 4, "does not grant column 'wage'"),
    ("a column twice", nothing, [*RELEASE, "--columns", "age,age"], 2, "each named once"),
    ("too many rows", policy("[caps]", "[caps]\nrows = 19"), RELEASE, 4, "caps.rows"),
    ("too many releases", released(policy("[caps]", "[caps]\nreleases = 1")), RELEASE, 4, "caps.releases"),
]


def test_the_mistakes_are_distinct() -> None:
    assert len({case[0] for case in RECORDS}) == len(RECORDS) >= 40


@pytest.mark.parametrize(
    ("spoil", "arguments", "code", "words"), [case[1:] for case in RECORDS], ids=[str(case[0]) for case in RECORDS]
)
def test_a_mistake_is_one_line_and_nothing_changes(
    spoil: Spoil,
    arguments: list[str],
    code: int,
    words: str,
    party: Party,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(spoil, arguments, code, words, party, monkeypatch, capsys)


def test_a_ledger_that_another_holds_is_one_line(
    party: Party, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for how in ("EXCLUSIVE", "IMMEDIATE"):
        with closing(sqlite3.connect(party.folder / "ledger.db")) as other:
            other.execute(f"BEGIN {how}")
            before = seen(party.folder)
            assert run(RELEASE, monkeypatch) == 2
            assert seen(party.folder) == before
        assert (
            capsys.readouterr().err
            == f"veilboost: {party.folder / 'ledger.db'}: is held by another process\n".replace(f"{party.folder}/", "")
        )
    assert run(RELEASE, monkeypatch) == 0
