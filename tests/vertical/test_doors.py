"""Partners behind a policy and a ledger, and simulated ones: charged first, in the agreed order, silent on why not."""

import weakref
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from talking import Talk, job, talk

from party import Party, people
from veilboost.data import MemorySource
from veilboost.errors import FileError, RefusalError
from veilboost.release import PolicyDoor, load_policy
from veilboost.release.leaving import Leaving
from veilboost.vertical import Job, LeadTable, opboost

ROWS = 40
TABLE = people(ROWS).drop_columns(["town"])
GRANTS = 'who = "lead"\npurposes = ["test"]'
SURE = {"domain": 'kind = "integers", lower = 0, upper = 120', "epsilon": 40, "name": "tight", "cap": 100}


def settled(folder: Path, name: str, **policy: Any) -> Party:
    folder.joinpath(name).mkdir()
    rule: dict[str, Any] = {
        "rows": 'key = "id"\ntype = "integer"',
        "grants": GRANTS,
        "top": f'format = 1\nparty = "{name}"',
    }
    return Party.settled(folder / name, **rule | policy)


def door(party: Party, table: pa.Table = TABLE, order: Any = None) -> PolicyDoor:
    places = np.arange(table.num_rows) if order is None else order
    held = table.append_column("place", pa.array(places))
    return PolicyDoor(load_policy(party.folder / "policy.toml"), MemorySource(held, name="their.csv"), order="place")


def asked(doors: dict[str, PolicyDoor], made: Job | None = None, rows: int = ROWS) -> Talk:
    target = (np.arange(rows) % 3 == 0).astype(float)
    made = job([], columns=None) if made is None else made
    lead = partial(opboost.lead, table=LeadTable(target=target), job=made)
    return talk(lead, {name: partial(opboost.partner, door=each) for name, each in doors.items()})


def test_every_column_is_charged_before_anything_of_it_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    party, drawn, drawing = settled(tmp_path, "bank"), [], Leaving.draw

    def watched(self: Leaving, *given: Any) -> Any:
        (charge,) = [line.body for line in party.lines()]
        assert charge["event"] == "charged"
        assert {each["column"] for each in charge["columns"]} == {"age", "colour"}
        drawn.append(self.column.name)
        return drawing(self, *given)

    monkeypatch.setattr(Leaving, "draw", watched)
    found = asked({"bank": door(party)})
    assert set(drawn) == {"age", "colour"}
    assert [line.body["event"] for line in party.lines()] == ["charged", "left"]
    said = found.partners["bank"]
    assert (said.receipt.lines, said.receipt.head) == (2, party.lines()[-1].head)
    assert party.lines()[-1].body["sha256"] == said.sha256
    assert found.lead.statements == (said,)


def test_noise_is_permanent_over_jobs_and_paid_for_once(tmp_path: Path) -> None:
    party = settled(tmp_path, "bank")
    sent = [asked({"bank": door(party)}).columns("bank") for _ in range(3)]
    assert [each.name for each in sent[0]] == ["age", "colour"]
    assert sent[0] == sent[1] == sent[2]
    assert party.charges() == [{"age": ROWS, "colour": ROWS}, *2 * [{"age": 0, "colour": 0}]]


def test_rows_stand_in_the_order_that_was_agreed_and_not_as_stored(tmp_path: Path) -> None:
    party = settled(tmp_path, "bank", columns={"age": SURE})
    order = np.random.default_rng(4).permutation(ROWS)
    (age,) = asked({"bank": door(party, order=order)}).columns("bank")
    _, ranks = np.unique(TABLE["age"].to_numpy()[np.argsort(order)], return_inverse=True)
    assert (age.values.read(ROWS) == ranks + 1).all()


@pytest.mark.parametrize("order", [np.zeros(ROWS, int), np.arange(ROWS) + 1, np.append(np.arange(ROWS - 1), 0)])
def test_rows_that_are_not_numbered_once_each_are_refused(order: Any, tmp_path: Path) -> None:
    party = settled(tmp_path, "bank")
    found = asked({"bank": door(party, order=order)})
    assert "column 'place' must number the rows from 0, each once" in str(found.partners["bank"])
    assert [kind for kind, _ in found.bodies("bank", "lead")] == ["Refusal/1"]


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("nobody", {"grants": 'who = "rival"\npurposes = ["test"]'}, {}, "the policy of 'bank' grants nothing to 'lead'"),
    ("purpose", {}, {"purpose": "else"}, "the policy of 'bank' grants 'lead' nothing for the purpose 'else'"),
    ("column", {}, {"columns": {"bank": ["age", "x"]}}, "'bank' does not grant column 'x' to 'lead' for 'test'"),
    ("rows", {"caps": "rows = 39"}, {}, "the policy allows no such release any more"),
    ("whole row", {"caps": "row = 1.4"}, {}, "the budget of a whole row is used up"),
]


