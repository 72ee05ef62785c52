"""Sharpening: noise once more as the mechanism has it, the right weights, and better predictions on clear samples."""

from typing import Any

import msgspec
import numpy as np
import pytest
from talking import HELD, NO_NOISE, job, label, people, train, trained

from veilboost.errors import SettingError
from veilboost.mechanisms import Duchi, GlobalMap, RandomizedResponse, TightMap, UnaryEncoding
from veilboost.trees import combine
from veilboost.vertical import samples
from veilboost.vertical.sent import Opened, Sent
from veilboost.vertical.sharpening import DRAWS, Fit, loss, noised_again, sharpen
from veilboost.wire import Array, Values

ROWS = 200_000
PARTIES = tuple(HELD)


def column(form: Any, count: int, values: Any, codes: Any = None, categories: Any = None) -> Opened:
    """Return a column as it is once it was unpacked and checked."""
    held = Values.of(np.packbits(values) if form == "bits" else values)
    known = None if codes is None else Array.of(np.asarray(codes))
    return Opened(Sent(name="c", form=form, count=count, values=held, codes=known, categories=categories), values)


def ranked(size: int) -> Opened:
    """Return a column of ranks in which every code but the second occurs, each in as many rows."""
    codes = np.delete(np.arange(1, size + 1), 1)
    ranks = np.resize(np.arange(1, len(codes) + 1, dtype=np.uint8), ROWS)
    return column("ranks", len(codes), ranks, codes)


@pytest.mark.parametrize(
    "mechanism", [TightMap(epsilon=0.7, size=8), GlobalMap(epsilon=0.7, size=8)], ids=["tight", "global"]
)
def test_ranks_follow_the_mechanism_s_own_table(mechanism: Any) -> None:
    sent = ranked(8)
    again = noised_again(sent, mechanism, "next", seed=3)
    found, before = again.values, sent.values
    for chances, rejected in ((mechanism.probabilities(), False), (_other(mechanism).probabilities(), True)):
        # the code 2 has no rank: a split "next" to it sends it with 1
        expected = np.column_stack([chances[:, :2].sum(axis=1), chances[:, 2:]])
        worst = 0.0
        for rank, code in enumerate((1, 3, 4, 5, 6, 7, 8), 1):
            counts = np.bincount(found[before == rank], minlength=8)[1:]
            ideal = expected[code - 1] * counts.sum()
            worst = max(worst, float((((counts - ideal) ** 2) / ideal).sum()))
        assert (worst > 120) == rejected  # chi-square of six degrees of freedom: 120 has a chance of 1e-23


def _other(mechanism: Any) -> Any:
    return type(mechanism)(epsilon=mechanism.epsilon * 1.3, size=mechanism.size)


def test_estimates_get_noise_added_beyond_the_bounds() -> None:
    mechanism, size = Duchi(epsilon=1.0, size=5), 5
    codes = np.array([-1, 7])
    ranks = np.resize(np.array([1, 2], np.uint8), ROWS)
    sent = column("ranks", 2, ranks, codes)
    found = noised_again(sent, mechanism, "middle", seed=1).values
    # from the point 1 the estimate 2.16 comes with e / (e + 1): 7 stays or goes on, else it falls below the middle
    assert (found[ranks == 2] == 2).mean() == pytest.approx(np.e / (np.e + 1), abs=0.01)
    assert size == mechanism.size


def test_missing_values_and_categories_are_noised_too() -> None:
    mechanism = RandomizedResponse(epsilon=1.0, size=4)
    places = np.resize(np.arange(4, dtype=np.uint8), ROWS)  # 0 is missing, the code 4
    sent = column("categories", 3, places, categories=["a", "b", "c"])
    found = noised_again(sent, mechanism, "next", seed=1).values
    kept = np.e / (np.e + 3)
    for place in range(4):
        assert (found[places == place] == place).mean() == pytest.approx(kept, abs=0.012)
    ranks = column("ranks", 3, places, [1, 2, 3])
    again = noised_again(ranks, TightMap(epsilon=1.0, size=4), "next", seed=1).values
    chances = TightMap(epsilon=1.0, size=4).probabilities()
    assert (again[places == 0] == 0).mean() == pytest.approx(chances[3, 3], abs=0.012)


def test_bits_are_flipped_as_unary_encoding_has_it() -> None:
    mechanism = UnaryEncoding(epsilon=2.0, size=3)
    bits = np.resize(np.eye(3, dtype=np.uint8), (ROWS, 3))
    sent = column("bits", 3, bits, categories=["a", "b", "c"])
    found = noised_again(sent, mechanism, "next", seed=1).values
    p = np.e / (np.e + 1)
    assert found[bits == 1].mean() == pytest.approx(p, abs=0.01)
    assert found[bits == 0].mean() == pytest.approx(1 - p, abs=0.01)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
