"""Plain redrawing has the distribution of the tables, and would be told from one that is 30 % off."""

import numpy as np
import pytest

from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, TableMechanism, TightMap
from veilboost.studies.redrawing import redrawn

_DRAWS, _MOST = 40_000, 1.2e-2  # five standard errors of a share of one half


@pytest.mark.parametrize(
    ("mechanism", "other"),
    [
        (GlobalMap(epsilon=0.6, size=10), GlobalMap(epsilon=0.6 * 1.3, size=10)),
        (LocalMap(epsilon=0.6, size=10, theta=4), LocalMap(epsilon=0.6 * 1.3, size=10, theta=4)),
        (AdjMap(epsilon=0.6, size=10, theta=4, alpha=0.4), AdjMap(epsilon=0.6 * 1.3, size=10, theta=4, alpha=0.4)),
        (AdjMap(epsilon=0.6, size=10, theta=4, alpha=5.0), AdjMap(epsilon=0.6 * 1.3, size=10, theta=4, alpha=5.0)),
    ],
)
def test_shares_are_those_of_the_table(mechanism: TableMechanism, other: TableMechanism) -> None:
    codes = np.repeat(np.arange(1, 11), _DRAWS)
    drawn = redrawn(mechanism, codes, seed=3).reshape(10, _DRAWS)
    shares = np.array([np.bincount(row, minlength=11)[1:] / _DRAWS for row in drawn])
    assert np.abs(shares - mechanism.probabilities()).max() < _MOST
    assert np.abs(shares - other.probabilities()).max() > _MOST


def test_only_what_the_paper_redraws_is_redrawn() -> None:
    with pytest.raises(TypeError, match="TightMap is not drawn"):
        redrawn(TightMap(epsilon=0.6, size=10), np.array([1]), seed=1)
