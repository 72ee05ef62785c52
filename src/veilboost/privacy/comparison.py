"""Fair comparisons: gap budgets of the best TightMap that loses no more than a rival, by linear programmes.

Among all admissible gap budgets these have the largest sum of losses over all pairs (a gap counts for every
pair it lies between), then the largest smallest gap. For up to 256 codes.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError, SettingError
from veilboost.settings import positive, whole

Floats = NDArray[np.float64]
Limits = list[tuple[int, int, float]]
"""Each: the gaps from the first index up to, not including, the second sum to at most the third."""

_LARGEST = 256  # the programmes hold a number for each pair and each gap
_SMALLEST = 1e-3  # of an even share of the least loss that bounds it: no gap is ever smaller
_TOLERANCE = 1e-10  # the finest that the solver takes
_SHRINK = 1 - 2.0**-40  # what rounding of sums may not use up


def best_under_profile(epsilon_by_distance: Sequence[float]) -> tuple[float, ...]:
    """Return gaps that lose at most ``epsilon_by_distance[t - 1]`` at each distance t (comparison 2).

    A gap that no finite figure bounds is infinite. Reversing the codes changes nothing here, so the gaps are
    symmetric.

    >>> [round(gap, 6) for gap in best_under_profile([1.0, 1.5, 2.0])]
    [0.5, 1.0, 0.5]
    """
    if not isinstance(epsilon_by_distance, Sequence | np.ndarray):
        raise SettingError("epsilon_by_distance", "must be a list of losses", epsilon_by_distance)
    losses = [_checked(loss) for loss in epsilon_by_distance]
    size = whole("size of the rival", len(losses) + 1, 2, _LARGEST)
    limits = [(x, x + t, losses[t - 1]) for t in range(1, size) for x in range(size - t)]
    gaps = _best(size - 1, limits)
    return _within((gaps + gaps[::-1]) / 2, limits)


def best_under_pairs(pair_losses: Floats) -> tuple[float, ...]:
    """Return gaps that lose at most ``pair_losses[x - 1, y - 1]`` between the codes x < y (comparison 3).

    >>> losses = np.array([[0.0, 1.0, 1.25], [1.0, 0.0, 0.5], [1.25, 0.5, 0.0]])
    >>> [round(gap, 6) for gap in best_under_pairs(losses)]
    [0.75, 0.5]
    """
    if not isinstance(pair_losses, np.ndarray) or pair_losses.ndim != 2 or len(set(pair_losses.shape)) != 1:
        raise SettingError("pair_losses", "must be a square matrix", pair_losses)
    size = whole("size of the rival", len(pair_losses), 2, _LARGEST)
    limits = [(x, y, _checked(pair_losses[x, y])) for x in range(size) for y in range(x + 1, size)]
    return _within(_best(size - 1, limits), limits)


def _checked(loss: object) -> float:
    return positive("loss", loss, infinite=True)


def _best(count: int, limits: Limits) -> Floats:
    finite = [limit for limit in limits if limit[2] < math.inf]
    gaps = np.full(count, math.inf)
    if not finite:
        return gaps
    rows = np.zeros((len(finite), count))
    for row, (start, stop, _) in zip(rows, finite, strict=True):
        row[start:stop] = 1
    most = np.array([loss for *_, loss in finite])[:, None]
    caps = np.where(rows > 0, most, math.inf).min(axis=0)
    bounded = np.isfinite(caps)
    lies_between = (np.arange(1, count + 1) * np.arange(count, 0, -1.0))[bounded]
    gaps[bounded] = _solve(lies_between, caps[bounded], rows[:, bounded] * (caps[bounded] / most)) * caps[bounded]
    return gaps


def _solve(goal: Floats, caps: Floats, rows: Floats) -> Floats:
    """Return gaps as shares of the ``caps``, the least loss that bounds each: losses of any size are solved alike.

    They make ``goal @ gaps`` as large as ``rows @ shares <= 1`` lets it be, and then the smallest gap.
    """
    scaled, least = goal * caps / (goal * caps).max(), np.full(len(caps), _SMALLEST / len(caps))
    best = _maximum(scaled, rows, np.ones(len(rows)), least)
    rise = np.column_stack((-np.diag(caps / caps.max()), np.ones(len(caps))))
    keep = np.append(-scaled, 0.0)
    even_rows = np.vstack((np.column_stack((rows, np.zeros(len(rows)))), keep, rise))
    even_most = np.concatenate((np.ones(len(rows)), [-float(scaled @ best) * (1 - 1e-9)], np.zeros(len(caps))))
    return _maximum(np.append(np.zeros(len(caps)), 1.0), even_rows, even_most, np.append(least, 0.0))[:-1]


def _maximum(goal: Floats, rows: Floats, most: Floats, least: Floats) -> Floats:
    from scipy.optimize import linprog

    bounds = [(each, None) for each in least.tolist()]
    found = linprog(
        -goal,
        A_ub=rows,
        b_ub=most,
        bounds=bounds,
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if found.x is None:
        raise GuaranteeError(f"the linear programme for the best gaps failed: {found.message}")
    above: Floats = np.maximum(found.x, least)
    return above


def _within(gaps: Floats, limits: Limits) -> tuple[float, ...]:
    """Undo what the solver's tolerance may have taken too much."""
    before = np.concatenate(([0.0], np.cumsum(np.where(np.isinf(gaps), 0.0, gaps))))
    used = max((float(before[stop] - before[start]) / most for start, stop, most in limits), default=0.0)
    return tuple((gaps * (_SHRINK / max(1.0, used))).tolist())
