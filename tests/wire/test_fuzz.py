"""More than ten thousand spoilt conversations: each ends with the right message or one clear line, and costs little."""

import random
import socket
import struct
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from veilboost.errors import LineError, PeerError, RefusalError, VeilboostError
from veilboost.wire import Array, Message, Refusal, TlsChannel, Values, encode, kind_of
from veilboost.wire.hello import Hello, hello
from veilboost.wire.packing import Pack, pack
from veilboost.wire.tls_channel import Nothing

CASES, PARTS = 1_000, 8
ROWS = 200


class Asked(Message, frozen=True, kw_only=True):
    job: str
    columns: list[str] | None
    rows: int


class Sent(Message, frozen=True, kw_only=True):
    LARGEST = 1 << 32

    columns: dict[str, Values]
    cuts: Array


class Over(Message, frozen=True, kw_only=True):
    pass


EXPECTED: tuple[type[Message], ...] = (Hello, Asked, Sent, Over)


class Heard:
    """A socket on which some bytes have arrived, in pieces, before the other side left."""

    def __init__(self, content: bytes, chance: random.Random) -> None:
        self._rest, self._chance = memoryview(content), chance
        self.sent = bytearray()

    def settimeout(self, left: float) -> None:
        assert 0 < left <= 60

    def recv_into(self, room: memoryview) -> int:
        assert len(room) <= 2 * (len(self._rest) + (1 << 20)), "more room is made than bytes have come"
        size = min(len(room), len(self._rest), self._chance.choice([1, 7, 1 << 14, 1 << 20]))
        room[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def send(self, piece: memoryview) -> int:
        self.sent += piece
        return len(piece)


def frame(kind: str, body: bytes, size: int | None = None) -> bytes:
    name = kind.encode()
    return struct.pack(">BQ", len(name) % 256, (len(body) if size is None else size) % 2**64) + name + body


def honest(chance: random.Random) -> list[Message]:
    numbers = np.random.default_rng(chance.getrandbits(64))
    ranks = numbers.geometric(0.2, ROWS).clip(1, 200)
    columns = {"age": Values.of(ranks.astype(np.uint8)), "spend": Values.of(numbers.permutation(ROWS).astype("<u2"))}
    return [
        hello(EXPECTED),
        Asked(job="churn", columns=chance.choice([None, ["age", "spend"]]), rows=ROWS),
        Sent(columns=columns, cuts=Array.of(np.sort(numbers.normal(0, 1, 9)))),
        Over(),
    ]


def spoil(frames: list[bytes], chance: random.Random) -> bytes:
    """Do to a conversation one of the things that can happen to it."""
    place, other = (chance.randrange(len(frames)) for _ in range(2))
    match chance.randrange(9):
        case 0:
            return chance.randbytes(chance.choice([0, 1, 8, 9, 50, 3000]))
        case 1:
            return b"".join(frames)[: chance.randrange(1, sum(map(len, frames)))]
        case 2:
            return b"".join([*frames[:place], frames[place], *frames[place:]])
        case 3:
            frames[place], frames[other] = frames[other], frames[place]
            return b"".join(frames)
        case 4:
            size = chance.choice([0, 1 << 20, (1 << 20) + 1, 1 << 33, (1 << 64) - 1, chance.getrandbits(64)])
            kinds: list[type[Message]] = [*EXPECTED, Refusal, Nothing]
            kind = kind_of(chance.choice(kinds))
            return b"".join([*frames[:place], frame(kind, b"x" * chance.randrange(99), size), *frames[place:]])
        case 5:
            return b"".join(frames[:place] + frames[place + 1 :])
        case 6:
            kind = chance.choice(["", "Sent/2", "sent/1", "Sent", "\x1b[2J/1", "x" * 64, "x" * 200])
            return b"".join([*frames[:place], frame(kind, frames[place]), *frames[place:]])
        case _:
            bytes_ = bytearray(b"".join(frames))
            for _ in range(chance.choice([1, 1, 2, 5, 40])):
                at = chance.randrange(len(bytes_))
                bytes_[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
            return bytes(bytes_)


def hear(channel: TlsChannel) -> list[Message]:
    """Take a conversation as a protocol does: each message in its place, columns unpacked."""
    heard: list[Message] = []
    for kind in EXPECTED:
        message = channel.receive(kind, 60)
        if isinstance(message, Sent):
            try:
                columns = [each.read(ROWS) for each in message.columns.values()]
            except ValueError as error:
                raise PeerError(channel.peer, f"sent a column that {error}") from None
            assert all(len(column) == ROWS for column in columns)
        heard.append(message)
    return heard


def ended(step: Any) -> Any:
    """Return what a step ended with, a result or an error of the kinds that it may raise."""
    try:
        return step()
    except (VeilboostError, ValueError) as error:
        return error


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_a_spoilt_conversation_is_understood_or_refused_in_one_line(part: int) -> None:
    chance = random.Random(seed := random.SystemRandom().getrandbits(64))
    ends: Counter[str] = Counter()
    for case in range(CASES):
        messages = honest(chance)
        content = spoil([frame(kind_of(type(each)), encode(each)) for each in messages], chance)
        line = Heard(content, chance)
        channel = TlsChannel("shop", line)  # type: ignore[arg-type]
        end = ended(lambda heard=channel: hear(heard))
        ends[type(end).__name__] += 1
        if isinstance(end, list):
            for kind, message in zip(EXPECTED, end, strict=True):
                assert msgspec.msgpack.decode(encode(message), type=kind) == message, (seed, case)
            continue
        assert type(end) in (PeerError, LineError, RefusalError), (seed, case, end)
        assert str(end).isprintable(), (seed, case, end)
        assert len(str(end)) < 500, (seed, case, end)
        channel.refuse(f"you {end}")
        assert line.sent or isinstance(end, RefusalError), (seed, case, end)
    assert min(ends["PeerError"], ends["LineError"], ends["list"]) > CASES // 50, (seed, ends)


def test_an_honest_conversation_is_heard_in_any_pieces() -> None:
    chance = random.Random(1)
    for _ in range(50):
        messages = honest(chance)
        content = b"".join(frame(kind_of(type(each)), encode(each)) for each in messages)
        assert hear(TlsChannel("shop", Heard(content, chance))) == messages  # type: ignore[arg-type]


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 4))])
def test_a_spoilt_pack_is_as_many_values_of_its_type_or_a_value_error(part: int) -> None:
    chance = random.Random(seed := random.SystemRandom().getrandbits(64))
    ends: Counter[bool] = Counter()
    for case in range(CASES):
        kind = np.dtype(chance.choice(["<u1", "<u2", "<u4"]))
        numbers = np.random.default_rng(chance.getrandbits(64))
        most = chance.choice([1, 2, 5, 40, 255])
        made = pack(np.minimum(numbers.geometric(0.5 / most, ROWS), most).astype(kind))
        assert made is not None
        changed: dict[str, Any] = {name: spoilt(getattr(made, name), chance) for name in sample(chance)}
        again = msgspec.msgpack.encode(msgspec.structs.replace(made, **changed))
        end = ended(lambda body=again, of=kind: msgspec.msgpack.decode(body, type=Pack).unpack(ROWS, of))
        ends[isinstance(end, np.ndarray)] += 1
        if isinstance(end, np.ndarray):
            assert (end.dtype, len(end)) == (kind, ROWS), (seed, case)
        else:
            assert str(end).isprintable(), (seed, case, end)
    assert ends[False] > CASES // 2, (seed, ends)


