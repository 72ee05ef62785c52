"""The carrier over TLS: who gets in, who does not and why; deadlines, sizes, cuts, and dialling again."""

import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from certified import days_away, forced, party, two
from relay import relay
from veilboost.errors import FileError, LineError, PeerError, RefusalError, SettingError, VeilboostError
from veilboost.wire import (
    Authority,
    Channel,
    Listener,
    Message,
    PartyKeys,
    TlsChannel,
    deny,
    dial,
    load_party,
    new_authority,
    parse_address,
)
from veilboost.wire.handshake import client_context, server_context

ANY = ("127.0.0.1", 0)


class Ping(Message, frozen=True, kw_only=True):
    LARGEST = 1 << 27

    body: bytes = b""


class Pong(Message, frozen=True, kw_only=True):
    body: bytes = b""


TALK = (Ping, Pong)


@dataclass(frozen=True)
class World:
    """An authority, a lead 'bank' and a partner 'shop'."""

    folder: Path
    by: Authority
    bank: PartyKeys
    shop: PartyKeys


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, *two(tmp_path))


@dataclass
class Open:
    """A listening lead, and whom it turned away."""

    listener: Listener
    refused: list[str] = field(default_factory=list)

    @property
    def address(self) -> tuple[str, int]:
        return "localhost", self.listener.address[1]


@contextmanager
def listening(keys: PartyKeys, parties: Any = ("shop",), messages: Any = TALK) -> Iterator[Open]:
    refused: list[str] = []
    with Listener(keys, ANY, parties, messages, refused=refused.append) as listener:
        yield Open(listener, refused)


@contextmanager
def line(world: World) -> Iterator[tuple[TlsChannel, TlsChannel]]:
    """Return the lead's end and the partner's."""
    with listening(world.bank) as lead:
        theirs = dial(world.shop, "bank", lead.address, TALK)
        ours = lead.listener.channel("shop", 20)
        try:
            yield ours, theirs
        finally:
            ours.close()
            theirs.close()


