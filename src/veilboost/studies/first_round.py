"""One round of local boosting (Algorithms 5 to 7): the error of what is added up, and how good its learner is."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.local import Answers, Columns, Job, LocalClassifier, Own, Question, Rows, Totals, Weighting
from veilboost.local.catalogue import share_of
from veilboost.local.noise import encode, variance
from veilboost.local.sample import by_class
from veilboost.randomness import ReplayableBits
from veilboost.studies.first_round_claims import HIDDEN, PLAIN, claims
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.pools import Pool, pool
from veilboost.studies.repeats import each
from veilboost.studies.study import Progress

NAMES = {"piecewise": "Piecewise", "duchi": "Duchi", "laplace-split": "Laplace", "laplace": "Laplace, jointly"}
NEXT_TO_NO_NOISE = 1e5
_ROWS_AT_ONCE = 50_000

Floats = NDArray[np.float64]
Key = tuple[str, str, float]
"""Panel, line, place."""


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many owners a round takes, how many rows each of them has, and the box of coefficients."""

    owners: list[int]
    rows: int
    box: float = 1.0


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which share, tables, budgets and mechanisms; each repeat has other owners, and draws their noise some times.

    ``part`` is the part of every table that a short run takes. With ``labels`` a line is added for hidden labels;
    ``close`` is the table where, and the ε from which, noise hardly matters in print.
    """

    share: Literal["sample", "statistic", "classifier"]
    tables: dict[str, Round]
    epsilons: list[float]
    mechanisms: list[Literal["piecewise", "duchi", "laplace-split", "laplace"]]
    labels: bool = False
    close: tuple[str, float] | None = None
    repeats: int = 10
    draws: int = 10
    part: float = 1.0


def run(settings: Settings, progress: Progress) -> Outcome:
    """Ask new owners in every repeat, and draw every mechanism at every budget for the same answers."""
    cells: dict[Key, list[float]] = {}
    for name, size in settings.tables.items():
        progress(f"{name}: reading", 0.0)
        rows = pool(name, settings.part)
        works = [(owners, repeat) for owners in size.owners for repeat in range(settings.repeats)]
        for found in each(partial(_repeat, settings, rows), works, partial(progress, name)):
            for key, figure in found.items():
                cells.setdefault(key, []).append(figure)
    order = list(dict.fromkeys(panel for panel, _, _ in cells))
    listed = [Cell(panel=panel, line=line, at=at, values=values) for (panel, line, at), values in cells.items()]
    listed.sort(key=lambda cell: order.index(cell.panel))
    return Outcome(cells=listed, claims=list(claims(Outcome(cells=listed), settings.close)))


@dataclass(frozen=True, eq=False)
class Asked:
    """The owners of one repeat: the question, what each has to say before noise, and the classes of the rows."""

    question: Question
    vectors: Floats
    truth: NDArray[np.int64]
    owners: int
    rows: int

    @cached_property
    def codes(self) -> NDArray[Any]:
        return encode(self.vectors, self.question.size, self.question.share.rest(self.question))

    def answers(self, question: Question, epsilon: float, seed: int) -> Totals:
        """Return the sums of all answers, from a seed."""
        of_rows, bits = question.share.of_rows, ReplayableBits(seed=seed)
        count = self.rows if of_rows else 0
        response = question.response(epsilon, count) if of_rows else None
        drawn = question.noise(epsilon, count).draw(self.codes, bits=bits, threads=1)
        labels = None if not of_rows else self.truth + 1
        weights = np.full(len(self.truth), 1 / self.rows) if of_rows and question.weighting.how == "printed" else None
        totals = Totals(question)
        totals.add(
            Answers(
                epsilon=epsilon,
                rows=count,
                owners=self.owners,
                drawn=drawn,
                labels=labels if response is None else response.draw(self.truth + 1, bits=bits),
                weights=weights,
            )
        )
        return totals

    def errors(self, totals: Totals) -> Floats:
        """Return how far off the sums are: a row for each centroid, or one."""
        if not self.question.share.of_rows:
            return np.stack([totals.mean() - self.vectors.mean(axis=0)])
        sums, masses = by_class(totals)
        true = [self.vectors[self.truth == k].mean(axis=0) for k in range(len(sums))]
        return np.stack([sums[k] / masses[k] - true[k] for k in range(len(sums))])

    def expected(self, epsilon: float, question: Question) -> float:
        """Return the expected sum of the squares of these errors, in closed form."""
        of_rows = question.share.of_rows
        squares = variance(question.noise(epsilon, self.rows if of_rows else 0), self.vectors).sum(axis=1)
        if not of_rows:
            return float(squares.sum()) / self.owners**2
        counts = np.bincount(self.truth)
        return float((squares / counts[self.truth] ** 2).sum())


def _repeat(settings: Settings, rows: Pool, work: tuple[int, int]) -> dict[Key, float]:
    """Return every figure of one repeat, by panel, line and place."""
    owners, repeat = work
    asked, test = ask(settings, rows, owners, repeat)
    across = len(settings.tables[rows.name].owners) > 1
    found: dict[Key, float] = {}
    for place, epsilon in enumerate(settings.epsilons):
        at = float(owners) if across else epsilon
        for line, (question, spent) in _lines(settings, asked.question, epsilon).items():
            seeds = np.random.SeedSequence([repeat, owners, place, *line.encode()]).generate_state(settings.draws)
            drawn = [asked.answers(question, spent, int(seed)) for seed in seeds[: 1 if line == PLAIN else None]]
            for panel, figure in _figures(asked, question, spent, drawn, line):
                found[f"{rows.name}: {panel}", line, at] = figure
            learner = question.share.learner(drawn[0])
            found[f"{rows.name}: accuracy", line, at] = float((learner.predict(test[0]) == test[1]).mean())
    return found


def _lines(settings: Settings, question: Question, epsilon: float) -> Mapping[str, tuple[Question, float]]:
    found = {NAMES[each]: (replace(question, mechanism=each), epsilon) for each in settings.mechanisms}
    if settings.labels:
        found[HIDDEN] = (replace(question, labels="randomised", weighting=Weighting()), epsilon)
    return found | {PLAIN: (question, NEXT_TO_NO_NOISE)}


def _figures(
    asked: Asked, question: Question, epsilon: float, drawn: list[Totals], line: str
) -> Iterator[tuple[str, float]]:
    """Yield the paper's measure of the first draw, and all errors over their closed form."""
    if line == PLAIN:
        return
    yield "error", measure(asked, drawn[0])
    if line != HIDDEN:
        squares = math.fsum(float((asked.errors(totals) ** 2).sum()) for totals in drawn) / len(drawn)
        yield "closed form", math.sqrt(squares / asked.expected(epsilon, question))


