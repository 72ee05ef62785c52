"""`veilboost bench`: speed, as ratios measured side by side."""

from importlib import import_module
from typing import Annotated, Any

import typer

from veilboost.cli.mechanism_options import Json

app = typer.Typer(no_args_is_help=True, help="Measure speed on this machine, as ratios in one run.")

Repeats = Annotated[int, typer.Option(help="Rounds; every figure is the median over them.")]


@app.command("sampling")
def sampling(
    repeats: Repeats = 7,
    values: Annotated[int, typer.Option(help="Values drawn in each measurement.")] = 20_000_000,
    json: Json = False,
) -> None:
    """Compare the samplers with the raw AES keystream, and with other libraries that are installed."""
    _measure("sampling", json=json, repeats=repeats, values=values)


@app.command("release")
def release(
    rows: Annotated[int, typer.Option(help="Rows of the table; memory is also measured with a tenth.")] = 10_000_000,
    repeats: Repeats = 5,
    json: Json = False,
) -> None:
    """Compare desensitising a Parquet file of ten columns with copying it, and measure the memory it takes."""
    _measure("release", json=json, rows=rows, repeats=repeats)


@app.command("training")
def training(repeats: Repeats = 5, json: Json = False) -> None:
    """Compare OpBoost, from raw columns to a stock model, with plain XGBoost on the same codes."""
    _measure("training", json=json, repeats=repeats)


@app.command("parties")
def parties(
    repeats: Repeats = 5,
    threads: Annotated[
        int | None, typer.Option(help="Threads that train, in both ways; without it, all cores.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also a million rows, and a partner's memory up to ten million: minutes.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare a job between two processes over mutual TLS with plain XGBoost on the codes of all columns."""
    _measure("parties", json=json, repeats=repeats, threads=threads, full=full)


@app.command("local")
def local(
    owners: Annotated[int, typer.Option(help="Owners of one row each who answer in the round.")] = 1_000_000,
    repeats: Repeats = 5,
    json: Json = False,
) -> None:
    """Compare a round over very many owners with drawing as many random words and looking at their data once."""
    _measure("local", json=json, owners=owners, repeats=repeats)


def _measure(name: str, *, json: bool, **options: Any) -> None:
    """Run one benchmark, with a bar, and print what it found."""
    from veilboost.report import terminal

    benchmark = import_module(f"veilboost.benchmarks.{name}")
    with terminal.progress("measuring", quiet=json) as progress:
        found = benchmark.measure(**options, progress=progress)
    if json:
        terminal.json(found)
    else:
        benchmark.show(found)
