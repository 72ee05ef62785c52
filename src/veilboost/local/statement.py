"""What goes with a model: what owners were promised, what stood in the clear, and what became of every round."""

import dataclasses
import platform
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.local.boosting import Boosted, Job, Round
from veilboost.local.promise import DATA_USER, promise
from veilboost.release.ledger import Receipt

FORMAT = 1
SIMULATED = "A simulation: one process holds the rows of all owners and draws for them."


class Promised(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What owners with one budget were promised in the last round, when most was known of earlier learners."""

    epsilon: float
    owners: int
    guarantee: str
    in_the_clear: list[str]
    covers_everything: bool


class RoundSaid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a round."""

    number: int
    owners: int
    error: float
    alpha: float
    kept: bool
    cost_of_hiding: float
    conditions: list[str]
    all_hold: bool


class LocalStatement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is promised about a model and the owners behind it."""

    format: int
    versions: dict[str, str]
    job: str
    share: dict[str, Any]
    mechanism: str
    grid: int
    labels: str
    weights: str
    clip: float | None
    classes: list[str | int | float | bool]
    rounds_wanted: int
    owners_per_round: int
    owners_asked: int
    end: str
    promised: list[Promised]
    data_user: str
    data_user_rows: int
    rounds: list[RoundSaid]
    ledger: Receipt | None
    noise: str


def state(
    job: Job,
    found: Boosted,
    budgets: NDArray[np.float64],
    *,
    classes: list[str | int | float | bool],
    own_rows: int,
    ledger: Receipt | None = None,
    simulated_noise: bool = False,
) -> LocalStatement:
    """Return the statement; ``budgets`` are those of the owners who might have been asked."""
    share = {"name": job.share.name, **dataclasses.asdict(job.share)}
    return LocalStatement(
        format=FORMAT,
        versions={name: version(name) for name in ("veilboost", "numpy")} | {"python": platform.python_version()},
        job=job.name,
        share={name: value for name, value in share.items() if name != "thresholds"},
        mechanism=job.mechanism,
        grid=job.size,
        labels=job.labels if job.share.of_rows else "inside the share, under its noise",
        weights=job.weighting.how,
        clip=job.weighting.clip,
        classes=classes,
        rounds_wanted=job.rounds,
        owners_per_round=job.owners,
        owners_asked=found.asked,
        end=found.end,
        promised=_promised(job, found, budgets),
        data_user=DATA_USER,
        data_user_rows=own_rows,
        rounds=[_round(each) for each in found.rounds],
        ledger=ledger,
        noise=f"{SIMULATED} {_NOISE[simulated_noise]}",
    )


_NOISE = {
    False: "Its noise is fresh, from the operating system's random numbers.",
    True: "INSECURE: its noise comes from a seed, and whoever knows the seed takes it off.",
}


def _promised(job: Job, found: Boosted, budgets: NDArray[np.float64]) -> list[Promised]:
    last = job.question(found.ensemble, job.share, len(found.rounds) + 1)
    said = []
    for epsilon, owners in zip(*np.unique(budgets, return_counts=True), strict=True):
        made = promise(last, float(epsilon))
        said.append(
            Promised(
                epsilon=float(epsilon),
                owners=int(owners),
                guarantee=str(made.guarantee),
                in_the_clear=list(made.in_the_clear),
                covers_everything=made.whole,
            )
        )
    return said


def _round(found: Round) -> RoundSaid:
    return RoundSaid(
        number=found.number,
        owners=found.owners,
        error=found.error,
        alpha=found.alpha,
        kept=found.kept,
        cost_of_hiding=found.cost,
        conditions=[str(each) for each in found.conditions],
        all_hold=all(each.holds for each in found.conditions),
    )