def both(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Run two sides at once, and return what each ended with, a result or an error."""
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(each) for each in (first, second)]
        ended = [each.exception(60) or each.result() for each in running]
        return ended[0], ended[1]


def turned_away(keys: PartyKeys, lead: Open, kind: type[VeilboostError], problem: str, **more: Any) -> str:
    """Dial, be refused with a reason, and return what the lead wrote down."""
    with pytest.raises(kind) as error:
        dial(keys, "bank", lead.address, TALK, **more)
    said = str(error.value)
    assert re.search(problem, said), said
    assert said.isprintable()
    return noted(lead)


def noted(lead: Open, count: int = 1) -> str:
    """Wait until the lead has turned somebody away."""
    until = time.monotonic() + 20
    while len(lead.refused) < count and time.monotonic() < until:
        time.sleep(0.01)
    assert len(lead.refused) >= count
    assert all(each.isprintable() for each in lead.refused)
    return lead.refused[count - 1]


def test_messages_of_every_size_arrive_as_they_were(world: World) -> None:
    with line(world) as (ours, theirs):
        assert (ours.peer, theirs.peer) == ("shop", "bank")
        for size in (0, 1, 100, 1 << 20, (1 << 26) + 5):
            body = bytes(range(256)) * (size // 256 + 1)
            received, _ = both(partial(theirs.receive, Ping, 30), partial(ours.send, Ping(body=body)))
            assert received.body == body
            theirs.send(Pong(body=body[:100]))
            assert ours.receive(Pong, 30).body == body[:100]
        assert ours.traffic.sent["Ping/1"] == theirs.traffic.received["Ping/1"]


def test_only_tls_1_3_and_a_fresh_certificate_each_time(world: World) -> None:
    with line(world) as (ours, theirs):
        assert [each._socket.version() for each in (ours, theirs)] == ["TLSv1.3"] * 2
        theirs.send(Ping())
        ours.receive(Ping, 10)
        session = theirs._socket.session
        assert session is None or not session.has_ticket


# Who gets in


def test_an_expired_certificate_is_named_on_both_sides(world: World) -> None:
    old = forced(world.by, world.folder / "old", "old", start=-100)
    with listening(world.bank, ["old"]) as lead:
        said = turned_away(
            old, lead, RefusalError, r"bank takes this party's certificate for expired: it is valid from .* to .* UTC, "
            r"and the clock here says 20.* UTC; compare it with the clock there",
        )  # fmt: skip
    assert re.search(
        r"^127\.0\.0\.1 showed a certificate that has expired, by this machine's clock, which says 20", said
    )


def test_a_certificate_that_is_not_valid_yet_is_named_on_both_sides(world: World) -> None:
    early = forced(world.by, world.folder / "early", "early", start=10)
    with listening(world.bank, ["early"]) as lead:
        said = turned_away(early, lead, RefusalError, "takes this party's certificate for bad, or not valid yet: it is")
    assert "showed a certificate that is not valid yet, by this machine's clock, which says 20" in said


@pytest.mark.parametrize(("start", "problem"), [(-100, "has expired"), (10, "is not valid yet")])
def test_a_lead_out_of_its_time_is_named_with_dates(world: World, start: int, problem: str) -> None:
    lead_keys = forced(world.by, world.folder / "late", "late", start=start)
    with listening(lead_keys) as lead:
        wanted = (
            f"'late' at localhost:.* showed a certificate of 'late' that {problem}: it is valid from 20.* to 20.*, "
            "and this machine's clock says 20"
        )
        with pytest.raises(PeerError, match=wanted):
            dial(world.shop, "late", lead.address, TALK)


def test_the_certificate_of_another_authority_is_refused(world: World) -> None:
    other = new_authority(world.folder / "other", "consortium")
    stranger = party(other, world.folder / "stranger", "shop")
    trusting = replace(stranger, trusted=world.shop.trusted)
    with listening(world.bank) as lead:
        said = turned_away(trusting, lead, RefusalError, "bank does not trust the authority that signed this party's")
        assert "showed a certificate that no authority that is trusted here has signed" in said
        turned_away(stranger, lead, PeerError, "a certificate of 'bank' that no authority that is trusted here has sig")


def self_signed(world: World, name: str) -> PartyKeys:
    """Return a party that vouches for itself."""
    folder = world.folder / f"self-{name}"
    own = new_authority(folder, name)
    (folder / "party.key").write_bytes((folder / "authority.key").read_bytes())
    (folder / "certificate.pem").write_bytes((folder / "authority.pem").read_bytes())
    return PartyKeys(folder, name, (own.certificate,), world.shop.trusted)


def test_a_self_signed_certificate_is_refused(world: World) -> None:
    with listening(world.bank) as lead:
        said = turned_away(self_signed(world, "shop"), lead, RefusalError, "bank does not trust the authority|accept")
    assert "showed a certificate that is signed by nobody but itself" in said


def test_a_swapped_certificate_is_refused(world: World) -> None:
    """A party of the same authority with another name: the clinic in the shop's place, and as the lead."""
    clinic = party(world.by, world.folder / "clinic", "clinic")
    with listening(world.bank) as lead:
        said = turned_away(clinic, lead, RefusalError, "bank: you came where only 'shop' may come")
        assert "'clinic' came where only 'shop' may come" in said
    with listening(clinic) as lead:
        with pytest.raises(PeerError, match="'clinic' came where only 'bank' may come"):
            dial(world.shop, "bank", lead.address, TALK)
        assert "you came where only 'bank' may come" in noted(lead)


def test_a_revoked_certificate_is_refused_on_either_side(world: World) -> None:
    with listening(world.bank) as lead:
        dial(world.shop, "bank", lead.address, TALK).close()
        deny(world.bank.folder, str(world.shop.certificate_file), "stolen")
        said = turned_away(
            world.shop, lead, RefusalError, "bank: you showed a certificate that is on this party's deny"
        )
        assert "'shop' showed a certificate that is on this party's deny list" in said
    (world.bank.folder / "denied.txt").unlink()
    deny(world.shop.folder, world.bank.fingerprint)
    with listening(world.bank) as lead:
        said = turned_away(world.shop, lead, PeerError, "'bank' showed a certificate that is on this party's deny list")
        assert "shop: you showed a certificate that is on this party's deny list" in said


def test_a_renewed_certificate_of_a_denied_key_is_refused(world: World) -> None:
    deny(world.bank.folder, str(world.shop.certificate_file), "stolen")
    again = party(world.by, world.shop.folder, "shop", at=["other.example"])
    with listening(world.bank) as lead:
        turned_away(again, lead, RefusalError, "deny list")


def test_a_deny_list_that_cannot_be_read_lets_nobody_in(world: World) -> None:
    with listening(world.bank) as lead:
        (world.bank.folder / "denied.txt").write_text("all of them")
        said = turned_away(world.shop, lead, LineError, "closed the line")
        assert "line 1 is no SHA-256 fingerprint" in said


def test_a_lead_under_another_address_is_refused(world: World) -> None:
    town = party(world.by, world.folder / "town", "town", at=["town.example"])
    with listening(town) as lead:
        for host in ("localhost", "127.0.0.1"):
            wanted = f"a certificate of 'town' that is for the addresses town.example, and not for {host}"
            with pytest.raises(PeerError, match=wanted):
                dial(world.shop, "town", (host, lead.address[1]), TALK)
        dial(world.shop, "town", lead.address, TALK, known_as="town.example").close()


def test_tls_without_a_certificate_is_refused(world: World) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with listening(world.bank) as lead, socket.create_connection(lead.address, timeout=20) as raw:
        with context.wrap_socket(raw) as sock, suppress(OSError):
            assert sock.recv(100) == b""
        assert "showed no certificate" in noted(lead)


def test_old_tls_is_refused(world: World) -> None:
    context = client_context(world.shop)
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
    with listening(world.bank) as lead, socket.create_connection(lead.address, timeout=20) as raw:
        with pytest.raises(OSError, match=r"(?i)alert"):
            context.wrap_socket(raw, server_hostname="localhost")
        assert "spoke no TLS 1.3" in noted(lead)


@pytest.mark.parametrize(
    "greeting",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 400, b"SSH-2.0-x\r\n" * 30, b"\x16\x03\x01\xff\xff" * 99],
)
def test_plain_tcp_is_refused(world: World, greeting: bytes) -> None:
    with listening(world.bank) as lead, socket.create_connection(lead.address, timeout=20) as raw:
        raw.sendall(greeting)
        with suppress(OSError):
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(100):
                pass
        assert re.search("spoke no TLS|left before the handshake was done|failed in its handshake", noted(lead))


