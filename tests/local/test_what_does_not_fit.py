"""What does not fit is refused in one line: jobs, weights, rows, owners and answers."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tables import blobs, job

from veilboost.errors import DataError, PeerError, SettingError
from veilboost.local import Columns, Ensemble, Job, LocalSample, Owners, Totals, Weighting, answer, data_user


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mechanism": "gauss"}, "mechanism must be one of piecewise"),
        ({"size": 100}, "size must be odd"),
        ({"owners": 0}, "owners must be a whole number"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"labels": "open"}, "labels must be one of randomised, clear"),
        ({"label_share": 1.0}, "label_share must be a number between 0 and 1"),
        ({"timeout": 0}, "timeout must be a finite number above 0"),
        ({"name": ""}, "job must be printable"),
        ({"share": "sample"}, "share must be a Share"),
        ({"classes": 1}, "classes must be a whole number from 2"),
    ],
)
def test_a_bad_job_is_refused_in_one_line(settings: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"name": "t", "share": LocalSample(), "classes": 2, "owners": 1, "rounds": 1}
    with pytest.raises(SettingError, match=words):
        Job(**{**good, "columns": Columns((0.0,), (1.0,)), **settings})


def test_weights_and_clip_are_checked() -> None:
    wrong: list[dict[str, Any]] = [{"how": "loud"}, {"clip": 1.0}, {"clip": math.inf}, {"how": "none", "clip": 2.0}]
    for settings in wrong:
        with pytest.raises(SettingError):
            Weighting(**settings)


def test_bad_rows_are_refused_in_one_line() -> None:
    question = job(LocalSample(), d=2).first()
    good, truth = np.zeros((3, 2)), np.array([0, 1, 1])
    bad: list[tuple[Any, Any]] = [
        (good[:, :1], truth),
        (good[:0], truth[:0]),
        (good, truth + 1),
        (good, truth - 1),
        (good, truth[:2]),
        (np.where(np.eye(3, 2) > 0, np.nan, good), truth),
        (np.where(np.eye(3, 2) > 0, np.inf, good), truth),
    ]
    for values, classes in bad:
        with pytest.raises(DataError):
            answer(question, values, classes, epsilon=1.0)
        with pytest.raises(DataError):
            data_user(lambda _: iter([]), job(LocalSample(), d=2), values, classes)
    for starts in ([0, 2], [1, 3], [0, 3, 3], [[0, 3]]):
        with pytest.raises((SettingError, DataError)):
            Owners(good, truth, starts=np.array(starts))
        with pytest.raises(DataError):
            answer(question, good, truth, epsilon=1.0, starts=np.array(starts))
    with pytest.raises(DataError, match="unequal owners"):  # one of them would spend more than its budget
        answer(question, good, truth, epsilon=1.0, starts=np.array([0, 1, 3]))
    with pytest.raises(SettingError, match="alphas must be finite"):
        replace(question, ensemble=Ensemble((), (math.nan,)))
    for budget in (0.0, math.nan, math.inf):
        with pytest.raises(SettingError):
            Owners(good, truth, budgets=budget)


def test_answers_that_were_not_asked_for_are_refused() -> None:
    values, truth = blobs(10, 4, 2, seed=16)
    question = job(LocalSample(), d=4).first()
    good = answer(question, values, truth, epsilon=1.0, starts=np.arange(11))
    assert good.labels is not None
    wrong: list[dict[str, Any]] = [
        {"drawn": good.drawn[:, :3]},
        {"drawn": good.drawn[:9]},
        {"drawn": good.drawn.astype(np.float64)},
        {"labels": None},
        {"labels": good.labels[:9]},
        {"labels": good.labels * 0},
        {"labels": good.labels * 0 + 3},
        {"weights": np.ones(9)},
        {"owners": 9},
        {"version": 2},
    ]
    for change in wrong:
        totals = Totals(question)
        with pytest.raises(PeerError):
            totals.add(replace(good, **change))
        totals.add(good)
        assert totals.owners == 10
