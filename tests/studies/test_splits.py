"""β by other routes, and splits that leave equal values on one side."""

import numpy as np
import pytest

from veilboost.mechanisms import LocalMap, Piecewise
from veilboost.privacy import beta
from veilboost.studies import splits
from veilboost.studies.claims import between, never_worse
from veilboost.studies.outcome import Cell, Outcome


@pytest.mark.parametrize(("left", "right"), [([1, 2], [4]), ([2], [3, 4, 4]), ([1], [1]), ([4], [1])])
def test_beta_of_piecewise_is_what_draws_show(left: list[int], right: list[int]) -> None:
    mechanism = Piecewise(epsilon=2.0, size=4)
    count = 200_000
    drawn = mechanism.draw(np.tile([*left, *right], count)).reshape(count, -1)
    kept = float((drawn[:, : len(left)].max(axis=1) < drawn[:, len(left) :].min(axis=1)).mean())
    found = splits.beta_of_piecewise(mechanism, np.array(left), np.array(right))
    noise = 7 * (found * (1 - found) / count) ** 0.5  # seven standard errors: once in 10^11 runs
    assert abs(kept - found) < noise + 0.001
    assert abs(kept - 1.3 * found) > noise + 0.001, "thirty percent would be noticed"


def test_ties_are_broken_at_random() -> None:
    mechanism, count = LocalMap(epsilon=1.0, size=4, theta=4), 200_000
    drawn = mechanism.draw(np.tile([1, 2, 3, 4], count)).reshape(count, -1)
    broken = drawn + np.random.default_rng().integers(0, 10, drawn.shape) / 10
    kept = float((broken[:, :2].max(axis=1) < broken[:, 2:].min(axis=1)).mean())
    found = beta(splits._parted(mechanism.probabilities()), np.array([1, 2]), np.array([3, 4]))
    noise = 7 * (found * (1 - found) / count) ** 0.5  # seven standard errors: once in 10^11 runs
    assert abs(kept - found) < noise
    assert kept - beta(mechanism.probabilities(), np.array([1, 2]), np.array([3, 4])) > noise, "ties count"


def test_finer_cells_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Piecewise(epsilon=10.24, size=100)
    left, right = np.arange(1, 26), np.arange(26, 101)
    coarse = splits.beta_of_piecewise(mechanism, left, right)
    monkeypatch.setattr(splits, "_CELLS", 1 << 16)
    assert splits.beta_of_piecewise(mechanism, left, right) == pytest.approx(coarse, rel=0.02)


@pytest.mark.parametrize(("share", "border"), [(0.25, 2), (0.5, 2), (0.75, 3)])
def test_equal_values_stay_together(share: float, border: int) -> None:
    left, right = splits._split(np.array([5, 2, 2, 2, 1, 3, 3, 9]), share)
    assert (left.max(), right.min() > border) == (border, True)
    assert len(left) + len(right) == 8


def test_a_line_can_be_compared_across_panels() -> None:
    cells = [
        Cell(panel=panel, line="a", at=1.0, values=values) for panel, values in (("p", [1.0, 2.0]), ("q", [3.0, 4.1]))
    ]
    found = Outcome(cells=cells)
    assert not never_worse(*between(found, "p", "q", ["a"]), "p is above q.").holds
    assert never_worse(*between(found, "q", "p", ["a"]), "q is above p.").holds
    assert never_worse(*between(found, "p", "q", ["a"]), "p is below q.", more_is_better=False).holds
