"""How far answers to range queries are off, when they are counted on noisy codes, or answered by AHEAD."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.data.public import public_table
from veilboost.mechanisms import Mechanism, Piecewise, TableMechanism, ValueMechanism
from veilboost.randomness import ReplayableBits
from veilboost.studies import ahead
from veilboost.studies.fair import under_pairs_of_global, under_pairs_of_local, under_profile_of_global
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.public import codes_of
from veilboost.studies.ranges_claims import AHEAD, SPREAD, claims, of_losses, of_spread
from veilboost.studies.repeats import each
from veilboost.studies.rivals import (
    BY_PAIRS,
    BY_PROFILE,
    GLOBAL,
    GROUPS,
    KEPT,
    LOCAL,
    PIECEWISE,
    TIGHT,
    at_kept,
    tables,
)
from veilboost.studies.study import Progress

INVERTED = "{}, inverted"

Histogram = NDArray[np.int64]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values: a column of a public table, or ``uniform`` ones; how many queries, and how often all is repeated."""

    size: int
    epsilons: list[float]
    thetas: list[int]
    alphas: list[float]
    queries: int
    repeats: int
    seed: int
    table: str = ""
    column: str = ""
    uniform: int = 0


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """Ranges from ``first`` to ``last`` code, and the share of the values that lies in each."""

    histogram: Histogram
    first: Histogram
    last: Histogram
    truth: NDArray[np.float64]

    def error(self, histogram: NDArray[Any]) -> float:
        """Return the mean squared error of the answers that are counted on ``histogram``."""
        return self.missed(_between(histogram, self.first, self.last) / self.histogram.sum())

    def missed(self, answers: NDArray[np.float64]) -> float:
        """Return the mean squared error of ``answers``."""
        return float(((answers - self.truth) ** 2).mean())


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One place of one panel."""

    asked: Questions
    theta: int
    epsilon: float
    seeds: range

    def cell(self, line: str, errors: Iterator[float], *, as_drawn: bool = True) -> Cell:
        """Return one figure of this place."""
        panel = f"θ = {self.theta}"
        shown = panel if as_drawn else INVERTED.format(panel)
        return Cell(panel=shown, line=line, at=self.epsilon, values=list(errors))


def run(settings: Settings, progress: Progress) -> Outcome:
    """Answer the same queries by every mechanism, ``repeats`` times."""
    asked, cells = questions(settings), list[Cell]()
    seeds = range(settings.seed, settings.seed + settings.repeats)
    places = [(theta, epsilon) for theta in settings.thetas for epsilon in settings.epsilons]
    losses = dict[str, float]()
    for done, (theta, epsilon) in enumerate(places):
        part, made = Part(asked=asked, theta=theta, epsilon=epsilon, seeds=seeds), _made(settings, epsilon, theta)
        cells += _answered(part, made, partial(_step, progress, done, len(places)))
        losses |= {
            name: max(losses.get(name, 0.0), neighbours(one) / epsilon)
            for name, one in made.items()
            if not name.startswith(KEPT.format(TIGHT, ""))
        }
    found = Outcome(cells=sorted(cells, key=lambda cell: INVERTED.format("") in cell.panel))
    said = [*claims(found, settings.epsilons, settings.alphas), of_losses(losses, settings.alphas), of_spread(found)]
    return Outcome(cells=found.cells, claims=said)


def _step(progress: Progress, done: int, of: int, share: float) -> None:
    progress("answering", (done + share) / of)


def questions(settings: Settings) -> Questions:
    """Return the histogram of the values, and random queries about it, both ends uniform."""
    chance = np.random.default_rng(settings.seed)
    if settings.table:
        codes = codes_of(public_table(settings.table)[settings.column].to_numpy(), settings.size)
    else:
        codes = chance.integers(1, settings.size + 1, settings.uniform, dtype=np.uint16)
    histogram = np.bincount(codes, minlength=settings.size + 1)[1:]
    ends = np.sort(chance.integers(1, settings.size + 1, (settings.queries, 2)), axis=1)
    truth = _between(histogram, ends[:, 0], ends[:, 1]) / len(codes)
    return Questions(histogram=histogram, first=ends[:, 0], last=ends[:, 1], truth=truth)


def _between(histogram: NDArray[Any], first: Histogram, last: Histogram) -> NDArray[Any]:
    before = np.concatenate(([0], np.cumsum(histogram)))
    counted: NDArray[Any] = before[last] - before[first - 1]
    return counted


def _made(settings: Settings, epsilon: float, theta: int) -> dict[str, TableMechanism]:
    """Return all that states the same ε, and TightMap under the exact losses of Global-map and Local-map."""
    size = settings.size
    made = tables(epsilon, size=size, theta=theta, alphas=settings.alphas)
    return {
        **made,
        **at_kept(made),
        BY_PROFILE.format(TIGHT, GLOBAL): under_profile_of_global(epsilon, size),
        BY_PAIRS.format(TIGHT, GLOBAL): under_pairs_of_global(epsilon, size),
        BY_PAIRS.format(GROUPS, LOCAL): under_pairs_of_local(epsilon, size, theta),
    }


def _answered(part: Part, made: Mapping[str, TableMechanism], steps: Any) -> list[Cell]:
    """Return the errors of counts as they come, and of inverted ones; AHEAD's answers are what they are."""
    drawn = each(lambda name: _counted(part, made[name]), list(made), steps)
    counts = dict(zip(made, drawn, strict=True))
    values = _counted(part, Piecewise(epsilon=part.epsilon, size=len(part.asked.histogram)))
    trees = [ahead.grow(part.asked.histogram, part.epsilon, np.random.default_rng(seed)) for seed in part.seeds]
    missed = [part.asked.missed(tree.between(part.asked.first, part.asked.last)) for tree in trees]
    spread = counts[GROUPS] @ spreading(made[GROUPS], made[LOCAL])
    return [
        *(part.cell(name, map(part.asked.error, counts[name])) for name in made),
        part.cell(SPREAD, map(part.asked.error, spread)),
        part.cell(PIECEWISE, map(part.asked.error, values)),
        part.cell(AHEAD, iter(missed)),
        *(part.cell(name, map(part.asked.error, inverted(counts[name], made[name])), as_drawn=False) for name in made),
        part.cell(AHEAD, iter(missed), as_drawn=False),
    ]


