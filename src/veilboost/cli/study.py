"""`veilboost study`: published experiments, each by one command."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json

app = typer.Typer(no_args_is_help=True, help="Run published experiments again, and compare with print.")


@app.command("list")
def list_studies(json: Json = False) -> None:
    """Say which studies there are."""
    from veilboost.report import terminal
    from veilboost.studies.study import names, study

    rows = [(name, study(name).title, study(name).paper) for name in names()]
    if json:
        terminal.json([{"study": name, "title": title, "paper": paper} for name, title, paper in rows])
    else:
        terminal.table(("study", "what", "from"), rows)


@app.command("run")
def run(
    studies: Annotated[list[str], typer.Argument(metavar="NAME...", help="Ids as `study list` prints them, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats: minutes instead of hours.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for pages and pictures.")] = Path("study-output"),
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures to FILE.")] = None,
    pin: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write what was found as new expected tables, for maintainers."),
    ] = None,
) -> None:
    """Run studies, write their pages and pictures, and end with 1 if a figure is off and nobody knows why."""
    from veilboost.files import check_writable, write_whole
    from veilboost.report import terminal
    from veilboost.studies import pages, running

    check_writable(*([] if json is None else [json]), *([] if pin is None else [pin / "pinned.csv"]))
    with terminal.steps() as progress:
        ran = running.run_all(studies, out, quick=quick, progress=progress)
    for each in ran:
        pages.show(each)
        if pin is not None and not each.quick:
            write_whole(pin / f"{each.name}.csv", running.pin(each))
    pages.summary(ran)
    terminal.say("", f"Pages: {out / 'index.html'}")
    if json is not None:
        write_whole(json, running.values(ran).decode())
    raise typer.Exit(1 if any(each.refuted for each in ran) else 0)
