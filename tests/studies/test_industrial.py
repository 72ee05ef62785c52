"""The industrial shape: a table as large as declared, a plain model that learns it, and noise that costs."""

import numpy as np
import pytest

from veilboost.studies import industrial
from veilboost.studies.industrial import LEAD, PARTNER, RATIO

SETTINGS = industrial.Settings(
    rows=600,
    numbers=6,
    nominal=9,
    size=10,
    theta=2,
    epsilons=[0.1, 8.0],
    alphas=[0.5, 2.0],
    lines=[
        "Local-map",
        "Adj-map, α = 0.5",
        "Global-map",
        "Adj-map, α = 2",
        "Piecewise",
        "TightMap",
        "TightMap in groups",
    ],
    trees=15,
    repeats=1,
    seed=1,
)


def test_the_table_has_its_shape_and_hangs_together() -> None:
    table = industrial.made(SETTINGS)
    assert table.columns.num_rows == len(table.target) == 600
    assert len(table.columns.column_names) == 15
    assert set(table.categories.values()) == {2, 3, 4}
    assert table.training == 480
    assert industrial.made(SETTINGS).columns.equals(table.columns)
    assert all(table.domain(name, 10).size == count for name, count in table.categories.items())


@pytest.mark.slow
def test_every_mechanism_is_tried_and_little_noise_costs_less() -> None:
    found = industrial.run(SETTINGS, lambda _step, _share: None)
    assert len(found.cells) == (4 * 7 + 1) * 2
    ratios = {(cell.line, cell.at): cell.mean for cell in found.of(RATIO)}
    assert ratios["TightMap", 8.0] < ratios["TightMap", 0.1]
    assert np.mean([ratios[line, 0.1] for line in SETTINGS.lines]) > 1
    bits = sum(industrial.made(SETTINGS).categories.values())
    for cell in found.of(PARTNER):
        assert cell.mean > 480 * (6 + bits / 8)
    assert all(cell.mean > 0 for cell in found.of(LEAD))
