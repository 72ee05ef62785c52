"""Who sees what, looked up in recorded jobs: docs/threat-model.md names each of these tests in its cell."""

import re
import stat
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from recording import JOB, PARTNERS, PURPOSE, ROWS, Recording, people, read_of, recorded, settled, written

from unpacking import unpacked
from veilboost.vertical.folder import load

NO_NOISE = 40.0
"""A budget under which a value keeps its code, but for chances that never come."""
DATA, HANDSHAKE, CHANGE = 23, 22, 20
UP_FRONT = {
    "to": ["Hello", "Offer", "Commitment", "Half", "Digests", "Done"],
    "back": ["Hello", "Standing", "Commitment", "Half", "Digests", "Ranks", "Sent"],
}
ON_REQUEST = {"to": [*UP_FRONT["to"][:-1], "Wanted", "Done"], "back": [*UP_FRONT["back"], "Cuts"]}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    """Return one job, and the same with something else in the place of one thing."""
    folder = tmp_path_factory.mktemp("jobs")
    at, here, others = settled(folder / "settled"), people(1), people(2)
    asking: dict[str, Any] = {"thresholds": "on-request"}
    runs: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("first", here, {}),
        ("another bank", here | {"bank": others["bank"]}, {}),
        ("another club", here | {"chessclub": others["chessclub"]}, {}),
        ("asking", here, asking),
        ("asking, another bank", here | {"bank": others["bank"]}, asking),
        ("without noise", here, {"epsilon": NO_NOISE, "fixed": False}),
        ("of two stumps", here, {"grown": (2, 1)}),
        ("another shop", here | {"bookshop": others["bookshop"]}, {"fixed": False, "looks_first": True}),
    ]
    found = {name: recorded(at, folder / name, tables, **options) for name, tables, options in runs}
    model = found["of two stumps"].folder / "model"
    return found | {"predicting": recorded(at, folder / "predicting", people(3), model=model)}


def kinds(said: list[tuple[str, bytes]]) -> list[str]:
    """Return what was said in turn; columns come one after the other."""
    return [kind for kind, _ in groupby(kind.partition("/")[0] for kind, _ in said)]


def private(found: Recording, partner: str) -> dict[str, list[bytes]]:
    """Return what must not be said: codes before noise and their ranks, and values one by one, as numbers and text."""
    secrets = {}
    for name, codes in found.codes(partner).items():
        ranks = np.unique(codes, return_inverse=True)[1] + 1
        secrets[name] = [text for column in (codes, codes - 1, ranks) for text in written(column)]
        values = found.tables[partner][name]
        if name in ("spend", "discounts"):  # the others are public: small numbers, or a list of towns
            secrets[name] += [np.float64(each).tobytes() for each in values.to_pylist()]
        if name == "spend":
            secrets[name] += [f"{each:.2f}".encode() for each in values.to_pylist() if each >= 100]
    return secrets


def test_only_the_messages_of_the_protocol_are_said(jobs: dict[str, Recording]) -> None:
    for name, found in jobs.items():
        assert {each for said in found.said for each in (said.sender, said.receiver)} == {"bank", *found.wire}
        expected = ON_REQUEST if name.startswith("asking") else UP_FRONT
        for partner in found.wire:
            looked = name == "another shop" and partner == "bookshop"
            assert kinds(found.between("bank", partner)) == (["Hello", "Offer"] if looked else []) + expected["to"]
            assert kinds(found.between(partner, "bank")) == (["Hello", "Refusal"] if looked else []) + expected["back"]
        assert not any(found.between(one, other) for one in PARTNERS for other in PARTNERS)


def test_a_greeting_says_program_and_versions_alone(jobs: dict[str, Recording]) -> None:
    for ends in (("bank", "bookshop"), ("bookshop", "bank")):
        said = jobs["first"].message(*ends, "Hello")
        assert set(said) == {"program", "protocol", "messages"}
        assert all(isinstance(version, int) for version in said["messages"].values())


