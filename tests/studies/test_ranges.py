"""Range queries: the truth by counting, inverted counts that are unbiased, and the same figures again."""

import numpy as np
import pytest

from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, RandomizedResponse, TableMechanism, TightMap
from veilboost.studies import ranges
from veilboost.studies.ranges import Settings

SETTINGS = Settings(
    size=32, epsilons=[0.32, 5.12], thetas=[4, 8], alphas=[0.4, 2.0], queries=200, repeats=3, seed=1, uniform=3000
)


def test_the_truth_is_counted() -> None:
    asked = ranges.questions(SETTINGS)
    codes = np.repeat(np.arange(1, 33), asked.histogram)
    for first, last, truth in zip(asked.first, asked.last, asked.truth, strict=True):
        assert truth == ((codes >= first) & (codes <= last)).mean()
    assert asked.error(asked.histogram) == 0
    assert asked.error(asked.histogram[::-1]) > 0


@pytest.mark.parametrize(
    "mechanism",
    [
        TightMap(epsilon=0.7, size=32),
        GlobalMap(epsilon=0.7, size=32),
        AdjMap(epsilon=0.7, size=32, theta=4, alpha=0.4),
        LocalMap(epsilon=0.7, size=32, theta=4),
        RandomizedResponse(epsilon=3.0, size=32),
    ],
)
def test_inverted_counts_are_unbiased(mechanism: TableMechanism) -> None:
    asked = ranges.questions(SETTINGS)
    expected = asked.histogram @ mechanism.probabilities()
    assert ranges.inverted(expected[None], mechanism)[0] == pytest.approx(asked.histogram, rel=1e-6)


def test_spread_counts_are_on_average_those_of_the_rival() -> None:
    ours, rival = TightMap.grouped([4, 4], inside=0.5, between=np.inf), LocalMap(epsilon=0.5, size=8, theta=4)
    spread = ranges.spreading(ours, rival)
    assert spread.sum(axis=1) == pytest.approx(1)
    assert ours.probabilities() @ spread == pytest.approx(rival.probabilities())


def test_adj_map_loses_more_between_neighbours_than_it_states() -> None:
    assert ranges.neighbours(AdjMap(epsilon=0.5, size=32, theta=8, alpha=0.4)) > 2 * 0.5
    assert ranges.neighbours(TightMap(epsilon=0.5, size=32)) == pytest.approx(0.5)


def test_every_line_is_answered_and_the_same_seed_gives_the_same_figures() -> None:
    first, again = (ranges.run(SETTINGS, lambda _step, _share: None) for _ in range(2))
    assert first.cells == again.cells
    assert first.panels == ["θ = 4", "θ = 8", "θ = 4, inverted", "θ = 8, inverted"]
    assert {len(cell.values) for cell in first.cells} == {3}
    tight, rival = (first.cell("θ = 4, inverted", line, "0.32") for line in ("TightMap", "Global-map"))
    assert tight is not None
    assert rival is not None
    assert tight.mean < rival.mean / 2
    assert all(claim.holds for claim in first.claims if "states" in claim.says)