def sample(chance: random.Random) -> list[str]:
    return chance.sample(Pack.__struct_fields__, chance.choice([1, 1, 1, 2, 6]))


def spoilt(held: Any, chance: random.Random) -> Any:
    """Return another value of the same kind."""
    if isinstance(held, int):
        return chance.choice([held + 1, held - 1, 0, 1 << 39, 1 << 41])
    if isinstance(held, bytes):
        place = chance.randrange(len(held) + 1)
        return held[:place] + chance.randbytes(chance.randrange(9)) + held[place + chance.randrange(9) :]
    made = list(held)
    for _ in range(chance.choice([1, 2])):
        place = chance.randrange(len(made) + 1)
        new = chance.choice([0, 1, 2, 7, 31, 2047, 1 << 15, 1 << 30, 1 << 31, 1 << 62])
        pair = (chance.choice([1, 2, 4096, new]), chance.choice([0, 1, 8, 32, new]))
        made[place : place + chance.randrange(2)] = [pair if made and isinstance(made[0], tuple) else new]
    return made


def test_closing_a_line_that_was_never_whole_leaves_nothing() -> None:
    one, other = socket.socketpair()
    channel = TlsChannel("shop", one)  # type: ignore[arg-type]
    other.close()
    channel.abort("over")
    channel.close()
    assert one.fileno() == -1
