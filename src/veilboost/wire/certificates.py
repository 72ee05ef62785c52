"""What stands in the certificates of parties and authorities. The name in a certificate is the party's name."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from veilboost.errors import FileError, SettingError

_LONGEST_NAME = 64
_MOST_BYTES = 1 << 20
_MOST_STEPS = 8


def now() -> datetime:
    """Return this machine's clock, by which every date is judged."""
    return datetime.now(UTC)


def party_name(value: object) -> str:
    """Return the name of a party, or refuse one that two people could read as two names.

    >>> party_name(" shop")
    Traceback (most recent call last):
    veilboost.errors.SettingError: name must be printable text of 1 to 64 characters, with no spaces around; got ' shop'
    """
    rule = f"must be printable text of 1 to {_LONGEST_NAME} characters, with no spaces around"
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST_NAME or value != value.strip():
        raise SettingError("name", rule, value)
    if not value.isprintable() or unicodedata.normalize("NFKC", value) != value:
        raise SettingError("name", rule, value)
    return value


def read_certificates(file: Path) -> list[x509.Certificate]:
    """Read a PEM file of one or more certificates."""
    content = _content(file)
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        raise FileError(file, "holds no certificate in PEM form") from None


def read_request(file: Path) -> x509.CertificateSigningRequest:
    """Read a request in PEM form; its sender must hold the private key that belongs to it."""
    content = _content(file)
    try:
        found = x509.load_pem_x509_csr(content)
        genuine = found.is_signature_valid
    except (ValueError, UnsupportedAlgorithm):
        raise FileError(file, "holds no request for a certificate in PEM form") from None
    if not genuine:
        raise FileError(file, "was altered: its signature does not fit")
    return found


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except FileNotFoundError:
        raise FileError(file, "there is no such file") from None
    except OSError as error:
        raise FileError(file, error.strerror or "cannot be read") from None


def name_of(held: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """Return the one name in a certificate; raises ValueError where there is none, or more."""
    names = held.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1:
        raise ValueError(f"must have one name (CN), and has {len(names)}")
    try:
        return party_name(names[0].value)
    except SettingError as error:
        raise ValueError(f"has a name that is none of a party: {error}") from None


def reached_at(held: x509.Certificate | x509.CertificateSigningRequest) -> list[str]:
    """Return the host names and IP addresses for which a certificate stands."""
    try:
        found = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    ips = found.get_values_for_type(x509.IPAddress)
    return [*found.get_values_for_type(x509.DNSName), *map(str, ips)]


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 digest of a certificate, as ``openssl x509 -fingerprint -sha256`` shows it, without colons."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def key_fingerprint(held: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """Return the SHA-256 digest of the public key, which stays the same when a certificate is renewed."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    digest = hashes.Hash(hashes.SHA256())
    digest.update(held.public_key().public_bytes(serialization.Encoding.DER, form))
    return digest.finalize().hex()


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether a certificate may sign others."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def allows(certificate: x509.Certificate, usage: x509.ObjectIdentifier) -> bool:
    """Whether a certificate may be used as a server's, or as a client's."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError):
        return True
    return usage in found or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in found


def untimely(certificate: x509.Certificate) -> str | None:
    """Return why a certificate is not valid at this moment, with its dates and this machine's clock."""
    first, last, at = certificate.not_valid_before_utc, certificate.not_valid_after_utc, now()
    if first <= at <= last:
        return None
    problem = "has expired" if at > last else "is not valid yet"
    return f"{problem}: it is valid from {_shown(first)} to {_shown(last)}, and this machine's clock says {_shown(at)}"


def clock() -> str:
    """Return what this machine's clock says."""
    return _shown(now())


def _shown(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def leads_to(
    certificate: x509.Certificate, between: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate]
) -> bool:
    """Whether ``trusted`` authorities signed a certificate, perhaps through others ``between``."""
    current = certificate
    for _ in range(_MOST_STEPS):
        if any(_by(current, each) for each in trusted):
            return True
        above = [each for each in between if is_authority(each) and _by(current, each)]
        if not above or above[0] == current:
            return False
        current = above[0]
    return False


def _by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def called(certificate: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """Return the name in a certificate for a message, also where it is no party's."""
    try:
        return repr(name_of(certificate))
    except ValueError:
        return repr(certificate.subject.rfc4514_string())


def described(held: x509.Certificate | x509.CertificateSigningRequest) -> list[tuple[str, str]]:
    """Return what is to be known of a certificate or a request, as pairs of words; the first is its name."""
    facts = [("name", called(held)), ("key", key_fingerprint(held))]
    if isinstance(held, x509.Certificate):
        remark = (untimely(held) or "").partition(":")[0]
        dates = f"{_shown(held.not_valid_before_utc)} to {_shown(held.not_valid_after_utc)}"
        facts += [("certificate", fingerprint(held)), ("valid", f"{dates}; it {remark}" if remark else dates)]
        facts.append(("signed by", held.issuer.rfc4514_string()))
    return [*facts, ("addresses", ", ".join(reached_at(held)) or "none")]


def read_any(file: Path) -> Sequence[x509.Certificate | x509.CertificateSigningRequest]:
    """Read a PEM file of certificates, or of one request."""
    if b"BEGIN CERTIFICATE REQUEST" in _content(file):
        return [read_request(file)]
    return read_certificates(file)


def pem(held: x509.Certificate | x509.CertificateSigningRequest) -> bytes:
    """Return a certificate or a request as text."""
    return held.public_bytes(serialization.Encoding.PEM)
