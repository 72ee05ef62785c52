"""`veilboost bench`: speed, as ratios measured side by side."""

from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json

app = typer.Typer(no_args_is_help=True, help="Measure speed on this machine, as ratios in one run.")


@app.command("sampling")
def sampling(
    repeats: Annotated[int, typer.Option(help="Rounds; every figure is the median over them.")] = 7,
    values: Annotated[int, typer.Option(help="Values drawn in each measurement.")] = 20_000_000,
    json: Json = False,
) -> None:
    """Compare the samplers with the raw AES keystream, and with other libraries that are installed."""
    from veilboost.benchmarks.sampling import measure, show
    from veilboost.report import terminal

    with terminal.progress("measuring", quiet=json) as progress:
        found = measure(repeats=repeats, values=values, progress=progress)
    if json:
        terminal.json(found)
    else:
        show(found)


@app.command("release")
def release(
    rows: Annotated[int, typer.Option(help="Rows of the table; memory is also measured with a tenth.")] = 10_000_000,
    repeats: Annotated[int, typer.Option(help="Rounds; every figure is the median over them.")] = 5,
    json: Json = False,
) -> None:
    """Compare desensitising a Parquet file of ten columns with copying it, and measure the memory it takes."""
    from veilboost.benchmarks.release import measure, show
    from veilboost.report import terminal

    with terminal.progress("measuring", quiet=json) as progress:
        found = measure(rows=rows, repeats=repeats, progress=progress)
    if json:
        terminal.json(found)
    else:
        show(found)


@app.command("training")
def training(
    repeats: Annotated[int, typer.Option(help="Rounds; every figure is the median over them.")] = 5,
    json: Json = False,
) -> None:
    """Compare OpBoost, from raw columns to a stock model, with plain XGBoost on the same codes."""
    from veilboost.benchmarks.training import measure, show
    from veilboost.report import terminal

    with terminal.progress("measuring", quiet=json) as progress:
        found = measure(repeats=repeats, progress=progress)
    if json:
        terminal.json(found)
    else:
        show(found)


@app.command("local")
def local(
    owners: Annotated[int, typer.Option(help="Owners of one row each who answer in the round.")] = 1_000_000,
    repeats: Annotated[int, typer.Option(help="Rounds; every figure is the median over them.")] = 5,
    json: Json = False,
) -> None:
    """Compare a round over very many owners with drawing as many random words and looking at their data once."""
    from veilboost.benchmarks.local import measure, show
    from veilboost.report import terminal

    with terminal.progress("measuring", quiet=json) as progress:
        found = measure(owners=owners, repeats=repeats, progress=progress)
    if json:
        terminal.json(found)
    else:
        show(found)
