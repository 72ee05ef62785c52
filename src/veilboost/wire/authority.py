"""An authority of one's own: it vouches for the names of parties, one certificate for each name."""

from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from veilboost.errors import FileError
from veilboost.files import check_folder, private_folder, write_whole
from veilboost.settings import whole
from veilboost.wire.certificates import (
    fingerprint,
    key_fingerprint,
    name_of,
    now,
    pem,
    read_certificates,
    read_request,
    untimely,
)
from veilboost.wire.denied import is_denied, read_denied
from veilboost.wire.issuing import Key, new_key, read_key, self_signed, signed

KEY, CERTIFICATE, ISSUED = "authority.key", "authority.pem", "issued"
_MOST_DAYS = 36_500


@dataclass(frozen=True)
class Authority:
    """A folder with the key of an authority and every certificate that it has signed."""

    folder: Path
    certificate: x509.Certificate
    key: Key

    @property
    def key_file(self) -> Path:
        return self.folder / KEY

    @property
    def name(self) -> str:
        return name_of(self.certificate)

    def sign(self, file: Path, out: Path, days: int = 365) -> x509.Certificate:
        """Sign the request in ``file``, and write certificate and authority to ``out``."""
        asked = read_request(file)
        last = (self.certificate.not_valid_after_utc - now()).days
        _check_name(file, asked)
        self._check_free(file, name_of(asked), key_fingerprint(asked))
        made = signed(asked, self.certificate, self.key, whole("days", days, 1, max(1, last)))
        write_whole(self.folder / ISSUED / f"{fingerprint(made)}.pem", pem(made).decode())
        write_whole(out, (pem(made) + pem(self.certificate)).decode())
        return made

    def issued(self) -> list[x509.Certificate]:
        """Return every certificate that this authority has signed."""
        return [read_certificates(file)[0] for file in sorted((self.folder / ISSUED).glob("*.pem"))]

    def _check_free(self, file: Path, name: str, key: str) -> None:
        """Refuse a name that another key bears: one name means one party."""
        denied = read_denied(self.folder)
        if name.casefold() == self.name.casefold():
            raise FileError(file, f"asks for the name {name!r}, which is the authority's own")
        for each in self.issued():
            if name_of(each).casefold() != name.casefold() or is_denied(each, denied) or untimely(each):
                continue
            if key_fingerprint(each) != key:
                problem = f"asks for the name {name!r}, which another key bears; if that is lost, deny it first: "
                shown = self.folder / ISSUED / f"{fingerprint(each)}.pem"
                raise FileError(file, f"{problem}veilboost keys revoke {shown} --folder {self.folder}")


def new_authority(folder: Path, name: str, days: int = 3650) -> Authority:
    """Make an authority in a folder of its own."""
    whole("days", days, 1, _MOST_DAYS)
    private_folder(folder)
    key = new_key(folder / KEY)
    made = self_signed(key, name, days)
    write_whole(folder / CERTIFICATE, pem(made).decode())
    private_folder(folder / ISSUED)
    return Authority(folder, made, key)


def load_authority(folder: Path) -> Authority:
    """Read the authority in ``folder``."""
    key = read_key(folder / KEY, "there is no such authority; make one with: veilboost keys authority NAME")
    check_folder(folder)
    certificate = read_certificates(folder / CERTIFICATE)[0]
    if certificate.public_key() != key.public_key():
        raise FileError(folder / CERTIFICATE, f"does not belong to {KEY}")
    problem = untimely(certificate)
    if problem:
        raise FileError(folder / CERTIFICATE, f"the authority's certificate {problem}")
    return Authority(folder, certificate, key)


def _check_name(file: Path, asked: x509.CertificateSigningRequest) -> None:
    try:
        name_of(asked)
    except ValueError as error:
        raise FileError(file, f"the request {error}") from None