def test_who_says_nothing_is_turned_away_in_time_and_keeps_nobody_waiting(world: World) -> None:
    silent = socket.create_connection
    with (
        patch("veilboost.wire.listener.PATIENCE", 0.3),
        listening(world.bank) as lead,
        silent(lead.address),
        silent(lead.address),
    ):
        dial(world.shop, "bank", lead.address, TALK).close()
        assert "did not finish its handshake within" in noted(lead, 2)


def test_who_leaves_at_once_is_noted(world: World) -> None:
    with listening(world.bank) as lead:
        socket.create_connection(lead.address).close()
        assert re.search("left before the handshake was done", noted(lead))


def test_a_lead_that_is_none_is_named(world: World) -> None:
    with socket.create_server(ANY) as server, ThreadPoolExecutor(1) as pool:
        address = ("localhost", server.getsockname()[1])

        def answer() -> None:
            accepted, _ = server.accept()
            with accepted:
                accepted.sendall(b"220 mail.example ESMTP\r\n" * 20)
                accepted.settimeout(5)
                with suppress(OSError):
                    while accepted.recv(1000):
                        pass

        answering = pool.submit(answer)
        with pytest.raises(PeerError, match=r"^party 'bank' at localhost:\d+ spoke no TLS$"):
            dial(world.shop, "bank", address, TALK)
        answering.result(20)
    with pytest.raises(
        LineError, match=r"cannot be dialled at localhost:.*: nobody listens there; is the lead running"
    ):
        dial(world.shop, "bank", address, TALK)
    with pytest.raises(
        LineError, match=r"cannot be dialled: there is no address for the host 'no\.such\.host\.invalid'"
    ):
        dial(world.shop, "bank", ("no.such.host.invalid", 1), TALK)


def test_a_partner_may_dial_before_the_lead_listens(world: World) -> None:
    with socket.create_server(ANY) as server:
        port = server.getsockname()[1]

    def lead() -> str:
        with Listener(world.bank, ("127.0.0.1", port), ["shop"], TALK) as listener:
            return listener.channel("shop", 20).peer

    with ThreadPoolExecutor(1) as pool:
        dialled = pool.submit(dial, world.shop, "bank", ("localhost", port), TALK, patience=20)
        time.sleep(0.2)
        assert lead() == "shop"
        dialled.result(20).close()


def test_the_lead_says_whom_it_waits_for_and_who_was_turned_away(world: World) -> None:
    clinic = party(world.by, world.folder / "clinic", "clinic")
    with listening(world.bank, ["shop", "town"]) as lead:
        turned_away(clinic, lead, RefusalError, "you came where")
        wanted = "party 'town' did not dial within 0.1 seconds; turned away meanwhile: 127.0.0.1 'clinic' came where on"
        with pytest.raises(LineError, match=wanted):
            lead.listener.channel("town", 0.1)


