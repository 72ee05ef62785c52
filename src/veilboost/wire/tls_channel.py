"""A channel over TLS: one frame for each message, with a deadline for the whole of it.

A frame is the length of the kind (1 byte), the length of the body (8 bytes), the kind, the body. What arrives is
measured before anything is set aside for it, and memory grows only as bytes really arrive.
"""

import selectors
import socket
import ssl
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from veilboost.errors import LineError, PeerError
from veilboost.wire.channel import Admit, Channel
from veilboost.wire.codec import Message, Refusal, kind_of

_HEAD = struct.Struct(">BQ")
_LONGEST_KIND = 64
_PIECE = 1 << 20
_FIRST = 1 << 20
_LINGER = 3.0


class Nothing(Message, frozen=True, kw_only=True):
    """What a party expects to hear while it speaks."""

    LARGEST = 0


class TlsChannel(Channel):
    """A line over a TLS socket whose other end has shown the certificate of ``peer``.

    Belongs to one thread; `abort` alone may be called by another.
    """

    def __init__(self, peer: str, sock: ssl.SSLSocket) -> None:
        super().__init__(peer)
        self._socket = sock
        self._torn = self._deaf = False
        self._aborted: str | None = None

    def abort(self, problem: str) -> None:
        """Break the line, from any thread; whoever waits on it hears the ``problem``."""
        self._aborted = problem
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # ssl's own would let a writer go on in the clear
        except OSError:
            return

    def deafen(self, problem: str) -> None:
        """Let whoever waits on the line, in any thread, hear the ``problem`` and nothing else; it can still speak."""
        self._aborted = problem
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RD)

    def close(self) -> None:
        """Give the line up; after a refusal wait a moment, so that it is read before the line is gone."""
        if self._over and not self._torn and self._aborted is None:
            self._linger()
        super().close()
        self._torn = self._deaf = True
        self._socket.close()

    def _push(self, kind: str, body: bytes, timeout: float) -> None:
        if self._torn:
            raise LineError(self.peer, "cannot be told more: the line is closed, or a message to it was cut off")
        deadline = time.monotonic() + timeout
        name, heeding = kind.encode("ascii"), kind != kind_of(Refusal)
        head = _HEAD.pack(len(name), len(body)) + name
        if heeding:
            self._heed()  # before a message is begun: a refusal can still be sent
        self._torn = True
        for part in (memoryview(head + body),) if len(body) < _PIECE else (memoryview(head), memoryview(body)):
            self._write(part, deadline, heeding=heeding)
        self._torn = False

    def _heed(self) -> None:
        """Hear the other side where it speaks although it should listen: it refuses, or is at fault."""
        if self._speaks():
            self.receive(Nothing, timeout=_LINGER)

    def _write(self, part: memoryview, deadline: float, *, heeding: bool) -> None:
        while part:
            if heeding:
                self._heed()
            part = part[self._try(deadline, self._socket.send, part[:_PIECE]) :]

    def _pull(self, timeout: float, admit: Admit) -> tuple[str, bytes | bytearray]:
        if self._deaf:
            raise LineError(self.peer, "cannot be heard any more: the line is closed, or a message from it was cut off")
        deadline = time.monotonic() + timeout
        self._deaf = True
        length, size = _HEAD.unpack(self._read_exactly(_HEAD.size, deadline))
        if not 1 <= length <= _LONGEST_KIND:
            raise PeerError(self.peer, "sent bytes that are no message")
        kind = self._read_exactly(length, deadline).decode("ascii", "replace")
        admit(kind, size)
        body = self._read_exactly(size, deadline)
        self._deaf = False
        return kind, body

    def _read_exactly(self, size: int, deadline: float) -> bytearray:
        found, done = bytearray(min(size, _FIRST)), 0
        while done < size:
            if done == len(found):
                found.extend(bytes(min(done, size - done)))
            with memoryview(found) as room:
                got = self._try(deadline, self._socket.recv_into, room[done:])
            if not got:
                raise LineError(self.peer, self._aborted or "closed the line")
            done += got
        return found

    def _try(self, deadline: float, step: Callable[[memoryview], int], data: memoryview) -> int:
        """Do one step on the socket before the deadline; whatever breaks is said of the peer."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            self._socket.settimeout(left)
            return step(data)
        except OSError as error:
            if isinstance(error, TimeoutError) and error.errno is None:  # ours, not the operating system's
                raise
            problem = self._aborted or f"broke the line: {told(error)}"
            raise LineError(self.peer, problem) from error

    def _speaks(self) -> bool:
        """Whether something has arrived, or the line has ended."""
        if self._socket.pending():
            return True
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _linger(self) -> None:
        deadline, waste = time.monotonic() + _LINGER, memoryview(bytearray(_PIECE))
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
            while self._try(deadline, self._socket.recv_into, waste):
                pass
        except (OSError, LineError):
            return


def told(error: OSError) -> str:
    """Return what the operating system or the TLS library says of a broken line, in few words."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "the TLS library gives no reason").replace("_", " ").lower()
    return (error.strerror or type(error).__name__).lower()
