"""The noise key: the secret that makes noise permanent, in a file that its owner alone can read."""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from veilboost.errors import FileError
from veilboost.files import read_private, write_private
from veilboost.randomness import KEY_BYTES

_FORMAT = 1
_LAST = 2**32 - 1


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    veilboost_noise_key: int
    version: int
    created: str
    secret: str


@dataclass(frozen=True)
class NoiseKey:
    """One version of the key; the secret shows neither in its repr nor in any output."""

    version: int
    created: str
    secret: bytes = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """A name for the key, from which nothing about the secret follows."""
        return hashlib.sha256(b"veilboost noise key 1" + self.secret).hexdigest()[:16]


def new_key(file: Path) -> NoiseKey:
    """Make a key of version 1 in a new file."""
    if file.exists():
        raise FileError(file, "is there already; rotate it to get another key")
    return _write(file, 1)


def rotate_key(file: Path) -> NoiseKey:
    """Replace the key by its next version: the old secret is gone, and all noise is another from now on."""
    version = load_key(file).version + 1
    if version > _LAST:
        raise FileError(file, f"is version {_LAST} already, the last one")
    return _write(file, version)


def load_key(file: Path) -> NoiseKey:
    """Read the key in ``file``, or refuse a file that others can read."""
    content = read_private(file, "there is no such noise key; make one with: veilboost keys noise new")
    try:
        read = msgspec.json.decode(content, type=_File)
        secret = base64.b64decode(read.secret, validate=True)
    except (ValueError, msgspec.MsgspecError):
        raise FileError(file, "is no noise key, or a damaged one") from None
    if read.veilboost_noise_key != _FORMAT or len(secret) != KEY_BYTES or not 1 <= read.version <= _LAST:
        raise FileError(file, "is no noise key of a format that is known here")
    return NoiseKey(read.version, read.created, secret)


def _write(file: Path, version: int) -> NoiseKey:
    key = NoiseKey(version, datetime.now(UTC).isoformat(timespec="seconds"), secrets.token_bytes(KEY_BYTES))
    secret = base64.b64encode(key.secret).decode()
    held = _File(veilboost_noise_key=_FORMAT, version=version, created=key.created, secret=secret)
    write_private(file.resolve(), msgspec.json.format(msgspec.json.encode(held)))
    return key
