"""The keys of a party: its private key, which never leaves the folder, its certificate, and whom it trusts.

A party asks (`ask` writes a request), an authority signs, the party installs (`install`). Whatever is wrong with
what was installed is said when the keys are read, not in the middle of a handshake.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from veilboost.errors import FileError
from veilboost.files import check_folder, private_folder, write_whole
from veilboost.wire.certificates import (
    allows,
    called,
    fingerprint,
    is_authority,
    leads_to,
    name_of,
    party_name,
    pem,
    reached_at,
    read_certificates,
    read_request,
    untimely,
)
from veilboost.wire.denied import is_denied, read_denied
from veilboost.wire.issuing import Key, addresses, new_key, read_key, request

KEY, REQUEST, CERTIFICATE, TRUSTED = "party.key", "request.pem", "certificate.pem", "trusted.pem"
_ABSENT = "there is no such key; make one with: veilboost keys party NAME"


@dataclass(frozen=True)
class PartyKeys:
    """A party's keys as they were read and checked; ``chain`` begins with its own certificate."""

    folder: Path
    name: str
    chain: tuple[x509.Certificate, ...]
    trusted: tuple[x509.Certificate, ...]

    @property
    def certificate(self) -> x509.Certificate:
        return self.chain[0]

    @property
    def key_file(self) -> Path:
        return self.folder / KEY

    @property
    def certificate_file(self) -> Path:
        return self.folder / CERTIFICATE

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.certificate)

    @property
    def reached_at(self) -> list[str]:
        """The host names and IP addresses under which others may dial this party."""
        return reached_at(self.certificate)

    def denied(self) -> frozenset[str]:
        """Read the deny list as it is now."""
        return read_denied(self.folder)

    def check_lead(self) -> None:
        """Refuse a certificate with which a party cannot be dialled."""
        if not allows(self.certificate, ExtendedKeyUsageOID.SERVER_AUTH):
            raise FileError(self.certificate_file, "is not for servers (extended key usage), as the lead's must be")
        if not self.reached_at:
            rule = "names no address under which partners dial the lead; ask for one with: veilboost keys party NAME"
            raise FileError(self.certificate_file, f"{rule} --address HOST")

    def check_partner(self) -> None:
        """Refuse a certificate with which a party cannot dial."""
        if not allows(self.certificate, ExtendedKeyUsageOID.CLIENT_AUTH):
            raise FileError(self.certificate_file, "is not for clients (extended key usage), as a partner's must be")


def ask(folder: Path, name: str, at: Sequence[str] = ()) -> x509.CertificateSigningRequest:
    """Write the request for an authority to sign, and make the private key in ``folder`` if there is none yet."""
    party_name(name)
    addresses(at)
    private_folder(folder)
    old = (folder / REQUEST).exists()
    if old and _name(folder) != name:
        raise FileError(folder, f"holds the key of {_name(folder)!r}; another party has a folder of its own")
    asked = request(_key(folder) if old else new_key(folder / KEY), name, at)
    write_whole(folder / REQUEST, pem(asked).decode())
    return asked


def install(folder: Path, file: Path, trust: Sequence[Path] = ()) -> PartyKeys:
    """Put a signed certificate in its place; without ``trust`` the authorities in the same file are trusted."""
    key, found = _key(folder), read_certificates(file)
    authorities = [each for other in trust for each in read_certificates(other)] or [
        each for each in found if is_authority(each) and each.subject == each.issuer
    ]
    if not authorities:
        raise FileError(file, "holds no authority's certificate beside yours: name its file with --trust")
    chain = [each for each in found if each not in authorities]
    _check(file, folder, key, chain, authorities)
    write_whole(folder / TRUSTED, b"".join(map(pem, authorities)).decode())
    write_whole(folder / CERTIFICATE, b"".join(map(pem, chain)).decode())
    return load_party(folder)


def load_party(folder: Path) -> PartyKeys:
    """Read the keys of the party in ``folder``, or say what is wrong with them."""
    key, file = _key(folder), folder / CERTIFICATE
    if not file.exists():
        raise FileError(file, f"is not there yet: have {REQUEST} signed, then: veilboost keys install SIGNED")
    chain, authorities = read_certificates(file), read_certificates(folder / TRUSTED)
    name = _check(file, folder, key, chain, authorities)
    return PartyKeys(folder, name, tuple(chain), tuple(authorities))


def _key(folder: Path) -> Key:
    key = read_key(folder / KEY, _ABSENT)
    check_folder(folder)
    return key


def _name(folder: Path) -> str:
    return name_of(read_request(folder / REQUEST))


def _check(
    file: Path, folder: Path, key: Key, chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate]
) -> str:
    """Return the name in a certificate, which must be this party's own, in time, and of an authority."""
    if not chain or chain[0].public_key() != key.public_key():
        raise FileError(file, f"is not the certificate of the key in {folder / KEY}")
    try:
        name = name_of(chain[0])
    except ValueError as error:
        raise FileError(file, f"the certificate {error}") from None
    wanted = _name(folder)
    if name != wanted:
        raise FileError(file, f"is for the name {name!r}, where {wanted!r} was asked for")
    for each in (*chain, *authorities):
        problem = untimely(each)
        if problem:
            raise FileError(file, f"the certificate of {called(each)} {problem}")
    for each in authorities:
        if not is_authority(each):
            raise FileError(file, f"the certificate of {called(each)} is no authority's, and cannot vouch for others")
    if not leads_to(chain[0], chain[1:], authorities):
        raise FileError(file, f"was signed by none of the authorities {', '.join(map(called, authorities))}")
    if is_denied(chain[0], read_denied(folder)):
        raise FileError(file, "is on this party's own deny list")
    return name
