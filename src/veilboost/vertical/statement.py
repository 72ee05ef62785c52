"""What goes with a model: what was promised about every column behind it, and what each party learned."""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from veilboost.privacy import DistanceLDP, compose
from veilboost.release.statement import Statement
from veilboost.vertical.columns import Input
from veilboost.vertical.job import Job, Thresholds, Trained
from veilboost.vertical.sharpening import Extrapolation

FORMAT = 1
NOTHING = "No column of a partner went into this model."
LEARNS: Mapping[Thresholds, str] = {
    "up-front": "nothing: it sent its columns with the raw values between ranks, and was not asked again",
    "on-request": "which of its ranks became thresholds; nothing about labels or other parties' columns besides",
}
_DISTRIBUTIONS = {"xgboost": ("xgboost-cpu", "xgboost"), "lightgbm": ("lightgbm",)}


class ModelStatement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is promised about a model and the columns behind it; ``features`` say how it reads raw samples.

    ``trees`` are those of the model: fewer than asked for where training stopped early, and as many for each class.
    """

    format: int
    versions: dict[str, str]
    lead: str
    job: str
    purpose: str
    backend: str
    boosting: dict[str, Any]
    rows: int
    trees: int
    classes: list[str | int | float | bool] | None
    features: list[Input]
    thresholds: Thresholds
    sharpened: Extrapolation | None
    partners_learn: dict[str, str]
    traffic: dict[str, dict[str, dict[str, int]]]
    released: list[Statement]
    one_column: str
    whole_row: str


def state(
    trained: Trained,
    job: Job,
    *,
    rows: int,
    classes: Sequence[str | int | float | bool] | None,
    released: Sequence[Statement] = (),
) -> ModelStatement:
    """Return the statement of a model; ``released`` are those of columns that had been desensitised before."""
    both = [*trained.statements, *released]
    one, whole = across(both)
    return ModelStatement(
        format=FORMAT,
        versions=_versions(job.boosting.backend),
        lead=job.lead,
        job=job.name,
        purpose=job.purpose,
        backend=job.boosting.backend,
        boosting=msgspec.to_builtins(job.boosting),
        rows=rows,
        trees=trained.model.trees,
        classes=None if classes is None else list(classes),
        features=list(trained.inputs),
        thresholds=job.thresholds,
        sharpened=trained.extrapolation,
        partners_learn={each.party: LEARNS[job.thresholds] for each in trained.statements},
        traffic={
            party: {"sent": dict(each.sent), "received": dict(each.received)} for party, each in trained.traffic.items()
        },
        released=both,
        one_column=one,
        whole_row=whole,
    )


def across(statements: Sequence[Statement]) -> tuple[str, str]:
    """Return what all parties' releases promise together, for one column and for a whole row over all of them."""
    if len(statements) < 2:
        return (statements[0].one_column, statements[0].whole_row) if statements else (NOTHING, NOTHING)
    losses = {
        f"{said.party}/{column.column}": column.promised_neighbours for said in statements for column in said.columns
    }
    open_ended = [name for name, loss in losses.items() if loss == float("inf")]
    if open_ended:
        without = f"No bound: {', '.join(open_ended)} leave some neighbouring values told apart with certainty."
        return without, without
    total = compose({name: [DistanceLDP(loss)] for name, loss in losses.items()})
    return str(total.one_column), str(total.whole_row)


def _versions(backend: str) -> dict[str, str]:
    found = {"python": platform.python_version(), "veilboost": version("veilboost"), "numpy": version("numpy")}
    for name in _DISTRIBUTIONS[backend]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
