"""Private keys, requests and certificates: how a party and an authority make them."""

import ipaddress
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from veilboost.errors import FileError, SettingError
from veilboost.files import read_private, write_private
from veilboost.wire.certificates import name_of, now, party_name, reached_at

Key = ec.EllipticCurvePrivateKey

_SLACK = timedelta(hours=1)
"""A new certificate is good from a little before it was made: clocks differ."""
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def addresses(texts: Sequence[str]) -> list[x509.GeneralName]:
    """Return host names and IP addresses, under which a lead will be reached, as a certificate holds them.

    >>> [type(each).__name__ for each in addresses(["bank.example", "10.0.0.7"])]
    ['DNSName', 'IPAddress']
    """
    return [_address(text) for text in texts]


def _address(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        pass
    if len(text) > 253 or not _HOST.fullmatch(text):
        raise SettingError("address", "must be a host name or an IP address, without a port", text)
    return x509.DNSName(text)


def new_key(file: Path) -> Key:
    """Make a private key in a new file that its owner alone can read."""
    if file.exists():
        raise FileError(file, "is there already; a key is never written over")
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.PKCS8
    write_private(file, key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return key


def read_key(file: Path, absent: str) -> Key:
    """Read a private key, or refuse a file that others can read."""
    content = read_private(file, absent)
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise FileError(file, "is no private key, or one behind a password") from None
    if not isinstance(key, Key):
        raise FileError(file, "is no key on an elliptic curve, as `veilboost keys` makes them")
    return key


def request(key: Key, name: str, at: Sequence[str] = ()) -> x509.CertificateSigningRequest:
    """Return what a party asks its authority to sign: name, addresses, public key."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_subject(party_name(name)))
    if at:
        builder = builder.add_extension(x509.SubjectAlternativeName(addresses(at)), critical=False)
    return builder.sign(key, hashes.SHA256())


def self_signed(key: Key, name: str, days: int) -> x509.Certificate:
    """Return the certificate of a new authority."""
    subject, made = _subject(party_name(name)), now()
    usage = _usage("key_cert_sign", "crl_sign")
    return (
        _certificate(subject, subject, key.public_key(), key.public_key(), made, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )


def signed(asked: x509.CertificateSigningRequest, authority: x509.Certificate, key: Key, days: int) -> x509.Certificate:
    """Return the certificate that was asked for; of the request only name, addresses and public key are taken."""
    public = asked.public_key()
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise SettingError("request", "must hold a key on an elliptic curve", type(public).__name__)
    builder = (
        _certificate(_subject(name_of(asked)), authority.subject, public, key.public_key(), now(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage("digital_signature"), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
    )
    at = reached_at(asked)
    if at:
        builder = builder.add_extension(x509.SubjectAlternativeName(addresses(at)), critical=False)
    return builder.sign(key, hashes.SHA256())


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    by: ec.EllipticCurvePublicKey,
    made: datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(made - _SLACK)
        .not_valid_after(made + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by), critical=False)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*allowed: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{name: name in allowed for name in _USAGES})