def test_what_a_listener_needs(world: World) -> None:
    with pytest.raises(FileError, match="names no address under which partners dial"):
        Listener(world.shop, ANY, ["bank"], TALK)
    with pytest.raises(SettingError, match="parties must be others than the lead itself; got 'bank'"):
        Listener(world.bank, ANY, ["bank"], TALK)
    with listening(world.bank) as lead, pytest.raises(SettingError, match="listen must be a free address of this mach"):
        Listener(world.bank, lead.listener.address, ["shop"], TALK)


# Versions


class Ping2(Message, frozen=True, kw_only=True):
    VERSION = 2


Ping2.__name__ = "Ping"


def test_other_versions_are_named_on_both_sides(world: World) -> None:
    with listening(world.bank, messages=(Ping2, Pong)) as lead:
        said = turned_away(
            world.shop, lead, PeerError, r"^party 'bank' used Ping/2 \(veilboost 0\.1\.0\) where this side uses Ping/1 "
            r"\(veilboost 0\.1\.0\); install the same version on both$",
        )  # fmt: skip
        assert "shop: you used Ping/2 (veilboost 0.1.0) where this side uses Ping/1" in said
    with listening(world.bank, messages=(Ping, Pong)) as lead, patch("veilboost.wire.hello.PROTOCOL", 9):
        turned_away(world.shop, lead, PeerError, r"used protocol 1 \(.*\) where this side uses protocol 9")
    with listening(world.bank, messages=(Ping,)) as lead:
        turned_away(world.shop, lead, PeerError, r"used no Pong \(.*\) where this side uses Pong/1")


def test_a_hello_of_the_future_can_be_read(world: World) -> None:
    import msgspec

    from veilboost.wire import decode
    from veilboost.wire.hello import Hello, hello, mismatch

    later = msgspec.to_builtins(hello(TALK)) | {"clock": 17, "languages": ["en"]}
    found = decode(msgspec.msgpack.encode(later), Hello)
    assert mismatch(hello(TALK), found) is None


# Deadlines, sizes, and lines that break


def test_a_time_out_names_party_message_and_time(world: World) -> None:
    with line(world) as (ours, theirs):
        started = time.monotonic()
        with pytest.raises(LineError, match=r"party 'shop' sent no Pong/1 within 0\.2 seconds"):
            ours.receive(Pong, 0.2)
        assert time.monotonic() - started < 10
        ours.refuse("too late")
        with pytest.raises(RefusalError, match="bank: too late"):
            theirs.receive(Ping, 10)


def test_who_takes_nothing_is_named(world: World) -> None:
    with line(world) as (ours, _), pytest.raises(LineError, match=r"'shop' did not take Ping/1 within 0\.5 seconds"):
        ours.send(Ping(body=bytes(1 << 26)), timeout=0.5)


def test_a_large_message_is_refused_before_it_is_taken(world: World) -> None:
    with line(world) as (ours, theirs):

        def speak() -> None:
            theirs.send(Pong(body=bytes(1 << 25)), timeout=20)

        heard, spoke = both(lambda: hear(ours), speak)
        assert str(heard) == "party 'shop' sent Pong/1 of 33554443 bytes; at most 1048576 are taken"
        assert "bank: you sent Pong/1 of" in str(spoke)


def hear(channel: TlsChannel) -> None:
    """Receive as a job does: tell the other side what was wrong, and close."""
    try:
        channel.receive(Pong, 20)
    except PeerError as error:
        channel.refuse(f"you {error.problem}")
        raise
    finally:
        channel.close()


def test_a_size_that_is_claimed_costs_nothing(world: World) -> None:
    """2^64 bytes are claimed of a message without much of a bound; nothing is set aside beyond what arrives."""
    import tracemalloc

    with line(world) as (ours, theirs), patch.object(Ping, "LARGEST", 1 << 63):
        theirs._socket.sendall(struct.pack(">BQ", 6, 1 << 62) + b"Ping/1" + bytes(1000))
        theirs._socket.close()
        tracemalloc.start()
        with pytest.raises(LineError, match=r"'shop' (closed|broke) the line"):
            ours.receive(Ping, 20)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1 << 23


def test_a_refusal_reaches_who_is_still_speaking(world: World) -> None:
    """The lead says no while the partner sends 128 MB: the partner hears why, and stops at once."""
    with line(world) as (ours, theirs):
        refused = threading.Event()

        def refuse() -> None:
            ours.refuse("the job is over")
            refused.set()
            ours.close()

        def speak() -> None:
            refused.wait(20)
            theirs.send(Ping(body=bytes((1 << 27) - 100)), timeout=20)

        _, spoke = both(refuse, speak)
        assert isinstance(spoke, RefusalError)
        assert str(spoke) == "bank: the job is over"


