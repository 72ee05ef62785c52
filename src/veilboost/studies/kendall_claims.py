"""What the paper says of the weighted Kendall coefficient (§6.3), held against every panel, θ and ε."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from veilboost.studies.claims import never_worse
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import GLOBAL, LOCAL, PIECEWISE, adj

BORDER = 2.56
"""The ε at which, in the paper's words, larger α stops being better and smaller α begins."""
_UNLIKELY = 1e-3
"""No mean may be further from what is exactly expected than one among so many is once in a thousand runs."""


def claims(found: Outcome, alphas: Sequence[float], *, lost: str, expected: str, one_row: float) -> Iterator[Claim]:
    """Yield the claims; panels whose names end in ``expected`` are left to the last one, which needs ``one_row``.

    That is the most that a coefficient can lose by one row.
    """
    drawn = Outcome(cells=[cell for cell in found.cells if not cell.panel.endswith(expected)])
    own = [GLOBAL, *map(adj, alphas)]
    yield never_worse(drawn, {LOCAL: [*own, PIECEWISE]}, "Local-map keeps more order than the others.")
    yield from _claims_of_alpha(drawn, sorted(alphas))
    better = {line: [PIECEWISE] for line in (*own, LOCAL)}
    yield never_worse(drawn, better, "All the paper's mechanisms keep more order than Piecewise.")
    yield _as_expected(found, lost, expected, one_row)


def _claims_of_alpha(found: Outcome, alphas: Sequence[float]) -> Iterator[Claim]:
    rising = {adj(high): [adj(low)] for low, high in pairwise(alphas)}
    falling = {adj(low): [adj(high)] for low, high in pairwise(alphas)}
    yield never_worse(
        _where(found, lambda epsilon: epsilon < BORDER), rising, f"Below ε = {BORDER} a larger α keeps more order."
    )
    yield never_worse(
        _where(found, lambda epsilon: epsilon > BORDER), falling, f"Above ε = {BORDER} a smaller α keeps more order."
    )


def _where(found: Outcome, wanted: Callable[[float], bool]) -> Outcome:
    return Outcome(cells=[cell for cell in found.cells if wanted(float(cell.at))])


def _as_expected(found: Outcome, lost: str, expected: str, one_row: float) -> Claim:
    """Return whether what was drawn lies where the integers that are sampled say, by another route."""
    chances = []
    for cell in found.cells:
        if cell.panel.endswith(expected):
            drawn = found.cell(cell.panel.removesuffix(expected) + lost, cell.line, cell.where)
            if drawn is not None:
                chances.append(_chance(drawn, cell.mean, one_row))
    least = min(chances) * len(chances)
    words = f"of {len(chances)} means the least likely has a chance of {min(chances):.2g}, among so many {least:.2g}"
    return Claim(says="The means of the repeats lie where the exact tables say.", holds=least > _UNLIKELY, found=words)


def _chance(drawn: Cell, expected: float, one_row: float) -> float:
    """Return how likely a mean of such repeats is at least so far from what is expected, by Student's t.

    Where all repeats are equal no row moved in any of them. A loss of ``away`` is expected only if at least
    ``away / one_row`` rows of a repeat are expected to move, and rows move independently: so the chance that none does
    is at most ``exp(-away / one_row)`` a repeat.
    """
    from scipy.stats import t

    away = abs(drawn.mean - expected)
    if not drawn.error:
        return math.exp(-len(drawn.values) * away / one_row)
    return float(2 * t.sf(away / drawn.error, len(drawn.values) - 1))
