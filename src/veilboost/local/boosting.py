"""The data user's side (Algorithm 4): ask new owners in every round, make a base learner of their answers, judge it.

1. *Gather*: as many owners as a round takes, none of whom was ever asked before.
2. *Ask*: every owner gets the same question, with all learners so far; it weighs its rows, makes its share of them,
   and answers through noise. From then on it is used up.
3. *Aggregate*: the answers are added up as they come; the base learner follows from the sums.
4. *Judge*: the learner's error on the data user's own rows gives its weight α. A round whose α is not
   above 0 is thrown away.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.local.attendance import Attendance
from veilboost.local.learners import Classes, Ensemble, Floats, Learner
from veilboost.local.noise import SIZE, check_noise
from veilboost.local.question import Answers, Columns, Labels, Question
from veilboost.local.share import Condition, Own, Share, Totals
from veilboost.local.weighting import Weighting
from veilboost.randomness import Keys
from veilboost.settings import positive, printable, whole

_log = logging.getLogger(__name__)


class Arrival(Protocol):
    """One owner, or some who came together: they wait for one question."""

    @property
    def keys(self) -> Keys:
        """What each of them is known by, for good."""
        ...

    @property
    def budgets(self) -> NDArray[np.float64]:
        """What each of them is willing to spend; they say so themselves, and it is public."""
        ...

    def only(self, which: NDArray[np.bool_]) -> "Arrival":
        """Return some of them."""
        ...

    def answer(self, question: Question) -> Iterable[Answers]:
        """Ask them, and return what they answer."""
        ...


Arrivals = Callable[[float], Iterator[Arrival]]
"""Gives owners as they come, until nobody has come for so many seconds."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be fitted, and how; all of it is public."""

    name: str
    share: Share
    columns: Columns
    classes: int
    owners: int
    """How many owners a round takes."""
    rounds: int
    mechanism: str = "piecewise"
    labels: Labels = "randomised"
    label_share: float | None = None
    weighting: Weighting = field(default_factory=Weighting)
    size: int = SIZE
    timeout: float = 60.0

    def __post_init__(self) -> None:
        printable("job", self.name)
        whole("owners", self.owners, 1, 2**31)
        whole("rounds", self.rounds, 1, 10**6)
        positive("timeout", self.timeout)
        check_noise(self.mechanism, self.size)
        if not isinstance(self.share, Share):
            raise SettingError("share", "must be a Share, as LocalSample()", self.share)
        self.first()

    def first(self) -> Question:
        """Return what the owners of the first round are asked, but for what the data user prepares for it."""
        return self.question(Ensemble(), self.share, 1)

    def question(self, ensemble: Ensemble, share: Share, number: int) -> Question:
        """Return what the owners of one round are asked."""
        return Question(
            job=self.name,
            round=number,
            share=share,
            mechanism=self.mechanism,
            size=self.size,
            columns=self.columns,
            classes=self.classes,
            labels=self.labels,
            label_share=self.label_share,
            weighting=self.weighting,
            ensemble=ensemble,
        )


@dataclass(frozen=True, kw_only=True)
class Round:
    """What became of one round."""

    number: int
    owners: int
    error: float
    alpha: float
    classes: int
    conditions: tuple[Condition, ...]
    cost: float
    """How many times as large the error is, about, as with labels and weights as printed."""

    @property
    def kept(self) -> bool:
        """Whether its learner joined the ensemble."""
        return self.alpha > 0

    def __str__(self) -> str:
        chance = 1 - 1 / self.classes
        end = f"α {self.alpha:.4f}" if self.kept else f"α {self.alpha:.4f}: thrown away, its owners are used up"
        better = Condition("error on the data user's rows, against chance", self.error, chance)
        lines = [str(each) for each in (better, *self.conditions)]
        if self.cost > 1:
            lines.append(f"what hides labels and weights makes the error about {self.cost:.3g} times as large")
        return "\n  ".join([f"round {self.number}: {self.owners:,} owners, {end}", *lines])


@dataclass(frozen=True, kw_only=True)
class Boosted:
    """What the data user ends up with."""

    ensemble: Ensemble
    rounds: tuple[Round, ...]
    complete: bool
    """Whether all rounds of the job were kept; otherwise owners ran out."""

    @property
    def asked(self) -> int:
        """How many owners were asked, and so used up."""
        return sum(each.owners for each in self.rounds)

    @property
    def end(self) -> str:
        """Why it ended, in words."""
        kept = len(self.ensemble.alphas)
        if self.complete:
            return f"all {kept} rounds were kept"
        return f"owners ran out after {kept} kept rounds, {len(self.rounds)} in all"


Watch = Callable[[Round, Ensemble], None]


