"""The first message each way: what program and which versions of messages a party speaks."""

from collections.abc import Sequence
from importlib import metadata

from veilboost.wire.codec import Message

PROTOCOL = 1


class Hello(Message, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A program's version, the protocol's, and that of each message. Any version must be able to read any other's."""

    LARGEST = 1 << 16

    program: str
    protocol: int
    messages: dict[str, int]


def hello(messages: Sequence[type[Message]]) -> Hello:
    """Return what this side says first.

    >>> hello([Hello]).messages
    {'Hello': 1}
    """
    spoken = {each.__name__: each.VERSION for each in messages}
    return Hello(program=metadata.version("veilboost"), protocol=PROTOCOL, messages=spoken)


def mismatch(ours: Hello, theirs: Hello) -> str | None:
    """Return why two sides cannot talk, with the versions of both.

    >>> mismatch(hello([Hello]), Hello(program="2.0", protocol=1, messages={"Hello": 3}))
    'used Hello/3 (veilboost 2.0) where this side uses Hello/1 (veilboost 0.1.0); install the same version on both'
    """
    mine, other = _spoken(ours), _spoken(theirs)
    differing = sorted(name for name in {*mine, *other} if mine.get(name) != other.get(name))
    if not differing:
        return None
    here, there = (said.get(differing[0], f"no {differing[0]}") for said in (mine, other))
    here, there = f"{here} (veilboost {ours.program})", f"{there} (veilboost {theirs.program})"
    return f"used {there} where this side uses {here}; install the same version on both"


def _spoken(said: Hello) -> dict[str, str]:
    versions = {name: f"{name}/{version}" for name, version in said.messages.items()}
    return versions | {"": f"protocol {said.protocol}"}