def _counted(part: Part, mechanism: Mechanism) -> Histogram:
    """Return the histogram of what ``mechanism`` draws, one row for each repeat."""
    return np.array([_noisy(part.asked, mechanism, seed) for seed in part.seeds])


def _noisy(asked: Questions, mechanism: Mechanism, seed: int) -> Histogram:
    """Return the histogram of what ``mechanism`` draws; an estimate outside the domain lies in no range."""
    size = len(asked.histogram)
    codes = np.repeat(np.arange(1, size + 1, dtype=np.uint16), asked.histogram)
    drawn = mechanism.draw(codes, bits=ReplayableBits(seed=seed), threads=1)
    if isinstance(mechanism, ValueMechanism):
        near = np.rint((mechanism.values(drawn) * (size - 1) + size + 1) / 2)
        drawn = near[(near >= 1) & (near <= size)].astype(np.int64)
    return np.bincount(drawn, minlength=size + 1)[1:]


def inverted(counted: NDArray[Any], mechanism: TableMechanism) -> NDArray[np.float64]:
    """Return unbiased counts of the true codes, a row for each row of ``counted`` noisy ones.

    >>> from veilboost.mechanisms import GlobalMap
    >>> inverted(np.array([[60, 40]]), GlobalMap(epsilon=2 * np.log(4), size=2)).round(3).tolist()
    [[66.667, 33.333]]
    """
    return np.asarray(np.linalg.solve(mechanism.probabilities().T, counted.T).T, dtype=np.float64)


def spreading(ours: TableMechanism, rival: TableMechanism) -> NDArray[np.float64]:
    """Return by what counts of ``ours`` are multiplied to become, on average, what those of ``rival`` would be.

    >>> from veilboost.mechanisms import GlobalMap
    >>> spreading(GlobalMap(epsilon=4.0, size=2), GlobalMap(epsilon=2.0, size=2)).round(3).tolist()
    [[0.803, 0.197], [0.197, 0.803]]
    """
    return np.asarray(np.linalg.solve(ours.probabilities(), rival.probabilities()), dtype=np.float64)


def neighbours(mechanism: TableMechanism) -> float:
    """Return the largest loss between two neighbouring codes, infinite ones aside.

    >>> from veilboost.mechanisms import TightMap
    >>> round(neighbours(TightMap(gaps=[0.5, np.inf, 0.7])), 6)
    0.7
    """
    odds = mechanism.probabilities()
    both = (odds[1:] > 0) & (odds[:-1] > 0)
    return float(np.abs(np.log(odds[1:][both] / odds[:-1][both])).max())