def test_the_model_is_the_sum_that_is_stated(backend: str, task: str) -> None:
    table = people()
    made = trained(train(job(PARTIES, task=task, backend=backend, sharpen=True), epsilon=1.5, table=table))
    plain = trained(train(job(PARTIES, task=task, backend=backend), epsilon=1.5, table=table))
    assert plain.extrapolation is None
    assert made.extrapolation is not None
    assert made.as_it_comes.model == plain.model.model == plain.as_it_comes.model
    assert 0 <= made.extrapolation.share <= 1
    trees = len(made.model.model) / len(plain.model.model)
    assert (trees > DRAWS) == (made.extrapolation.share > 0)
    again = trained(train(job(PARTIES, task=task, backend=backend, sharpen=True), epsilon=1.5, table=table))
    assert again.model.model == made.model.model  # the added noise comes from a known seed


def test_the_weights_are_those_of_the_extrapolation() -> None:
    table = people()
    models = [
        trained(train(job(["bank"], task="regression"), epsilon=epsilon, table=table)).model for epsilon in (9, 3, 2, 1)
    ]
    target = label(table, "regression")
    inputs = trained(train(job(["bank"], task="regression"), table=table)).inputs
    X = samples(inputs, table)
    told: list[tuple[str, float]] = []

    def fit(draw: int, times: int) -> Fit:
        margins = models[1 + draw].margins(X)
        return Fit(
            models[1 + draw], lambda: margins if times == 1 else 2 * margins - target
        )  # all the way back is best

    made, found = sharpen(
        models[0],
        fit,
        "regression",
        target,
        None,
        lambda step, share: told.append((step, share)),
    )
    mean = sum(model.margins(X).astype(np.float64) for model in models[1:]) / DRAWS
    assert found.share == 1
    assert made.margins(X) == pytest.approx(2 * models[0].margins(X) - mean, abs=1e-4)
    assert told[-1] == ("sharpening", 1.0)
    centre = models[1].margins(X).mean()
    assert found.centre == pytest.approx(centre, rel=1e-5)
    slope = float(((target - centre) * (models[1].margins(X) - centre)).sum())
    slope /= float(((models[1].margins(X) - centre) ** 2).sum())
    assert found.stretch == pytest.approx(min(slope, 3.0), abs=0.026)  # least squares by another route


def test_without_noise_nothing_moves() -> None:
    table = people()
    made = trained(train(job(PARTIES, task="regression", sharpen=True), epsilon=NO_NOISE, table=table))
    X = samples(made.inputs, table)
    assert made.model.margins(X) == pytest.approx(made.as_it_comes.margins(X), abs=1e-4)


def test_a_sharpened_number_is_nearer_to_the_truth_on_clear_samples() -> None:
    table = people(rows=4000)
    truth = label(table, "regression")
    made = trained(train(job(["bank"], task="regression", sharpen=True), epsilon=0.3, table=table))
    X = samples(made.inputs, table)
    sharp, plain = (loss("regression", model.margins(X), truth).mean() for model in (made.model, made.as_it_comes))
    assert sharp < 0.95 * plain


def test_released_data_decides_how_far() -> None:
    target = np.resize([0.0, 1.0], 1000)
    right = np.where(target > 0, 0.1, -0.1)
    models = [trained(train(job(["bank"]))).model] * 4
    for twice, share in ((right / 2, 1.0), (2 * right, 0.0)):

        def fit(_: int, times: int, twice: Any = twice) -> Fit:
            return Fit(models[0], lambda: twice if times == 2 else right)

        made, found = sharpen(
            models[0],
            fit,
            "binary",
            target,
            None,
            lambda _step, _share: None,
        )
        assert found.share == share
        assert (made is models[0]) == (share == 0)
    assert combine([(models[0], 1.0)]).features == models[0].features


def test_ranks_alone_cannot_be_sharpened() -> None:
    found = train(job(["bank"], sharpen=True, thresholds="on-request"))
    assert isinstance(found.lead, SettingError)
    assert "sharpen needs thresholds up-front" in str(found.lead)


def test_codes_travel_with_cuts_and_only_with_them() -> None:
    for thresholds, there in (("up-front", True), ("on-request", False)):
        for sent in train(job(["bank"], thresholds=thresholds)).columns("bank"):
            assert (sent.codes is not None) == (sent.cuts is not None) == there
            if sent.codes is not None:
                assert sent.codes.read()[0] >= 1
                assert (np.diff(sent.codes.read()) > 0).all()
                assert len(msgspec.json.encode(sent.codes.read().tolist())) > 2
