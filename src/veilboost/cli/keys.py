"""`veilboost keys`: the secrets of a party."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Make, replace and name the secrets of your party; none is ever shown.")
noise = typer.Typer(no_args_is_help=True, help="The noise key: it makes noise permanent, and unmasks it.")
app.add_typer(noise, name="noise")

File = Annotated[Path, typer.Option("--file", help="The file that holds the key, readable by you alone.")]
_DEFAULT = Path("noise.key")


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
def show(file: File = _DEFAULT) -> None:
    """Show a key's version and fingerprint, never the key."""
    from veilboost.release import load_key

    _say(file, load_key(file))


def _say(file: Path, key: object) -> None:
    from veilboost.release import NoiseKey
    from veilboost.report import terminal

    assert isinstance(key, NoiseKey)
    terminal.say(f"{file}: version {key.version}, made {key.created}, fingerprint {key.fingerprint}")
