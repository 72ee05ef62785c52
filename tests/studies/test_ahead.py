"""AHEAD: its variance by two routes, averaging that lowers it as it should, and answers that add up."""

import numpy as np
import pytest

from veilboost.mechanisms import UnaryEncoding
from veilboost.randomness import ReplayableBits
from veilboost.studies import ahead

SIZE = 64


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_variance_is_the_published_one(epsilon: float) -> None:
    published = 4 * np.exp(epsilon) / (1000 * (np.exp(epsilon) - 1) ** 2)
    assert ahead.variance(epsilon, 1000) == pytest.approx(published, rel=1e-9)


def test_sums_of_bits_are_distributed_as_those_of_unary_encoding() -> None:
    held, epsilon, rows = np.array([10, 0, 90, 300]), 1.0, 4000
    chance = np.random.default_rng(5)
    ours = np.array([ahead.shares(held, 400, epsilon, chance) for _ in range(rows)])
    mechanism = UnaryEncoding(epsilon=epsilon, size=4, optimised=True)
    codes = np.repeat(np.arange(1, 5), held)
    drawn = mechanism.draw(np.tile(codes, rows), bits=ReplayableBits(seed=5)).reshape(rows, 400, 4)
    theirs = np.array([mechanism.counts(bits) / 400 for bits in drawn])
    spread = np.sqrt([mechanism.count_variance(count, 400) for count in held]) / 400
    for found in (ours, theirs):
        assert np.abs(found.mean(axis=0) - held / 400).max() < 5 * spread.max() / np.sqrt(rows)
        assert found.std(axis=0) == pytest.approx(spread, rel=0.08)
        assert (np.abs(found.std(axis=0) / (1.3 * spread) - 1) > 0.08).all()


def test_non_negative_estimates_sum_to_one_and_keep_their_order() -> None:
    estimates = np.random.default_rng(2).normal(0.02, 0.1, 50)
    found = ahead.non_negative(estimates)
    assert found.min() == 0
    assert found.sum() == pytest.approx(1)
    kept = found > 0
    assert np.ptp((estimates - found)[kept]) < 1e-12
    assert estimates[~kept].max() <= estimates[kept].min()


def test_averaging_lowers_the_variance_as_its_weights_say() -> None:
    """A node that was asked once, above two that were asked once: 2/3 of its own and 1/3 of theirs, variance 2/3."""
    seen = np.zeros(16, np.int64)
    seen[[1, 2, 3, 4, 5]] = 1, 1, 1, 1, 1
    truth = np.zeros(16)
    truth[[1, 2, 3, 4, 5]] = 1, 0.6, 0.4, 0.25, 0.35
    chance = np.random.default_rng(3)
    found = np.array([ahead.averaged(truth + (seen > 0) * chance.normal(0, 0.01, 16), seen) for _ in range(20_000)])
    assert found[:, 2].mean() == pytest.approx(0.6, abs=4e-4)
    assert found[:, 2].var() == pytest.approx(2 / 3 * 0.01**2, rel=0.06)
    assert found[:, 3].var() == pytest.approx(0.01**2, rel=0.06)
    assert found[0, 8] == found[0, 9] == found[0, 4] / 2


def test_without_noise_to_speak_of_answers_are_the_truth() -> None:
    histogram = np.random.default_rng(4).integers(2_000_000, 9_000_000, SIZE)
    tree = ahead.grow(histogram, 20.0, np.random.default_rng(4))
    assert len(tree.leaves) == SIZE
    first, last = np.array([1, 3, 17, 64, 1]), np.array([64, 3, 40, 64, 32])
    truth = [histogram[a - 1 : b].sum() / histogram.sum() for a, b in zip(first, last, strict=True)]
    assert tree.between(first, last) == pytest.approx(truth, abs=1e-3)


def test_answers_are_the_sum_of_the_fewest_nodes() -> None:
    shares = np.zeros(16)
    shares[[1, 2, 5, 6, 8, 12]] = 1, 0.5, 0.2, 0.011, 0.03, 0.007
    tree = ahead.Tree(shares, np.arange(8, 16))
    found = tree.between(np.array([1, 1, 3, 1, 5, 3]), np.array([8, 4, 4, 1, 6, 5]))
    assert found == pytest.approx([1.0, 0.5, 0.2, 0.03, 0.011, 0.207])


def test_an_empty_region_is_not_divided() -> None:
    histogram = np.zeros(SIZE, np.int64)
    histogram[:8] = 100_000
    tree = ahead.grow(histogram, 2.0, np.random.default_rng(1))
    assert 3 in tree.leaves
    assert len(tree.leaves) < SIZE / 2
    assert tree.between(np.array([33]), np.array([64])) < 0.01
