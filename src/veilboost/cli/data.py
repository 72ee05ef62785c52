"""`veilboost data`: the public tables of the papers."""

from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json

app = typer.Typer(no_args_is_help=True, help="The public tables of the papers: which there are, and fetching them.")


@app.command("list")
def list_(json: Json = False) -> None:
    """Show every table, its publisher and licence, and the file that holds it if it is here."""
    from veilboost.data.public import listed
    from veilboost.report import public_tables, terminal

    tables = listed()
    if json:
        terminal.json(tables)
    else:
        public_tables.show_list(tables)


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table as `data list` names it, or all.")],
    digest: Annotated[str | None, typer.Option(help="The digest of the table, if somebody has told you.")] = None,
    json: Json = False,
) -> None:
    """Check a table where it is, or fetch it from its publisher and keep it in the cache."""
    from veilboost.data.public import haul
    from veilboost.report import public_tables, terminal

    with terminal.steps(quiet=json) as progress:
        found = haul(name, digest=digest, progress=progress)
    if json:
        terminal.json(found)
    else:
        public_tables.show_haul(found)
    found.check()
