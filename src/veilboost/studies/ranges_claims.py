"""What is said about range queries on noisy codes, and whether it holds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from veilboost.studies.claims import never_worse
from veilboost.studies.outcome import Claim, Outcome
from veilboost.studies.rivals import GLOBAL, GROUPS, LOCAL, TIGHT, adj

AHEAD, SPREAD = "AHEAD", f"{GROUPS}, spread"


def claims(found: Outcome, epsilons: Sequence[float], alphas: Sequence[float]) -> Iterator[Claim]:
    """Yield the paper's sentences about its figures, and ours."""
    panels, below = found.panels[: len(found.panels) // 2], [adj(each) for each in alphas if each < 1]
    above = [adj(each) for each in alphas if each > 1]
    last = epsilons[-1]
    ratios = [_least(found, panel, below, last) / _least(found, panel, above, last) for panel in panels]
    yield Claim(
        says="When ε is large, α < 1 gets a smaller error than α > 1.",
        holds=max(ratios) < 1,
        found=f"at ε = {last:g} its error is {_list(ratios)} times as large ({', '.join(panels)})",
    )
    turns = [_turn(found, panel, below[0], above[-1], epsilons) for panel in panels]
    if len(turns) > 1:
        yield Claim(
            says=f"α < 1 dominates earlier when {panels[-1]} than when {panels[0]}.",
            holds=turns[-1] < turns[0],
            found=f"{below[0]} is the better one from ε = {_list(turns)} on ({', '.join(panels)})",
        )
    yield from _of_ahead(found, panels, epsilons, [LOCAL, GLOBAL, *map(adj, alphas)])


def _of_ahead(
    found: Outcome, panels: Sequence[str], epsilons: Sequence[float], published: Sequence[str]
) -> Iterator[Claim]:
    for says, names in (
        ("The paper's mechanisms, without any data structure, are less off than AHEAD at every ε.", published),
        ("TightMap is less off than AHEAD at every ε.", [TIGHT]),
    ):
        ratios = {
            (name, epsilon): _mean(found, panel, name, epsilon) / _mean(found, panel, AHEAD, epsilon)
            for panel in panels
            for name in names
            for epsilon in epsilons
        }
        worst = max(ratios, key=ratios.__getitem__)
        yield Claim(
            says=says,
            holds=ratios[worst] < 1,
            found=f"their errors are {min(ratios.values()):.2g} to {ratios[worst]:.2g} times AHEAD's, the most by "
            f"{worst[0]} at ε = {worst[1]:g}",
        )


def of_losses(losses: Mapping[str, float], alphas: Sequence[float]) -> Claim:
    """Return which mechanisms lose more between neighbours than they state; ``losses`` are in multiples of ε."""
    over = [adj(alpha) for alpha in alphas]
    most = max(loss for name, loss in losses.items() if name not in over)
    told = ", ".join(f"{name} up to {losses[name]:.3g} ε" for name in over)
    return Claim(
        says="Of those that state the same ε, Adj-map alone loses more between neighbouring codes.",
        holds=min(losses[name] for name in over) > 1 >= most - 1e-6,
        found=f"{told}, the others at most {most:.3g} ε; Local-map within a partition",
    )


def of_spread(found: Outcome) -> Claim:
    """Return whether groups are as good as Local-map where neither has a bias of its own that the other has not."""
    fair = [cell for cell in found.cells if cell.line != GROUPS or cell.panel.endswith("inverted")]
    says = "TightMap in groups is less off than Local-map when its counts are spread, and when both are inverted."
    return never_worse(Outcome(cells=fair), {SPREAD: [LOCAL], GROUPS: [LOCAL]}, says, more_is_better=False)


def _mean(found: Outcome, panel: str, line: str, epsilon: float) -> float:
    cell = found.cell(panel, line, f"{epsilon:g}")
    return math.nan if cell is None else cell.mean


def _least(found: Outcome, panel: str, lines: Sequence[str], epsilon: float) -> float:
    return min(_mean(found, panel, line, epsilon) for line in lines)


def _turn(found: Outcome, panel: str, ours: str, theirs: str, epsilons: Sequence[float]) -> float:
    """Return from which ε on ``ours`` is less off, between two that were tried by equal factors; infinity if never."""
    logs = [math.log(_mean(found, panel, ours, each) / _mean(found, panel, theirs, each)) for each in epsilons]
    turns = [
        math.exp(math.log(low) + before / (before - after) * math.log(high / low))
        for (low, high), (before, after) in zip(pairwise(epsilons), pairwise(logs), strict=True)
        if before >= 0 > after
    ]
    return math.inf if logs[-1] >= 0 else (turns or epsilons[:1])[-1]


def _list(values: Sequence[float]) -> str:
    return " and ".join(f"{each:.3g}" for each in values)
