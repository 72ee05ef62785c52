"""`veilboost keys`: the secrets of a party, and by what others know it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.x509 import Certificate, CertificateSigningRequest

app = typer.Typer(no_args_is_help=True, help="Make, sign, show and revoke the keys of your party; no secret is shown.")
noise = typer.Typer(no_args_is_help=True, help="The noise key: it makes noise permanent, and unmasks it.")
app.add_typer(noise, name="noise")

File = Annotated[Path, typer.Option("--file", help="The file that holds the key, readable by you alone.")]
Folder = Annotated[Path, typer.Option("--folder", help="The folder with your party's keys.")]
Address = Annotated[
    list[str] | None,
    typer.Option("--address", help="A host name or IP address under which partners dial you, if you lead. Repeatable."),
]
Days = Annotated[int, typer.Option("--days", help="How long it is valid.")]
_DEFAULT, _KEYS, _AUTHORITY = Path("noise.key"), Path("keys"), Path("authority")


@app.command("authority")
def authority(
    name: Annotated[str, typer.Argument(help="What the authority is called.")],
    folder: Annotated[Path, typer.Option("--folder", help="A new folder for it.")] = _AUTHORITY,
    days: Days = 3650,
) -> None:
    """Make an authority: it vouches for the names of all parties of a job. One of them runs it, or a third."""
    from veilboost.wire import new_authority

    made = new_authority(folder, name, days)
    _facts([made.certificate])
    _print(f"Keep {folder} to yourself: who has {made.key_file} can speak for every party.")


@app.command("party")
def party(
    name: Annotated[str, typer.Argument(help="The name by which all others know your party.")],
    address: Address = None,
    folder: Folder = _KEYS,
    by: Annotated[
        Path | None, typer.Option("--authority", help="The folder of your own authority: it signs at once.")
    ] = None,
    days: Days = 365,
) -> None:
    """Make your party's private key, which never leaves this machine, and the request for the authority to sign.

    For a party that has a key already, write the request anew: with other addresses, or before the certificate expires.
    """
    from veilboost.wire import ask, install, load_authority
    from veilboost.wire.certificates import key_fingerprint

    signing = None if by is None else load_authority(by)
    asked = ask(folder, name, address or [])
    request = folder / "request.pem"
    if signing is None:
        _print(f"Send {request} to the authority. The key in it has the fingerprint {key_fingerprint(asked)}.")
        _print(f"Then: veilboost keys install SIGNED --folder {folder}")
        return
    signing.sign(request, folder / "signed.pem", days)
    _facts(install(folder, folder / "signed.pem").chain)
    (folder / "signed.pem").unlink()


@app.command("sign")
def sign(
    request: Annotated[Path, typer.Argument(help="What a party sent: its request.pem.")],
    out: Annotated[Path, typer.Argument(help="The file to send back.")],
    folder: Annotated[Path, typer.Option("--authority", help="The authority's folder.")] = _AUTHORITY,
    days: Days = 365,
) -> None:
    """Sign a party's request, as the authority. Compare the key's fingerprint with the party first, by telephone."""
    from veilboost.wire import load_authority

    _facts([load_authority(folder).sign(request, out, days)])
    _print(f"Send {out} back. There the key's fingerprint must be the same.")


@app.command("install")
def install(
    signed: Annotated[Path, typer.Argument(help="What came back: your certificate, and those that lead to it.")],
    trust: Annotated[
        list[Path] | None,
        typer.Option("--trust", help="Certificates of authorities to trust, such as your company's. Repeatable."),
    ] = None,
    folder: Folder = _KEYS,
) -> None:
    """Put your signed certificate in its place, and trust the authority that signed it, or those that you name."""
    from veilboost.wire import install as put

    keys = put(folder, signed, trust or [])
    _facts(keys.chain)
    _facts(keys.trusted, "trusts")
    _print("Compare the authority's fingerprint with the authority: it can vouch for any name.")


@app.command("show")
def show(
    file: Annotated[Path | None, typer.Argument(help="A certificate or request; without it, your party's.")] = None,
    folder: Folder = _KEYS,
) -> None:
    """Show names, fingerprints and dates; your private key is never shown."""
    from veilboost.wire import load_party
    from veilboost.wire.certificates import read_any

    if file is not None:
        _facts(read_any(file))
        return
    keys = load_party(folder)
    _facts(keys.chain)
    _facts(keys.trusted, "trusts")
    _print(f"denied: {len(keys.denied())} fingerprints")


@app.command("revoke")
def revoke(
    what: Annotated[str, typer.Argument(help="A certificate's file, or the SHA-256 fingerprint of it or of its key.")],
    why: Annotated[str, typer.Option("--why", help="A remark for whoever reads the list.")] = "",
    folder: Annotated[Path, typer.Option("--folder", help="Your party's keys, or an authority.")] = _KEYS,
) -> None:
    """Put a certificate and its key on your deny list; from the next connection on they are refused."""
    from veilboost.wire import deny

    lines = deny(folder, what, why)
    _print(*lines or ["it was on the list already"])


@noise.command("new")
def new(file: File = _DEFAULT) -> None:
    """Make a noise key in a new file. Back it up as you would a password: who has it can unmask every release."""
    from veilboost.release import new_key

    _say(file, new_key(file))


@noise.command("rotate")
def rotate(file: File = _DEFAULT) -> None:
    """Replace the key: the old one is destroyed, and every value leaves with other noise and is charged again."""
    from veilboost.release import rotate_key

    _say(file, rotate_key(file))


@noise.command("show")
def show_noise(file: File = _DEFAULT) -> None:
    """Show a key's version and fingerprint, never the key."""
    from veilboost.release import load_key

    _say(file, load_key(file))


def _say(file: Path, key: object) -> None:
    from veilboost.release import NoiseKey

    assert isinstance(key, NoiseKey)
    _print(f"{file}: version {key.version}, made {key.created}, fingerprint {key.fingerprint}")


def _facts(certificates: "Sequence[Certificate | CertificateSigningRequest]", title: str = "name") -> None:
    from veilboost.wire.certificates import described

    for each in certificates:
        (_, name), *rest = described(each)
        _print(f"{title}: {name}", *(f"  {word}: {fact}" for word, fact in rest))


def _print(*lines: str) -> None:
    from veilboost.report import terminal

    terminal.say(*lines)
