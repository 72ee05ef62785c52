"""Comparison 1 as sentences: at the stated ε, at the ε that a rival really keeps, and in groups."""

import numpy as np
import pytest

from veilboost.studies.claims import FIRST, IN_GROUPS, REALLY, of_tight
from veilboost.studies.outcome import Cell, Claim, Outcome, differences
from veilboost.studies.rivals import ADJS, GLOBAL, GROUPS, KEPT, LOCAL, TIGHT, adj, at_kept, tables

RIVAL = adj(0.4)
PAIRS = {TIGHT: [RIVAL, GLOBAL], KEPT.format(TIGHT, RIVAL): [RIVAL], GROUPS: [LOCAL]}


def said(values: dict[str, list[float]], *, more_is_better: bool = True) -> dict[str, Claim]:
    """Return the claims by their words; a line without values of its own has 0.5, 0.6 and 0.7."""
    lines = [*PAIRS, RIVAL, GLOBAL, LOCAL]
    cells = [Cell(panel="p", line=line, at=1.0, values=values.get(line, [0.5, 0.6, 0.7])) for line in lines]
    found = differences(Outcome(cells=cells), PAIRS, more_is_better=more_is_better)
    return {claim.says: claim for claim in of_tight(list(found))}


def test_what_is_nowhere_worse_holds() -> None:
    assert [claim.holds for claim in said({}).values()] == [True, True, True]
    assert list(said({})) == [FIRST, REALLY, IN_GROUPS]


@pytest.mark.parametrize(("ours", "words"), [(TIGHT, FIRST), (KEPT.format(TIGHT, RIVAL), REALLY), (GROUPS, IN_GROUPS)])
def test_each_can_fail(ours: str, words: str) -> None:
    claims = said({ours: [0.4, 0.51, 0.6]})
    assert {says for says, claim in claims.items() if not claim.holds} == {words}
    assert ours in claims[words].found
    assert all(claim.holds for claim in said({ours: [0.4, 0.51, 0.6]}, more_is_better=False).values())


def test_behind_on_average_fails_though_it_is_within_the_noise() -> None:
    claim = said({TIGHT: [0.5, 0.6, 0.69]})[FIRST]
    assert not claim.holds
    assert claim.found == f"0 of 2 pairs worse; on average behind {RIVAL}, {GLOBAL}"


def test_a_study_without_groups_says_nothing_of_them() -> None:
    cells = [Cell(panel="p", line=line, at=1.0, values=[1.0]) for line in (TIGHT, GLOBAL)]
    found = differences(Outcome(cells=cells), {TIGHT: [GLOBAL]}, more_is_better=True)
    assert [claim.says for claim in of_tight(list(found))] == [FIRST]


@pytest.mark.parametrize("size", [10, 100])
def test_the_kept_budget_is_the_largest_loss_of_neighbours_in_the_rivals_table(size: int) -> None:
    made = tables(0.64, size=size, theta=4, alphas=[0.4, 10.0])
    kept = at_kept(made)
    assert set(kept) == {KEPT.format(TIGHT, name) for name in made if name == GLOBAL or name.startswith(ADJS)}
    for name, ours in kept.items():
        rival = made[name.removeprefix(KEPT.format(TIGHT, ""))].probabilities()
        loss = np.abs(np.log(rival[1:] / rival[:-1])).max()
        assert np.allclose(ours.promised_gaps(), loss, rtol=1e-9)