def data_user(
    arrivals: Arrivals,
    job: Job,
    own: Floats,
    truth: Classes,
    *,
    attendance: Attendance | None = None,
    start: Ensemble | None = None,
    watch: Watch = lambda _round, _ensemble: None,
) -> Boosted:
    """Boost over the owners that arrive, and judge by the data user's ``own`` raw rows and their classes.

    ``attendance`` keeps who was asked; only where owners are simulated may it be left out. ``watch`` hears of every
    round, with the ensemble as it stands: kept somewhere, it is the ``start`` of a later run that goes on from it. The
    log has every round with its conditions of convergence.
    """
    values = _own(job, own, truth)
    ensemble, rounds = start or Ensemble(), []
    waiting = deque[Arrival]()
    coming = arrivals(job.timeout)
    while len(ensemble.alphas) < job.rounds:
        gathered = _gather(coming, waiting, job.owners, attendance)
        if gathered is None:
            break
        found, learner = _round(gathered, job, ensemble, (values, truth), len(ensemble.alphas) + 1, attendance)
        if found.kept:
            ensemble = ensemble.joined_by(learner, found.alpha)
        rounds.append(found)
        _log.info("%s", found)
        watch(found, ensemble)
    return Boosted(ensemble=ensemble, rounds=tuple(rounds), complete=len(ensemble.alphas) >= job.rounds)


def _own(job: Job, own: Floats, truth: Classes) -> NDArray[np.float64]:
    if own.ndim != 2 or own.shape[1] != job.columns.count or not len(own):
        raise DataError("own rows", f"must be rows of {job.columns.count} numbers", f"shape {own.shape}")
    if truth.shape != own.shape[:1] or not 0 <= truth.min() <= truth.max() < job.classes:
        raise DataError("own classes", f"must be a number from 0 to {job.classes - 1} each", f"shape {truth.shape}")
    return job.columns.scaled(own)


def _gather(
    coming: Iterator[Arrival], waiting: deque[Arrival], wanted: int, attendance: Attendance | None
) -> list[Arrival] | None:
    """Return arrivals of as many new owners as are ``wanted``, or none if no more come: then nobody is asked."""
    gathered, missing = [], wanted
    while missing:
        arrival = waiting.popleft() if waiting else next(coming, None)
        if arrival is None:
            if attendance is not None:
                attendance.forget()
            return None
        budgets = arrival.budgets
        if attendance is None:
            chosen = np.arange(len(budgets)) < missing
        else:
            chosen = attendance.newcomers(arrival.keys, most=missing)
        missing -= int(chosen.sum())
        if chosen.any():
            gathered.append(arrival.only(chosen))
        if not missing and not chosen.all():
            waiting.append(arrival.only(~chosen))
    return gathered


def _round(
    gathered: list[Arrival],
    job: Job,
    ensemble: Ensemble,
    own: tuple[Floats, Classes],
    number: int,
    attendance: Attendance | None,
) -> tuple[Round, Learner]:
    values, truth = own
    rows = Own(values, truth, job.weighting.relative(ensemble, values, truth))
    question = job.question(ensemble, job.share.prepared(rows, job.classes), number)
    budgets = np.concatenate([arrival.budgets for arrival in gathered])
    line = None if attendance is None else attendance.charge(budgets, _asked(job, number))
    totals = _collect(gathered, question)
    learner = question.share.learner(totals)
    error, alpha = judge(learner, rows, job.classes)
    found = Round(
        number=number,
        owners=len(budgets),
        error=error,
        alpha=alpha,
        classes=job.classes,
        conditions=tuple(question.share.conditions(totals, rows)),
        cost=question.share.cost(totals),
    )
    if attendance is not None:
        attendance.outcome({"job": job.name, "round": number, "asked": line, "kept": found.kept, "alpha": alpha})
    return found, learner


def _asked(job: Job, number: int) -> dict[str, Any]:
    return {"job": job.name, "round": number, "share": job.share.name, "mechanism": job.mechanism}


def _collect(gathered: list[Arrival], question: Question) -> Totals:
    totals = Totals(question)
    for arrival in gathered:
        for answers in arrival.answer(question):
            totals.add(answers)
    return totals


def judge(learner: Learner, own: Own, classes: int) -> tuple[float, float]:
    """Return a learner's weighted error on the data user's rows, and the weight α that SAMME gives it.

    Without any error α would be infinite: it is counted as half a row of all.

    >>> from veilboost.local.learners import Stump
    >>> own = Own(np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 1, 1, 1]), np.full(4, 0.25))
    >>> error, alpha = judge(Stump(column=0, threshold=0.0, below=0, otherwise=1), own, 2)
    >>> error, round(math.exp(alpha), 9)
    (0.25, 3.0)
    """
    wrong = learner.predict(own.values) != own.truth
    error = min(1.0, max(0.0, float(own.weights[wrong].sum())))
    least = 0.5 / len(own.truth)
    counted = min(max(error, least), 1 - least)
    return error, math.log((1 - counted) / counted) + math.log(classes - 1)
