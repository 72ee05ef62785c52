"""What parties send each other: messages, their codec, and the channels that carry them. Knows nothing of trees."""

from veilboost.wire.authority import Authority, load_authority, new_authority
from veilboost.wire.channel import Channel, MemoryChannel, Traffic, memory_pair
from veilboost.wire.codec import Array, Message, Refusal, decode, encode, kind_of
from veilboost.wire.denied import deny
from veilboost.wire.party_keys import PartyKeys, ask, install, load_party
from veilboost.wire.telling import telling

__all__ = [
    "Array",
    "Authority",
    "Channel",
    "MemoryChannel",
    "Message",
    "PartyKeys",
    "Refusal",
    "Traffic",
    "ask",
    "decode",
    "deny",
    "encode",
    "install",
    "kind_of",
    "load_authority",
    "load_party",
    "memory_pair",
    "new_authority",
    "telling",
]
