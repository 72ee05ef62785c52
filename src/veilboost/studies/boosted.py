"""Local boosting round by round: how often the ensemble is wrong, and how much each learner is.

Beside the paper's way, with labels and weights in the clear, stand the options that close its leaks.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.local import Ensemble, Job, Owners, Round, Weighting, data_user
from veilboost.studies.boosted_claims import PLAIN, PRINTED, claims
from veilboost.studies.first_round import NEXT_TO_NO_NOISE, as_printed
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.pools import Pool, pool
from veilboost.studies.repeats import each
from veilboost.studies.study import Progress

Key = tuple[str, str, float]
"""Panel, line, round."""

WAYS: Mapping[str, Mapping[str, Any]] = {
    PRINTED: {"weighting": Weighting(how="printed")},
    "labels hidden": {"weighting": Weighting(how="printed"), "labels": "randomised"},
    "weights bounded": {"weighting": Weighting()},
    "equal weights": {"weighting": Weighting(how="none")},
    "labels hidden, weights bounded": {"weighting": Weighting(), "labels": "randomised"},
    "labels hidden, equal weights": {"weighting": Weighting(how="none"), "labels": "randomised"},
}


class Rounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many owners a round takes, with how many rows each, at which ε, and the printed errors of each ε: that of the
    first learner and that of all.
    """

    owners: int
    rows: int
    epsilons: list[float]
    printed: list[tuple[float, float]]
    box: float = 1.0


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which share and tables; ``ways`` close leaks, at the largest ε. ``part`` is that of a table in a short run."""

    share: Literal["sample", "statistic", "classifier"]
    tables: dict[str, Rounds]
    ways: list[str] = []
    rounds: int = 10
    repeats: int = 10
    part: float = 1.0


def run(settings: Settings, progress: Progress) -> Outcome:
    """Boost over new owners, as often as asked for."""
    cells: list[Cell] = []
    for name in settings.tables:
        progress(f"{name}: reading", 0.0)
        work = partial(_repeat, settings, pool(name, settings.part))
        found = each(work, range(settings.repeats), partial(progress, name))
        places = sorted(dict.fromkeys(key for one in found for key in one), key=lambda key: _PANELS.index(key[0]))
        cells += [
            Cell(panel=f"{name}: {panel}", line=line, at=at, values=[one[panel, line, at] for one in found])
            for panel, line, at in places
        ]
    return Outcome(cells=cells, claims=list(claims(Outcome(cells=cells), settings.tables)))


_PANELS = ["ensemble", "learner", "weight"]


def _repeat(settings: Settings, rows: Pool, repeat: int) -> dict[Key, float]:
    """Return what became of every round of every line, in one repeat: all ask the same owners."""
    size = settings.tables[rows.name]
    held = rows.owners(repeat, size.owners * size.rows * settings.rounds)
    test = rows.columns.scaled(rows.test[0]), rows.test[1]
    otherwise = float((test[1] != np.bincount(rows.own[1]).argmax()).mean())
    found: dict[Key, float] = {}
    for line, epsilon, way in _lines(settings, size):
        job = as_printed(
            settings.share, rows.columns, box=size.box, owners=size.owners, rounds=settings.rounds, **WAYS[way]
        )
        starts = np.arange(0, len(held[0]) + 1, size.rows)
        owners = Owners(*held, starts=starts, budgets=epsilon, seed=repeat)
        told = _told(owners, job, rows)
        for number, ((judged, _), error) in enumerate(zip(told, errors_of(told, *test, otherwise), strict=True), 1):
            found["ensemble", line, number] = error
            found["learner", line, number], found["weight", line, number] = judged.error, judged.alpha
    return found


def _told(owners: Owners, job: Job, rows: Pool) -> list[tuple[Round, Ensemble]]:
    """Return what the data user hears of every round."""
    told: list[tuple[Round, Ensemble]] = []
    data_user(owners.arrivals(), job, *rows.own, watch=lambda judged, ensemble: told.append((judged, ensemble)))
    return told


def _lines(settings: Settings, size: Rounds) -> Iterator[tuple[str, float, str]]:
    """Yield every line with its ε and its way."""
    yield PLAIN, NEXT_TO_NO_NOISE, PRINTED
    for epsilon in size.epsilons:
        yield f"{PRINTED}, ε = {epsilon:g}", epsilon, PRINTED
    for way in settings.ways:
        yield f"{way}, ε = {size.epsilons[-1]:g}", size.epsilons[-1], way


def errors_of(
    told: Sequence[tuple[Round, Ensemble]], values: NDArray[np.float64], truth: NDArray[np.int64], otherwise: float
) -> Iterator[float]:
    """Yield after each round how often the ensemble is wrong; ``otherwise`` as long as no round was kept."""
    votes = np.zeros((len(truth), 2))
    for judged, ensemble in told:
        if judged.kept:
            votes += Ensemble().joined_by(ensemble.learners[-1], ensemble.alphas[-1]).votes(values, 2)
        yield float((votes.argmax(axis=1) != truth).mean()) if ensemble.alphas else otherwise
