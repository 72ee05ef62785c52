"""The study of whole columns: the reference figures, and claims that can fail."""

import numpy as np
import pytest

from veilboost.privacy import expected_weighted_kendall, weighted_kendall
from veilboost.studies.kendall import EXPECTED, LOST, most_of_one_row
from veilboost.studies.kendall_claims import claims
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.rivals import BY_PAIRS, BY_PROFILE, GLOBAL, LOCAL, PIECEWISE, TIGHT, adj, tables
from veilboost.studies.study import expected

ON_RECORD = [
    (GLOBAL, 0.64, (0.558, 0.826, 0.633, 0.599)),
    (adj(0.4), 0.08, (0.053, 0.194, 0.092, 0.083)),
    (adj(0.4), 0.64, (0.411, 0.826, 0.563, 0.531)),
    (adj(0.4), 1.28, (0.701, 0.949, 0.784, 0.768)),
]


@pytest.mark.parametrize(("rival", "epsilon", "on_record"), ON_RECORD)
def test_the_three_comparisons_on_record(rival: str, epsilon: float, on_record: tuple[float, ...]) -> None:
    """Those under a rival's losses were found by another linear programme: ours is never worse, and a little better."""
    made = tables(epsilon, size=10, theta=4, alphas=[0.4], fair_to=[rival])
    lines = (rival, TIGHT, BY_PROFILE.format(TIGHT, rival), BY_PAIRS.format(TIGHT, rival))
    found = [expected_weighted_kendall(made[line].table.weights) for line in lines]
    assert found[:2] == pytest.approx(on_record[:2], abs=6e-4)
    assert all(-6e-4 < mine - recorded < 0.013 for mine, recorded in zip(found[2:], on_record[2:], strict=True))


def test_the_pinned_expectations_are_near_those_of_uniform_codes() -> None:
    """The 10,000 codes of the study are nearly uniform: what is pinned lies near what is on record."""
    pinned = {(e.line, e.at): e.value for e in expected("opboost-fig11") if e.panel == f"θ = 4, {EXPECTED}"}
    for rival, epsilon, on_record in ON_RECORD:
        assert pinned[rival, f"{epsilon:g}"] == pytest.approx(on_record[0], abs=0.005)
        assert pinned[TIGHT, f"{epsilon:g}"] == pytest.approx(on_record[1], abs=0.005)


def outcome(**values: list[float]) -> Outcome:
    """Return two panels at ε = 0.64: drawn, and 0.5 expected for Global-map."""
    names = {"local": LOCAL, "global_": GLOBAL, "piecewise": PIECEWISE, "low": adj(1), "high": adj(2)}
    given = {"local": [0.9, 0.91], "global_": [0.5, 0.51], "piecewise": [0.1, 0.12]}
    given |= {"low": [0.4, 0.41], "high": [0.45, 0.46]} | values
    cells = [Cell(panel=LOST, line=names[key], at=0.64, values=drawn) for key, drawn in given.items()]
    return Outcome(cells=[*cells, Cell(panel=EXPECTED, line=GLOBAL, at=0.64, values=[0.504])])


def refuted(found: Outcome) -> list[str]:
    said = claims(found, [1, 2], lost=LOST, expected=EXPECTED, one_row=1e-3)
    return [each.says for each in said if not each.holds]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"local": [0.3, 0.31]}, "Local-map keeps more"),
        ({"high": [0.2, 0.21]}, "Below ε = 2.56"),
        ({"piecewise": [0.45, 0.46]}, "Piecewise"),
        ({"global_": [0.6, 0.600001]}, "exact tables"),
        ({"global_": [0.6, 0.6]}, "exact tables"),
    ],
)
def test_each_claim_can_fail(values: dict[str, list[float]], words: str) -> None:
    assert refuted(outcome()) == []
    assert any(words in says for says in refuted(outcome(**values)))


@pytest.mark.parametrize(("expected", "holds"), [(1 - 3e-7, True), (0.9999, True), (0.99, False)])
def test_where_nothing_was_lost_little_may_be_expected(expected: float, holds: bool) -> None:
    """Ten repeats that lose nothing are likely up to a loss of a tenth of a row each, not of ten rows each."""
    cells = [Cell(panel=LOST, line=GLOBAL, at=0.64, values=[1.0] * 10)]
    cells.append(Cell(panel=EXPECTED, line=GLOBAL, at=0.64, values=[expected]))
    assert refuted(Outcome(cells=cells)) == (
        [] if holds else ["The means of the repeats lie where the exact tables say."]
    )


def test_no_row_costs_more_than_is_said() -> None:
    raw = np.repeat(np.arange(1, 5), (3, 0, 1, 6))
    most = most_of_one_row(np.bincount(raw, minlength=5)[1:].tolist())
    lost = [1 - weighted_kendall(raw, np.where(np.arange(10) == row, to, raw)) for row in range(10) for to in (0, 5)]
    assert 0.5 * most < max(lost) <= most
