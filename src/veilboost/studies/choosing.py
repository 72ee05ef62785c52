"""Which mechanism, α, size and groups keep most order: exact expectations behind docs/choosing.md (§7.2)."""

from collections.abc import Iterator

import msgspec

from veilboost.mechanisms import AdjMap, GlobalMap, TightMap
from veilboost.privacy import best_under_pairs, best_under_profile, expected_weighted_kendall
from veilboost.studies.choosing_claims import claims
from veilboost.studies.choosing_groups import BETWEEN, INSIDE, by_border, with_exact_losses
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.rivals import BY_PAIRS, BY_PROFILE, GLOBAL, TIGHT
from veilboost.studies.study import Progress


class Partitions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A domain in partitions of equal length."""

    size: int
    theta: int

    def __str__(self) -> str:
        return f"{self.size} codes, θ = {self.theta}"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is varied in each of the three questions."""

    domains: list[Partitions]
    alphas: list[float]
    epsilons: list[float]
    losses: list[float]
    """What both ends of the range may lose, whatever its number of codes."""
    sizes: list[int]
    groups: list[int]
    inside: float
    """The budget between neighbours of one group."""
    borders: list[float]
    fair: Partitions
    """The domain on which groups with Adj-map's exact losses are compared, at the ``fair_epsilon``."""
    fair_epsilon: float


GAIN, BEST = "gain over α = 1", "best α"
SIZES, FAIR = "size of the domain", "Adj-map and groups with its exact losses"
ADJ = "Adj-map"


def run(settings: Settings, progress: Progress) -> Outcome:
    """Compute every figure; nothing is drawn."""
    parts = (_alphas(settings), _sizes(settings), _groups(settings), _fair(settings))
    cells: list[Cell] = []
    for done, part in enumerate(parts, 1):
        cells += part
        progress("computing", done / len(parts))
    found = Outcome(cells=cells)
    return Outcome(cells=cells, claims=list(claims(found, settings)))


def _cell(panel: str, line: str, at: float, value: float) -> Cell:
    return Cell(panel=panel, line=line, at=float(at), values=[float(value)])


def _adj(domain: Partitions, epsilon: float, alpha: float) -> float:
    made = AdjMap(epsilon=epsilon, size=domain.size, theta=domain.theta, alpha=alpha)
    return expected_weighted_kendall(made.table.weights)


def _alphas(settings: Settings) -> Iterator[Cell]:
    """Yield for each ε what another α than 1 gains, and the best α beside Global-map and TightMap."""
    for domain in settings.domains:
        best: list[Cell] = []
        for epsilon in settings.epsilons:
            kept = {alpha: _adj(domain, epsilon, alpha) for alpha in settings.alphas}
            for alpha, value in kept.items():
                yield _cell(f"{GAIN}, {domain}", f"ε = {epsilon:g}", alpha, value - kept[1.0])
            rivals = {
                f"{ADJ}, {BEST}": max(kept.values()),
                f"{ADJ}, α = 1": kept[1.0],
                GLOBAL: expected_weighted_kendall(GlobalMap(epsilon=epsilon, size=domain.size).table.weights),
                TIGHT: expected_weighted_kendall(TightMap(epsilon=epsilon, size=domain.size).table.weights),
            }
            best += [_cell(f"{BEST}, {domain}", line, epsilon, value) for line, value in rivals.items()]
        yield from best


def _sizes(settings: Settings) -> Iterator[Cell]:
    """Yield how much order of evenly spread raw values is kept at an equal loss over the whole range.

    Values that share a code tie: of the weighted pairs of raw values a share of 1/size² does.
    """
    for loss in settings.losses:
        for size in settings.sizes:
            made = TightMap(epsilon=loss / (size - 1), size=size)
            kept = expected_weighted_kendall(made.table.weights) * (1 - size**-2)
            yield _cell(SIZES, f"the ends lose {loss:g}", size, kept)


def _groups(settings: Settings) -> Iterator[Cell]:
    """Yield how much order is kept inside groups and between them, by the budget of a border."""
    for border in settings.borders:
        for line, kept in by_border(settings.groups, inside=settings.inside, border=border).items():
            for panel, value in zip((INSIDE, BETWEEN), kept, strict=True):
                yield _cell(panel, line, border, value)


def _fair(settings: Settings) -> Iterator[Cell]:
    """Yield Adj-map beside TightMap with gaps as large as its worst ones, and under its exact losses."""
    domain = settings.fair
    for alpha in settings.alphas:
        rival = AdjMap(epsilon=settings.fair_epsilon, size=domain.size, theta=domain.theta, alpha=alpha)
        exact = rival.profile()
        made = {
            ADJ: rival,
            f"{TIGHT} with the worst gaps of {ADJ}": with_exact_losses(rival),
            BY_PROFILE.format(TIGHT, ADJ): TightMap(gaps=best_under_profile(exact.epsilon_by_distance)),
            BY_PAIRS.format(TIGHT, ADJ): TightMap(gaps=best_under_pairs(exact.pairs())),
        }
        for line, mechanism in made.items():
            yield _cell(FAIR, line, alpha, expected_weighted_kendall(mechanism.table.weights))