def test_an_offer_says_job_purpose_columns_and_number_of_rows_alone(jobs: dict[str, Recording]) -> None:
    for name, thresholds in (("first", "up-front"), ("asking", "on-request")):
        said = jobs[name].message("bank", "bookshop", "Offer")
        use = {"type": "training", "thresholds": thresholds, "between": "next"}
        asked = {"job": JOB, "purpose": PURPOSE, "columns": None, "rows": ROWS, "use": use}
        assert said == {"run": "00" * 16, "step": "nothing", "rows": "already-aligned", "ask": asked}
        assert jobs[name].message("bookshop", "bank", "Standing") == {"step": "nothing"}


def test_ids_are_never_said_and_digests_of_two_jobs_differ(jobs: dict[str, Recording]) -> None:
    both = jobs["without noise"], jobs["another shop"]
    for partner in PARTNERS:
        for each in both[0].tables[partner]["person"].to_pylist():
            assert each.encode() not in both[0].spoken(partner)
        shown = [
            found.message(*ends, kind)
            for found in both
            for ends in (("bank", partner), (partner, "bank"))
            for kind in ("Commitment", "Half", "Digests")
        ]
        assert [set(each) for each in shown] == 4 * [{"type", "rows", "commitment"}, {"key"}, {"in_order", "sorted"}]
        assert {(each["type"], each["rows"]) for each in shown if "rows" in each} == {("text", ROWS)}
        fresh = [each for said in shown for each in said.values() if isinstance(each, bytes)]
        assert len(set(fresh)) == len(fresh) == 16
        assert {len(each) for each in fresh} == {32}


def test_digests_depend_on_ids_and_key_alone(jobs: dict[str, Recording]) -> None:
    """Under the same halves the same ids give the same digests, whatever stands in the columns; each role its own."""
    first, other = jobs["first"], jobs["another bank"]
    for ends in (("bank", "bookshop"), ("bookshop", "bank")):
        assert first.message(*ends, "Digests") == other.message(*ends, "Digests")
    assert first.message("bank", "bookshop", "Digests") != first.message("bookshop", "bank", "Digests")


@pytest.mark.parametrize("name", ["first", "asking", "another club", "another shop", "predicting"])
def test_raw_values_and_codes_before_noise_are_not_said(name: str, jobs: dict[str, Recording]) -> None:
    found = jobs[name]
    for partner in found.wire:
        spoken = found.spoken(partner)
        for column, secrets in private(found, partner).items():
            assert not any(secret in spoken for secret in secrets), column


def test_without_noise_they_would_be_found(jobs: dict[str, Recording]) -> None:
    silent = jobs["without noise"]
    for partner in PARTNERS:
        spoken = silent.spoken(partner)
        for column, secrets in private(silent, partner).items():
            assert any(secret in spoken for secret in secrets), column


def test_rows_are_said_in_the_agreed_order(jobs: dict[str, Recording]) -> None:
    """Where there is no noise ranks are those of the codes, row by row as both hold them."""
    silent = jobs["without noise"]
    for name, codes in silent.codes("bookshop").items():
        ranks = np.unique(codes, return_inverse=True)[1] + 1
        said = unpacked(silent.columns("bookshop")[name]["values"])
        assert (said == (codes if name == "town" else ranks)).all()


def test_up_front_nothing_that_a_partner_hears_depends_on_labels_weights_or_the_lead_s_columns(
    jobs: dict[str, Recording],
) -> None:
    first, other = jobs["first"], jobs["another bank"]
    assert first.tables["bank"]["ruined"] != other.tables["bank"]["ruined"]
    assert load(first.folder / "model").model != load(other.folder / "model").model
    for partner in PARTNERS:
        assert first.between("bank", partner) == other.between("bank", partner)
        assert first.columns(partner) == other.columns(partner)


def test_on_request_a_partner_hears_which_ranks_became_thresholds_and_no_more(jobs: dict[str, Recording]) -> None:
    first, other = jobs["asking"], jobs["asking, another bank"]
    for partner, names in PARTNERS.items():
        pairs = zip(first.between("bank", partner), other.between("bank", partner), strict=True)
        assert {one[0] for one, two in pairs if one != two} == {"Wanted/1"}
        ranks = first.message("bank", partner, "Wanted")["ranks"]
        assert set(ranks) == set(names) - {"town"}
        told = first.message(partner, "bank", "Cuts")["cuts"]
        sent = first.columns(partner)
        for name, places in ranks.items():
            assert (sent[name]["cuts"], sent[name]["codes"]) == (None, None)
            assert len(np.frombuffer(told[name]["data"])) == len(np.frombuffer(places["data"], places["dtype"]))


