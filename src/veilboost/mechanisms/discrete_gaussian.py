"""Discrete Gaussian noise from an integer table, its (ε, δ) computed from the integers."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.errors import SettingError
from veilboost.mechanisms._gaussian import GRID, GRID_SIZE, LARGEST_SIGMA, Gaussian, gaussian, grid
from veilboost.mechanisms._words import Words, fill
from veilboost.mechanisms.discrete_laplace import LARGEST_VALUE
from veilboost.mechanisms.mechanism import Mechanism, Tapes, parameter_digest, whole_numbers
from veilboost.privacy import ApproximateDP, Neighbours
from veilboost.privacy.rounding import shown, up
from veilboost.settings import fix, positive, whole

SAMPLER_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Mechanism):
    """Add noise z with probability nearly proportional to exp(-z² / 2σ²) to any whole number.

    **Guarantee**: (ε, δ)-DP with ε = ``epsilon`` and δ = ``delta`` for two values at most ``sensitivity`` codes apart:
    P(S|x) <= exp(ε) P(S|y) + δ for every set S of outputs. ``sigma`` lies on a grid of 32 for every doubling: its
    exact δ, computed from the integers that are sampled and rounded up, is at most ``delta``, and that of the next
    smaller one is not. `delta_at` gives the exact δ for any ε. Values lie within ±(2^31 - 1). Proof in
    discrete_gaussian.proof.md.

    >>> mechanism = DiscreteGaussian(epsilon=1.0, delta=1e-6)
    >>> mechanism.sigma, mechanism.delta_at(1.0) <= 1e-6, mechanism.delta_at(2.0) < 1e-12
    (4.25, True, True)
    """

    epsilon: float
    delta: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        fix(self, "sensitivity", whole("sensitivity", self.sensitivity, 1, LARGEST_VALUE))
        definition = self.definition  # refuses a wrong epsilon or delta
        for name in ("epsilon", "delta"):
            fix(self, name, getattr(definition, name))
        if self.noise.delta(self.epsilon, self.sensitivity) > self.delta:
            least = shown(self.delta_at(self.epsilon))
            rule = f"must be at least {least} at this epsilon and sensitivity: tables go up to σ = {LARGEST_SIGMA:g}"
            raise SettingError("delta", rule, self.delta)

    @property
    def definition(self) -> ApproximateDP:
        return ApproximateDP(self.epsilon, self.delta, neighbours=Neighbours.ONE_VALUE, codes=self.sensitivity)

    @property
    def digest(self) -> bytes:
        return parameter_digest(self, SAMPLER_VERSION)

    @property
    def sigma(self) -> float:
        """The standard deviation in the formula, in codes."""
        return self.noise.sigma

    @cached_property
    def noise(self) -> Gaussian:
        """The integer weights of the noise."""
        coarse = next((index for index in range(0, GRID_SIZE, GRID) if self._keeps(index)), GRID_SIZE - 1)
        finer = range(max(0, coarse - GRID + 1), coarse)
        return _noise(finer.start + bisect_left(finer, True, key=self._keeps))

    def _keeps(self, index: int) -> bool:
        return _noise(index).delta(self.epsilon, self.sensitivity) <= self.delta

    def delta_at(self, epsilon: float) -> float:
        """Return the exact failure probability at ``epsilon``, rounded up."""
        return up(self.noise.delta(positive("epsilon", epsilon), self.sensitivity))

    def variance(self) -> float:
        """Return the variance of the noise, in codes, from the integers that are sampled."""
        return float(self.noise.variance())

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return whole_numbers(codes, -LARGEST_VALUE, LARGEST_VALUE).astype(np.int32)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        out, noise = np.empty(len(codes), dtype=np.int64), self.noise
        fill(out, lambda here, words: codes[here] + pick(noise, words[:, 0]), tapes.step(""), 1, threads)
        return out


def pick(noise: Gaussian, words: Words) -> Words:
    """Return the noise for each word: how many thresholds are not above it, by the same number of steps for all."""
    thresholds, found = noise.thresholds, np.zeros(len(words), dtype=np.int64)
    step = (len(thresholds) + 1) // 2
    while step:
        found += step * (thresholds[found + step - 1] <= words)
        step //= 2
    return np.minimum(found, 2 * noise.last) - noise.last  # the largest word is not below what fills up the thresholds


@lru_cache(maxsize=8)
def _noise(index: int) -> Gaussian:
    return gaussian(grid(index))
