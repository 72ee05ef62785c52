"""`veilboost train` and `veilboost predict`: files in, a model folder or predictions out."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json
from veilboost.errors import SettingError

Delimiter = Annotated[str | None, typer.Option(help="What stands between the fields of a CSV file.")]
Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="A .csv, .parquet or .arrow file, or postgresql://host/base#table.")
]
Files = Annotated[
    list[Path] | None,
    typer.Option("--with", help="A file that a partner desensitised, its statement beside it; as often as needed."),
]
Key = Annotated[str | None, typer.Option("--key", help="The column that names a row in all files.")]


def train(
    table: Table,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder to write: model, statement and report.")],
    label: Annotated[str, typer.Option("--label", help="The column to predict.")],
    files: Files = None,
    key: Key = None,
    weight: Annotated[str | None, typer.Option("--weight", help="The column of row weights.")] = None,
    task: Annotated[str, typer.Option(help="classification, regression, or auto: what the label looks like.")] = "auto",
    backend: Annotated[str, typer.Option(help="xgboost or lightgbm.")] = "xgboost",
    trees: Annotated[int, typer.Option(help="How many trees.")] = 80,
    depth: Annotated[int, typer.Option(help="How deep each may be.")] = 3,
    learning_rate: Annotated[float, typer.Option(help="How much of each tree counts.")] = 0.1,
    early_stopping: Annotated[
        int | None, typer.Option(help="Stop after so many trees that helped nothing on a tenth of the rows.")
    ] = None,
    nominal: Annotated[
        str, typer.Option(help="Categories as one column each (one-hot), or as the library has them (native).")
    ] = "one-hot",
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE of the library's own, as often as needed.")
    ] = None,
    test_share: Annotated[float, typer.Option(help="Share of rows that only measure the model.")] = 0.2,
    seed: Annotated[int, typer.Option(help="For the choice of these rows, and for the library.")] = 0,
    delimiter: Delimiter = None,
    json: Json = False,
) -> None:
    """Train on a table of yours, and desensitised files beside it, a stock model that reads raw columns."""
    from veilboost.data import Dialect
    from veilboost.estimators import files as work
    from veilboost.report import terminal

    settings = {
        "backend": backend,
        "n_estimators": trees,
        "max_depth": depth,
        "learning_rate": learning_rate,
        "early_stopping": early_stopping,
        "nominal": nominal,
        "parameters": dict(map(_parameter, parameters or [])),
        "random_state": seed,
    }
    with terminal.steps(quiet=json) as progress:
        found = work.train(
            table,
            model,
            label=label,
            files=files or [],
            key=key,
            weight=weight,
            task=task,
            test_share=test_share,
            dialect=None if delimiter is None else Dialect(delimiter=delimiter),
            settings=settings,
            progress=progress,
        )
    if json:
        terminal.json(found)
    else:
        work.show(found)


def _parameter(text: str) -> tuple[str, bool | int | float | str]:
    """Read ``NAME=VALUE``."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise SettingError("--set", "must be NAME=VALUE", text)
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    table: Table,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .parquet or .csv file.")],
    files: Files = None,
    key: Key = None,
    partners: Annotated[
        Path | None,
        typer.Option("--partners", help="Ask partners for their columns; veilboost init predict writes this file."),
    ] = None,
    keep: Annotated[str | None, typer.Option("--keep", help="Columns to write before it, with commas between.")] = None,
    delimiter: Delimiter = None,
    json: Json = False,
) -> None:
    """Predict for raw samples, for desensitised ones, or with partners who hold the rest, in their order."""
    from veilboost.data import Dialect
    from veilboost.estimators import predictions as work
    from veilboost.report import terminal
    from veilboost.vertical import closing
    from veilboost.vertical.plans import PredictPlan, load_plan

    plan = None if partners is None else load_plan(partners, PredictPlan)
    with terminal.news(quiet=json) as (progress, tell):
        found = work.predict(
            model,
            table,
            out,
            files=files or [],
            key=key,
            partners=plan,
            keep=[] if keep is None else [name.strip() for name in keep.split(",")],
            dialect=None if delimiter is None else Dialect(delimiter=delimiter),
            progress=progress,
            tell=tell,
        )
    if json:
        terminal.json(found)
        return
    if plan is not None:
        closing.show_predicted(found.rows, found.released, found.one_column, found.whole_row)
    terminal.say(f"{found.rows:,} predictions in {out}")
