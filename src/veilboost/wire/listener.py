"""The lead's side of the carrier: wait at an address for partners, and let in only those that are expected."""

import logging
import selectors
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import TracebackType

from veilboost.errors import LineError, PeerError, SettingError, VeilboostError
from veilboost.wire.channel import plain
from veilboost.wire.codec import Message
from veilboost.wire.handshake import PATIENCE, keep_alive, peer_of, server_context, server_problem
from veilboost.wire.hello import Hello, hello, mismatch
from veilboost.wire.party_keys import PartyKeys
from veilboost.wire.tls_channel import TlsChannel

_GREETERS = 32
_KEPT = 5
_log = logging.getLogger(__name__)


class Listener:
    """Listens at ``address`` for ``parties``, until it is closed.

    `channel` returns the line to a party once it has dialled, and after a line broke the next one. Whoever is not
    expected is turned away with a reason, which is logged, and named when a party does not come in time.
    """

    def __init__(
        self,
        keys: PartyKeys,
        address: tuple[str, int],
        parties: Collection[str],
        messages: Sequence[type[Message]],
        *,
        refused: Callable[[str], None] = _log.warning,
    ) -> None:
        keys.check_lead()
        if keys.name in parties:
            raise SettingError("parties", "must be others than the lead itself", keys.name)
        self._keys, self._hello, self._say = keys, hello(messages), refused
        self._context = server_context(keys)
        self._waiting: dict[str, SimpleQueue[TlsChannel | None]] = {party: SimpleQueue() for party in parties}
        self._current: dict[str, TlsChannel] = {}
        self._lines: list[TlsChannel] = []
        self._refused: deque[str] = deque(maxlen=_KEPT)
        self._lock, self._open = threading.Lock(), dict[ssl.SSLSocket, None]()
        self._slots = threading.Semaphore(_GREETERS)
        self._server = bound(address)
        self._bell, self._listened = socket.socketpair()
        self._pool = ThreadPoolExecutor(_GREETERS + 1, thread_name_prefix="veilboost-listener")
        self._pool.submit(self._accept).add_done_callback(self._ended)

    @property
    def address(self) -> tuple[str, int]:
        """Where it really listens: port 0 asks for any that is free."""
        host, port = self._server.getsockname()[:2]
        return str(host), int(port)

    def channel(self, party: str, timeout: float) -> TlsChannel:
        """Wait until ``party`` has dialled, and return the line to it."""
        try:
            found = self._waiting[party].get(timeout=timeout)
        except Empty:
            turned = f"; turned away meanwhile: {'; '.join(self._refused)}" if self._refused else ""
            raise LineError(party, f"did not dial within {timeout:g} seconds{turned}") from None
        if found is None:
            self.wake()
            raise LineError(party, "is not waited for any more")
        return found

    def wake(self) -> None:
        """Let nobody wait for a party any more."""
        for each in self._waiting.values():
            each.put(None)

    def close(self) -> None:
        """Listen no more, and close every line."""
        self.wake()
        self._bell.close()
        with self._lock:
            for sock in self._open:
                _shut(sock)
        self._pool.shutdown()
        self._listened.close()
        for each in self._lines:
            each.close()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with self._server, selectors.DefaultSelector() as selector:
            selector.register(self._server, selectors.EVENT_READ)
            selector.register(self._listened, selectors.EVENT_READ)
            while all(key.fileobj is self._server for key, _ in selector.select()):
                self._make_room()
                try:
                    accepted, origin = self._server.accept()
                except OSError:  # it has gone already
                    self._slots.release()
                    continue
                self._pool.submit(self._greet, accepted, origin[0]).add_done_callback(self._ended)

    def _make_room(self) -> None:
        """Take a slot for the next who dials; where all are taken, end the handshake that has lasted longest."""
        if not self._slots.acquire(blocking=False):
            with self._lock:
                for sock in list(self._open)[:1]:
                    _shut(sock)
            self._slots.acquire()

    def _ended(self, done: "Future[None]") -> None:
        error = done.exception()
        if error is not None:
            _log.error("a mistake of our own while a party dialled", exc_info=error)

    def _greet(self, accepted: socket.socket, origin: str) -> None:
        try:
            sock = self._context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
            with self._kept(sock):
                self._let_in(sock)
        except OSError as error:
            self._turn_away(origin, server_problem(error))
        except PeerError as error:
            self._turn_away(origin, f"{error.party!r} {error.problem}")
        except VeilboostError as error:
            self._turn_away(origin, str(error))
        finally:
            self._slots.release()

    @contextmanager
    def _kept(self, sock: ssl.SSLSocket) -> Iterator[None]:
        """Let `close` end a handshake that goes on."""
        with self._lock:
            self._open[sock] = None
        try:
            yield
        finally:
            with self._lock:
                del self._open[sock]

    def _turn_away(self, origin: str, problem: str) -> None:
        said = f"{origin} {problem}"
        if said not in self._refused:
            self._refused.append(said)
        self._say(said)

    def _let_in(self, sock: ssl.SSLSocket) -> None:
        sock.settimeout(PATIENCE)
        try:
            sock.do_handshake()
            channel = self._checked(sock)
        except BaseException:
            sock.close()
            raise
        self._hand_over(channel)

    def _checked(self, sock: ssl.SSLSocket) -> TlsChannel:
        """Return the line to a party that is expected and speaks as we do, or tell it why it is turned away."""
        channel = TlsChannel("the one who dials", sock)
        try:
            channel.peer = peer_of(sock, self._keys, self._waiting)
        except PeerError as error:
            channel.refuse(f"you {error.problem}")
            channel.close()
            raise
        channel.send(self._hello, timeout=PATIENCE)
        theirs = channel.receive(Hello, timeout=PATIENCE)
        problem = mismatch(self._hello, theirs)
        if problem:
            channel.refuse(f"you {problem}")
            channel.close()
            raise PeerError(channel.peer, plain(problem))
        keep_alive(sock)
        return channel

    def _hand_over(self, channel: TlsChannel) -> None:
        """Keep the newest line of a party: who dials again has given the old one up."""
        with self._lock:
            old = self._current.get(channel.peer)
            self._current[channel.peer] = channel
            self._lines.append(channel)
            waiting = self._waiting[channel.peer]
            while not waiting.empty():
                waiting.get()
            waiting.put(channel)
        if old is not None:
            old.abort("dialled again: the old line is given up")


def bound(address: tuple[str, int]) -> socket.socket:
    """Return a socket that listens at ``address``, which must be free."""
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=64)
    except (OSError, OverflowError) as error:
        raise SettingError("listen", f"must be a free address of this machine ({error})", f"{host}:{port}") from None


def _shut(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return
