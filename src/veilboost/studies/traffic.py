"""What each party sends while a model is trained: bytes, and how many thresholds the lead has to ask for."""

import math
from collections.abc import Mapping
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa

from veilboost.data import MemorySource
from veilboost.domain import Domain
from veilboost.mechanisms import Mechanism, Piecewise
from veilboost.randomness import ReplayableBits
from veilboost.release import Column, SimulationDoor
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.repeats import each
from veilboost.studies.rivals import PIECEWISE, tables
from veilboost.studies.study import Progress
from veilboost.studies.tasks import Training, training
from veilboost.studies.traffic_claims import FORMULA, LEAD, MEASURED, PARTNER, PARTNERS, REQUESTS, SPLITS, WIDE, claims
from veilboost.vertical import Job, LeadTable, Own, Thresholds, Trained, opboost, together

BOOSTED = {"GBDT": True, "XGBoost": False}
"""Whether second derivatives are left out."""
_BYTES_IN_PRINT = 4
"""Of one value: the printed bytes of Party B are this many for each, and hardly more."""
LAYERS = 3
THRESHOLDS: tuple[Thresholds, ...] = ("on-request", "up-front")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is trained; ``epsilon`` is the one of the table, ``epsilons`` are those of the requests.

    ``parties`` says how many there are in all, each partner with ``each_holds`` columns of ``shared``.
    """

    tasks: list[str]
    size: int
    epsilon: float
    epsilons: list[float]
    theta: int
    alphas: list[float]
    lines: list[str]
    trees: int
    repeats: int
    parties: list[int]
    each_holds: int
    shared: str
    rows: int | None = None


class _Work(msgspec.Struct, frozen=True):
    name: str
    boosted: str
    line: str
    epsilon: float
    mechanism: Mechanism
    seed: int


def run(settings: Settings, progress: Progress) -> Outcome:
    """Train by the whole protocol in one process, and count what is sent and asked for."""
    tasks = {
        name: training(name, settings.size, settings.rows) for name in dict.fromkeys((*settings.tasks, settings.shared))
    }
    works = _works(settings)
    trained = each(partial(_counted, settings, tasks), works, lambda share: progress("training", share * 0.9))
    figures: dict[tuple[str, str, str | float], list[float]] = {}
    for work, found in zip(works, trained, strict=True):
        for panel, at, figure in _figures(settings, work, found):
            figures.setdefault((panel, work.line, at), []).append(figure)
    cells = [Cell(panel=panel, line=line, at=at, values=values) for (panel, line, at), values in figures.items()]
    cells += _wide(tasks, settings) + _shared(tasks[settings.shared], settings)
    order = [LEAD, PARTNER, WIDE, *(form.format(name) for form in (REQUESTS, SPLITS) for name in tasks), PARTNERS]
    ordered = Outcome(cells=sorted(cells, key=lambda cell: order.index(cell.panel)))
    return Outcome(
        cells=ordered.cells,
        claims=list(claims(ordered, {name: bool(task.own) for name, task in tasks.items()}, settings.epsilons)),
    )


def _works(settings: Settings) -> list[_Work]:
    return [
        _Work(name, boosted, line, epsilon, mechanism, seed)
        for epsilon in settings.epsilons
        for line, mechanism in _mechanisms(settings, epsilon).items()
        for name in settings.tasks
        for boosted in BOOSTED
        if boosted == "XGBoost" or epsilon == settings.epsilon
        for seed in range(1, settings.repeats + 1)
    ]


def _mechanisms(settings: Settings, epsilon: float) -> Mapping[str, Mechanism]:
    size, theta = settings.size, settings.theta
    made: dict[str, Mechanism] = {
        **tables(epsilon, size=size, theta=theta, alphas=settings.alphas),
        PIECEWISE: Piecewise(epsilon=epsilon, size=size),
    }
    return {line: made[line] for line in settings.lines}


class _Counts(msgspec.Struct, frozen=True):
    sent: int
    received: int
    requests: int
    splits: int


def _counted(settings: Settings, tasks: Mapping[str, Training], work: _Work) -> _Counts:
    task = tasks[work.name]
    trained = _train(task, [list(task.private)], work, settings.trees, "on-request")
    theirs = [place for place, each in enumerate(trained.inputs) if each.party != "lead"]
    needed, splits = trained.ranks.needed(), trained.model.importance("weight")
    features = trained.model.features
    return _Counts(
        sent=sum(sum(traffic.sent.values()) for traffic in trained.traffic.values()),
        received=sum(sum(traffic.received.values()) for traffic in trained.traffic.values()),
        requests=sum(len(needed[place]) for place in theirs),
        splits=round(sum(splits.get(features[place], 0.0) for place in theirs)),
    )


def _figures(settings: Settings, work: _Work, found: _Counts) -> list[tuple[str, str | float, float]]:
    figures: list[tuple[str, str | float, float]] = []
    if work.epsilon == settings.epsilon:
        at = f"{work.boosted}, {work.name}"
        figures += [(LEAD, at, found.sent), (PARTNER, at, found.received)]
    if work.boosted == "XGBoost":
        figures += [
            (REQUESTS.format(work.name), work.epsilon, found.requests),
            (SPLITS.format(work.name), work.epsilon, found.splits),
        ]
    return figures


def _train(task: Training, held: list[list[str]], work: _Work, trees: int, thresholds: Thresholds) -> Trained:
    """Train by the protocol; each element of ``held`` names the columns of one partner."""
    doors = {f"partner {place}": _door(f"partner {place}", names, task, work) for place, names in enumerate(held, 1)}
    own = [
        Own(feature.name, codes if feature.categories else codes.astype(np.float64), _listed(feature.categories))
        for feature, codes in task.own.items()
    ]
    boosting = task.boosting(first_order=BOOSTED[work.boosted], trees=trees)
    job = Job(lead="lead", name="table 7", purpose="counting", boosting=boosting, thresholds=thresholds)
    table = LeadTable(target=task.target, columns=own)
    return together(
        "lead",
        lambda channels: opboost.lead(channels, table, job),
        {party: partial(opboost.partner, door=door) for party, door in doors.items()},
    )


def _listed(categories: int) -> list[int] | None:
    return list(range(categories)) if categories else None


def _door(party: str, names: list[str], task: Training, work: _Work) -> SimulationDoor:
    columns = [
        Column(name, f"{party}/{name}", Domain.integers(1, task.size, column=name), work.mechanism, None)
        for name in names
    ]
    table = pa.table({name: pa.array(task.private[name]) for name in names})
    return SimulationDoor(party, columns, MemorySource(table), ReplayableBits(seed=work.seed))


def _wide(tasks: Mapping[str, Training], settings: Settings) -> list[Cell]:
    """Return what four bytes for each value would come to, which is what was printed."""
    return [
        Cell(panel=WIDE, line=line, at=f"{boosted}, {name}", values=[float(_BYTES_IN_PRINT * _values(tasks[name]))])
        for line in settings.lines
        for name in settings.tasks
        for boosted in BOOSTED
    ]


def _values(task: Training) -> int:
    return len(task.private) * len(task.target)


def _shared(task: Training, settings: Settings) -> list[Cell]:
    """Return the bytes of all parties together, and Theorem 5.4's, by how many parties there are."""
    line = settings.lines[0]
    mechanism = _mechanisms(settings, settings.epsilon)[line]
    work = _Work(settings.shared, "XGBoost", line, settings.epsilon, mechanism, 1)
    cells, names = [], list(task.private)
    for parties in settings.parties:
        held = [names[place : place + settings.each_holds] for place in range(0, len(names), settings.each_holds)]
        for thresholds in THRESHOLDS:
            trees = settings.trees if thresholds == "on-request" else 1  # what is sent up front hangs on no tree
            trained = _train(task, held[: parties - 1], work, trees, thresholds)
            total = sum(
                sum(traffic.sent.values()) + sum(traffic.received.values()) for traffic in trained.traffic.values()
            )
            said = MEASURED.format(thresholds)
            cells.append(Cell(panel=PARTNERS, line=said, at=float(parties), values=[float(total)]))
        trees = settings.trees * (task.classes or 1)
        bits = theorem(parties, settings.each_holds, len(task.target), trees, settings.size)
        cells.append(Cell(panel=PARTNERS, line=FORMULA, at=float(parties), values=[bits / 8]))
    return cells


def theorem(parties: int, columns: int, rows: int, trees: int, size: int) -> float:
    """Return the bits of Theorem 5.4, m r N log N + (2^L - 1) T (log N + log D): its (2L-1)T has lost a raised L.

    >>> theorem(2, 1, 1024, 1, 16)
    20578.0
    """
    nodes = trees * ((1 << LAYERS) - 1)
    return parties * columns * rows * math.log2(rows) + nodes * (math.log2(rows) + math.log2(size))
