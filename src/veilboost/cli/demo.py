"""`veilboost demo`: the main job on a real table and on a generated one."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and a model.")] = Path("demo-output"),
    json: Json = False,
) -> None:
    """Train on desensitised columns with every mechanism at several ε, and show accuracy next to exact privacy."""
    from veilboost.report import terminal
    from veilboost.studies.demo import run, show

    with terminal.progress("training", quiet=json) as progress:
        found = run(out, progress=progress)
    if json:
        terminal.json(found)
    else:
        show(found)
