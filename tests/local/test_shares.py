"""Each share by a second route: its vectors, how far they can be apart, and what the data user makes of them."""

import math
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from tables import QUIET, SHARES, blobs, job, owners

from veilboost.errors import SettingError
from veilboost.local import (
    Ensemble,
    LocalClassifier,
    LocalSample,
    LocalStatistic,
    Own,
    Owners,
    Question,
    Rows,
    Share,
    Stump,
    Totals,
    Weighting,
    data_user,
)
from veilboost.local.classifier import fit
from veilboost.local.noise import encode
from veilboost.local.sample import by_class
from veilboost.local.statistic import best_cut, cross_tables

FOUND_BEFORE = Ensemble().joined_by(Stump(column=0, threshold=0.0, below=0, otherwise=1), 0.9)


def question(share: Share, d: int, classes: int, weighting: Weighting | None = None, **settings: Any) -> Question:
    thresholds: dict[str, Any] = (
        {"thresholds": tuple(np.linspace(-0.5, 0.5, d).tolist())} if share.name == "statistic" else {}
    )
    asked = job(share, d=d, classes=classes, weighting=weighting or Weighting(), **settings).first()
    return replace(asked, share=replace(share, **thresholds), ensemble=FOUND_BEFORE)


def anything(value: Any) -> Any:
    return value


def some_rows(asked: Question, seed: int, sizes: list[int]) -> Rows:
    random, count = np.random.default_rng(seed), sum(sizes)
    values = np.clip(random.normal(0, 0.7, (count, asked.columns.count)), -1, 1)
    truth = random.integers(0, asked.classes, count)
    factors = asked.weighting.factors(asked.ensemble, values, truth)
    return Rows(values=values, truth=truth, factors=factors, starts=np.cumsum([0, *sizes]))


@settings(deadline=None)  # the first example compiles
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 4), st.sampled_from(sorted(SHARES)), st.booleans())
def test_no_two_vectors_are_farther_apart_than_the_noise_covers(
    seed: int, d: int, classes: int, name: str, printed: bool
) -> None:
    asked = question(SHARES[name], d, classes, Weighting(how="printed" if printed else "bounded"))
    vectors = asked.share.vectors(some_rows(asked, seed, [1, 3, 2, 7]), asked)
    assert vectors.shape[1] == asked.share.length(asked)
    assert printed or np.abs(vectors).max() <= 1 + 1e-12
    codes = encode(vectors, asked.size, asked.share.rest(asked)).astype(np.int64)
    assert 1 <= codes.min() <= codes.max() <= asked.size
    most = asked.share.apart(asked) * (asked.size - 1) // 2
    assert max(np.abs(a - b).sum() for a, b in combinations(codes, 2)) <= most


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("d", [1, 3])
def test_the_statistics_bound_is_reached(classes: int, d: int) -> None:
    """Two owners of one row each, of two classes, on two sides of every threshold, are as far apart as can be."""
    asked = replace(question(LocalStatistic(), d, classes), ensemble=Ensemble())
    rows = Rows(
        values=np.array([[-1.0] * d, [1.0] * d]), truth=np.array([0, 1]), factors=np.ones(2), starts=np.arange(3)
    )
    one, other = encode(asked.share.vectors(rows, asked), asked.size, asked.share.rest(asked)).astype(np.int64)
    assert np.abs(one - other).sum() == asked.share.apart(asked) * (asked.size - 1) // 2


@pytest.mark.parametrize("classes", [2, 3])
def test_the_statistic_is_the_mean_of_the_owners_cross_tables(classes: int) -> None:
    share = LocalStatistic(thresholds=(0.1, -0.2, 0.3))
    asked = replace(question(share, 3, classes, Weighting(how="none")), share=share)
    rows = some_rows(asked, 1, [1, 2, 5, 3])
    held = Owners(
        rows.values * 4, rows.truth, starts=rows.starts, budgets=np.array([1.0, 2.0, 1.0, 3.0]) * QUIET
    )  # raw values run from -4 to 4
    totals = Totals(asked)
    for group in held.arrivals()(1.0):
        for answers in group.answer(asked):
            assert answers.labels is None
            assert answers.weights is None
            assert answers.rows == 0
            totals.add(answers)
    assert len(totals.levels) == 3
    expected = np.zeros((classes, 2, 3))
    for owner in range(4):
        here = range(rows.starts[owner], rows.starts[owner + 1])
        for row in here:
            for column in range(3):
                side = int(rows.values[row, column] >= share.thresholds[column])
                expected[rows.truth[row], side, column] += 1 / len(here) / 4
    found = cross_tables(totals)
    if classes == 2:
        assert np.allclose(found[1] - found[0], expected[1] - expected[0], atol=2e-3)
    else:
        assert np.allclose(found, expected, atol=2e-3)
    right = expected.max(axis=0).sum(axis=0)
    stump = share.learner(totals)
    assert right[stump.column] == pytest.approx(right.max(), abs=5e-3) or classes == 2
    assert (stump.below, stump.otherwise) == tuple(expected[:, :, stump.column].argmax(axis=0))


