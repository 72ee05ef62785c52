"""A relay between two parties on this machine: it listens, delays, slows down, changes and cuts off what passes."""

import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

PIECE = 1 << 16


@dataclass
class Relay:
    """Where to dial, how much may still pass before every line through it is cut, and what has passed.

    Once ``spoil`` is set, the last byte of the next piece is changed. ``drops`` say for the next lines, one after the
    other, how many bytes pass until that line is cut, or, with a minus, until it swallows whatever comes.
    """

    address: tuple[str, int]
    target: tuple[str, int]
    delay: float
    rate: float
    left: float
    passed: bytearray = field(default_factory=bytearray)
    ways: list[bytearray] = field(default_factory=list)
    """What passed each way on each line, in order."""
    spoil: bool = False
    drops: list[int] = field(default_factory=list)
    _open: list[socket.socket] = field(default_factory=list)

    def serve(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = server.accept()
                try:
                    onward = socket.create_connection(self.target)
                except ConnectionRefusedError:  # nobody listens there yet
                    accepted.close()
                    continue
                self._open += [accepted, onward]
                drop = self.drops.pop(0) if self.drops else None
                threading.Thread(target=self._pass, args=(accepted, onward, drop), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, drop: int | None) -> None:
        room, swallows = (float("inf"), False) if drop is None else (abs(drop), drop < 0)
        with suppress(OSError, ValueError), one, other, selectors.DefaultSelector() as selector:
            there, back = bytearray(), bytearray()
            self.ways += [there, back]
            selector.register(one, selectors.EVENT_READ, (other, there))
            selector.register(other, selectors.EVENT_READ, (one, back))
            while self.left > 0 and (room > 0 or swallows):
                for key, _ in selector.select(5):
                    assert isinstance(key.fileobj, socket.socket)
                    piece = key.fileobj.recv(int(min(PIECE, max(1, self.left))))
                    if not piece:
                        return
                    piece = piece[: int(min(len(piece), room))]
                    room -= len(piece)
                    self._hand(piece, *key.data)

    def _hand(self, piece: bytes, to: socket.socket, way: bytearray) -> None:
        time.sleep(self.delay + len(piece) / self.rate)
        if self.spoil:
            piece, self.spoil = piece[:-1] + bytes([piece[-1] ^ 1]), False
        self.passed += piece
        way += piece
        to.sendall(piece)
        self.left -= len(piece)

    def cut(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(
    target: tuple[str, int], *, delay: float = 0, rate: float = 1e12, left: float = float("inf")
) -> Iterator[Relay]:
    """Relay to ``target`` with a delay for each piece, a rate in bytes a second, and an end after ``left`` bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = Relay(("localhost", server.getsockname()[1]), target, delay, rate, left)
        serving = threading.Thread(target=made.serve, args=(server,), daemon=True)
        serving.start()
        try:
            yield made
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            made.cut()
            serving.join(10)
