"""How likely two values keep their order, by the distance between them: exact, and the bounds of the paper."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import AdjMap, RandomizedResponse, TableMechanism
from veilboost.mechanisms.adj_map import budgets
from veilboost.privacy import adj_bound, global_bound, grr_bound, order_preserving, order_preserving_pairs
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import GLOBAL, GRR, LOCAL, TIGHT, adj, at_kept, tables
from veilboost.studies.study import Progress

Floats = NDArray[np.float64]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The domain, the budget, and which distances are shown; with ``bounds`` the published bounds too."""

    epsilon: float
    size: int
    theta: int
    alphas: list[float]
    distances: list[int]
    bounds: bool = False
    fair_to: list[str] = []


EXACT, RANDOM = "exact, a tie counts as lost", "exact, ties broken at random"
BOUND, PRINTED = "bound of the theorems", "bound as Table 5 prints it"
WIDE = f"{GRR}, θε"
_MANY = 1000  # partitions: q^(k-T) is then below 10^-100


def run(settings: Settings, progress: Progress) -> Outcome:
    """Compute every figure; nothing is drawn."""
    made = _mechanisms(settings)
    cells: list[Cell] = []
    for done, (name, mechanism) in enumerate(made.items(), 1):
        for panel, figures in _figures(settings, name, mechanism).items():
            cells += [
                Cell(panel=panel, line=name, at=float(t), values=[float(figures[t - 1])]) for t in settings.distances
            ]
        progress("computing", done / len(made))
    panels = (EXACT, RANDOM, BOUND, PRINTED)
    found = Outcome(cells=sorted(cells, key=lambda cell: panels.index(cell.panel)))
    return Outcome(cells=found.cells, claims=[*_claims(settings, found), *_claims_of_bounds(settings, found)])


def _mechanisms(settings: Settings) -> dict[str, TableMechanism]:
    size, theta, epsilon = settings.size, settings.theta, settings.epsilon
    made = tables(epsilon, size=size, theta=theta, alphas=settings.alphas, fair_to=settings.fair_to)
    return made | at_kept(made) | {WIDE: RandomizedResponse(epsilon=theta * epsilon, size=size)}


def _figures(settings: Settings, name: str, mechanism: TableMechanism) -> Mapping[str, Floats]:
    """Return the probability at each distance, panel by panel."""
    shares = mechanism.probabilities()
    found = {EXACT: order_preserving(shares), RANDOM: _ties_at_random(shares)}
    bound = mechanism.order_preserving_bound() if settings.bounds else None
    if bound is not None:
        found[BOUND] = bound
    if bound is not None and name != GLOBAL:
        found[PRINTED] = _as_printed(mechanism, settings)
    return found


def _ties_at_random(shares: Floats) -> Floats:
    pairs = order_preserving_pairs(shares) + shares @ shares.T / 2
    return np.array([np.diagonal(pairs, distance).min() for distance in range(1, len(pairs))])


def _as_printed(mechanism: TableMechanism, settings: Settings) -> Floats:
    """Return Table 5 as it was computed, which is not always what its head says.

    Adj-map is Theorem 4.6 for ever more partitions, with a budget that takes |D| for R - L. GRR is Theorem 4.3 one code
    nearer. Local-map is, inside a partition, Theorem 4.2 for the whole domain, one code nearer.
    """
    epsilon, size, theta = settings.epsilon, settings.size, settings.theta
    if isinstance(mechanism, AdjMap):
        partition = budgets(epsilon, mechanism.alpha, theta, size - 1)[1]
        return adj_bound(partition, theta=theta, size=_MANY * theta)[: size - 1]
    if isinstance(mechanism, RandomizedResponse):
        return _nearer(grr_bound(mechanism.epsilon, size=size))
    inside = _nearer(global_bound(epsilon, size=size))
    return np.where(np.arange(1, size) < theta, inside, 1.0)


def _nearer(bound: Floats) -> Floats:
    """Return at each distance what holds one code nearer; nothing is nearer than one code."""
    return np.concatenate((bound[:1], bound[:-1]))


