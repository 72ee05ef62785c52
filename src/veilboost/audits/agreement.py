"""Compare outputs with stated probabilities: catches wrong draws that do not enlarge the privacy loss."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.audits.sample import Counts, Sample

_FEWEST = 10  # expected outputs in a cell of its own


@dataclass(frozen=True)
class Agreement:
    """The input whose outputs agree least with the stated probabilities."""

    inputs: int
    worst_input: int
    p_value: float
    """Over all inputs: at most this likely, had every output been drawn with its stated probability."""


def agreement(samples: dict[int, Sample], probabilities: NDArray[np.float64]) -> Agreement:
    """Test the outputs for every sampled input against its row of ``probabilities``."""
    by_input = {code: least_likely(sample.every, probabilities[code - 1]) for code, sample in samples.items()}
    worst = min(by_input, key=by_input.__getitem__)
    return Agreement(len(by_input), worst, min(1.0, len(by_input) * by_input[worst]))


def least_likely(counts: Counts, row: NDArray[np.float64]) -> float:
    """Return an upper bound on the p-value of the G test of ``counts`` against the probabilities ``row``.

    Half of the G statistic, g, is the number of draws times the relative entropy of the observed to the stated
    shares. For c cells its tail is at most exp(-g) (e g / (c-1))^(c-1) once g > c-1, whatever the number of draws
    (R. Agrawal, Finite-Sample Concentration of the Multinomial in Relative Entropy, 2020). The usual chi-square
    p-value is an approximation that cannot be trusted at levels such as 1e-9. Outputs that are expected fewer than
    10 times share a cell; an output that is impossible settles it.

    >>> least_likely(Counts(np.array([1, 2]), np.array([480, 520])), np.array([0.5, 0.5]))
    1.0
    >>> least_likely(Counts(np.array([1, 2]), np.array([300, 700])), np.array([0.5, 0.5])) < 1e-30
    True
    """
    if counts.outputs[0] < 1 or counts.outputs[-1] > len(row):
        return 0.0
    seen = np.bincount(counts.outputs - 1, weights=counts.times, minlength=len(row))
    if seen[row == 0].any():
        return 0.0
    rare = (row > 0) & (row * counts.total < _FEWEST)
    often = (row > 0) & ~rare
    merged = [(seen[rare].sum(), row[rare].sum())] if rare.any() else []
    cells = np.array([*zip(seen[often], row[often], strict=True), *merged])
    return _tail(cells[:, 0], cells[:, 1] * counts.total)


def _tail(seen: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    from scipy.special import rel_entr

    g, freedom = float(rel_entr(seen, expected).sum()), len(seen) - 1
    return 1.0 if freedom == 0 or g <= freedom else math.exp(freedom * (1 + math.log(g / freedom)) - g)
