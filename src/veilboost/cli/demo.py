"""`veilboost demo`: the main job on an embedded table."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the desensitised table.")] = Path("demo-output"),
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Nominal budget between neighbouring codes.")] = 0.5,
    json: Json = False,
) -> None:
    """Desensitise an embedded table with every mechanism, and show nominal and exact privacy side by side."""
    from veilboost.report import terminal
    from veilboost.studies.demo import run, show

    found = run(out, epsilon=epsilon)
    if json:
        terminal.json(found)
    else:
        show(found)