@pytest.mark.parametrize(("policy", "asking", "words"), [each[1:] for each in REFUSED], ids=[e[0] for e in REFUSED])
def test_a_refusal_reaches_the_lead_as_it_is_told_and_nobody_else(
    policy: dict[str, Any], asking: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = GRANTS + "\n[[grants]]\n" + GRANTS.replace("test", "else")
    bank, shop = settled(tmp_path, "bank", **policy), settled(tmp_path, "shop", grants=both)
    drawn, drawing = [], Leaving.draw

    def watched(self: Leaving, *given: Any) -> Any:
        drawn.append(self.column.source)
        return drawing(self, *given)

    monkeypatch.setattr(Leaving, "draw", watched)
    found = asked({"bank": door(bank), "shop": door(shop)}, job([], **{"columns": None} | asking))
    assert isinstance(found.partners["bank"], RefusalError)
    assert isinstance(found.lead, RefusalError)
    assert str(found.lead) == f"bank: {found.partners['bank'].told}"
    assert words in str(found.lead)
    assert "shop/age" in drawn
    assert "bank/age" not in drawn
    assert bank.lines() == []
    assert str(found.partners["shop"]) == "lead: another party stopped"


def test_a_budget_that_is_used_up_is_told_without_its_figures(tmp_path: Path) -> None:
    party = settled(tmp_path, "bank", caps="row = 2.9")
    asked({"bank": door(party)})
    later = TABLE.set_column(1, "age", pa.array((TABLE["age"].to_numpy() + 30) % 90))
    before = party.lines()
    found = asked({"bank": door(party, later.set_column(2, "colour", TABLE["colour"]))}, rows=ROWS)
    again = asked({"bank": door(party, later.set_column(2, "colour", pa.array(["green"] * ROWS)))})
    assert not isinstance(found.lead, Exception)
    assert str(again.lead) == "bank: the budget of a whole row is used up"
    assert "2.9" in str(again.partners["bank"])
    assert len(party.lines()) == len(before) + 2


def test_a_mistake_in_a_partner_s_table_is_its_own_affair(tmp_path: Path) -> None:
    party = settled(tmp_path, "bank")
    bad = TABLE.set_column(2, "colour", pa.array(["red"] * (ROWS - 1) + ["secret"]))
    found = asked({"bank": door(party, bad)})
    assert isinstance(found.partners["bank"], FileError)
    for part in ("their.csv", "column 'colour'", "one of the 3 categories", "'secret'"):
        assert part in str(found.partners["bank"])
    assert str(found.lead) == "bank: cannot take part: there is a mistake in its own table or settings"
    assert party.lines() == []


def test_a_table_of_another_length_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    party = settled(tmp_path, "bank")
    found = asked({"bank": door(party)}, rows=ROWS - 1)
    assert str(found.partners["bank"]) == "their.csv: must have the 39 rows that were agreed; found 40"
    assert "40" not in str(found.lead)
    assert party.lines() == []


def test_a_partner_answers_to_the_name_of_the_line_and_not_to_one_in_a_message(tmp_path: Path) -> None:
    """The job may call its lead anything; the policy is asked about the party at the other end."""
    party = settled(tmp_path, "bank", grants='who = "friend"\npurposes = ["test"]')
    found = asked({"bank": door(party)}, job([], columns=None, lead="friend"))
    assert "grants nothing to 'lead'" in str(found.partners["bank"])


def test_columns_are_in_memory_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise memory would grow with rows times columns: drawn ones wait on the disk, and packed ones are sent."""
    party, reading = settled(tmp_path, "bank"), PolicyDoor._column
    read: list[Any] = []

    def watched(self: PolicyDoor, *given: Any) -> Any:
        assert sum(each() is not None for each in read) <= 1  # the last one
        codes = reading(self, *given)
        read.append(weakref.ref(codes))
        return codes

    monkeypatch.setattr(PolicyDoor, "_column", watched)
    found = asked({"bank": door(party)})
    assert [each.name for each in found.columns("bank")] == ["age", "colour"]
    assert len(read) == 4  # each for the digest, and to be sent