def _claims(settings: Settings, found: Outcome) -> Iterator[Claim]:
    """Yield what the paper says of Figure 10, and what we say of TightMap."""
    near, far = _split(settings.distances, settings.theta)
    own = [LOCAL, GLOBAL, *map(adj, settings.alphas)]
    local, best = _line(found, LOCAL), [max(_line(found, line)[t] for line in own) for t in settings.distances]
    behind = [t for t, most in zip(settings.distances, best, strict=True) if local[t] < most - 1e-12]
    least = min(_line(found, line)[t] for line in own for t in settings.distances)
    gaps = [abs(_line(found, adj(1.0))[t] - _line(found, GLOBAL)[t]) for t in settings.distances]
    flat = [abs(chance - 0.5) for line in (GRR, WIDE) for chance in _line(found, line).values()]
    random = _ahead(found, RANDOM, [*own[1:], GRR, WIDE])
    beyond = min(local[t] for t in far)
    yield _claim(
        "Local-map keeps the order of values in different partitions with certainty.",
        beyond > 1 - 1e-12,
        f"from θ on at least {beyond:.6f}" + (f", below θ from {local[near[0]]:.4f} on" if near else ""),
    )
    yield _claim("Of the paper's mechanisms Local-map keeps order best.", not behind, f"not at {_listed(behind)} codes")
    yield _claim("The paper's mechanisms keep order with at least one half.", least >= 0.5, f"at least {least:.4f}")
    yield _claim("Global-map and Adj-map with α = 1 almost coincide.", max(gaps) < 0.05, f"within {max(gaps):.4f}")
    yield _claim("GRR stays near one half.", max(flat) < 0.02, f"within {max(flat):.4f} of it")
    yield _smaller_is_higher(settings, found, EXACT, "Exactly: the smaller α is, the higher γ is.")
    words = "At the same stated ε, with ties broken at random, TightMap keeps order most often, Local-map aside."
    yield _claim(words, min(random.values()) >= 0, _least(random))


def _split(distances: Sequence[int], theta: int) -> tuple[list[int], list[int]]:
    return [t for t in distances if t < theta], [t for t in distances if t >= theta]


def _ahead(found: Outcome, panel: str, rivals: Sequence[str]) -> dict[float, float]:
    """Return how far TightMap is ahead of the best of ``rivals``, by distance."""
    ours, theirs = _line(found, TIGHT, panel), [_line(found, line, panel) for line in rivals]
    return {t: chance - max(line[t] for line in theirs) for t, chance in ours.items()}


def _least(ahead: Mapping[float, float]) -> str:
    behind = [t for t, by in ahead.items() if by < 0]
    return f"by {min(ahead.values()):.4f} to {max(ahead.values()):.4f} more often; behind at {_listed(behind)} codes"


def _claims_of_bounds(settings: Settings, found: Outcome) -> Iterator[Claim]:
    """Yield whether each bound lies under its exact figure, and what the paper says of α."""
    for panel in (BOUND, PRINTED):
        cells = found.of(panel)
        if cells:
            over = [cell.mean - _line(found, cell.line)[float(cell.at)] for cell in cells]
            says = f"The exact probabilities lie above every {panel}."
            above = sum(each > 1e-9 for each in over)
            yield _claim(says, not above, f"{above} of {len(over)} bounds lie above, by at most {max(0.0, *over):.4f}")
            yield _smaller_is_higher(settings, found, panel, f"By the {panel}: the smaller α is, the higher γ is.")


def _smaller_is_higher(settings: Settings, found: Outcome, panel: str, says: str) -> Claim:
    by_alpha = [_line(found, adj(alpha), panel) for alpha in sorted(settings.alphas)]
    where = [t for t in settings.distances if all(one[t] >= other[t] for one, other in pairwise(by_alpha))]
    return _claim(says, len(where) == len(settings.distances), f"true at {_listed(where)} codes of {len(by_alpha[0])}")


def _claim(says: str, holds: bool, found: str) -> Claim:
    return Claim(says=says, holds=bool(holds), found=found)


def _listed(distances: Sequence[float]) -> str:
    return ", ".join(f"{t:g}" for t in distances) or "no"


def _line(found: Outcome, line: str, panel: str = EXACT) -> dict[float, float]:
    return {float(cell.at): cell.mean for cell in found.of(panel) if cell.line == line}