def test_two_who_speak_at_once_are_told(world: World) -> None:
    with line(world) as (ours, theirs):
        theirs.send(Ping())
        assert theirs.peer == "bank"
        time.sleep(0.3)
        with pytest.raises(PeerError, match="'shop' sent Ping/1 where Nothing/1 was expected"):
            ours.send(Pong())


def test_a_line_that_ends_is_named_at_once(world: World) -> None:
    with line(world) as (ours, theirs):
        theirs.close()
        with pytest.raises(LineError, match="'shop' closed the line"):
            ours.receive(Pong, 20)
        with pytest.raises(LineError, match="cannot be heard any more"):
            ours.receive(Pong, 20)
        ours.close()
        for step in (partial(ours.send, Pong()), partial(ours.receive, Pong, 20)):
            with pytest.raises(LineError, match="the line is closed"):
                step()
        ours.refuse("over")
    with line(world) as (ours, theirs):
        theirs._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs._socket.close()
        with pytest.raises(LineError, match=r"'shop' (broke the line: connection reset by peer|closed the line)"):
            ours.receive(Pong, 20)


def test_a_message_that_is_cut_off_is_no_message(world: World) -> None:
    with line(world) as (ours, theirs):
        theirs._socket.sendall(struct.pack(">BQ", 6, 100) + b"Pong/1" + bytes(50))
        theirs._socket.close()
        with pytest.raises(LineError, match="'shop' closed the line"):
            ours.receive(Pong, 20)


@pytest.mark.parametrize("garbage", [bytes(9), b"\xff" * 99, struct.pack(">BQ", 3, 5) + b"\xff\xfe\xfdhello"])
def test_bytes_that_are_no_message_are_named(world: World, garbage: bytes) -> None:
    with line(world) as (ours, theirs):
        theirs._socket.sendall(garbage)
        with pytest.raises(PeerError) as error:
            ours.receive(Pong, 20)
        assert re.search("sent bytes that are no message|sent .* where Pong/1 was expected", str(error.value))
        assert str(error.value).isprintable()


def test_repeated_and_reordered_messages_are_named(world: World) -> None:
    with line(world) as (ours, theirs):
        theirs.send(Ping())
        theirs.send(Ping())
        assert ours.receive(Ping, 20) == Ping()
        with pytest.raises(PeerError, match="sent Ping/1 where Pong/1 was expected"):
            ours.receive(Pong, 20)


