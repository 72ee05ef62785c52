"""A partner's side of the carrier: dial the lead, and say why where that fails."""

import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from veilboost.errors import LineError, PeerError, RefusalError, SettingError
from veilboost.wire.channel import plain
from veilboost.wire.codec import Message
from veilboost.wire.handshake import (
    PATIENCE,
    certificate_at,
    client_context,
    client_problem,
    keep_alive,
    own_certificate,
    peer_of,
)
from veilboost.wire.hello import Hello, hello, mismatch
from veilboost.wire.party_keys import PartyKeys
from veilboost.wire.tls_channel import TlsChannel

PORT = 7340
_PAUSE = 1.0
_log = logging.getLogger(__name__)


def dial(
    keys: PartyKeys,
    lead: str,
    address: tuple[str, int],
    messages: Sequence[type[Message]],
    *,
    patience: float = 0,
    known_as: str | None = None,
) -> TlsChannel:
    """Return a line to the party ``lead`` at ``address``.

    Where nobody listens yet it is tried again for ``patience`` seconds. ``known_as`` is the address in the lead's
    certificate, where it is reached through another one, as behind a relay.
    """
    keys.check_partner()
    ours = hello(messages)
    with ExitStack() as opened:
        channel, secure = _line(opened, keys, lead, address, known_as or address[0], patience)
        _meet(channel, secure, keys, ours)
        with _told_at_last(channel, keys):
            channel.send(ours, timeout=PATIENCE)
        keep_alive(secure)
        opened.pop_all()
    _log.info("%s has shown its certificate, and taken ours", lead)
    return channel


def knock(
    keys: PartyKeys,
    lead: str,
    address: tuple[str, int],
    messages: Sequence[type[Message]],
    *,
    known_as: str | None = None,
) -> Hello:
    """Return what the party ``lead`` speaks, where it listens and would let this party in.

    It hears that this was all. A line that stands between the two is not touched.
    """
    keys.check_partner()
    with ExitStack() as opened:
        channel, secure = _line(opened, keys, lead, address, known_as or address[0], 0)
        theirs = _meet(channel, secure, keys, hello(messages))
        channel.refuse("it only looked whether it would be let in", again=True)
        channel.close()
    return theirs


def _line(
    opened: ExitStack, keys: PartyKeys, lead: str, address: tuple[str, int], known_as: str, patience: float
) -> tuple[TlsChannel, ssl.SSLSocket]:
    """Return a line after its handshake, which is closed with what is ``opened``."""
    sock = _reach(lead, address, patience)
    _log.info("reached %s", lead)
    opened.callback(sock.close)
    secure = _secured(sock, keys, lead, address, known_as)
    opened.callback(secure.close)
    return TlsChannel(lead, secure), secure


def parse_address(text: str, port: int = PORT) -> tuple[str, int]:
    """Return host and port of ``host:port``, ``host``, or ``[ipv6]:port``.

    >>> parse_address("bank.example:7000"), parse_address("[::1]")
    (('bank.example', 7000), ('::1', 7340))
    """
    host, colon, number = text.rpartition(":") if text.count(":") == 1 or "]:" in text else (text, "", "")
    if colon and not (number.isascii() and number.isdigit() and int(number) < 1 << 16):
        raise SettingError("address", "must be host:port, with a port up to 65535", text)
    host = host.removeprefix("[").removesuffix("]")
    if (
        not host
        or not host.isprintable()
        or len(host) > 253
        or set(host) & set(" []/")
        or ("[" in text) != ("]" in text)
    ):
        raise SettingError("address", "must be a host name or an IP address, and perhaps a port", text)
    return host, int(number) if colon else port


def _reach(lead: str, address: tuple[str, int], patience: float) -> socket.socket:
    """Connect, and try again while nobody listens and there is time left."""
    deadline, pause = time.monotonic() + patience, threading.Event()
    while True:
        try:
            return socket.create_connection(address, timeout=PATIENCE)
        except (socket.gaierror, UnicodeError):
            raise LineError(lead, f"cannot be dialled: there is no address for the host {address[0]!r}") from None
        except OSError as error:
            if time.monotonic() >= deadline:
                raise LineError(lead, f"cannot be dialled at {_shown(address)}: {_reason(error)}") from None
        pause.wait(min(_PAUSE, max(0.0, deadline - time.monotonic())))


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there; is the lead running, and is this its port?"
    if isinstance(error, TimeoutError):
        return f"no answer within {PATIENCE:g} seconds; is a firewall in between?"
    return (error.strerror or type(error).__name__).lower()


def _secured(sock: socket.socket, keys: PartyKeys, lead: str, address: tuple[str, int], known_as: str) -> ssl.SSLSocket:
    sock.settimeout(PATIENCE)
    secure = client_context(keys).wrap_socket(sock, server_hostname=known_as, do_handshake_on_connect=False)
    try:
        secure.do_handshake()
    except OSError as error:
        secure.close()
        shown = certificate_at(address) if isinstance(error, ssl.SSLCertVerificationError) else None
        problem = f"at {_shown(address)} {client_problem(error, keys, known_as, shown)}"
        lost = isinstance(error, TimeoutError | ConnectionError | ssl.SSLEOFError)
        raise (LineError if lost else PeerError)(lead, problem) from None
    return secure


def _meet(channel: TlsChannel, sock: ssl.SSLSocket, keys: PartyKeys, ours: Hello) -> Hello:
    """Check who is there, and return what it speaks, which must be what this side speaks."""
    try:
        peer_of(sock, keys, [channel.peer])
        with _told_at_last(channel, keys):
            return _same_versions(channel, ours)
    except LineError:
        raise
    except PeerError as error:
        channel.refuse(f"you {error.problem}")
        channel.close()
        raise


@contextmanager
def _told_at_last(channel: TlsChannel, keys: PartyKeys) -> Iterator[None]:
    """Hear why a lead does not accept this party's certificate: it says so after what is a whole handshake here."""
    try:
        yield
    except LineError as error:
        refused = own_certificate(error.__cause__, keys) if isinstance(error.__cause__, OSError) else None
        if refused is None:
            raise
        raise RefusalError(f"{channel.peer} {refused}") from None


def _same_versions(channel: TlsChannel, ours: Hello) -> Hello:
    theirs = channel.receive(Hello, timeout=PATIENCE)
    problem = mismatch(ours, theirs)
    if problem:
        raise PeerError(channel.peer, plain(problem))
    return theirs


def _shown(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
