"""`veilboost lead` and `veilboost join`: the two sides of a job between organisations."""

from pathlib import Path
from typing import Annotated

import typer

from veilboost.cli.mechanism_options import Json


def lead(
    job: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file; veilboost init job writes one.")],
    json: Json = False,
) -> None:
    """Wait for the partners of a job, train, and write the model folder; started again, go on where it stopped."""
    from veilboost.report import terminal
    from veilboost.vertical import closing
    from veilboost.vertical.leading import lead as run
    from veilboost.vertical.plans import LeadPlan, load_plan

    plan = load_plan(job, LeadPlan)
    with terminal.news(quiet=json) as (progress, tell):
        found = run(plan, progress=progress, tell=tell)
    if json:
        terminal.json(found)
    else:
        closing.show_lead(found)


def join(
    partner: Annotated[
        Path, typer.Argument(metavar="PARTNER.toml", help="The partner's file; veilboost init partner writes one.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Hear what is asked for, say what would leave and its cost; draw nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Dial the lead of a job, let out what the policy allows, and leave; started again, go on where it stopped."""
    from veilboost.report import terminal
    from veilboost.vertical import closing
    from veilboost.vertical.joining import join as run
    from veilboost.vertical.plans import PartnerPlan, load_plan

    plan = load_plan(partner, PartnerPlan)
    with terminal.news(quiet=json) as (progress, tell):
        found = run(plan, dry_run=dry_run, progress=progress, tell=tell)
    if json:
        terminal.json(closing.values(found))
    else:
        closing.show_partner(found)