def test_to_predict_a_partner_hears_which_of_its_columns_the_model_reads_and_no_more(
    jobs: dict[str, Recording],
) -> None:
    """Two stumps read two columns at most, of five."""
    found, read = jobs["predicting"], read_of(jobs["of two stumps"].folder / "model")
    for partner in PARTNERS:
        if partner not in read:
            assert not found.between("bank", partner)
            continue
        ask = found.message("bank", partner, "Offer")["ask"]
        assert set(ask) == {"job", "purpose", "columns", "rows", "use"}
        assert set(ask["use"]) == {"type", "domains"}
        assert set(ask["columns"]) == set(ask["use"]["domains"]) == read[partner]
        assert set(found.columns(partner)) == read[partner]
        assert kinds(found.between("bank", partner)) == UP_FRONT["to"]


def test_a_partner_hears_nothing_of_another_and_nothing_of_the_lead_s_columns(jobs: dict[str, Recording]) -> None:
    first, another = jobs["first"], jobs["another club"]
    assert first.columns("chessclub") != another.columns("chessclub")
    assert first.between("bank", "bookshop") == another.between("bank", "bookshop")
    assert first.columns("bookshop") == another.columns("bookshop")
    for name in ("first", "asking", "predicting"):
        for partner, other in (("bookshop", "chessclub"), ("chessclub", "bookshop")):
            if partner in jobs[name].wire:
                spoken = jobs[name].spoken(partner)
                for word in (other, *PARTNERS[other], "income", "ruined", "weight"):
                    assert word.encode() not in spoken
                assert any(word.encode() in spoken for word in PARTNERS[partner])


def test_a_statement_holds_nothing_that_was_computed_from_rows(jobs: dict[str, Recording]) -> None:
    """Other values leave with the same statement, but for the digest of what left and the ledger's receipt."""
    one, two = (jobs[name].message("bookshop", "bank", "Ranks")["statement"] for name in ("first", "another shop"))
    assert jobs["first"].columns("bookshop") != jobs["another shop"].columns("bookshop")
    assert {name for name in one if one[name] != two[name]} == {"sha256", "receipt"}
    assert set(one["receipt"]) == {"ledger", "lines", "head"}
    assert b"987.654" not in jobs["first"].spoken("bookshop")  # the policy's caps are the partner's affair


def test_a_dry_run_says_nothing_but_that_it_only_looks(jobs: dict[str, Recording]) -> None:
    said = jobs["another shop"].between("bookshop", "bank")
    assert kinds(said[:2]) == ["Hello", "Refusal"]
    assert msgspec.msgpack.decode(said[1][1]) == {
        "reason": "it only looks at what is asked for (a dry run)",
        "again": True,
    }
    assert jobs["another shop"].asked.outcome.dry_run


def test_what_is_kept_until_the_job_is_done_is_its_owner_s_alone(jobs: dict[str, Recording]) -> None:
    for name, steps in (
        ("first", ["aligned", "released", "left"]),
        ("asking", ["aligned", "released", "left", "cuts"]),
    ):
        found = jobs[name]
        lead = {"run.step", "trained.step", "restored.step", *(f"{n}-{step}.step" for n in (1, 2) for step in steps)}
        partner = {"aligned.step", "released.step", *(f"column-{number}.step" for number in (1, 2, 3))}
        for party, files in {"bank": lead, "bookshop": partner}.items():
            held = list(found.kept(party).iterdir())
            assert {each.name for each in held} == files
            assert {stat.S_IMODE(each.stat().st_mode) for each in held} == {0o600}
            assert stat.S_IMODE(found.kept(party).stat().st_mode) == 0o700
        assert not list(found.folder.glob("*.state"))


