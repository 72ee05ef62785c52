"""`veilboost audit`: attacks that try to refute a guarantee."""

from typing import Annotated, Literal

import typer

from veilboost.cli.mechanism_options import (
    Alpha,
    Epsilon,
    Gaps,
    Json,
    MechanismName,
    Size,
    TableName,
    Theta,
    settings,
)

app = typer.Typer(no_args_is_help=True, help="Attack a guarantee from samples and say whether it was refuted.")


@app.command("table")
def table(
    mechanism: MechanismName,
    epsilon: Epsilon = None,
    size: Size = None,
    theta: Theta = None,
    alpha: Alpha = None,
    gaps: Gaps = None,
    samples: Annotated[int, typer.Option(help="Draws for each of a pair's two codes.")] = 1_000_000,
    level: Annotated[float, typer.Option(help="How likely a true guarantee may be called refuted.")] = 1e-9,
    json: Json = False,
) -> None:
    """Draw from a mechanism, try to tell neighbouring codes apart, and compare with what it promises."""
    from veilboost.audits import audit_table
    from veilboost.mechanisms import from_settings
    from veilboost.report import terminal

    chosen = from_settings(settings(mechanism, epsilon, size, theta, alpha, gaps))
    with terminal.progress("attacking", quiet=json) as progress:
        found = audit_table(chosen, samples=samples, level=level, progress=progress)
    if json:
        terminal.json(found.values())
    else:
        terminal.say(str(found))
    raise typer.Exit(1 if found.refuted else 0)


@app.command("permanence")
def permanence(
    mechanism: TableName,
    epsilon: Epsilon = None,
    size: Size = None,
    theta: Theta = None,
    alpha: Alpha = None,
    gaps: Gaps = None,
    releases: Annotated[int, typer.Option(help="How often the same values are released.")] = 50,
    samples: Annotated[int, typer.Option(help="Rows in each world of the other two attacks.")] = 1_000_000,
    level: Annotated[float, typer.Option(help="How likely a true claim may be called refuted.")] = 1e-9,
    noise: Annotated[str, typer.Option(help="permanent, or fresh to see the attacks succeed.")] = "permanent",
    json: Json = False,
) -> None:
    """Average repeated releases, watch a value change, and compare two tables of one column."""
    from veilboost.audits.permanence import audit_permanence, fresh
    from veilboost.errors import SettingError
    from veilboost.mechanisms import TightMap, table_from_settings
    from veilboost.report import terminal

    if noise not in ("permanent", "fresh"):
        raise SettingError("noise", "must be permanent or fresh", noise)
    chosen = table_from_settings(settings(mechanism, epsilon, size, theta, alpha, gaps))
    found = audit_permanence(
        chosen,
        TightMap(epsilon=0.5, size=chosen.size),
        releases=releases,
        samples=samples,
        level=level,
        source=fresh if noise == "fresh" else None,
    )
    if json:
        terminal.json(found.values())
    else:
        terminal.say(str(found))
    raise typer.Exit(1 if found.refuted else 0)


@app.command("local")
def local(
    share: Annotated[str, typer.Option(help="sample, statistic or classifier.")] = "sample",
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="piecewise, duchi, duchi-sampled, laplace or laplace-split.")
    ] = "piecewise",
    labels: Annotated[
        Literal["randomised", "clear"], typer.Option(help="How a row's label leaves; in the clear as printed.")
    ] = "randomised",
    weights: Annotated[Literal["bounded", "none", "printed"], typer.Option(help="What a row weighs.")] = "bounded",
    clip: Annotated[float | None, typer.Option(help="Bounded weights above it count as it.")] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="What an owner spends.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Learners that are wrong about the second owner's row.")] = 5,
    samples: Annotated[int, typer.Option(help="Answers in each world of an attack.")] = 200_000,
    level: Annotated[float, typer.Option(help="How likely a true claim may be called refuted.")] = 1e-9,
    json: Json = False,
) -> None:
    """Tell an owner's label, and whether earlier learners were wrong about it, from its one answer."""
    from veilboost.audits import audit_local
    from veilboost.local import Weighting
    from veilboost.report import terminal

    found = audit_local(
        share=share,
        mechanism=mechanism,
        labels=labels,
        weighting=Weighting(how=weights, clip=clip),
        epsilon=epsilon,
        rounds=rounds,
        samples=samples,
        level=level,
    )
    if json:
        terminal.json(found.values())
    else:
        terminal.say(str(found))
    raise typer.Exit(1 if found.refuted else 0)
