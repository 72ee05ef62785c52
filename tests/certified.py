"""Authorities and parties with keys, for tests; also those that should not get in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from veilboost.wire import Authority, PartyKeys, ask, install, load_party, new_authority
from veilboost.wire import authority as authorities

HERE = ("localhost", "127.0.0.1")


@contextmanager
def days_away(days: float) -> Iterator[None]:
    """Let authorities believe that it is another day."""
    with (
        patch("veilboost.wire.issuing.now", lambda: datetime.now(UTC) + timedelta(days=days)),
        patch.object(authorities, "now", lambda: datetime.now(UTC) + timedelta(days=days)),
    ):
        yield


def party(by: Authority, folder: Path, name: str, at: Sequence[str] = HERE, days: int = 30) -> PartyKeys:
    """Make a party whose keys an authority has signed."""
    sign(by, folder, name, at, days)
    return install(folder, folder / "signed.pem")


def sign(by: Authority, folder: Path, name: str, at: Sequence[str] = HERE, days: int = 30) -> Path:
    """Make a party that has not installed what was signed."""
    ask(folder, name, at)
    by.sign(folder / "request.pem", folder / "signed.pem", days)
    return folder / "signed.pem"


def forced(by: Authority, folder: Path, name: str, *, start: float = 0, days: int = 30) -> PartyKeys:
    """Make a party that uses its certificate whatever is wrong with it."""
    with days_away(start):
        file = sign(by, folder, name, days=days)
    leaf, end = file.read_bytes().split(b"-----END CERTIFICATE-----\n")[:2]
    (folder / "certificate.pem").write_bytes(leaf + b"-----END CERTIFICATE-----\n")
    (folder / "trusted.pem").write_bytes(end + b"-----END CERTIFICATE-----\n")
    with patch("veilboost.wire.party_keys.untimely", lambda _: None):
        return load_party(folder)


def two(folder: Path) -> tuple[Authority, PartyKeys, PartyKeys]:
    """Make an authority, a lead 'bank' and a partner 'shop'."""
    by = new_authority(folder / "authority", "consortium")
    return by, party(by, folder / "bank", "bank"), party(by, folder / "shop", "shop", at=())
