"""The papers' mechanisms written down a second time, as probabilities, and rounded simply to integers."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

TOTAL = 2**63
Floats = NDArray[np.float64]


def global_map(size: int, epsilon: float) -> Floats:
    return _decaying(np.abs(_codes(size)[:, None] - _codes(size)), epsilon)


def randomised_response(size: int, epsilon: float) -> Floats:
    weights = np.ones((size, size)) + (math.exp(epsilon) - 1) * np.eye(size)
    return _rows(weights)


def adj_budgets(size: int, epsilon: float, theta: int, alpha: float) -> tuple[float, float]:
    near = epsilon / (alpha + theta / size)
    return alpha * theta * near, near


def adj_map(size: int, theta: int, epsilon_partition: float, epsilon_near: float) -> Floats:
    codes, part = _codes(size), _codes(size) // theta
    between = np.exp(-np.abs(np.arange(part[-1] + 1)[:, None] - np.arange(part[-1] + 1)) * epsilon_partition / 2)
    between /= between.sum(axis=1, keepdims=True)
    inside = np.exp(-np.abs(codes[:, None] - codes) * epsilon_near / 2)
    for m in range(part[-1] + 1):
        inside[:, part == m] /= inside[:, part == m].sum(axis=1, keepdims=True)
    probabilities: Floats = between[part][:, part] * inside
    return probabilities


def nominal_adj_map(size: int, epsilon: float, theta: int, alpha: float) -> Floats:
    return adj_map(size, theta, *adj_budgets(size, epsilon, theta, alpha))


def local_map(size: int, theta: int, epsilon: float) -> Floats:
    codes = _codes(size)
    apart = np.abs(codes[:, None] - codes).astype(np.float64)
    apart[codes[:, None] // theta != codes // theta] = math.inf
    return _decaying(apart, epsilon)


def tight_map(gaps: Sequence[float]) -> Floats:
    at = np.concatenate(([0.0], np.cumsum(gaps)))
    keep = 1 / (1 + np.exp(-np.asarray(gaps)))
    scale = np.concatenate((keep, [1.0])) + np.concatenate(([1.0], keep)) - 1
    probabilities: Floats = scale * np.exp(-np.abs(at[:, None] - at))
    return probabilities


def integers(probabilities: Floats, smallest_loss: float) -> NDArray[np.uint64]:
    """Round with the slack that keeps every pair inequality, each group of possible outputs apart."""
    table = np.zeros(probabilities.shape, dtype=np.uint64)
    for row, weights in zip(probabilities, table, strict=True):
        possible = np.flatnonzero(row)
        count = len(possible)
        slack = math.ceil((count + math.exp(smallest_loss)) / math.expm1(smallest_loss))
        exact = [int((TOTAL - count * slack) * p) + slack for p in (row[possible] / row.sum()).tolist()]
        exact[int(np.argmax(row[possible]))] += TOTAL - sum(exact)
        weights[possible] = exact
    return table


def _codes(size: int) -> NDArray[np.int64]:
    return np.arange(size)


def _decaying(apart: NDArray[np.int64] | Floats, epsilon: float) -> Floats:
    return _rows(np.exp(-apart * epsilon / 2))


def _rows(weights: Floats) -> Floats:
    probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
    return probabilities
