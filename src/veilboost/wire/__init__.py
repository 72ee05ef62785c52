"""What parties send each other: messages, keys, and the channels that carry them. Knows nothing of trees."""

from veilboost.wire.authority import Authority, load_authority, new_authority
from veilboost.wire.channel import TIMEOUT, Channel, MemoryChannel, Traffic, memory_pair
from veilboost.wire.codec import Array, Message, Refusal, decode, encode, kind_of
from veilboost.wire.denied import deny
from veilboost.wire.dial import PORT, dial, knock, parse_address
from veilboost.wire.hello import PROTOCOL
from veilboost.wire.listener import Listener
from veilboost.wire.party_keys import PartyKeys, ask, install, load_party
from veilboost.wire.telling import telling
from veilboost.wire.tls_channel import TlsChannel
from veilboost.wire.values import Values

__all__ = [
    "PORT",
    "PROTOCOL",
    "TIMEOUT",
    "Array",
    "Authority",
    "Channel",
    "Listener",
    "MemoryChannel",
    "Message",
    "PartyKeys",
    "Refusal",
    "TlsChannel",
    "Traffic",
    "Values",
    "ask",
    "decode",
    "deny",
    "dial",
    "encode",
    "install",
    "kind_of",
    "knock",
    "load_authority",
    "load_party",
    "memory_pair",
    "new_authority",
    "parse_address",
    "telling",
]
