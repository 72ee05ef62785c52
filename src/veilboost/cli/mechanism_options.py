"""The options that name a mechanism and its parameters, shared by every command that takes one."""

from typing import Annotated

import typer

from veilboost.errors import SettingError
from veilboost.settings import MechanismSettings

_TABLES = "global|adj|local|tight|grr"
_LARGE = "bounded-laplace|clamped-laplace|adj-laplace|local-laplace|discrete-laplace"
_VALUES = "piecewise|duchi|range-laplace"

TableName = Annotated[str, typer.Option("--mechanism", "-m", metavar=_TABLES, help="Which mechanism.")]
MechanismName = Annotated[
    str, typer.Option("--mechanism", "-m", metavar="NAME", help=f"Which mechanism: {_TABLES}, {_LARGE}, or {_VALUES}.")
]
Epsilon = Annotated[float | None, typer.Option("--epsilon", "-e", help="Nominal budget between neighbouring codes.")]
Size = Annotated[int | None, typer.Option("--size", "-s", help="Number of codes.")]
Theta = Annotated[int | None, typer.Option("--theta", help="Codes in a partition (adj, local).")]
Alpha = Annotated[float | None, typer.Option("--alpha", help="Ratio of the budgets between and inside (adj); 1.0.")]
Gaps = Annotated[
    str | None, typer.Option("--gaps", help="Instead of epsilon: a budget for each gap, as in 0.1,0.1,2 (tight).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def settings(
    mechanism: str, epsilon: float | None, size: int | None, theta: int | None, alpha: float | None, gaps: str | None
) -> MechanismSettings:
    """Return the settings that the options give."""
    return MechanismSettings(
        mechanism=mechanism,
        epsilon=epsilon,
        size=size,
        theta=theta,
        alpha=alpha,
        gaps=None if gaps is None else _numbers(gaps),
    )


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise SettingError("gaps", "must be numbers with commas between them", text) from error
