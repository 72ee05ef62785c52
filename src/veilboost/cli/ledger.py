"""`veilboost ledger`: what has left so far."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json

app = typer.Typer(
    no_args_is_help=True, help="What has left, to whom and at what cost; and whether the record is whole."
)

File = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.")]
_DEFAULT = Path("ledger.db")


@app.command("new")
def new(file: File = _DEFAULT) -> None:
    """Make an empty ledger, once: a second one would know nothing of what the first has charged."""
    from veilboost.release import Ledger
    from veilboost.report import terminal

    with Ledger.create(file) as ledger:
        terminal.say(f"{file}: ledger {ledger.name}, history in {ledger.folder}")


@app.command("show")
def show(file: File = _DEFAULT, json: Json = False) -> None:
    """Show every line."""
    from veilboost.release import Ledger
    from veilboost.report import ledger_lines, terminal

    with Ledger(file) as ledger:
        lines = ledger.lines()
        if json:
            terminal.json([ledger_lines.values(line) for line in lines])
        else:
            ledger_lines.show(ledger, lines)


@app.command("export")
def export(out: Annotated[Path, typer.Argument(help="The file to write.")], file: File = _DEFAULT) -> None:
    """Write every line with its hash, one JSON document a line: an auditor can recompute the chain from it."""
    from veilboost.errors import FileError
    from veilboost.files import write_private
    from veilboost.release import Ledger
    from veilboost.report import ledger_lines, terminal

    if out.exists():
        raise FileError(out, "is there already")
    with Ledger(file) as ledger:
        lines = ledger.lines()
        write_private(out, ledger_lines.export(ledger, lines).encode())
    terminal.say(f"{out}: {len(lines)} lines")


@app.command("receipt")
def receipt(file: File = _DEFAULT) -> None:
    """Print the receipt of the present state, for someone else to keep."""
    from veilboost.release import Ledger
    from veilboost.report import terminal

    with Ledger(file) as ledger:
        terminal.json(ledger.receipt())


@app.command("verify")
def verify(
    file: File = _DEFAULT,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", help="A receipt, or a privacy statement, that a receiver has kept.")
    ] = None,
) -> None:
    """Check the chain of lines, the history of the rows, and a receipt; ends with 1 if something was altered."""
    from veilboost.release import Ledger, verify
    from veilboost.release.verify import load_receipts
    from veilboost.report import terminal

    kept = [] if receipt is None else load_receipts(receipt)
    with Ledger(file) as ledger, terminal.progress("verifying") as progress:
        count = verify(ledger, kept, progress)
        lines = max((each.lines for each in kept if each.ledger == ledger.name), default=None)
    suffix = "" if lines is None else f", among them the {lines} of the receipt"
    terminal.say(f"{file}: whole, {count} lines{suffix}")
