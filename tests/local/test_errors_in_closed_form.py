"""The error of what the data user adds up is the closed form's, for every share and every mechanism."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tables import SHARES, Classes, Floats, blobs, job

from veilboost.local import Ensemble, LocalSample, Question, Rows, Share, Stump, Totals, Weighting, answer
from veilboost.local.noise import NOISES, encode, noise, variance
from veilboost.local.question import best_label_share
from veilboost.local.sample import by_class, centroid_noise
from veilboost.mechanisms import Piecewise, RandomizedResponse

D, GROUP, REPEATS = 6, 40, 4000
CLOSE = 0.05
"""The error of a mean over so many repeats and numbers strays by 1 % (one standard deviation)."""


def prepared(share: Share, mechanism: str, classes: int = 2, labels: str = "clear") -> Question:
    """A question whose noise is large beside everything else, so that repeats differ by noise alone."""
    question = job(share, d=D, classes=classes, mechanism=mechanism, labels=labels).first()
    thresholds: dict[str, Any] = {"thresholds": (0.1,) * D} if share.name == "statistic" else {}
    return replace(question, share=replace(share, **thresholds))


def vectors(question: Question, values: Floats, truth: Classes, starts: Classes) -> Floats:
    scaled = question.columns.scaled(values)
    rows = Rows(values=scaled, truth=truth, factors=np.ones(len(truth)), starts=starts)
    return question.share.vectors(rows, question)


def mean_square(question: Question, epsilon: float, rows: int) -> tuple[float, float]:
    """Return the mean square error of the mean over a group of owners with equal rows, as found and in closed form."""
    values, truth = blobs(rows, D, question.classes, seed=1)
    count = REPEATS * GROUP
    many, labels = np.tile(values, (count, 1)), np.tile(truth, count)
    starts = np.arange(0, len(many) + 1, rows)
    answers = answer(question, many, labels, epsilon=epsilon, starts=starts)
    true = vectors(question, values, truth, np.array([0, rows]))
    mechanism = question.noise(epsilon, rows if question.share.of_rows else 0)
    # a share of rows sends the first owner's rows, then the second's: every group has each row GROUP times
    estimates = mechanism.values(answers.drawn).reshape(REPEATS, GROUP, -1, true.shape[1]).mean(axis=1)
    found = float(((estimates - true) ** 2).mean())
    return found, float(variance(mechanism, true).mean()) / GROUP


@pytest.mark.parametrize("mechanism", NOISES)
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_every_error_is_that_of_its_closed_form_and_no_other(share: Share, mechanism: str) -> None:
    question = prepared(share, mechanism)
    found, expected = mean_square(question, 1.5, rows=2)
    assert found == pytest.approx(expected, rel=CLOSE)
    quieter, louder = (mean_square(question, epsilon, rows=2)[0] for epsilon in (1.5 * 1.35, 1.5 / 1.35))
    assert quieter < expected / 1.3
    assert louder > expected * 1.3


@pytest.mark.parametrize("mechanism", NOISES)
def test_the_variance_follows_from_two_codes(mechanism: str) -> None:
    made = noise(mechanism, 5, 3.0, 1001, 10)
    codes = np.array([1, 137, 501, 800, 1001])
    values = (codes - 501) / 500
    assert variance(made, values) == pytest.approx([made.variance(int(code)) for code in codes], rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("labels", ["clear", "randomised"])
def test_sums_by_class_are_unbiased_and_their_error_is_foretold(labels: str, classes: int) -> None:
    question, random = prepared(LocalSample(), "piecewise", classes, labels), np.random.default_rng(2)
    rows, repeats = 300, 1500
    truth = random.permutation(np.arange(rows) % (classes + 1) % classes)  # class 0 is larger than the others
    values = random.uniform(-0.5, 0.5, (rows, D))
    sums, noises = [], []
    for _ in range(repeats):
        totals = Totals(question)
        totals.add(answer(question, values, truth, epsilon=3.0, starts=np.arange(rows + 1)))
        found, masses = by_class(totals)
        sums.append(found)
        noises.append(centroid_noise(totals) * masses)
    true = np.array([question.columns.scaled(values)[truth == each].sum(axis=0) for each in range(classes)])
    spread = np.std(sums, axis=0)
    assert np.abs(np.mean(sums, axis=0) - true).max() < 6 * spread.max() / math.sqrt(repeats)
    error = np.sqrt(((np.array(sums) - true) ** 2).sum(axis=2).mean(axis=0))
    assert error == pytest.approx(np.mean(noises, axis=0), rel=CLOSE)


def test_weights_that_are_hidden_are_unbiased_too() -> None:
    question = prepared(LocalSample(), "piecewise", 2, "randomised")
    ensemble = Ensemble().joined_by(Stump(column=0, threshold=0.0, below=0, otherwise=1), 1.0)
    question = replace(question, ensemble=ensemble, weighting=Weighting())
    values, truth = blobs(400, D, 2, seed=3)
    factors = Weighting().factors(ensemble, question.columns.scaled(values), truth)
    expected = [question.columns.scaled(values)[truth == each].T @ factors[truth == each] for each in (0, 1)]
    masses = [factors[truth == each].sum() for each in (0, 1)]
    found = []
    for _ in range(1000):
        totals = Totals(question)
        totals.add(answer(question, values, truth, epsilon=8.0, starts=np.arange(401)))
        sums, weighed = by_class(totals)
        found.append(np.column_stack([sums, weighed]))
    error = np.std(found, axis=0) / math.sqrt(1000)
    apart = np.abs(np.mean(found, axis=0) - np.column_stack([expected, masses]))
    assert (apart < 6 * error)[:, :D].all()
    assert (apart[:, D] < 6 * error[:, D] + 0.02 * np.array(masses)).all()  # clipped to what weights can be


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.5, 7.0])
def test_the_share_for_the_label_is_the_best_by_the_mechanisms_themselves(epsilon: float, classes: int) -> None:
    def noise_of(share: float) -> float:
        response = RandomizedResponse(epsilon=epsilon * share, size=classes)
        kept, raised = (float(each) for each in response.probabilities()[0, :2])
        square = float(Piecewise(epsilon=epsilon * (1 - share), size=1001).second_moment(501))
        own, other = (
            kept * (1 - raised) ** 2 + (1 - kept) * raised**2,
            raised * (1 - raised) ** 2 + (1 - raised) * raised**2,
        )
        return square * (own + (classes - 1) * other) / (kept - raised) ** 2

    shares = np.arange(1, 20) / 20
    best = shares[int(np.argmin([noise_of(share) for share in shares.tolist()]))]
    assert noise_of(best_label_share(epsilon, classes)) <= noise_of(float(best)) * (1.0001 if epsilon < 5 else 1.3)


def test_codes_are_the_nearest_or_on_the_way_to_rest() -> None:
    values = np.random.default_rng(4).uniform(-1, 1, (200, 5))
    for size in (3, 101, 65_535):
        half = (size - 1) / 2
        points = (encode(values, size, None) - 1.0) / half - 1
        assert np.abs(points - values).max() <= 0.5 / half + 1e-12
        towards_zero = (encode(values, size, 0.0) - 1.0) / half - 1
        assert (np.abs(towards_zero) <= np.abs(values) + 1e-12).all()
        assert (encode(values, size, -1.0) - 1.0 <= (values + 1) * half + 1e-9).all()
