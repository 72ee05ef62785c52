"""What another party sends and should not have: one line that names it and the fault; all hear their part."""

import queue
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import HELD, ROWS, Change, Talk, job, same, talk, train, trained

from veilboost.errors import PeerError, RefusalError
from veilboost.vertical import LeadTable, opboost
from veilboost.vertical.opboost import Ask, Cuts, Done, Ranks, Wanted
from veilboost.vertical.sent import Sent
from veilboost.wire import Array, Channel, MemoryChannel, Message, Refusal, Values, decode, encode, kind_of
from veilboost.wire.channel import Admit

PARTIES = ("bank", "shop", "clinic", "town")


def columns(column: str, /, **changed: Any) -> Change:
    """Change one column that a partner sends; a value may be a function of the column."""

    def change(message: Message) -> Message:
        if not isinstance(message, Sent) or message.name != column:
            return message
        new = {key: value(message) if callable(value) else value for key, value in changed.items()}
        return msgspec.structs.replace(message, **new)

    return change


def values(name: str, spoil: Callable[[Any], Any]) -> Change:
    return columns(name, values=lambda each: Values.of(spoil(held(each))))


def held(sent: Any) -> Any:
    """Return the values of a column, to be changed."""
    return sent.values.read(-(-ROWS * sent.count // 8) if sent.form == "bits" else ROWS).copy()


def cuts(name: str, spoil: Callable[[Any], Any]) -> Change:
    return columns(name, cuts=lambda each: Array.of(spoil(each.cuts.read().copy())))


def put(place: int, value: float) -> Callable[[Any], Any]:
    def spoil(column: Any) -> Any:
        column[place] = value
        return column

    return spoil


def named(order: Callable[[list[Any]], list[Any]]) -> Change:
    """Change which columns a partner says that it sends."""

    def change(message: Message) -> Message:
        return stated(columns=order(message.statement.columns))(message) if isinstance(message, Ranks) else message

    return change


def stated(**changed: Any) -> Change:
    """Change the statement, or with ``first`` its first column."""

    def change(message: Message) -> Message:
        if not isinstance(message, Ranks):
            return message
        said = message.statement
        first, rest = changed.get("first", {}), {key: value for key, value in changed.items() if key != "first"}
        new = [msgspec.structs.replace(said.columns[0], **first), *said.columns[1:]]
        return msgspec.structs.replace(message, statement=msgspec.structs.replace(said, **{"columns": new, **rest}))

    return change


def replaced(name: str, kind: str) -> Change:
    return values(name, lambda column: column.astype(kind))


RANKS: list[tuple[str, str, Change, str]] = [
    ("wrong type: signed", "bank", replaced("spend", "<i8"), "column 'spend', which is not in unsigned whole numbers"),
    ("wrong type: floats", "bank", replaced("age", "<f8"), "column 'age', which is not in unsigned whole numbers"),
    ("wrong type: wide bits", "town", replaced("member", "<u2"), "column 'member', which is not in unsigned whole"),
    ("too short", "bank", values("spend", lambda c: c[:-1]), "'spend', which has 299 values where 300 were agreed"),
    ("too long", "shop", values("since", lambda c: np.append(c, c[0])), "'since', which has 301 values where 300"),
    ("empty", "shop", values("colour", lambda c: c[:0]), "'colour', which has 0 values where 300 were agreed"),
    ("bits too short", "town", values("member", lambda c: c[:-1]), "'member', which has 74 values where 75 were"),
    ("rank above count", "bank", values("spend", put(3, 200)), "'spend', which has a value above"),
    ("category above count", "shop", values("colour", put(3, 9)), "'colour', which has a value above 3"),
    ("a rank left out", "bank", columns("spend", count=lambda each: each.count + 1), "'spend', which leaves out a ran"),
    ("more ranks than rows", "bank", columns("spend", count=2**31), "'spend', which leaves out a rank"),
    ("a negative count", "bank", columns("spend", count=-1), "'spend', which is not in unsigned"),
    ("rank 0 where none is missing", "clinic", columns("size", impute=1.0, values=lambda each: Values.of(
        put(0, 0)(held(each)))), "'size', which has missing values, and says that it has none"),
    ("imputed by NaN", "clinic", columns("score", impute=float("nan")), "'score', which has missing values, and"),
    ("NaN among cuts", "bank", cuts("spend", put(2, np.nan)), "'spend', which has cuts that do not rise"),
    ("infinity among cuts", "bank", cuts("spend", put(0, -np.inf)), "'spend', which has cuts that do not rise"),
    ("falling cuts", "shop", cuts("since", lambda c: c[::-1]), "'since', which has cuts that do not rise"),
    ("a cut too few", "bank", cuts("spend", lambda c: c[:-1]), "'spend', which must have one cut fewer than ranks"),
    ("cuts of whole numbers", "bank", cuts("spend", lambda c: c.astype(np.int64)), "'spend', which must have one cut"),
    ("no cuts", "bank", columns("spend", cuts=None), "'spend', which has no cuts"),
    ("cuts of categories", "shop", columns("colour", cuts=Array.of(np.zeros(2))), "'colour', which has categories, an"),
    ("a unit of categories", "shop", columns("colour", unit="days"), "'colour', which has categories, and says how"),
    ("no categories", "shop", columns("colour", categories=None), "'colour', which does not say what each category is"),
    ("a category too few", "shop", columns("colour", categories=["a", "b"]), "'colour', which does not say what each"),
    ("a category twice", "shop", columns("colour", categories=["a", "b", "a"]), "'colour', which does not say what ea"),
    ("categories of two types", "shop", columns("colour", categories=["a", 1, "b"]), "'colour', which has categories "),
    ("truth among numbers", "shop", columns("colour", categories=[True, 2, 3]), "'colour', which has categories of di"),
    ("a missing category", "shop", columns("colour", categories=["a", "b", None]), "'colour', which has categories of"),
    ("a huge category", "shop", columns("colour", categories=[1, 2, 2**63]), "'colour', which has a category beyond 6"),
    ("nothing but missing", "town", columns("member", categories=[None, None]), "'member', which does not say what"),
    ("places without a list", "clinic", columns("size", categories=None), "'size', which does not say what its places"),
    ("a list without places", "clinic", columns("size", unit="number"), "'size', which does not say what its places"),
    ("unknown column", "bank", columns("age", name="weight"), "sent column 'weight' where its statement has 'age'"),
    ("a column again", "bank", columns("age", name="spend"), "sent column 'spend' where its statement has 'age'"),
    ("columns in another order", "bank", named(lambda c: c[::-1]), "column 'spend' where its statement has 'age'"),
    ("missing column", "bank", named(lambda c: c[:1]), "a statement about the columns ['spend'] where ['spend', 'age'"),
    ("duplicate column", "bank", named(lambda c: [c[0], c[0]]), "the columns ['spend', 'spend'], one of them twice"),
    ("no columns", "bank", named(lambda c: []), "a statement about the columns [] where ['spend', 'age'] were asked"),
    ("more columns than are sent", "town", named(lambda c: [*c, msgspec.structs.replace(c[0], column="x")]),
        "a statement about the columns ['member', 'x'] where ['member'] were asked for"),
    ("statement of another", "bank", stated(party="shop"), "sent a statement of another party, or about another job"),
    ("statement to another", "bank", stated(to="rival"), "sent a statement of another party, or about another job"),
    ("statement of another job", "bank", stated(job="old"), "sent a statement of another party, or about another job"),
    ("another purpose", "bank", stated(purpose="old"), "sent a statement of another party, or about another job"),
    ("a newer statement", "bank", stated(format=2), "sent a statement of format 2; this version reads format 1"),
    ("nominal too low", "bank", stated(first={"nominal_epsilon": 0.1}), "another nominal epsilon for column 'spend' t"),
    ("promise too low", "bank", stated(first={"promised_neighbours": 0.1}), "another promised neighbours for column '"),
    ("range too low", "bank", stated(first={"exact_whole_range": 0.1}), "stated another exact whole range for column"),
    ("gaps too low", "bank", stated(first={"exact_gaps": [0.1] * 24}), "stated another exact gaps for column 'spend'"),
    ("no gaps", "bank", stated(first={"exact_gaps": None}), "stated another exact gaps for column 'spend' than its"),
    ("a NaN", "bank", stated(first={"exact_whole_range": float("nan")}), "stated another exact whole range for column"),
    ("another table", "bank", stated(first={"table_digest": "0" * 64}), "stated a table for column 'spend' that does "),
    ("no mechanism", "bank", stated(first={"settings": {}}), "stated settings of no mechanism for column 'spend'"),
    ("unknown mechanism", "bank", stated(first={"settings": {"mechanism": "x"}}), "stated settings of no mechanism fo"),
    ("settings of text", "bank", stated(first={"settings": {"mechanism": "tight", "epsilon": "x", "size": 25}}),
        "stated settings of no mechanism for column 'spend'"),
    ("settings that are huge", "bank", stated(first={"settings": {"mechanism": "tight", "epsilon": 1, "size": 2**62}}),
        "stated settings of no mechanism for column 'spend'"),
    ("another message", "bank", lambda _: Done(), "sent Done/1 where Ranks/4 was expected"),
    ("another message in the place of a column", "bank", lambda m: Done() if isinstance(m, Sent) else m,
        "sent Done/1 where Sent/1 was expected"),
]  # fmt: skip
CUTS: list[tuple[str, str, Callable[[Cuts], Any], str]] = [
    ("cuts for nothing", "bank", lambda m: Cuts(cuts={}), "sent cuts of the columns [] where ['age', 'spend'] were"),
    ("other cuts", "bank", lambda m: Cuts(cuts=m.cuts | {"x": Array.of(np.zeros(1))}), "['age', 'spend', 'x'] where"),
    ("a cut short", "bank", lambda m: Cuts(cuts=m.cuts | {"spend": Array.of(np.zeros(0))}), "no cut for each threshol"),
    ("whole cuts", "bank", lambda m: Cuts(cuts={k: Array.of(v.read().astype(np.int64)) for k, v in m.cuts.items()}),
        "sent no cut for each threshold of column"),
    ("falling on request", "bank", lambda m: Cuts(cuts={k: Array.of(v.read()[::-1]) for k, v in m.cuts.items()}),
        "sent cuts of column 'spend' that do not rise"),
    ("NaN on request", "bank", lambda m: Cuts(cuts={k: Array.of(v.read() * np.nan) for k, v in m.cuts.items()}),
        "sent cuts of column 'spend' that do not rise"),
]  # fmt: skip


def of_kind(kind: type[Message], change: Callable[[Any], Message]) -> Callable[[Message], Message]:
    return lambda message: change(message) if isinstance(message, kind) else message


def check_refused(found: Talk, party: str, words: str) -> None:
    """The lead names party and fault in one line; the party hears its fault, the others that there is one."""
    assert isinstance(found.lead, PeerError)
    assert found.lead.party == party
    assert words in str(found.lead)
    assert "\n" not in str(found.lead)
    for name, ended in found.partners.items():
        assert isinstance(ended, RefusalError)
        told = found.lead.problem if name == party else "another party did not keep to the protocol"
        assert told[:200] in str(ended)
        assert [kind for kind, _ in found.bodies("lead", name)].count("Refusal/1") == 1
        assert "Refusal/1" not in [kind for kind, _ in found.bodies(name, "lead")]


@pytest.mark.parametrize(("party", "change", "words"), [each[1:] for each in RANKS], ids=[each[0] for each in RANKS])
def test_columns_that_were_not_agreed_are_refused(party: str, change: Any, words: str) -> None:
    check_refused(train(job(PARTIES), changes={party: change}), party, words)


@pytest.mark.parametrize(("party", "change", "words"), [e[1:] for e in CUTS], ids=[e[0] for e in CUTS])
def test_cuts_that_were_not_asked_for_are_refused(party: str, change: Any, words: str) -> None:
    found = train(job(PARTIES, thresholds="on-request"), changes={party: of_kind(Cuts, change)})
    check_refused(found, party, words)


def test_cuts_up_front_where_they_are_to_be_asked_for_are_refused() -> None:
    (up_front, _) = train(job(["bank"])).columns("bank")
    change = columns("spend", cuts=up_front.cuts)
    found = train(job(["bank"], thresholds="on-request"), changes={"bank": change})
    check_refused(found, "bank", "sent column 'spend', which has cuts that were not asked for")


def test_columns_that_were_agreed_but_not_asked_for_are_refused() -> None:
    whole = decode(dict(train(job(["bank"])).bodies("bank", "lead"))["Ranks/4"], Ranks)
    made = job(["bank"], columns={"bank": ["spend"]})
    found = train(made, changes={"bank": of_kind(Ranks, lambda _: whole)})
    check_refused(found, "bank", "sent a statement about the columns ['spend', 'age'] where ['spend'] were asked")


def test_a_text_in_a_statement_is_ours_and_not_the_partner_s() -> None:
    lies = {"one_column": "ε = 0", "whole_row": "ε = 0", "first": {"guarantee": "perfect", "mechanism": "perfect"}}
    truth, lie = (
        trained(train(job(PARTIES), changes={"bank": change})).statements for change in (same, stated(**lies))
    )
    assert truth == lie


ASKS: list[tuple[str, Callable[[Ask], Message], str]] = [
    ("unknown column", lambda m: msgspec.structs.replace(m, columns=["spend", "x"]), "'bank' has no column 'x'"),
    ("a column twice", lambda m: msgspec.structs.replace(m, columns=["age", "age"]), "asked for a column twice"),
    ("other rows", lambda m: msgspec.structs.replace(m, rows=7), "the table of bank: must have the 7 rows that were"),
    ("another message", lambda m: Done(), "sent Done/1 where Ask/2 was expected"),
]


@pytest.mark.parametrize(("change", "words"), [each[1:] for each in ASKS], ids=[each[0] for each in ASKS])
def test_a_question_that_cannot_be_answered_is_refused_before_anything_leaves(change: Any, words: str) -> None:
    found = train(job(["bank"]), changes={"lead": of_kind(Ask, change)})
    assert words in str(found.partners["bank"])
    assert isinstance(found.lead, RefusalError)
    assert [kind for kind, _ in found.bodies("bank", "lead")] == ["Refusal/1"]
    if isinstance(found.partners["bank"], PeerError):
        assert words in str(found.lead)


WANTED: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown column", {"x": [1]}, "asked for cuts of column 'x' that do not exist"),
    ("a column without cuts", {"colour": [1]}, "asked for cuts of column 'colour' that do not exist"),
    ("rank 0", {"since": [0, 1]}, "asked for cuts of column 'since' that do not exist"),
    ("the last rank", {"since": [30]}, "asked for cuts of column 'since' that do not exist"),
    ("a fraction", {"since": [1.5]}, "asked for cuts of column 'since' that do not exist"),
]


@pytest.mark.parametrize(("wanted", "words"), [each[1:] for each in WANTED], ids=[each[0] for each in WANTED])
def test_cuts_that_do_not_exist_are_not_given(wanted: dict[str, Any], words: str) -> None:
    asked = Wanted(ranks={name: Array.of(np.array(each)) for name, each in wanted.items()})
    found = train(job(["shop"], thresholds="on-request"), changes={"lead": of_kind(Wanted, lambda _: asked)})
    assert isinstance(found.partners["shop"], PeerError)
    assert words in str(found.partners["shop"])
    assert words in str(found.lead)
    assert [kind for kind, _ in found.bodies("shop", "lead")] == ["Ranks/4", "Sent/1", "Sent/1", "Refusal/1"]


def test_two_partners_of_one_name_are_refused_before_anything_is_asked() -> None:
    for ends in (["bank", "bank"], ["lead"]):
        lines = [MemoryChannel(name, queue.Queue(), queue.Queue()) for name in ends]
        with pytest.raises(ValueError, match="must lead to partners of different names"):
            opboost.lead(lines, _table(), job(["bank"]))
        assert all(set(line.traffic.sent) == {"Refusal/1"} for line in lines)


def _table() -> LeadTable:
    return LeadTable(target=np.zeros(3))


@cache
def answer() -> list[tuple[str, bytes]]:
    """Return what an honest partner says: statement, two columns, cuts."""
    return talked().bodies("clinic", "lead")


@cache
def talked() -> Talk:
    return train(job(["clinic"], thresholds="on-request"))


def honest() -> dict[str, bytes]:
    """Return one message of each kind."""
    return dict([*answer(), *talked().bodies("lead", "clinic")])


KINDS: dict[str, type[Message]] = {kind_of(kind): kind for kind in (Ask, Ranks, Sent, Wanted, Cuts, Done)}


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_value_error(kind: str, body: bytes) -> None:
    try:
        found = decode(body, KINDS[kind])
    except ValueError:
        return
    assert decode(encode(found), KINDS[kind]) == found


@st.composite
def spoilt(draw: Any) -> tuple[str, bytes]:
    """Return an honest message that was cut, or in which some bytes were changed, put in or left out."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    body = bytearray(honest()[kind])
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(body) - 1)))
        put = draw(st.binary(max_size=4))
        body[place : place + draw(st.integers(0, 4))] = put
    return kind, bytes(body)


class Told(Channel):
    """A line on which some messages wait, and then refusals."""

    def __init__(self, *waiting: tuple[str, bytes]) -> None:
        super().__init__("clinic")
        self.told: list[str] = []
        self._waiting = list(waiting[::-1])

    def _push(self, kind: str, body: bytes, timeout: float) -> None:
        self.told.append(kind)

    def _pull(self, timeout: float, admit: Admit) -> tuple[str, bytes | bytearray]:
        return self._waiting.pop() if self._waiting else (kind_of(Refusal), encode(Refusal(reason="enough")))


@settings(max_examples=300)
@given(spoilt())
def test_a_spoilt_message_is_used_or_refused_and_never_worse(message: tuple[str, bytes]) -> None:
    kind, _ = message
    (ranks, first, last, _) = answer()
    line = Told(*{"Ranks/4": (message, first, last), "Sent/1": (ranks, first, message)}.get(kind, (message,)))
    made = job(["clinic"], thresholds="on-request")
    try:
        if kind in ("Ranks/4", "Sent/1"):
            opboost.receive_answer("lead", line, opboost.ask("clinic", 300, made))
        elif kind == "Cuts/1":
            opboost.receive_cuts(line, {name: Array.of(np.array([1, 2])) for name in HELD["clinic"]})
        else:
            line.receive(KINDS[kind])
    except PeerError as error:
        refused = error
    else:
        return
    assert refused.party == "clinic"
    assert str(refused).isprintable()
    assert len(str(refused)) < 2000


def test_a_partner_that_stops_is_named_and_the_others_hear_no_reason() -> None:
    def stops(channel: Channel) -> None:
        channel.receive(Ask)
        channel.refuse("no\x1b[31m more\nbudget")

    found = talk(
        lambda channels: opboost.lead(channels, _table(), job(["bank", "shop"])),
        {"bank": stops, "shop": lambda channel: (channel.receive(Ask), channel.receive(Done))},
    )
    assert str(found.lead) == "bank: no [31m more budget"
    assert str(found.partners["shop"]) == "lead: another party stopped"
    assert [kind for kind, _ in found.bodies("lead", "bank")] == ["Ask/2"]
