"""How likely all values stay on their side of a split (Theorem 5.1's β), exactly, by mechanism and ε."""

import math
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import Piecewise
from veilboost.privacy import beta
from veilboost.studies.claims import between, never_worse
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import GLOBAL, GROUPS, GRR, LOCAL, PIECEWISE, adj, at_kept, tables
from veilboost.studies.study import Progress

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

UNIFORM, NORMAL = "uniform", "normal"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the values are made and split; each repeat makes other values, and every mechanism sees all of them."""

    count: int
    size: int
    theta: int
    spread: float
    """The standard deviation of the normal values, in codes."""
    shares: list[float]
    epsilons: list[float]
    alphas: list[float]
    fair_to: list[str] = []
    fair_up_to: float = math.inf
    """The ε up to which TightMap is also put under the exact losses of rivals; tables of larger ones saturate."""
    repeats: int
    seed: int


def run(settings: Settings, progress: Progress) -> Outcome:
    """Compute β for every data set; the only chance is in the data sets."""
    sets = [_values(settings, repeat) for repeat in range(settings.repeats)]
    cells, untied = list[Cell](), list[Cell]()
    for done, epsilon in enumerate(settings.epsilons, 1):
        theta, fair_to = settings.theta, settings.fair_to if epsilon <= settings.fair_up_to else []
        made = tables(epsilon, size=settings.size, theta=theta, alphas=settings.alphas, fair_to=fair_to)
        made |= at_kept(made)
        shares = {line: each.probabilities() for line, each in made.items()}
        window = Piecewise(epsilon=epsilon, size=settings.size)
        for kind in (UNIFORM, NORMAL):
            for share in settings.shares:
                sides = [_split(each[kind], share) for each in sets]
                found = {line: [beta(table, *side) for side in sides] for line, table in shares.items()}
                found[PIECEWISE] = [beta_of_piecewise(window, *side) for side in sides]
                panel = _panel(kind, share)
                cells += [Cell(panel=panel, line=line, at=epsilon, values=each) for line, each in found.items()]
                apart = {line: [beta(_parted(shares[line]), *side) for side in sides] for line in (GROUPS, LOCAL)}
                untied += [Cell(panel=panel, line=line, at=epsilon, values=each) for line, each in apart.items()]
        progress("computing", done / len(settings.epsilons))
    panels = [_panel(kind, share) for kind in (UNIFORM, NORMAL) for share in settings.shares]
    found_all = Outcome(cells=sorted(cells, key=lambda cell: panels.index(cell.panel)))
    words = "With ties broken at random TightMap in groups is better than Local-map."
    said = never_worse(Outcome(cells=untied), {GROUPS: [LOCAL]}, words)
    return Outcome(cells=found_all.cells, claims=[*_claims(settings, found_all), said])


def _panel(kind: str, share: float) -> str:
    return f"{kind} values, split at {share:.0%}"


def _parted(shares: Floats) -> Floats:
    """Return the table with each output parted at random into ten: values that tied mostly lie apart then.

    Whoever sorts noisy values does so; it is post-processing.
    """
    return np.repeat(shares / 10, 10, axis=1)


def _values(settings: Settings, repeat: int) -> Mapping[str, Codes]:
    rng = np.random.default_rng((settings.seed, repeat))
    middle = (settings.size + 1) / 2
    normal = np.rint(rng.normal(middle, settings.spread, settings.count)).astype(np.int64)
    return {
        UNIFORM: rng.integers(1, settings.size + 1, settings.count),
        NORMAL: np.clip(normal, 1, settings.size),
    }


def _split(values: Codes, share: float) -> tuple[Codes, Codes]:
    """Return the values up to the quantile, and those above it: equal values lie on one side."""
    border = np.quantile(values, share, method="inverted_cdf")
    return values[values <= border], values[values > border]


_CELLS = 4096


def beta_of_piecewise(mechanism: Piecewise, left: Codes, right: Codes) -> float:
    """Return β for the Piecewise mechanism, its outputs lumped into equally wide cells.

    A left and a right value in one cell count as crossed, which is at most one output in some thousands wrong.
    """
    ends = mechanism.cells.last + 0.5
    outputs: Floats = ends * (2 * np.arange(1, _CELLS + 1) / _CELLS - 1)
    with np.errstate(divide="ignore"):
        at_most = np.log(_below(mechanism, left, outputs)).sum(axis=0)
        above = np.log(np.clip(1 - _below(mechanism, right, outputs), 0.0, 1.0)).sum(axis=0)
    through = np.exp(at_most)
    return float((np.diff(through, prepend=0.0) * np.exp(above)).sum())


def _below(mechanism: Piecewise, codes: Codes, outputs: Floats) -> Floats:
    """Return the probability that each code comes out at or below each output, from the two weights."""
    cells = mechanism.cells
    centre = cells.stride * (2 * codes - (mechanism.size + 1))[:, None]
    inside = np.clip(outputs - (centre - cells.reach - 0.5), 0, cells.window)
    all_below = outputs + cells.last + 0.5
    weight = cells.far * (all_below - inside) + cells.near * inside
    total = cells.far * cells.outside + cells.near * cells.window
    found: Floats = np.clip(weight / total, 0.0, 1.0)
    return found


def _claims(settings: Settings, found: Outcome) -> Iterator[Claim]:
    own = [GLOBAL, LOCAL, *map(adj, settings.alphas)]
    early, late = settings.shares[0], settings.shares[-1]
    for kind in (UNIFORM, NORMAL):
        words = f"On {kind} values β falls as the split nears the median."
        yield never_worse(*between(found, _panel(kind, early), _panel(kind, late), own), words)
    yield _ten_times(found, _panel(NORMAL, early), _panel(NORMAL, late), own)
    for share in settings.shares:
        words = f"The more central the values, the smaller β: split at {share:.0%}, normal ones have less of it."
        yield never_worse(*between(found, _panel(UNIFORM, share), _panel(NORMAL, share), own), words)
    ldp = {line: [GRR, PIECEWISE] for line in own}
    yield never_worse(found, ldp, "The paper's mechanisms are always better than those of LDP.")


def _ten_times(found: Outcome, here: str, there: str, lines: list[str]) -> Claim:
    ratios = {
        (cell.line, cell.where): cell.mean / other.mean
        for cell in found.of(here)
        if cell.line in lines and (other := found.cell(there, cell.line, cell.where)) is not None
    }
    (line, epsilon), most = max(ratios.items(), key=lambda item: item[1])
    ten = [f"{line} at ε = {where}" for (line, where), ratio in ratios.items() if 5 <= ratio <= 20]
    return Claim(
        says="On normal values β of the outer split can be ten times that of the middle one.",
        holds=most >= 10,
        found=f"up to {most:.2g} times, for {line} at ε = {epsilon}; 5 to 20 times for {', '.join(ten) or 'none'}",
    )
