"""Channels between two parties: send a message, receive the one that is expected, count the bytes of each kind."""

import queue
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

from veilboost.errors import LineError, PeerError, RefusalError
from veilboost.wire.codec import Message, Refusal, decode, encode, kind_of

M = TypeVar("M", bound=Message)

TIMEOUT = 3600.0
_LONGEST = 300
_PARTING = 10.0


@dataclass
class Traffic:
    """Bytes by kind of message, in both directions."""

    sent: Counter[str] = field(default_factory=Counter)
    received: Counter[str] = field(default_factory=Counter)


Admit = Callable[[str, int], None]
"""Refuses a message by its kind and size."""


class Channel(ABC):
    """One end of a line to the party ``peer``. Half duplex: who has sent waits for the answer.

    A protocol uses nothing but `send` and `receive`. A carrier says how messages are handed over and taken.
    """

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.traffic = Traffic()
        self._over = False

    @abstractmethod
    def _push(self, kind: str, body: bytes, timeout: float) -> None:
        """Hand one message over, or raise TimeoutError."""

    @abstractmethod
    def _pull(self, timeout: float, admit: Admit) -> tuple[str, bytes | bytearray]:
        """Return the next message, or raise TimeoutError; ``admit`` is asked before its body is taken."""

    def send(self, message: Message, timeout: float = TIMEOUT) -> None:
        """Send ``message``."""
        kind, body = kind_of(type(message)), encode(message)
        self.traffic.sent[kind] += len(body)
        try:
            self._push(kind, body, timeout)
        except TimeoutError:
            raise LineError(self.peer, f"did not take {kind} within {timeout:g} seconds") from None

    def receive(self, kind: type[M], timeout: float = TIMEOUT) -> M:
        """Return the next message, which must be of ``kind``; a refusal of the other side ends the job."""
        try:
            arrived, body = self._pull(timeout, lambda found, size: self._admit(kind, found, size))
        except TimeoutError:
            raise LineError(self.peer, f"sent no {kind_of(kind)} within {timeout:g} seconds") from None
        self.traffic.received[arrived] += len(body)
        if arrived == kind_of(kind):
            return self._read(body, kind)
        refusal = self._read(body, Refusal)
        reason, self._over = plain(refusal.reason), True
        if refusal.again:
            raise LineError(self.peer, f"stopped for now: {reason}")
        raise RefusalError(f"{self.peer}: {reason}", "another party stopped")

    def refuse(self, reason: str, *, again: bool = False) -> None:
        """Tell the other side why this one does not go on: once, if it still listens, and has not stopped itself.

        With ``again`` the same two may go on over another line.
        """
        if not self._over:
            self._over = True
            with suppress(LineError):
                self.send(Refusal(reason=reason, again=again), timeout=_PARTING)

    def close(self) -> None:
        """Give the line up."""
        self._over = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _admit(self, kind: type[Message], arrived: str, size: int) -> None:
        for each in (kind, Refusal):
            if arrived == kind_of(each):
                if size > each.LARGEST:
                    raise PeerError(self.peer, f"sent {arrived} of {size} bytes; at most {each.LARGEST} are taken")
                return
        raise PeerError(self.peer, f"sent {plain(arrived)} where {kind_of(kind)} was expected")

    def _read(self, body: bytes | bytearray, kind: type[M]) -> M:
        try:
            return decode(body, kind)
        except ValueError as error:
            raise PeerError(self.peer, f"sent a {kind_of(kind)} that is none: {plain(str(error))}") from None


class MemoryChannel(Channel):
    """A line inside one process; messages still travel as bytes."""

    def __init__(
        self, peer: str, out: "queue.Queue[tuple[str, bytes]]", back: "queue.Queue[tuple[str, bytes]]"
    ) -> None:
        super().__init__(peer)
        self._out, self._back = out, back

    def _push(self, kind: str, body: bytes, timeout: float) -> None:
        self._out.put((kind, body), timeout=timeout)

    def _pull(self, timeout: float, admit: Admit) -> tuple[str, bytes | bytearray]:
        try:
            kind, body = self._back.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        admit(kind, len(body))
        return kind, body


def memory_pair(first: str, second: str) -> tuple[MemoryChannel, MemoryChannel]:
    """Return the two ends of a line between ``first`` and ``second``, in this order."""
    there: queue.Queue[tuple[str, bytes]] = queue.Queue()
    back: queue.Queue[tuple[str, bytes]] = queue.Queue()
    return MemoryChannel(second, there, back), MemoryChannel(first, back, there)


def plain(text: str) -> str:
    """Return what another party wrote as one short line, which does nothing to the terminal that shows it."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
