"""Sentences that compare lines, decided by paired differences over the repeats."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from veilboost.studies.outcome import Claim, Difference, Outcome, differences
from veilboost.studies.rivals import GROUPS, KEPT, TIGHT

Pairs = Mapping[str, Sequence[str]]


def never_worse(found: Outcome, pairs: Pairs, says: str, *, more_is_better: bool = True) -> Claim:
    """Return whether no line of ``pairs`` is worse anywhere than one of its rivals, by two standard errors.

    >>> from veilboost.studies.outcome import Cell
    >>> cells = [Cell(panel="p", line="a", at=1.0, values=[2, 3]), Cell(panel="p", line="b", at=1.0, values=[4, 5.5])]
    >>> never_worse(Outcome(cells=cells), {"a": ["b"]}, "a is more than b.").found
    '1 of 1 pairs worse, most at p, 1: a by 2.25 behind b'
    """
    compared = list(differences(found, pairs, more_is_better=more_is_better))
    return _claim(says, compared)


def _claim(says: str, compared: Sequence[Difference], more: str = "") -> Claim:
    worse = [each for each in compared if each.worse]
    found = f"{len(worse)} of {len(compared)} pairs worse{_most(worse)}{more}"
    return Claim(says=says, holds=not (worse or more), found=found)


def _most(worse: Sequence[Difference]) -> str:
    """Return the worst of them, in words."""
    if not worse:
        return ""
    most = min(worse, key=lambda each: each.mean)
    return f", most at {most.panel}, {most.at}: {most.ours} by {-most.mean:.3g} behind {most.rival}"


_NOWHERE = "by two standard errors, and better on average."
FIRST = f"At the same stated ε TightMap is nowhere worse than a rival, {_NOWHERE}"
REALLY = f"At the ε-dLDP that a rival really keeps TightMap is nowhere worse than it, {_NOWHERE}"
IN_GROUPS = f"TightMap in groups is nowhere worse than Local-map, {_NOWHERE}"


def of_tight(compared: Sequence[Difference]) -> Iterator[Claim]:
    """Yield comparison 1: at the stated ε, at the ε that rivals really keep, and in groups."""
    for says, ours in ((FIRST, TIGHT), (REALLY, KEPT.format(TIGHT, "")), (IN_GROUPS, GROUPS)):
        of = [each for each in compared if each.ours == ours or (ours.endswith(" ") and each.ours.startswith(ours))]
        if of:
            yield _claim(says, of, _behind(of))


def _behind(compared: Sequence[Difference]) -> str:
    """Return in words which rivals are ahead on average."""
    means = {each.rival: math.fsum(other.mean for other in compared if other.rival == each.rival) for each in compared}
    behind = [rival for rival, mean in means.items() if mean < -1e-15]
    return f"; on average behind {', '.join(behind)}" if behind else ""


def between(found: Outcome, here: str, there: str, lines: Sequence[str]) -> tuple[Outcome, Pairs]:
    """Return the ``lines`` of two panels as lines of one, and each of them against itself.

    >>> from veilboost.studies.outcome import Cell
    >>> two = Outcome(cells=[Cell(panel=panel, line="a", at=1.0, values=[2]) for panel in ("p", "q")])
    >>> between(two, "p", "q", ["a"])[1]
    {'a on p': ['a on q']}
    """
    cells = [
        msgspec.structs.replace(cell, panel=f"{here} and {there}", line=f"{cell.line} on {cell.panel}")
        for panel in (here, there)
        for cell in found.of(panel)
        if cell.line in lines
    ]
    return Outcome(cells=cells), {f"{line} on {here}": [f"{line} on {there}"] for line in lines}
