"""The advice of OpBoost's §7.2, and ours, held against the exact expectations."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from veilboost.studies.choosing_groups import BETWEEN, EVEN, GROUPED, INSIDE, PLAIN
from veilboost.studies.outcome import Claim, Outcome
from veilboost.studies.rivals import GLOBAL, TIGHT

if TYPE_CHECKING:
    from veilboost.studies.choosing import Settings

Curve = dict[float, float]
_LEVEL = 0.01
"""A gain below this is no obvious improvement."""


def claims(found: Outcome, settings: "Settings") -> Iterator[Claim]:
    """Yield what the paper advises, domain by domain, then what we say of sizes and groups."""
    for domain in settings.domains:
        yield from _of_alpha(found, settings, str(domain))
    yield _one_rule(found, settings)
    yield _sizes(found, settings)
    yield _groups(found)
    yield _fair(found)


def _line(found: Outcome, panel: str, line: str) -> Curve:
    return {float(cell.at): cell.mean for cell in found.of(panel) if cell.line == line}


def _best(found: Outcome, settings: "Settings", domain: str) -> Curve:
    """Return the best α for each ε."""
    curves = {epsilon: _line(found, f"gain over α = 1, {domain}", f"ε = {epsilon:g}") for epsilon in settings.epsilons}
    return {epsilon: max(curve, key=lambda alpha: curve[alpha]) for epsilon, curve in curves.items()}


def _of_alpha(found: Outcome, settings: "Settings", domain: str) -> Iterator[Claim]:
    best = _best(found, settings, domain)
    small = [epsilon for epsilon, alpha in best.items() if alpha < 1]
    yield Claim(
        says=f"With {domain}, α < 1 is best only where ε > 2.56.",
        holds=all(epsilon > 2.56 for epsilon in small),
        found="best α by ε: " + ", ".join(f"{alpha:g} at {epsilon:g}" for epsilon, alpha in best.items()),
    )
    gains = []
    for epsilon in settings.epsilons:
        curve = _line(found, f"gain over α = 1, {domain}", f"ε = {epsilon:g}")
        gains.append(curve[10.0] - curve[5.0])
    yield Claim(
        says=f"With {domain}, an α of 10 is no obvious improvement over 5.",
        holds=max(gains) < _LEVEL,
        found=f"it adds {min(gains):.4f} to {max(gains):.4f}",
    )
    adj, rival = (_line(found, f"best α, {domain}", line) for line in ("Adj-map, best α", GLOBAL))
    ahead = {epsilon: adj[epsilon] - rival[epsilon] for epsilon in adj}
    behind = [f"{epsilon:g}" for epsilon, by in ahead.items() if by < 0]
    yield Claim(
        says=f"With {domain}, Adj-map with a well chosen α keeps more order than Global-map.",
        holds=not behind,
        found=f"by {min(ahead.values()):.4f} to {max(ahead.values()):.4f}; less at ε = {', '.join(behind) or 'none'}",
    )
    tight = _line(found, f"best α, {domain}", TIGHT)
    least = min(tight[epsilon] - max(adj[epsilon], rival[epsilon]) for epsilon in adj)
    yield Claim(
        says=f"With {domain}, TightMap keeps more order than both at the same stated ε.",
        holds=least >= 0,
        found=f"at least {least:.4f} more",
    )


def _one_rule(found: Outcome, settings: "Settings") -> Claim:
    """Return whether the ε at which α > 1 stops helping goes down as the number of codes goes up."""
    ends = {}
    for domain in settings.domains:
        large = [epsilon for epsilon, alpha in _best(found, settings, str(domain)).items() if alpha > 1]
        ends[str(domain)] = (max(large, default=0.0), domain.size)
    products = [epsilon * size for epsilon, size in ends.values()]
    return Claim(
        says="α > 1 stops helping at a certain ε times the number of codes, between 10 and 40.",
        holds=all(10 <= product <= 40 for product in products),
        found="; ".join(f"{domain}: helps up to ε = {epsilon:g}" for domain, (epsilon, _) in ends.items()),
    )


def _sizes(found: Outcome, settings: "Settings") -> Claim:
    changes = []
    for loss in settings.losses:
        curve = _line(found, "size of the domain", f"the ends lose {loss:g}")
        fine = [kept for size, kept in curve.items() if size >= 10]
        changes.append(max(fine) - min(fine))
    return Claim(
        says="At an equal loss over the whole range the number of codes hardly matters from 10 up.",
        holds=max(changes) < 0.05,
        found=f"from 10 codes up the coefficient moves by {min(changes):.3f} to {max(changes):.3f}",
    )


def _groups(found: Outcome) -> Claim:
    grouped, even, plain = ({p: _line(found, p, line) for p in (INSIDE, BETWEEN)} for line in (GROUPED, EVEN, PLAIN))
    gain = [grouped[BETWEEN][at] - even[BETWEEN][at] for at in grouped[BETWEEN]]
    kept = [abs(grouped[INSIDE][at] - plain[INSIDE][at]) for at in grouped[INSIDE]]
    return Claim(
        says="A budget at the borders keeps more order between groups than the same loss spread evenly, "
        "and tells nothing more about values of one group.",
        holds=min(gain) > 0 and max(kept) < _LEVEL,
        found=f"between groups {min(gain):.3f} to {max(gain):.3f} more, inside them within {max(kept):.4f} of the "
        "inside budget alone",
    )


def _fair(found: Outcome) -> Claim:
    panel = "Adj-map and groups with its exact losses"
    adj = _line(found, panel, "Adj-map")
    fair = [_line(found, panel, cell.line) for cell in found.of(panel) if " under the " in cell.line]
    least = min(line[alpha] - adj[alpha] for line in fair for alpha in adj)
    return Claim(
        says="TightMap under Adj-map's exact losses keeps more order than Adj-map, at every α.",
        holds=least > 0,
        found=f"at least {least:.4f} more",
    )
