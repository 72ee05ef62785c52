"""The deny list of a folder of keys: fingerprints of certificates and public keys with which nobody talks any more."""

import re
from pathlib import Path

from cryptography import x509

from veilboost.errors import FileError, SettingError
from veilboost.files import write_private
from veilboost.wire.certificates import clock, fingerprint, key_fingerprint, name_of, read_certificates

FILE = "denied.txt"
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_FIRST_LINE = "# SHA-256 fingerprints of certificates or public keys that are refused, one a line\n"


def read_denied(folder: Path) -> frozenset[str]:
    """Return the fingerprints on the deny list; a list that cannot be read in full is a mistake, not an empty list."""
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return frozenset()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(file, f"the deny list cannot be read: {error}") from None
    said = [line.partition("#")[0].strip() for line in text.splitlines()]
    return frozenset(_fingerprint(file, number, each) for number, each in enumerate(said, 1) if each)


def is_denied(certificate: x509.Certificate, denied: frozenset[str]) -> bool:
    """Whether a certificate, or its key in any certificate, is on a deny list."""
    return bool(denied & {fingerprint(certificate), key_fingerprint(certificate)})


def deny(folder: Path, what: str, why: str = "") -> list[str]:
    """Put a certificate's file, or a fingerprint, on the deny list of ``folder``, and return the new lines."""
    if not folder.is_dir():
        raise FileError(folder, "there is no such folder of keys")
    known, remark = read_denied(folder), " ".join(f"{clock()} {why}".split())
    lines = [f"{each}  # {said}, {remark}" for each, said in _named(what) if each not in known]
    file = folder / FILE
    before = file.read_text(encoding="utf-8") if file.exists() else _FIRST_LINE
    write_private(file, "".join([before.rstrip("\n"), "\n", *(f"{line}\n" for line in lines)]).encode())
    return lines


def _named(what: str) -> list[tuple[str, str]]:
    plain = what.replace(":", "").lower()
    if _FINGERPRINT.fullmatch(plain):
        return [(plain, "by fingerprint")]
    if not Path(what).is_file():
        raise SettingError("what", "must be the file of a certificate or a SHA-256 fingerprint of 64 digits", what)
    certificate = read_certificates(Path(what))[0]
    try:
        name = name_of(certificate)
    except ValueError:
        name = "without a party's name"
    return [(fingerprint(certificate), f"certificate of {name}"), (key_fingerprint(certificate), f"key of {name}")]


def _fingerprint(file: Path, number: int, text: str) -> str:
    plain = text.replace(":", "").lower()
    if not _FINGERPRINT.fullmatch(plain):
        raise FileError(file, f"line {number} is no SHA-256 fingerprint of 64 digits")
    return plain
