"""Keys are asked for, signed and installed; whatever is wrong with them is said in one line, with file and dates."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certified import days_away, forced, party, sign, two
from veilboost.errors import FileError, SettingError
from veilboost.files import write_private
from veilboost.wire import Authority, ask, deny, install, load_authority, load_party, new_authority
from veilboost.wire.certificates import fingerprint, key_fingerprint, pem, reached_at, read_certificates
from veilboost.wire.issuing import addresses, new_key, self_signed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an authority, a bank and a shop."""
    folder = tmp_path_factory.mktemp("made")
    two(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Return a copy of it that may be spoiled."""
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    return copy


def refused(folder: Path, problem: str) -> None:
    with pytest.raises(FileError) as error:
        load_party(folder)
    assert re.search(problem, str(error.value)), error.value
    assert "\n" not in str(error.value)


def test_a_party_gets_a_certificate_and_its_key_never_leaves(folder: Path) -> None:
    keys = load_party(folder / "bank")
    assert (keys.name, keys.reached_at) == ("bank", ["localhost", "127.0.0.1"])
    secret = (folder / "bank/party.key").read_bytes().splitlines()[1]
    holding = [file for file in folder.rglob("*") if file.is_file() and secret in file.read_bytes()]
    assert holding == [folder / "bank/party.key"]


def test_only_the_owner_can_open_what_is_secret(folder: Path) -> None:
    modes = {str(each.relative_to(folder)): each.stat().st_mode & 0o777 for each in folder.rglob("*")}
    assert {modes[name] for name in ("authority", "bank", "shop", "authority/issued")} == {0o700}
    assert {modes[name] for name in ("authority/authority.key", "bank/party.key", "shop/party.key")} == {0o600}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_key_that_others_can_read_is_refused(folder: Path, mode: int) -> None:
    (folder / "shop/party.key").chmod(mode)
    refused(folder / "shop", r"party\.key: must be readable by its owner alone \(mode 0600\)")
    (folder / "authority/authority.key").chmod(mode)
    with pytest.raises(FileError, match=r"authority\.key: must be readable by its owner alone"):
        load_authority(folder / "authority")


def test_a_folder_in_which_others_can_write_is_refused(folder: Path) -> None:
    (folder / "shop").chmod(0o770)
    refused(folder / "shop", "others can write into this folder of keys")


def test_openssl_finds_the_certificates_in_order(folder: Path) -> None:
    verify = ["openssl", "verify", "-x509_strict", "-CAfile", str(folder / "shop/trusted.pem")]
    for name, purpose in (("bank", "sslserver"), ("shop", "sslclient"), ("bank", "sslclient")):
        done = subprocess.run(
            [*verify, "-purpose", purpose, str(folder / name / "certificate.pem")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    show = ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", str(folder / "bank/certificate.pem")]
    shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    assert shown.strip().partition("=")[2].replace(":", "").lower() == load_party(folder / "bank").fingerprint


def test_one_name_is_one_party(folder: Path, tmp_path: Path) -> None:
    by = load_authority(folder / "authority")
    for name in ("shop", "SHOP", "Consortium"):
        with pytest.raises(FileError, match="asks for the name"):
            sign(by, tmp_path / name, name)
    deny(folder / "authority", str(folder / "shop/certificate.pem"))
    assert party(by, tmp_path / "new", "shop").name == "shop"


def test_the_same_key_may_be_signed_again(folder: Path) -> None:
    by = load_authority(folder / "authority")
    before = load_party(folder / "shop")
    after = party(by, folder / "shop", "shop", at=["shop.example"])
    assert key_fingerprint(before.certificate) == key_fingerprint(after.certificate)
    assert before.fingerprint != after.fingerprint
    assert after.reached_at == ["shop.example"]
    with pytest.raises(FileError, match="holds the key of 'shop'; another party has a folder of its own"):
        ask(folder / "shop", "clinic")


def test_a_certificate_out_of_its_time_is_named_with_dates_and_clock(folder: Path, tmp_path: Path) -> None:
    by = load_authority(folder / "authority")
    forced(by, tmp_path / "old", "old", start=-100)
    dates = r"it is valid from \d{4}-\d\d-\d\d \d\d:\d\d UTC to .* UTC, and this machine's clock says \d{4}-.* UTC"
    refused(tmp_path / "old", f"the certificate of 'old' has expired: {dates}")
    with days_away(20):
        file = sign(by, tmp_path / "early", "early")
    with pytest.raises(FileError, match=f"the certificate of 'early' is not valid yet: {dates}"):
        install(tmp_path / "early", file)


def test_an_authority_whose_time_is_over_signs_no_more(tmp_path: Path) -> None:
    with days_away(-100):
        new_authority(tmp_path / "authority", "old", days=30)
    with pytest.raises(FileError, match="the authority's certificate has expired"):
        load_authority(tmp_path / "authority")


def test_no_certificate_outlives_its_authority(folder: Path) -> None:
    by = load_authority(folder / "authority")
    with pytest.raises(SettingError, match="days must be a whole number from 1 to 36"):
        sign(by, folder / "late", "late", days=4000)


def test_the_certificate_must_belong_to_key_name_and_authority(folder: Path, tmp_path: Path) -> None:
    shop = folder / "shop"
    for name in ("certificate.pem", "trusted.pem"):
        kept = (shop / name).read_bytes()
        other = new_authority(tmp_path / name, "other")
        swapped = (folder / "bank" / name).read_bytes() if name == "certificate.pem" else pem(other.certificate)
        (shop / name).write_bytes(swapped)
        refused(shop, "is not the certificate of the key in|was signed by none of the authorities 'other'")
        (shop / name).write_bytes(kept)
    kept = (shop / "party.key").read_bytes()
    write_private(shop / "party.key", (folder / "bank/party.key").read_bytes())
    refused(shop, "is not the certificate of the key in")
    write_private(shop / "party.key", kept)
    assert load_party(shop).name == "shop"


def test_a_self_signed_certificate_is_no_party_s(folder: Path, tmp_path: Path) -> None:
    """Not even where it is trusted: who signs itself could claim any name."""
    shop = folder / "shop"
    key = serialization.load_pem_private_key((shop / "party.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    (tmp_path / "own.pem").write_bytes(pem(self_signed(key, "shop", 30)))
    with pytest.raises(FileError, match=r"own\.pem: is not the certificate of the key"):
        install(shop, tmp_path / "own.pem")
    with pytest.raises(FileError, match="was signed by none of the authorities 'consortium'"):
        install(shop, tmp_path / "own.pem", [folder / "authority/authority.pem"])
    with pytest.raises(FileError, match="the certificate of 'bank' is no authority's"):
        install(shop, shop / "certificate.pem", [folder / "bank/certificate.pem"])
    with pytest.raises(FileError, match="holds no authority's certificate beside yours: name its file with --trust"):
        install(shop, shop / "certificate.pem")
    assert load_party(shop).name == "shop"


def company(folder: Path, *, common: str | None = None, usage: x509.ObjectIdentifier | None = None) -> list[Path]:
    """Sign the request in ``folder`` as a company with its own RSA root, and an authority in between, would."""
    root, middle = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    asked = x509.load_pem_x509_csr((folder / "request.pem").read_bytes())
    subject = asked.subject if common is None else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    names = [x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, each)]) for each in ("root", "middle")]
    dates = self_signed(ec.generate_private_key(ec.SECP256R1()), "dates", 30)
    built = []
    for subject_, issuer, public, key, ca in (
        (names[0], names[0], root.public_key(), root, True),
        (names[1], names[0], middle.public_key(), root, True),
        (subject, names[1], asked.public_key(), middle, False),
    ):
        builder = (
            x509.CertificateBuilder(issuer, subject_, public, x509.random_serial_number())
            .not_valid_before(dates.not_valid_before_utc)
            .not_valid_after(dates.not_valid_after_utc)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("clinic.example")]), critical=False)
        )
        if usage is not None and not ca:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        built.append(builder.sign(key, hashes.SHA256()))
    (folder / "root.pem").write_bytes(pem(built[0]))
    (folder / "chain.pem").write_bytes(pem(built[2]) + pem(built[1]))
    (folder / "leaf.pem").write_bytes(pem(built[2]))
    return [folder / "chain.pem", folder / "root.pem"]


def test_a_company_s_own_authority_may_sign_the_request(tmp_path: Path) -> None:
    ask(tmp_path, "clinic", ["clinic.example"])
    chain, root = company(tmp_path)
    keys = install(tmp_path, chain, [root])
    assert (keys.name, len(keys.chain), len(keys.trusted)) == ("clinic", 2, 1)
    with pytest.raises(FileError, match="was signed by none of the authorities 'O=root'"):
        install(tmp_path, tmp_path / "leaf.pem", [root])


def test_a_company_must_leave_the_name_as_it_is(tmp_path: Path) -> None:
    ask(tmp_path, "clinic")
    chain, root = company(tmp_path, common="srv-0815.clinic.example")
    with pytest.raises(FileError, match=r"is for the name 'srv-0815\.clinic\.example', where 'clinic' was asked for"):
        install(tmp_path, chain, [root])


def test_what_a_certificate_may_not_be_used_for_is_said(tmp_path: Path) -> None:
    ask(tmp_path, "clinic", ["clinic.example"])
    keys = install(tmp_path, *_one(company(tmp_path, usage=ExtendedKeyUsageOID.SERVER_AUTH)))
    keys.check_lead()
    with pytest.raises(FileError, match=r"certificate\.pem: is not for clients \(extended key usage\)"):
        keys.check_partner()
    keys = install(tmp_path, *_one(company(tmp_path, usage=ExtendedKeyUsageOID.CLIENT_AUTH)))
    keys.check_partner()
    with pytest.raises(FileError, match="is not for servers"):
        keys.check_lead()


def _one(files: list[Path]) -> tuple[Path, list[Path]]:
    return files[0], files[1:]


def test_a_lead_needs_an_address(folder: Path) -> None:
    load_party(folder / "bank").check_lead()
    with pytest.raises(FileError, match="names no address under which partners dial the lead; ask for one with"):
        load_party(folder / "shop").check_lead()


def test_the_authority_takes_nothing_but_name_addresses_and_key(folder: Path, tmp_path: Path) -> None:
    by, key = load_authority(folder / "authority"), new_key(tmp_path / "key")
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, "town"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "bank")]
    )
    other = x509.SubjectAlternativeName([x509.DNSName("a.example"), x509.RFC822Name("a@b.example")])
    asked = (
        x509.CertificateSigningRequestBuilder(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(other, critical=False)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "request.pem").write_bytes(pem(asked))
    certificate = by.sign(tmp_path / "request.pem", tmp_path / "out.pem")
    assert certificate.subject.rfc4514_string() == "CN=town"
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert reached_at(certificate) == ["a.example"]


@pytest.mark.parametrize(
    ("common", "problem"),
    [
        ([], r"must have one name \(CN\), and has 0"),
        (["bank", "shop"], r"must have one name \(CN\), and has 2"),
        ([" bank"], "has a name that is none of a party"),
        (["ｂank"], "has a name that is none of a party"),
    ],
)
def test_a_request_for_no_name_is_not_signed(folder: Path, tmp_path: Path, common: list[str], problem: str) -> None:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each) for each in common])
    asked = x509.CertificateSigningRequestBuilder(subject).sign(new_key(tmp_path / "key"), hashes.SHA256())
    (tmp_path / "request.pem").write_bytes(pem(asked))
    with pytest.raises(FileError, match=problem):
        load_authority(folder / "authority").sign(tmp_path / "request.pem", tmp_path / "out.pem")
    assert not (tmp_path / "out.pem").exists()


@pytest.mark.parametrize("name", ["", " shop", "shop\n", "x" * 65, "sh\u200bop", "ｓhop", "a\x1b[0m"])
def test_a_name_that_could_be_read_in_two_ways_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingError, match="name must be printable text of 1 to 64 characters"):
        ask(tmp_path / "new", name)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("at", ["bank.example:7000", "https://bank", "", "ban k", "-x", "bänk.example", "a" * 254])
def test_an_address_is_a_host_name_or_an_ip_address(tmp_path: Path, at: str) -> None:
    with pytest.raises(SettingError, match="address must be a host name or an IP address, without a port"):
        ask(tmp_path / "new", "bank", [at])
    assert not (tmp_path / "new").exists()


def test_addresses_of_both_families() -> None:
    assert [type(each) for each in addresses(["::1", "10.0.0.1", "a-b.example"])] == [
        x509.IPAddress, x509.IPAddress, x509.DNSName
    ]  # fmt: skip


def damaged(folder: Path) -> list[tuple[Path, str]]:
    shop = folder / "shop"
    return [
        (shop / "party.key", "is no private key, or one behind a password"),
        (shop / "certificate.pem", "holds no certificate in PEM form"),
        (shop / "trusted.pem", "holds no certificate in PEM form"),
        (shop / "request.pem", "holds no request for a certificate in PEM form"),
        (shop / "denied.txt", r"line 1 is no SHA-256 fingerprint|the deny list cannot be read"),
    ]


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("content", [b"nonsense", b"\xff\x00\xfe" * 40, b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_damaged_file_is_named(folder: Path, place: int, content: bytes) -> None:
    file, problem = damaged(folder)[place]
    write_private(file, content)
    refused(folder / "shop", rf"{re.escape(file.name)}: .*({problem})")


def test_missing_files_are_named(folder: Path, tmp_path: Path) -> None:
    refused(tmp_path, "there is no such key; make one with: veilboost keys party NAME")
    ask(tmp_path / "new", "new")
    refused(tmp_path / "new", r"is not there yet: have request\.pem signed, then: veilboost keys install SIGNED")
    with pytest.raises(FileError, match="there is no such authority; make one with: veilboost keys authority NAME"):
        load_authority(tmp_path)
    (folder / "shop/trusted.pem").unlink()
    refused(folder / "shop", r"trusted\.pem: there is no such file")


def test_an_altered_request_is_refused(folder: Path, tmp_path: Path) -> None:
    ask(tmp_path / "new", "town")
    asked = x509.load_pem_x509_csr((tmp_path / "new/request.pem").read_bytes())
    altered = asked.public_bytes(serialization.Encoding.DER).replace(b"town", b"bank")
    (tmp_path / "request.pem").write_bytes(pem(x509.load_der_x509_csr(altered)))
    with pytest.raises(FileError, match="was altered: its signature does not fit"):
        load_authority(folder / "authority").sign(tmp_path / "request.pem", tmp_path / "out.pem")


def test_the_deny_list_names_certificate_and_key(folder: Path) -> None:
    certificate = read_certificates(folder / "shop/certificate.pem")[0]
    assert len(deny(folder / "bank", str(folder / "shop/certificate.pem"), "stolen")) == 2
    assert deny(folder / "bank", fingerprint(certificate).upper()) == []
    colons = ":".join(re.findall("..", "ab" * 32)).upper()
    assert deny(folder / "bank", colons)[0].startswith("ab" * 32)
    bank = load_party(folder / "bank")
    assert bank.denied() == {fingerprint(certificate), key_fingerprint(certificate), "ab" * 32}
    assert "stolen" in (folder / "bank/denied.txt").read_text()
    with pytest.raises(SettingError, match="what must be the file of a certificate or a SHA-256 fingerprint"):
        deny(folder / "bank", "shop")
    with pytest.raises(FileError, match="there is no such folder of keys"):
        deny(folder / "nowhere", "ab" * 32)


def test_a_party_notices_that_it_denies_itself(folder: Path) -> None:
    deny(folder / "shop", load_party(folder / "shop").fingerprint)
    refused(folder / "shop", "is on this party's own deny list")


def test_keys_are_never_written_over(folder: Path) -> None:
    with pytest.raises(FileError, match="is there already; a key is never written over"):
        new_authority(folder / "authority", "other")
    (folder / "shop/request.pem").unlink()
    with pytest.raises(FileError, match="is there already; a key is never written over"):
        ask(folder / "shop", "shop")
    assert isinstance(load_authority(folder / "authority"), Authority)
