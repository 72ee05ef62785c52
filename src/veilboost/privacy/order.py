"""How well a table keeps order: exact probabilities, the paper's lower bounds for them, and the mean noise.

Tables come as integer weights or as probabilities; codes are 1..size; a pair x1 < x2 comes out as o1, o2.
The bounds are the printed formulas: where they are negative they say nothing.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.privacy.profile import TOTAL, Weights
from veilboost.settings import positive, whole

Floats = NDArray[np.float64]
Table = Weights | Floats | Sequence[Sequence[float]]
Codes = NDArray[np.int64]

_LARGEST = 2**31 - 1


def probabilities(weights: Weights) -> Floats:
    """Return the probabilities ``weights / TOTAL`` of an integer table.

    >>> probabilities(np.array([[TOTAL, 0], [TOTAL // 2, TOTAL // 2]], dtype=np.uint64)).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    shares: Floats = weights / float(TOTAL)
    return shares


def order_preserving_pairs(table: Table) -> Floats:
    """Return the matrix of ``P[o2 > o1]``, row x1 - 1, column x2 - 1, by one matrix product.

    >>> order_preserving_pairs(np.array([[0.75, 0.25], [0.25, 0.75]])).tolist()
    [[0.1875, 0.5625], [0.0625, 0.1875]]
    """
    shares = _shares(table)
    below = np.zeros(shares.shape)
    np.cumsum(shares[:, :-1], axis=1, out=below[:, 1:])
    pairs: Floats = below @ shares.T
    return pairs


def order_preserving(table: Table) -> Floats:
    """Return the exact minimum of ``P[o2 > o1]`` over the pairs 1, 2, … codes apart.

    >>> order_preserving(np.array([[0.75, 0.25], [0.25, 0.75]])).tolist()
    [0.5625]
    """
    pairs = order_preserving_pairs(table)
    return np.array([np.diagonal(pairs, distance).min() for distance in range(1, len(pairs))])


def global_bound(epsilon: float, *, size: int) -> Floats:
    """Return Theorem 4.2's lower bound for Global-map at the distances 1..size - 1.

    It is a bound and not the value: its proof drops a positive term from the pair that starts at the first code.

    >>> global_bound(0.1, size=100)[[4, 94]].round(4).tolist()
    [0.5098, 0.9618]
    """
    size = whole("size", size, 2, _LARGEST)
    return _ordered(positive("epsilon", epsilon), np.arange(1, size), size)


def grr_bound(epsilon: float, *, size: int) -> Floats:
    """Return Theorem 4.3 for randomised response at the distances 1..size - 1.

    It is the exact value of every pair: it depends on the distance alone, and the proof drops nothing.

    >>> grr_bound(0.1, size=100)[[4, 94]].round(4).tolist()
    [0.4951, 0.496]
    """
    size, growth = whole("size", size, 2, _LARGEST), math.exp(positive("epsilon", epsilon))
    stay, move = growth / (size + growth - 1), 1 / (size + growth - 1)
    fixed = stay**2 + stay * move * (size - 3) + move**2 * (size * (size - 3) / 2 + 2)
    return fixed + move * (stay - move) * np.arange(1, size, dtype=np.float64)


def adj_bound(epsilon_partition: float, *, theta: int, size: int, ties: float = 0.0) -> Floats:
    """Return Theorem 4.6 for Adj-map at the distances 1..size - 1, with the true number of partitions.

    As printed (``ties=0``) it is **not a lower bound**: its proof counts half of the pairs that meet in one
    partition as ordered and forgets those that then tie. It was seen to exceed the exact value from partition
    budgets of 0.12 (theta 1), 0.44 (theta 2) or 1 (theta 3 and more) on, by up to 0.22; in the paper's own range
    by 0.13 (size 10, theta 4, alpha 10, epsilon 1.28). ``ties`` is the largest probability that two values mapped
    into one partition come out equal; with it, or with 1, no violation was found.

    >>> adj_bound(0.1 / 1.1 * 10, theta=10, size=100)[[4, 94]].round(4).tolist()
    [0.4067, 0.9383]
    """
    budget, size = positive("epsilon_partition", epsilon_partition), whole("size", size, 2, _LARGEST)
    theta = whole("theta", theta, 1, _LARGEST)
    if not 0 <= ties <= 1:
        raise SettingError("ties", "must be a probability", ties)
    apart, q = np.arange(1, size) // theta, math.exp(-budget / 2)
    together = ((1 - q) / (1 + q)) ** 2 * (apart + 1) * q**apart
    return _ordered(budget, apart, -(-size // theta)) + together * (1 - ties) / 2


def local_bound(epsilon: float, *, theta: int, size: int) -> Floats:
    """Return the lower bound of Theorem 4.7 for Local-map at the distances 1..size - 1.

    Theorem 4.2 inside a partition (also the shorter last one, where a pair fits); 1 from theta on.

    >>> local_bound(3.0, theta=3, size=5).round(4).tolist()
    [0.6256, 0.8806, 1.0, 1.0]
    """
    epsilon, size = positive("epsilon", epsilon), whole("size", size, 2, _LARGEST)
    theta = whole("theta", theta, 1, _LARGEST)
    bound = np.ones(size - 1)
    lengths = {min(theta, size), size % theta}
    for length in lengths:
        inside = _ordered(epsilon, np.arange(1, length), length)
        bound[: len(inside)] = np.minimum(bound[: len(inside)], inside)
    return bound


def beta(table: Table, left_values: Codes, right_values: Codes) -> float:
    """Return the probability that every left value comes out strictly below every right value (Theorem 5.1).

    Exact up to float rounding, in time proportional to the values plus the table. The theorem's printed sum
    counts an outcome once for each left value that sits at the maximum, so with ties it exceeds the probability,
    and even 1; here the maximum of the left values is counted once.

    Corollary 5.2: where no value crosses the best split, that split is still on offer, so with probability at
    least beta the best gain on the noisy codes is at least the best gain on the raw ones.

    The table may have another number of outputs than of codes.

    >>> flip = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> round(beta(flip, np.array([1, 1]), np.array([2])), 6)  # 0.75 three times
    0.421875
    """
    shares = _shares(table, square=False)
    left, right = (
        _counts("left_values", left_values, len(shares)),
        _counts("right_values", right_values, len(shares)),
    )
    at_most = _log_product(left, np.cumsum(shares, axis=1), _above(shares))
    above = _log_product(right, _above(shares), np.cumsum(shares, axis=1))
    possible = np.isfinite(at_most)
    before = np.concatenate(([-np.inf], at_most[:-1]))[possible]
    maximum_here = -np.expm1(before - at_most[possible])
    return min(1.0, math.fsum(np.exp(at_most[possible] + above[possible]) * maximum_here))


def mean_absolute_noise(table: Table) -> float:
    """Return the mean of ``|o - x|`` over uniform inputs x.

    >>> mean_absolute_noise(np.array([[0.75, 0.25], [0.25, 0.75]]))
    0.25
    """
    shares = _shares(table)
    codes = np.arange(len(shares))
    return float((shares * np.abs(codes[:, None] - codes)).sum() / len(shares))


def _ordered(epsilon: float, distance: Codes, size: int) -> Floats:
    """Theorem 4.2, also at distance zero."""
    q = math.exp(-epsilon / 2)
    lost = ((1 - q * q) * distance + 1) * q**distance
    bound: Floats = 1 - lost / ((1 + q - q ** (distance + 1) - q ** (size - distance)) * (1 + q))
    return bound


def _shares(table: Table, *, square: bool = True) -> Floats:
    given = np.asarray(table)
    fits = given.ndim == 2 and min(given.shape) > 1 and (not square or given.shape[0] == given.shape[1])
    if given.dtype.kind not in "uif" or not fits:
        rule = f"must {'be square, with' if square else 'hold'} numbers for 2 codes or more"
        raise SettingError("table", rule, f"shape {given.shape}")
    shares: Floats = given.astype(np.float64) / (float(TOTAL) if given.dtype == np.uint64 else 1.0)
    if not np.allclose(shares.sum(axis=1), 1):
        raise SettingError("table", "must have rows that sum to one", shares.sum(axis=1).tolist())
    if not (shares >= 0).all():
        raise SettingError("table", "must not hold negative probabilities", float(shares.min()))
    return shares


def _counts(name: str, values: Codes, size: int) -> Codes:
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or not len(codes) or codes.min() < 1 or codes.max() > size:
        raise SettingError(name, f"must be one or more codes from 1 to {size}", values)
    return np.bincount(codes, minlength=size + 1)[1:]


def _above(shares: Floats) -> Floats:
    """Probability of an output above each code, summed from the far end: small tails keep their digits."""
    above = np.zeros(shares.shape)
    above[:, :-1] = np.cumsum(shares[:, :0:-1], axis=1)[:, ::-1]
    return above


def _log_product(counts: Codes, chance: Floats, rest: Floats) -> Floats:
    """Logarithm of the product of ``chance`` over the counted values, by ``rest = 1 - chance`` near one."""
    present = counts > 0
    chance, rest = chance[present], np.minimum(rest[present], 1.0)
    with np.errstate(divide="ignore"):
        logs = np.where(rest < 0.5, np.log1p(-rest), np.log(chance))
    product: Floats = counts[present].astype(np.float64) @ logs
    return product
