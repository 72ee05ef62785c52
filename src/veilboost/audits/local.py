"""Audit answers of the local protocol: tell an owner's label, and which learners are wrong about it, from its share."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.audits.distinguish import tell_apart
from veilboost.audits.permanence import Joint
from veilboost.audits.sample import split
from veilboost.local import (
    Answers,
    Columns,
    Ensemble,
    Job,
    Labels,
    Own,
    Question,
    Share,
    Stump,
    Weighting,
    answer,
    share_of,
)
from veilboost.settings import positive, whole

_COLUMNS = 4
_CELLS = 1 << 20
_ALPHA = math.log(0.7 / 0.3)
"""What SAMME gives a learner that is wrong about three rows in ten."""
_PART = 1 << 16


@dataclass(frozen=True)
class LocalAudit:
    """Both attacks on one setting of the protocol."""

    setting: str
    label: Joint
    misclassified: Joint

    @property
    def refuted(self) -> bool:
        """Whether an owner's label, or what learners make of it, shows more than its ε allows."""
        return self.label.refuted or self.misclassified.refuted

    def values(self) -> dict[str, object]:
        """Return the audit as plain values."""
        attacks = {
            name: {"loss_at_least": each.loss_at_least, "allowed": each.allowed, "refuted": each.refuted}
            for name, each in (("label", self.label), ("misclassified", self.misclassified))
        }
        return {"setting": self.setting, "refuted": self.refuted, **attacks}

    def __str__(self) -> str:
        return "\n".join([self.setting, str(self.label), str(self.misclassified)])


def audit_local(
    *,
    share: str | Share = "sample",
    mechanism: str = "piecewise",
    labels: Labels = "randomised",
    weighting: Weighting | None = None,
    epsilon: float = 1.0,
    rounds: int = 5,
    samples: int = 200_000,
    level: float = 1e-9,
) -> LocalAudit:
    """Attack the claim that an answer is ε-LDP for all that an owner of one row holds.

    **Guarantee**: if it is, anything is refuted with probability at most ``level``. The label: two owners who differ in
    nothing else answer in the first round. Misclassification: after ``rounds`` learners, each wrong about three rows in
    ten, one owner's row was always right and the other's always wrong. As printed, the attacker looks at the products
    of weight and noised row alone, as the paper sends them.

    >>> audit_local(samples=20_000).refuted, audit_local(samples=20_000, labels="clear").label.refuted
    (False, True)
    """
    count, budget = whole("samples", samples, 1000, 10**8), positive("epsilon", epsilon)
    asked = Job(
        name="audit",
        share=share_of(share),
        columns=Columns((-1.0,) * _COLUMNS, (1.0,) * _COLUMNS),
        classes=2,
        owners=1,
        rounds=1,
        mechanism=mechanism,
        labels=labels,
        weighting=weighting or Weighting(),
    )
    ensemble = Ensemble()
    for _ in range(whole("rounds", rounds, 1, 100)):
        ensemble = ensemble.joined_by(Stump(column=0, threshold=0.0, below=0, otherwise=1), _ALPHA)
    first, later = (_prepared(asked, each) for each in (Ensemble(), ensemble))
    row = np.full(_COLUMNS, 0.5)
    return LocalAudit(
        f"local {asked.share.name}, {mechanism}, labels {labels}, weights {asked.weighting.how}, ε {budget:g}",
        Joint("the label", _loss(first, (row, 0), (row, 1), budget, count, level / 2), budget),
        Joint(
            f"that {rounds} learners are wrong about it",
            _loss(later, (-row, 0), (row, 0), budget, count, level / 2),
            budget,
        ),
    )


def _prepared(job: Job, ensemble: Ensemble) -> Question:
    values = np.random.default_rng().uniform(-1, 1, (200, _COLUMNS))
    truth = (values[:, 0] > 0).astype(np.int64)
    share = job.share.prepared(Own(values, truth, np.full(200, 1 / 200)), 2)
    return job.question(ensemble, share, len(ensemble.alphas) + 1)


Row = tuple[NDArray[np.float64], int]


def _loss(question: Question, first: Row, second: Row, epsilon: float, samples: int, level: float) -> float:
    """Return a lower bound on what answers of owners with these two rows lose."""
    towards = _typical(question, second, epsilon) - _typical(question, first, epsilon)
    seen = {at: split(_observed(question, row, epsilon, samples, towards)) for at, row in ((1, first), (2, second))}
    return tell_apart(1, 2, seen, level).epsilon_lower


def _typical(question: Question, row: Row, epsilon: float) -> NDArray[np.float64]:
    """Return the mean of what an owner sends: the attacker knows the algorithm, and tries it out."""
    mean: NDArray[np.float64] = _sent(question, _ask(question, row, epsilon, _PART)).mean(axis=0)
    return mean


def _ask(question: Question, row: Row, epsilon: float, samples: int) -> Answers:
    values, truth = np.tile(row[0], (samples, 1)), np.full(samples, row[1])
    return answer(question, values, truth, epsilon=epsilon, starts=np.arange(samples + 1))


def _sent(question: Question, answers: Answers) -> NDArray[np.float64]:
    """Return the numbers of each answer; as printed, times its weight."""
    sent: NDArray[np.float64] = question.noise(answers.epsilon, answers.rows).values(answers.drawn)
    return sent if answers.weights is None else sent * answers.weights[:, None]


def _observed(
    question: Question, row: Row, epsilon: float, samples: int, towards: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return a whole number for each answer: its label, and where it lies towards the other row, or how large it is."""
    found = [np.empty(0, dtype=np.int64)]
    for start in range(0, samples, _PART):
        answers = _ask(question, row, epsilon, min(_PART, samples - start))
        sent = _sent(question, answers)
        largest = np.abs(sent).max(axis=1)
        seen = sent @ towards if answers.weights is None else largest
        cells = _CELLS // 2 + np.clip(np.rint(seen * 100), -_CELLS // 2, _CELLS // 2 - 1)
        labels = np.zeros(len(sent)) if answers.labels is None else answers.labels.astype(np.float64)
        found.append((labels * _CELLS + cells).astype(np.int64))
    return np.concatenate(found)
