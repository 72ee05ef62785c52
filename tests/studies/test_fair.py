"""TightMap under a rival's exact losses in closed form: what the linear programmes find, where they reach."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError
from veilboost.mechanisms import BoundedLaplace, GlobalMap, LocalMap
from veilboost.privacy import best_under_pairs, best_under_profile
from veilboost.studies.fair import (
    falling_from_the_middle,
    under_pairs_of_global,
    under_pairs_of_local,
    under_profile_of_global,
)


def _goal(gaps: NDArray[Any]) -> float:
    """What the programmes maximise: the sum of the losses of all pairs."""
    places = np.arange(1, len(gaps) + 1)
    return float((places * (len(gaps) + 1 - places)) @ gaps)


@pytest.mark.parametrize(("size", "epsilon"), [(10, 0.64), (33, 0.3), (48, 1.5)])
def test_the_profile_of_global_map_is_used_up_as_the_programme_does(size: int, epsilon: float) -> None:
    profile = [BoundedLaplace(epsilon=epsilon, size=size).epsilon_at(t) for t in range(1, size)]
    ours = np.array(under_profile_of_global(epsilon, size).gaps)
    best = np.array(best_under_profile(profile))
    assert _goal(ours) == pytest.approx(_goal(best), rel=1e-6)
    before = np.concatenate(([0.0], np.cumsum(ours)))
    for t, most in enumerate(profile, 1):
        assert (before[t:] - before[:-t]).max() <= most


@pytest.mark.parametrize(("size", "epsilon"), [(10, 0.64), (33, 0.3)])
def test_under_the_pairs_of_global_map_every_gap_gets_half(size: int, epsilon: float) -> None:
    pairs = GlobalMap(epsilon=epsilon, size=size).profile().pairs()
    ours, best = under_pairs_of_global(epsilon, size), np.array(best_under_pairs(pairs))
    assert _goal(np.array(ours.promised_gaps())) == pytest.approx(_goal(best), rel=1e-6)
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    assert (distance * epsilon / 2 <= pairs + 1e-9).all()


def test_under_the_pairs_of_local_map_every_gap_in_a_group_gets_half() -> None:
    best = np.array(best_under_pairs(LocalMap(epsilon=0.8, size=10, theta=4).profile().pairs()))
    ours = np.array(under_pairs_of_local(0.8, 10, 4).gaps)
    assert (np.isinf(ours) == np.isinf(best)).all()
    finite = np.isfinite(ours)
    for group in (slice(0, 3), slice(4, 7), slice(8, 9)):
        assert _goal(ours[group]) == pytest.approx(_goal(best[group]), rel=1e-6)
    assert ours[finite] == pytest.approx(0.4)


def test_losses_that_are_not_concave_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="not concave"):
        falling_from_the_middle([1.0, 1.5, 3.0])
