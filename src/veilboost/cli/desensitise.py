"""`veilboost desensitise`: a table in, a desensitised table and its privacy statement out."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json


def desensitise(
    table: Annotated[
        str, typer.Argument(metavar="IN", help="A .csv, .parquet or .arrow file, or postgresql://host/base#table.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .parquet or .csv file.")],
    policy: Annotated[Path, typer.Option("--policy", help="Your policy: what may leave, to whom and at what cost.")],
    to: Annotated[str | None, typer.Option("--to", help="Who receives it, as the policy names them.")] = None,
    purpose: Annotated[str | None, typer.Option("--purpose", help="What for, as the policy names it.")] = None,
    job: Annotated[str, typer.Option("--job", help="The name of the job, for the ledger.")] = "desensitise",
    columns: Annotated[
        str | None, typer.Option("--columns", help="Only these columns, with commas between them.")
    ] = None,
    codes: Annotated[bool, typer.Option("--codes", help="Write codes instead of the values they stand for.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would leave and what it would cost; draw nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Desensitise the columns of a table that the policy lets out, and enter what it cost into the ledger."""
    from veilboost.data import open_source
    from veilboost.release import desensitise, load_policy
    from veilboost.report import outcome, terminal

    read = load_policy(policy)
    wanted = None if columns is None else [name.strip() for name in columns.split(",")]
    request = read.permit(to, purpose, job, wanted)
    source = open_source(table, read.dialect)
    with terminal.steps(quiet=json) as progress:
        found = desensitise(source, out, read, request, as_codes=codes, dry_run=dry_run, progress=progress)
    if json:
        terminal.json(outcome.values(found))
    else:
        outcome.show(found)
