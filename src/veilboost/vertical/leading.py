"""A lead's side of a job over a network: wait for the partners, train, write the model folder.

After each step what it led to is saved; a lead that was stopped goes on from there.
"""

from pathlib import Path

import msgspec

from veilboost import trees
from veilboost.errors import blaming
from veilboost.trees import RankModel, StockModel
from veilboost.trees.rows import Feature
from veilboost.vertical import opboost
from veilboost.vertical.fitting import Fitted, Gathered, Progress, finish, grow, own_features
from veilboost.vertical.folder import check_place, save
from veilboost.vertical.lead_table import Prepared, prepared
from veilboost.vertical.page import model_page
from veilboost.vertical.partners import Partners, Tell, run_of, waiting
from veilboost.vertical.plans import LeadPlan
from veilboost.vertical.sharpening import Extrapolation
from veilboost.vertical.statement import ModelStatement, state
from veilboost.vertical.steps import Steps
from veilboost.wire import load_party
from veilboost.wire.values import get_ready


class Grown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of ranks."""

    features: list[Feature]
    model: bytes


class Restored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model in raw units."""

    model: bytes
    as_it_comes: bytes
    extrapolation: Extrapolation | None


class LeadReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a lead ended up with."""

    model: str
    trees: int
    statement: ModelStatement


def lead(
    plan: LeadPlan,
    *,
    progress: Progress = lambda _step, _share: None,
    tell: Tell = lambda _line: None,
) -> LeadReport:
    """Do the job of ``plan``, from the last step that was done before, and return what it led to."""
    check_place(Path(plan.model))
    keys = load_party(Path(plan.keys))
    held = prepared(plan, keys.name)
    opboost.check(list(plan.partners), held.job)
    own = own_features(held.table, held.job)
    asks = {party: opboost.ask(party, len(held.ids), held.job) for party in plan.partners}
    get_ready()
    trees.get_ready(held.job.boosting)
    with Steps(Path(plan.state)) as steps:
        with waiting(plan, keys, asks, held.ids, steps, run_of(steps, held.digest), tell) as met:
            report = _train(plan, held, steps, Gathered(own, met.answers(), held.job, None), met, progress)
        steps.finish()
    return report


def _train(
    plan: LeadPlan, held: Prepared, steps: Steps, gathered: Gathered, met: Partners, progress: Progress
) -> LeadReport:
    columns, backend = gathered.columns(), held.job.boosting.backend
    grown = steps.load("trained", Grown)
    if grown is None:
        made = grow(columns, held.table, held.job, progress)
        grown = Grown(features=list(made.features), model=made.model)
        steps.save("trained", grown)
    ranks = RankModel(backend, tuple(grown.features), grown.model)
    restored = steps.load("restored", Restored)
    if held.job.thresholds == "on-request":
        columns = opboost.filled(columns, ranks, met.cuts(opboost.wanted(columns, ranks)))
    if restored is None:
        fitted = finish(gathered, columns, ranks, held.table, progress)
        restored = Restored(
            model=fitted.model.model, as_it_comes=fitted.as_it_comes.model, extrapolation=fitted.extrapolation
        )
        steps.save("restored", restored)
    fitted = Fitted(
        StockModel(backend, restored.model), StockModel(backend, restored.as_it_comes), restored.extrapolation
    )
    trained = opboost.ended(gathered, ranks, fitted, met.traffic())
    said = state(trained, held.job, rows=len(held.table.target), classes=held.classes)
    with blaming(plan.model):
        save(Path(plan.model), trained, said, model_page(said, trained.gains))
    return LeadReport(model=plan.model, trees=said.trees, statement=said)
