"""What a party should not have sent, over real TLS: one line names it, nothing leaves uncharged, and both can go on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from sites import Sites
from test_jobs import in_memory
from threads import End, both, check

from veilboost.errors import LineError, PeerError, RefusalError, UsageError
from veilboost.trees import StockModel
from veilboost.vertical import joining
from veilboost.vertical.alignment import Commitment
from veilboost.vertical.meeting import Offer
from veilboost.vertical.opboost import Ranks
from veilboost.vertical.sent import Sent
from veilboost.wire import Array, Message, Values, decode, encode, kind_of
from veilboost.wire.tls_channel import _HEAD, TlsChannel

pytestmark = pytest.mark.slow

Push = Callable[[str, bytes], None]
Mischief = Callable[[TlsChannel, str, bytes, Push], None]


def head(kind: str, size: int) -> bytes:
    return _HEAD.pack(len(kind), size) + kind.encode()


def garbage(line: TlsChannel, kind: str, body: bytes, push: Push) -> None:
    line._socket.sendall(os.urandom(300))


def truncated(line: TlsChannel, kind: str, body: bytes, push: Push) -> None:
    line._socket.sendall(head(kind, len(body)) + body[: len(body) // 2])
    line.abort("fell silent")


def repeated(line: TlsChannel, kind: str, body: bytes, push: Push) -> None:
    push(kind, body)
    push(kind, body)


def early(line: TlsChannel, kind: str, body: bytes, push: Push) -> None:
    push("Done/1", b"\x80")


def oversized(line: TlsChannel, kind: str, body: bytes, push: Push) -> None:
    line._socket.sendall(head(kind, 1 << 40))


def changed(kind: type[Message], change: Callable[[Any], Any]) -> Mischief:
    def mischief(line: TlsChannel, said: str, body: bytes, push: Push) -> None:
        push(said, encode(change(decode(body, kind))))

    return mischief


def first_column(change: Callable[[Any], dict[str, Any]]) -> Mischief:
    return changed(Sent, lambda first: replace(first, **change(first)))


def values(change: Callable[[Any], Any]) -> Mischief:
    return first_column(lambda sent: {"values": Values.of(change(sent.values.read(400)))})


def asked(**other: Any) -> Mischief:
    return changed(Offer, lambda offer: replace(offer, ask=replace(offer.ask, **other)))


RANKS, COLUMN, OFFER = kind_of(Ranks), kind_of(Sent), kind_of(Offer)
PARTNER: list[tuple[str, Mischief, str]] = [
    ("Standing/1", garbage, "sent "),
    ("Standing/1", repeated, "sent "),
    ("Half/1", early, "sent Done/1 where Half/1 was expected"),
    ("Half/1", oversized, "sent Half/1 of 1099511627776 bytes; at most 1048576 are taken"),
    ("Commitment/1", changed(Commitment, lambda m: replace(m, rows=m.rows + 1)), "has 401 rows, where this party has"),
    (RANKS, garbage, "sent "),
    (RANKS, early, f"sent Done/1 where {RANKS} was expected"),
    (RANKS, repeated, f"sent {RANKS} where {COLUMN} was expected"),
    (COLUMN, garbage, "sent "),
    (COLUMN, repeated, "sent column 'spend' where its statement has 'visits'"),
    (COLUMN, oversized, f"sent {COLUMN} of 1099511627776 bytes; at most 4294967296 are taken"),
    (COLUMN, values(lambda ranks: np.append(ranks, ranks[0])), "'spend', which has 401 values where 400 were agreed"),
    (COLUMN, values(lambda ranks: np.where(ranks == 3, 0, ranks)), "sent column 'spend', which leaves out a rank"),
    (COLUMN, values(lambda ranks: ranks * np.nan), "sent column 'spend', which is not in unsigned whole numbers"),
    (COLUMN, first_column(lambda sent: {"cuts": Array.of(sent.cuts.read() * np.nan)}), "has cuts that do not rise"),
]  # fmt: skip
LEAD: list[tuple[str, Mischief, Any, str]] = [
    (OFFER, garbage, PeerError, "party 'bank' sent "),
    (OFFER, early, PeerError, "party 'bank' sent Done/1 where Offer/1 was expected"),
    (OFFER, oversized, PeerError, "party 'bank' sent Offer/1 of 1099511627776 bytes; at most 1048576 are taken"),
    (OFFER, asked(columns=["spend", "salary"]), RefusalError, "does not grant column 'salary' to 'bank'"),
    (OFFER, asked(purpose="marketing"), RefusalError, "'marketing'"),
    (OFFER, asked(rows=401), UsageError, "must have the 401 rows that were agreed; found 400"),
    ("Half/1", repeated, (PeerError, RefusalError), "sent "),
]  # fmt: skip


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites.settled(tmp_path_factory.mktemp("sites"))


@pytest.fixture(scope="module")
def expected(sites: Sites, tmp_path_factory: pytest.TempPathFactory) -> StockModel:
    return in_memory(sites.copied(tmp_path_factory.mktemp("memory")))


def spoilt(here: Sites, to: str, kind: str, mischief: Mischief) -> tuple[End, End]:
    """Let both do their job, while one sends ``to`` the other something else than the first message of ``kind``."""
    real, todo = TlsChannel._push, [mischief]

    def push(line: TlsChannel, said: str, body: bytes, timeout: float) -> None:
        if line.peer == to and said == kind and todo:
            todo.pop()(line, said, body, lambda other, bytes_: real(line, other, bytes_, timeout))
        else:
            real(line, said, body, timeout)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TlsChannel, "_push", push)
        patched.setattr(joining, "_PAUSE", 0.1)
        ends = both(here)
    assert not todo
    return ends


def check_whole(here: Sites, charged: list[int]) -> None:
    """Nothing has left that the ledger does not show, there is no model, and nothing is half written."""
    assert here.charged() == charged
    assert not (here.folder / "model").exists()
    assert here.left_over() <= {"job.state", "partner.state"}


@pytest.mark.parametrize(("kind", "mischief", "words"), PARTNER)
def test_a_partner_s_fault_is_named_by_the_lead_and_told(
    kind: str, mischief: Mischief, words: str, sites: Sites, expected: StockModel, tmp_path: Path
) -> None:
    here = sites.copied(tmp_path)
    lead, partner = spoilt(here, "bank", kind, mischief)
    told = f"{lead.error} / {partner.error}"
    assert words in str(lead.error), told
    assert "shop" in str(lead.error), told
    assert "bank" in str(partner.error), told
    for end in (lead, partner):  # one is at fault, and the other hears it: nobody waits for another line
        assert isinstance(end.error, PeerError | RefusalError), told
        assert not isinstance(end.error, LineError), told
    check_whole(here, [2000] if kind in (RANKS, COLUMN) else [])
    assert [end.error for end in both(here)] == [None, None]
    check(here, expected)


@pytest.mark.parametrize(("kind", "mischief", "error", "words"), LEAD)
def test_a_lead_s_fault_is_named_by_the_partner_before_anything_is_charged(
    kind: str, mischief: Mischief, error: Any, words: str, sites: Sites, expected: StockModel, tmp_path: Path
) -> None:
    here = sites.copied(tmp_path, wait=3.0)
    lead, partner = spoilt(here, "shop", kind, mischief)
    told = f"{lead.error} / {partner.error}"
    assert isinstance(partner.error, error), told
    assert words in str(partner.error), told
    assert "shop" in str(lead.error), told
    assert isinstance(lead.error, LineError) == isinstance(partner.error, UsageError), told
    check_whole(here, [])
    assert [end.error for end in both(here)] == [None, None]
    check(here, expected)


@pytest.mark.parametrize(
    ("to", "kind"), [("bank", RANKS), ("bank", COLUMN), ("bank", "Standing/1"), ("shop", OFFER), ("shop", "Half/1")]
)
def test_a_message_that_is_cut_off_is_sent_again_over_another_line(
    to: str, kind: str, sites: Sites, expected: StockModel, tmp_path: Path
) -> None:
    here = sites.copied(tmp_path)
    assert [end.error for end in spoilt(here, to, kind, truncated)] == [None, None]
    check(here, expected)
