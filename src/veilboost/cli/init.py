"""`veilboost init`: files to begin with."""

from pathlib import Path
from typing import Annotated, Any

import typer

from veilboost.cli.train import Delimiter

app = typer.Typer(no_args_is_help=True, help="Write a file to begin with.")


@app.callback()
def _files() -> None:
    pass


@app.command("policy")
def policy(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table it is for; its values are not looked at.")],
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("policy.toml"),
    delimiter: Delimiter = None,
    encoding: Annotated[str | None, typer.Option(help="How a CSV file is encoded; utf-8.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal mark of a CSV file; a full stop.")] = None,
) -> None:
    """Write a commented draft of a policy, from the names and types of a table's columns."""
    from veilboost.data import Dialect, open_source
    from veilboost.errors import FileError
    from veilboost.files import write_whole
    from veilboost.release import draft
    from veilboost.report import terminal

    if out.exists():
        raise FileError(out, "is there already")
    options = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    text = draft(open_source(table, Dialect(**given) if given else None))
    write_whole(out, text)
    terminal.say(f"{out}: a draft; fill in what stands in <angle brackets>")


@app.command("example")
def example(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write.")] = Path("example"),
) -> None:
    """Write two tables to try things on, a bank's and a shop's, and the policy of the shop."""
    from veilboost.report import terminal
    from veilboost.studies.example import write_example

    for file in write_example(folder):
        terminal.say(str(file))


@app.command("job")
def job(
    who: Annotated[str, typer.Argument(metavar="WHO", help="Whose example: bank, shop or clinic.")] = "bank",
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("job.toml"),
) -> None:
    """Write a commented job file for a lead; the bank's fits the tables of veilboost init example."""
    from veilboost.vertical.examples import job_example

    _write(out, job_example(who))


@app.command("partner")
def partner(
    who: Annotated[str, typer.Argument(metavar="WHO", help="Whose example: bank, shop or clinic.")] = "shop",
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("partner.toml"),
) -> None:
    """Write a commented file for a partner; the shop's fits the tables of veilboost init example."""
    from veilboost.vertical.examples import partner_example

    _write(out, partner_example(who))


@app.command("predict")
def predict(
    who: Annotated[str, typer.Argument(metavar="WHO", help="Whose example: bank, shop or clinic.")] = "bank",
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("predict.toml"),
) -> None:
    """Write a commented file for a lead that predicts with its partners; the bank's fits veilboost init job."""
    from veilboost.vertical.examples import predict_example

    _write(out, predict_example(who))


def _write(out: Path, text: str) -> None:
    from veilboost.errors import FileError
    from veilboost.files import check_writable, write_whole
    from veilboost.report import terminal

    if out.exists():
        raise FileError(out, "is there already")
    check_writable(out)
    write_whole(out, text)
    terminal.say(f"{out}: an example, with comments; change it to what is yours")
