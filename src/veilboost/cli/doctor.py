"""`veilboost doctor`: whether a job could be done here, before it is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veilboost.cli.mechanism_options import Json

if TYPE_CHECKING:
    from veilboost.vertical.findings import Finding, Findings

_ILL = 2


def doctor(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.toml", help="A lead's file, for a job or predictions, or a partner's.")
    ],
    json: Json = False,
) -> None:
    """Check keys, clock, versions, table, disk, policy, ledger and the line to the other party; ends with 2 where
    something is wrong. Nothing is released, drawn or written.
    """
    from veilboost.report import terminal
    from veilboost.vertical.doctor import examined

    found = examined(plan, _silent if json else _say)
    if json:
        terminal.json(found.lines)
    else:
        terminal.say("", _summary(found))
    raise typer.Exit(_ILL if found.ill else 0)


def _say(finding: "Finding") -> None:
    from veilboost.report import terminal

    terminal.say(f"{finding.state:8} {finding.check}: {finding.says}")


def _summary(found: "Findings") -> str:
    counts = {state: sum(each.state == state for each in found.lines) for state in ("problem", "warning")}
    said = ", ".join(f"{count} {state}{'s' * (count != 1)}" for state, count in counts.items() if count)
    return f"{said or 'All is well'}."


def _silent(_finding: "Finding") -> None:
    pass