def measure(asked: Asked, totals: Totals) -> float:
    """Return the figure of the paper's tables: ℓ2p of Table II, Δ'im of Table III, or the squared error of Table IV."""
    share, errors = asked.question.share, asked.errors(totals)
    if share.of_rows:
        return float(np.sqrt((errors**2).sum(axis=1)).mean())
    if isinstance(share, LocalClassifier):
        return share.box**2 * float((errors**2).mean())
    true = asked.vectors.mean(axis=0).reshape(2, -1)
    gains, found = (np.abs(each).sum(axis=0) for each in (true, true + errors.reshape(2, -1)))
    return float(((found - gains) ** 2).mean())


def ask(settings: Settings, rows: Pool, owners: int, repeat: int) -> tuple[Asked, tuple[Floats, NDArray[np.int64]]]:
    """Return the owners of a repeat with what they say, and the scaled rows that test."""
    size, columns = settings.tables[rows.name], rows.columns
    values, truth = rows.owners(repeat, owners * size.rows)
    job = as_printed(settings.share, columns, box=size.box, owners=owners, rounds=1)
    own = Own(columns.scaled(rows.own[0]), rows.own[1], np.full(len(rows.own[1]), 1 / len(rows.own[1])))
    question = job.question(job.first().ensemble, job.share.prepared(own, 2), 1)
    step = max(1, _ROWS_AT_ONCE // size.rows) * size.rows
    parts = [slice(first, first + step) for first in range(0, len(values), step)]
    vectors = [_vectors(question, values[part], truth[part], size.rows) for part in parts]
    asked = Asked(question, np.concatenate(vectors), truth, owners, size.rows)
    return asked, (columns.scaled(rows.test[0]), rows.test[1])


def _vectors(question: Question, values: NDArray[Any], truth: NDArray[np.int64], rows: int) -> Floats:
    scaled, starts = question.columns.scaled(values), np.arange(0, len(values) + 1, rows)
    held = Rows(values=scaled, truth=truth, factors=np.ones(len(values)), starts=starts)
    return question.share.vectors(held, question)


def as_printed(share: str, columns: Columns, *, box: float, owners: int, rounds: int, **options: Any) -> Job:
    """Return the job that the paper describes, in the clear and without intercept, but for what ``options`` change."""
    made = LocalClassifier(box=box, intercept=False) if share == "classifier" else share_of(share)
    weighting = Weighting(how="printed" if made.of_rows else "bounded")
    given: dict[str, Any] = {"labels": "clear", "weighting": weighting} | options
    return Job(name="study", share=made, columns=columns, classes=2, owners=owners, rounds=rounds, **given)
