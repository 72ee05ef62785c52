"""How likely two values keep their order, by the distance between them: exact, and the bounds of the paper."""

import msgspec

from veilboost.mechanisms import RandomizedResponse, TableMechanism
from veilboost.privacy import order_preserving
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import GLOBAL, GRR, LOCAL, TIGHT, adj, tables
from veilboost.studies.study import Progress


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The domain, the budget, and which distances are shown; with ``bounds`` the published bounds too."""

    epsilon: float
    size: int
    theta: int
    alphas: list[float]
    distances: list[int]
    bounds: bool = False
    fair_to: list[str] = []


EXACT, BOUND = "exact", "published bound"


def run(settings: Settings, progress: Progress) -> Outcome:
    """Compute every figure; nothing is drawn."""
    made = _mechanisms(settings)
    cells: list[Cell] = []
    for done, (name, mechanism) in enumerate(made.items(), 1):
        exact = order_preserving(mechanism.probabilities())
        bound = mechanism.order_preserving_bound() if settings.bounds else None
        for panel, figures in ((EXACT, exact), (BOUND, bound)):
            if figures is not None:
                cells += [
                    Cell(panel=panel, line=name, at=float(t), values=[float(figures[t - 1])])
                    for t in settings.distances
                ]
        progress("computing", done / len(made))
    return Outcome(cells=cells, claims=_claims(settings, Outcome(cells=cells)))


def _mechanisms(settings: Settings) -> dict[str, TableMechanism]:
    size, theta, epsilon = settings.size, settings.theta, settings.epsilon
    made = tables(epsilon, size=size, theta=theta, alphas=settings.alphas, fair_to=settings.fair_to)
    return made | {f"{GRR}, θε": RandomizedResponse(epsilon=theta * epsilon, size=size)}


def _claims(settings: Settings, found: Outcome) -> list[Claim]:
    far = [t for t in settings.distances if t >= settings.theta]
    local = [_at(found, EXACT, LOCAL, t) for t in far]
    gaps = [abs(_at(found, EXACT, adj(1.0), t) - _at(found, EXACT, GLOBAL, t)) for t in settings.distances]
    flat = [abs(_at(found, EXACT, GRR, t) - 0.5) for t in settings.distances]
    better = [_at(found, EXACT, TIGHT, t) - _at(found, EXACT, GLOBAL, t) for t in settings.distances]
    claims = [
        Claim(
            says="Local-map keeps the order of values in different partitions with certainty.",
            holds=min(local) > 1 - 1e-9,
            found=f"at the distances shown, from θ on, at least {min(local):.6f}",
        ),
        Claim(
            says="Global-map and Adj-map with α = 1 almost coincide.",
            holds=max(gaps) < 0.05,
            found=f"they differ by at most {max(gaps):.4f}",
        ),
        Claim(says="GRR stays near one half.", holds=max(flat) < 0.02, found=f"within {max(flat):.4f} of it"),
        Claim(
            says="At the same stated ε TightMap keeps order at least as often as Global-map, at every distance.",
            holds=min(better) >= 0,
            found=f"by {min(better):.4f} to {max(better):.4f} more often",
        ),
    ]
    return claims + _claims_of_bounds(found)


def _claims_of_bounds(found: Outcome) -> list[Claim]:
    """Return whether each published lower bound lies under its exact figure."""
    over = [
        cell.mean - other.mean
        for cell in found.of(BOUND)
        if (other := found.cell(EXACT, cell.line, cell.where)) is not None
    ]
    if not over:
        return []
    says = "The published bounds lie under the exact probabilities."
    return [Claim(says=says, holds=max(over) <= 1e-9, found=f"at most {max(over):.2g} above, {len(over)} figures")]


def _at(found: Outcome, panel: str, line: str, t: int) -> float:
    cell = found.cell(panel, line, f"{t:g}")
    return float("nan") if cell is None else cell.mean
