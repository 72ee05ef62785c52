"""Tell two inputs apart: choose a set of outputs on half of the samples, bound its odds on the other half."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veilboost.audits.sample import Counts, Sample

CELLS = 512

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Evidence:
    """How well one set of outputs tells ``likelier`` from ``rarer``."""

    likelier: int
    rarer: int
    epsilon_lower: float
    event_size: int
    """Number of cells in the set: of single outputs, or of ranges of them where there are very many."""


class _Event(NamedTuple):
    likelier: int
    rarer: int
    edges: Whole
    chosen: NDArray[np.bool_]
    promise: float


def tell_apart(x: int, y: int, samples: dict[int, Sample], level: float) -> Evidence:
    """Return a lower bound on the loss between the inputs ``x`` and ``y``.

    **Guarantee**: with probability at least 1 - ``level`` some set S of outputs has
    P(S|likelier) >= exp(``epsilon_lower``) P(S|rarer), if the draws for each input are independent. S and the
    direction are fixed by the first half of the samples alone. On the other half, at ``level`` / 2 each,
    Clopper-Pearson bounds P(S|likelier) from below and P(S|rarer) from above, exactly for any number of samples; the
    union of both failures costs ``level``. A ratio below one is reported as a bound of 0.
    """
    events = [_most_telling(x, y, samples, level), _most_telling(y, x, samples, level)]
    event = max(events, key=lambda event: event.promise)
    likelier, rarer = samples[event.likelier].measure, samples[event.rarer].measure
    hits, misses = (_in_cells(counts, event.edges)[event.chosen].sum(keepdims=True) for counts in (likelier, rarer))
    bound = _log_ratio(hits, likelier.total, misses, rarer.total, level)
    return Evidence(event.likelier, event.rarer, max(0.0, float(bound[0])), int(event.chosen.sum()))


def lower_bounds(hits: Whole, trials: int, level: float) -> Floats:
    """Return Clopper-Pearson bounds: with probability 1 - ``level`` a true share is not below its own.

    >>> lower_bounds(np.array([0, 10]), 10, 0.5**10).round(12).tolist()
    [0.0, 0.5]
    """
    from scipy.stats import beta

    bounds: Floats = np.where(hits > 0, beta.ppf(level, np.maximum(hits, 1), trials - hits + 1), 0.0)
    return bounds


def upper_bounds(hits: Whole, trials: int, level: float) -> Floats:
    """Return Clopper-Pearson bounds: with probability 1 - ``level`` a true share is not above its own.

    >>> upper_bounds(np.array([0, 10]), 10, 0.5**10).round(12).tolist()
    [0.5, 1.0]
    """
    from scipy.stats import beta

    bounds: Floats = np.where(hits < trials, beta.isf(level, hits + 1, np.maximum(trials - hits, 1)), 1.0)
    return bounds


def _edges(first: Counts, second: Counts) -> Whole:
    """Return where the cells begin: at every output seen or, if they are too many, at about even shares of them."""
    outputs = np.union1d(first.outputs, second.outputs)
    if len(outputs) <= CELLS:
        return outputs
    times = _in_cells(first, outputs) + _in_cells(second, outputs)
    before = times.cumsum() - times
    _, starts = np.unique(before * CELLS // times.sum(), return_index=True)
    return outputs[starts]


def _in_cells(counts: Counts, edges: Whole) -> Whole:
    cells = np.maximum(np.searchsorted(edges, counts.outputs, side="right") - 1, 0)
    return np.bincount(cells, weights=counts.times, minlength=len(edges)).astype(np.int64)


def _most_telling(x: int, y: int, samples: dict[int, Sample], level: float) -> _Event:
    """Return the cells that promise the largest loss, judged by its lower bound: luck with rare cells is no promise.

    Candidates are all cells whose ratio exceeds a threshold, all cells on one side of a threshold, for every
    threshold, and single cells. Ratios are estimated on other samples than the promises, or luck would count twice.
    """
    edges = _edges(samples[x].rank, samples[y].rank)
    cells = np.arange(len(edges))
    likelier, rarer = (_in_cells(samples[code].rank, edges) for code in (x, y))
    orders = [np.argsort(-(likelier + 1) / (rarer + 1), kind="stable"), cells, cells[::-1]]
    sets = [order[: stop + 1] for order in orders for stop in cells] + [cells[[cell]] for cell in cells]
    seen = [_in_cells(samples[code].choose, edges) for code in (x, y)]
    hits, misses = (np.concatenate([*(counts[order].cumsum() for order in orders), counts]) for counts in seen)
    promises = _log_ratio(hits, int(seen[0].sum()), misses, int(seen[1].sum()), level)
    best = int(promises.argmax())
    chosen = np.zeros(len(cells), dtype=np.bool_)
    chosen[sets[best]] = True
    return _Event(x, y, edges, chosen, float(promises[best]))


def _log_ratio(hits: Whole, trials: int, misses: Whole, other_trials: int, level: float) -> Floats:
    with np.errstate(divide="ignore"):
        least = np.log(lower_bounds(hits, trials, level / 2))
    ratios: Floats = least - np.log(upper_bounds(misses, other_trials, level / 2))
    return ratios