def test_an_interrupted_message_is_never_mended(world: World) -> None:
    """After Ctrl-C in the middle of a message nothing more is put on the line, not even a reason."""
    with line(world) as (ours, theirs):
        with (
            patch.object(ours, "_write", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            ours.send(Ping(body=b"secret"))
        ours.refuse("stopped")
        ours.close()
        with pytest.raises(LineError, match="'bank' closed the line"):
            theirs.receive(Ping, 20)


def test_a_party_that_dials_again_gets_a_new_line_and_the_old_one_ends(world: World) -> None:
    with listening(world.bank) as lead:
        first = dial(world.shop, "bank", lead.address, TALK)
        old = lead.listener.channel("shop", 20)
        waiting, second = both(lambda: old.receive(Pong, 20), lambda: dial(world.shop, "bank", lead.address, TALK))
        assert str(waiting) == "party 'shop' dialled again: the old line is given up"
        new = lead.listener.channel("shop", 20)
        second.send(Pong(body=b"again"))
        assert new.receive(Pong, 20).body == b"again"
        for each in (first, old, second, new):
            each.close()


def test_several_lines_wait_and_the_newest_counts(world: World) -> None:
    with listening(world.bank) as lead:
        lines = [dial(world.shop, "bank", lead.address, TALK) for _ in range(5)]
        time.sleep(0.3)
        newest = lead.listener.channel("shop", 20)
        lines[-1].send(Ping())
        assert newest.receive(Ping, 20) == Ping()
        for each in (*lines, newest):
            each.close()


def test_closing_a_listener_leaves_nothing_behind(world: World) -> None:
    before = threading.active_count()
    started = time.monotonic()
    with listening(world.bank) as lead, socket.create_connection(lead.address):
        address = lead.address
        time.sleep(0.1)
    assert time.monotonic() - started < 8
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


def test_many_partners_at_once(world: World) -> None:
    names = [f"party {number}" for number in range(12)]
    keys = [party(world.by, world.folder / name, name, at=()) for name in names]
    with listening(world.bank, names) as lead, ThreadPoolExecutor(12) as pool:
        dialled = [pool.submit(dial, each, "bank", lead.address, TALK) for each in keys]
        for name in names:
            with_us: Channel = lead.listener.channel(name, 30)
            with_us.send(Pong(body=name.encode()))
        for name, each in zip(names, dialled, strict=True):
            channel = each.result(30)
            assert channel.receive(Pong, 20).body == name.encode()
            channel.close()


def test_a_hundred_silent_strangers_keep_no_party_out(world: World) -> None:
    """Nobody waits until they have had their time: who has been silent longest has to go."""
    with listening(world.bank) as lead, ExitStack() as strangers, patch("veilboost.wire.listener.PATIENCE", 60):
        for _ in range(100):
            strangers.enter_context(socket.create_connection(lead.address))
        dial(world.shop, "bank", lead.address, TALK).close()
        assert lead.listener.channel("shop", 20).peer == "shop"


def test_a_slow_and_far_line_only_takes_longer(world: World) -> None:
    with (
        listening(world.bank) as lead,
        relay(("127.0.0.1", lead.address[1]), delay=0.02, rate=5e6) as through,
    ):
        theirs = dial(world.shop, "bank", through.address, TALK)
        ours = lead.listener.channel("shop", 30)
        body = bytes(range(256)) * 4000
        heard, _ = both(partial(ours.receive, Ping, 60), partial(theirs.send, Ping(body=body)))
        assert heard.body == body
        theirs.close()


def test_who_listens_on_the_line_hears_neither_messages_nor_the_partner_s_name(world: World) -> None:
    with listening(world.bank) as lead, relay(("127.0.0.1", lead.address[1])) as through:
        with dial(world.shop, "bank", through.address, TALK) as theirs:
            theirs.send(Ping(body=b"a secret of some length" * 100))
            assert lead.listener.channel("shop", 20).receive(Ping, 20).body.startswith(b"a secret")
        passed = bytes(through.passed)
    assert len(passed) > 4000
    for word in (b"secret", b"Ping", b"Hello", b"shop", b"consortium", b"veilboost"):
        assert word not in passed


def test_who_changes_a_byte_on_the_line_ends_it(world: World) -> None:
    with (
        listening(world.bank) as lead,
        relay(("127.0.0.1", lead.address[1])) as through,
        dial(world.shop, "bank", through.address, TALK) as theirs,
    ):
        ours = lead.listener.channel("shop", 20)
        through.spoil = True
        theirs.send(Ping(body=b"pay 100"))
        with pytest.raises(LineError, match="'shop' broke the line: decryption failed or bad record mac"):
            ours.receive(Ping, 20)


@pytest.mark.parametrize("left", [0, 100, 1_000, 2_000, 3_500, 5_000, 20_000, 300_000])
def test_a_line_that_is_cut_anywhere_is_named_and_another_one_goes_on(world: World, left: int) -> None:
    """In the handshake, in the first messages, in a large one: a `LineError`, and dialling again helps."""
    body = bytes(400_000)
    with listening(world.bank) as lead, relay(("127.0.0.1", lead.address[1]), left=left) as through:

        def speak() -> None:
            with dial(world.shop, "bank", through.address, TALK) as channel:
                channel.send(Ping(body=body), timeout=20)
                channel.receive(Pong, 20)

        with pytest.raises(LineError, match="party 'bank'"):
            speak()
        with pytest.raises(LineError, match="party 'shop'"):
            lead.listener.channel("shop", 0.5).receive(Ping, 20)
        through.left = float("inf")
        theirs = dial(world.shop, "bank", through.address, TALK)
        theirs.send(Ping(body=b"again"))
        assert lead.listener.channel("shop", 20).receive(Ping, 20).body == b"again"
        theirs.close()


@pytest.mark.parametrize("text", ["", ":7000", "bank:port", "bank:70000", "[::1", "a b:1", "bank/x", "[::1]:x"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="address must be"):
        parse_address(text)


def test_contexts_ask_for_both_certificates(world: World) -> None:
    for context in (server_context(world.bank), client_context(world.shop)):
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.minimum_version == ssl.TLSVersion.TLSv1_3
    assert client_context(world.shop).check_hostname
    with days_away(0):
        assert load_party(world.bank.folder).name == "bank"