def test_for_two_classes_the_column_with_the_largest_phi_is_chosen() -> None:
    share = LocalStatistic(thresholds=(0.0, 0.0))
    asked = replace(question(share, 2, 2, Weighting(how="none")), share=share)
    values = np.array([[-1, 1], [-1, -1], [1, 1], [1, -1.0]]) * 4
    held = Owners(values, np.array([1, 1, 0, 0]), budgets=QUIET)
    totals = Totals(asked)
    for group in held.arrivals()(1.0):
        for answers in group.answer(asked):
            totals.add(answers)
    assert share.learner(totals) == Stump(column=0, threshold=0.0, below=1, otherwise=0)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_data_users_cut_is_the_best_of_all_between_quantiles(classes: int) -> None:
    random = np.random.default_rng(2)
    column, truth, weights = random.normal(0, 1, 500).round(1), random.integers(0, classes, 500), random.random(500)
    found = best_cut(column, Own(column[:, None], truth, weights), classes)

    def right(cut: float) -> float:
        sides = (column < cut, column >= cut)
        return math.fsum(max(weights[side & (truth == each)].sum() for each in range(classes)) for side in sides)

    points = np.unique(np.quantile(column, np.linspace(0, 1, 33), method="nearest"))
    assert right(found) == pytest.approx(max(right((a + b) / 2) for a, b in pairwise(points)))
    assert best_cut(np.zeros(5), Own(np.zeros((5, 1)), truth[:5], weights[:5]), classes) == 0.0


def test_unequal_owners_of_one_class_each_count_alike() -> None:
    """Owners that are as unlike as can be: one row or nine, one class alone, budgets of their own."""
    asked = replace(question(LocalSample(), 2, 2, Weighting(how="none"), labels="clear"), ensemble=Ensemble())
    random = np.random.default_rng(3)
    sizes = random.integers(1, 10, 60)
    starts = np.concatenate([[0], sizes.cumsum()])
    truth = np.repeat(np.arange(60) % 2, sizes)
    values = random.uniform(-4, 4, (len(truth), 2)) + 0.5 * truth[:, None]
    held = Owners(values, truth, starts=starts, budgets=QUIET * random.choice([1.0, 3.0], 60) * sizes)
    totals = Totals(asked)
    for group in held.arrivals(random.permutation(60))(1.0):
        for answers in group.answer(asked):
            totals.add(answers)
    sums, masses = by_class(totals)
    means = [asked.columns.scaled(values[a:b]).mean(axis=0) for a, b in pairwise(starts)]
    for each in (0, 1):
        assert masses[each] == pytest.approx(30)
        assert np.allclose(sums[each] / 30, np.mean(means[each::2], axis=0), atol=2e-3)


@pytest.mark.parametrize("ridge", [0.01, 0.3])
def test_each_owners_regression_is_scikit_learns(ridge: float) -> None:
    asked = question(LocalClassifier(ridge=ridge), 3, 2)
    rows = some_rows(asked, 4, [5, 1, 40, 12])
    found = fit(rows.values, rows.truth == 1, rows.weights, rows.starts, ridge)
    for owner in range(4):
        here = slice(rows.starts[owner], rows.starts[owner + 1])
        shares = rows.weights[here] / rows.weights[here].sum()
        if len(set(rows.truth[here])) < 2:
            continue
        alone = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-10, max_iter=10_000)
        alone.fit(rows.values[here], rows.truth[here], sample_weight=shares)
        assert np.allclose(found[owner], alone.coef_[0], atol=1e-5)


def test_an_owner_of_one_class_has_a_finite_regression() -> None:
    theta = fit(np.array([[0.5], [0.7]]), np.array([True, True]), np.ones(2) / 2, np.array([0, 2]), 1e-6)
    assert math.isfinite(theta[0, 0])


def test_coefficients_stay_in_the_box() -> None:
    asked = question(LocalClassifier(box=0.5, ridge=1e-4), 3, 3)
    vectors = asked.share.vectors(some_rows(asked, 5, [4, 4, 9]), asked)
    assert vectors.shape == (3, 12)
    assert np.abs(vectors).max() == 1.0


def test_bad_settings_of_a_share_are_refused() -> None:
    asked = replace(question(LocalStatistic(), 3, 2), share=LocalStatistic(thresholds=(0.0, 0.1)))
    with pytest.raises(SettingError, match="thresholds must be one for each of 3 columns; got 2"):
        asked.share.vectors(some_rows(asked, 1, [2]), asked)
    with pytest.raises(SettingError):
        LocalClassifier(box=0)
    with pytest.raises(SettingError):
        LocalClassifier(ridge=0)
    with pytest.raises(SettingError):
        LocalClassifier(intercept=anything(1))


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_conditions_tell_a_whisper_from_a_storm(share: Share) -> None:
    values, truth = blobs(2000, 4, 2, seed=6, apart=1.5)
    found = {}
    for epsilon in (0.01, QUIET):
        held = owners(values, truth, 20, epsilon)
        found[epsilon] = data_user(held.arrivals(), job(share, rounds=1), *blobs(500, 4, 2, seed=7, apart=1.5)).rounds[
            0
        ]
    assert all(each.holds for each in found[QUIET].conditions)
    assert not any(each.holds for each in found[0.01].conditions)
    assert "does not hold" in str(found[0.01])
