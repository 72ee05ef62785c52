"""What parties send each other: messages, their codec, and the channels that carry them. Knows nothing of trees."""

from veilboost.wire.channel import Channel, MemoryChannel, Traffic, memory_pair
from veilboost.wire.codec import Array, Message, Refusal, decode, encode, kind_of
from veilboost.wire.telling import telling

__all__ = [
    "Array",
    "Channel",
    "MemoryChannel",
    "Message",
    "Refusal",
    "Traffic",
    "decode",
    "encode",
    "kind_of",
    "memory_pair",
    "telling",
]