def test_what_a_partner_keeps_is_what_it_sent_with_all_values_between_ranks(jobs: dict[str, Recording]) -> None:
    found = jobs["asking"]
    kept = b"".join(each.read_bytes() for each in found.kept("bookshop").iterdir())
    bodies = [body for kind, body in found.between("bookshop", "bank") if kind.startswith(("Ranks/", "Sent/"))]
    assert len(bodies) == 4
    assert all(body in kept for body in bodies)
    told = [np.frombuffer(each["data"]) for each in found.message("bookshop", "bank", "Cuts")["cuts"].values()]
    assert all(cut.tobytes() in kept for cuts in told for cut in cuts)
    values = found.tables["bookshop"]["spend"].to_pylist()
    assert not any(np.float64(each).tobytes() in kept for each in values)
    assert not any(each.encode() in kept for each in found.tables["bookshop"]["person"].to_pylist())


def test_a_partner_ends_up_with_its_ledger_and_no_model(jobs: dict[str, Recording]) -> None:
    found = jobs["first"]
    before, after = ({each.name for each in at.iterdir()} for at in (found.folder.parent / "settled", found.folder))
    plans = {f"{name}{end}" for name in PARTNERS for end in (".csv", ".toml", "-plan.toml")}
    assert after - before == {
        "model",
        "job.toml",
        "predict.toml",
        "bank.csv",
        "kept-bank",
        "kept-bookshop",
        "kept-chessclub",
        *plans,
    }
    for name in PARTNERS:
        folder = found.folder / f"{name}.db.rows"
        for each in (found.folder / f"{name}.db", found.folder / f"{name}.key", *folder.iterdir()):
            assert stat.S_IMODE(each.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def records(way: bytes) -> list[tuple[int, bytes]]:
    """Return the TLS records of which a stream is made, to its last byte."""
    found, at = [], 0
    while at < len(way):
        kind, version, size = way[at], way[at + 1 : at + 3], int.from_bytes(way[at + 3 : at + 5], "big")
        assert version in (b"\x03\x01", b"\x03\x03")
        assert size <= (1 << 14) + 256
        found.append((kind, way[at + 5 : at + 5 + size]))
        assert len(found[-1][1]) == size
        at += 5 + size
    return found


def test_on_the_wire_there_are_tls_records_and_one_greeting_in_the_clear(jobs: dict[str, Recording]) -> None:
    for name, found in jobs.items():
        for partner in found.wire:
            ways = found.wire[partner]
            assert len(ways) == (4 if name == "another shop" and partner == "bookshop" else 2)
            for way in ways:
                sizes = [kind for kind, _ in records(way)]
                assert sizes[0] == HANDSHAKE
                assert set(sizes[1:]) <= {CHANGE, DATA}
                assert sizes.count(HANDSHAKE) == 1


def test_on_the_wire_nothing_that_is_said_can_be_read(jobs: dict[str, Recording]) -> None:
    """The same words are found in the messages, so the search finds what is there."""
    found = jobs["first"]
    words = [JOB, PURPOSE, *PARTNERS, "spend", "discounts", "Bergen", "veilboost", "already-aligned", "tight"]
    for partner in PARTNERS:
        wire = b"".join(found.wire[partner])
        for each in (*words, "consortium", "person-", "income", "ruined"):
            assert each.encode() not in wire, each
        for _, body in [*found.between("bank", partner), *found.between(partner, "bank")]:
            for at in range(0, len(body) - 16, 16):
                assert body[at : at + 16] not in wire
    said = b"".join(each.body for each in found.said)
    assert all(each.encode() in said for each in words)


def test_every_test_that_the_threat_model_names_is_there() -> None:
    """And every test here is named in it."""
    root = Path(__file__).parents[2]
    text = (root / "docs" / "threat-model.md").read_text(encoding="utf-8")
    everything = "".join(each.read_text(encoding="utf-8") for each in (root / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert all(f"def {each}(" in everything for each in named)
    assert {each for each in globals() if each.startswith("test_")} - named == {
        "test_every_test_that_the_threat_model_names_is_there"
    }
    files = re.findall(r"`(tests/[\w/.]+)`", text)
    assert len(files) > 10
    assert all((root / each).exists() for each in files)
