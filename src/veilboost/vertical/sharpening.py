"""Sharpening: undo part of the noise's bias by adding more of it, to see how predictions move, and going back.

The lead knows the mechanism of every column. It noises the noisy columns once more, so that the variance about
doubles, trains again (f₁, the mean of ``DRAWS`` draws), and moves from the model as it comes (f₀) as far in the other
direction: f₀ + share · (f₀ - f₁). That is a weighted sum of trees, so still one stock model, and post-processing of
what was released, so it costs no privacy. The noise that is added protects nothing, and comes from a known seed.

The share, from 0 to 1, is the one that would have been best one step earlier: the released columns in the place of
clear ones, those noised once more in the place of the released, those noised twice more in the place of those noised
once. Released data alone decides.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import Mechanism, UnaryEncoding, ValueMechanism
from veilboost.privacy import TOTAL
from veilboost.randomness import ReplayableBits
from veilboost.trees import StockModel, combine
from veilboost.trees.settings import Task
from veilboost.vertical.ranks import Between
from veilboost.vertical.sent import Opened, Sent

Floats = NDArray[np.float64]

DRAWS = 3
_SHARES = [step / 20 for step in range(21)]
_STRETCHES = [step / 20 for step in range(61)]


class Extrapolation(msgspec.Struct, frozen=True, kw_only=True):
    """How far a model was moved against the added noise, and how predictions would be stretched instead.

    Stretched predictions, the simple way to undo shrinkage, are ``centre`` + ``stretch`` · (margin - ``centre``).
    """

    share: float
    stretch: float
    centre: float | list[float]

    def stretched(self, margins: Floats) -> Floats:
        """Return stretched margins."""
        centre: Floats = np.asarray(self.centre)
        moved: Floats = centre + self.stretch * (margins - centre)
        return moved


@dataclass(frozen=True)
class Fit:
    """A model of some columns, and what it says about the released ones."""

    model: StockModel
    margins: Callable[[], Floats]


def predicted(task: Task, margins: Floats) -> Floats:
    """Return what ``margins`` predict: the value, the probability of class 1, or a row of probabilities.

    >>> predicted("binary", np.array([0.0])).tolist(), predicted("multiclass", np.zeros((1, 2))).tolist()
    ([0.5], [[0.5, 0.5]])
    """
    if task == "regression":
        return margins
    if task == "binary":
        one: Floats = np.exp(-np.logaddexp(0, -margins))
        return one
    chances: Floats = np.exp(margins - np.logaddexp.reduce(margins, axis=1, keepdims=True))
    return chances


def sharpen(
    as_it_comes: StockModel,
    fit: Callable[[int, int], Fit],
    task: Task,
    target: Floats,
    weight: Floats | None,
    progress: Callable[[str, float], None],
) -> tuple[StockModel, Extrapolation]:
    """Return the sharpened model; ``fit(draw, times)`` trains on columns noised so many ``times`` more."""
    fits = 0

    def told(draw: int, times: int) -> Fit:
        nonlocal fits
        fits += 1
        made = fit(draw, times)
        progress("sharpening", fits / (DRAWS + 1))
        return made

    once = [told(draw, 1) for draw in range(DRAWS)]
    margins = once[0].margins()
    share = _share(margins, told(0, 2).margins(), task, target, weight)
    centre = np.average(margins, axis=0, weights=weight)
    stretch = _stretch(margins, centre, task, target, weight)
    found = Extrapolation(share=share, stretch=stretch, centre=centre.tolist())
    if not share:
        return as_it_comes, found
    return combine([(as_it_comes, 1 + share), *((each.model, -share / DRAWS) for each in once)]), found


def _share(once: Floats, twice: Floats, task: Task, target: Floats, weight: Floats | None) -> float:
    return _best(_SHARES, lambda share: once + share * (once - twice), task, target, weight)


def _stretch(margins: Floats, centre: Any, task: Task, target: Floats, weight: Floats | None) -> float:
    return _best(_STRETCHES, lambda factor: centre + factor * (margins - centre), task, target, weight)


def _best(
    grid: list[float], moved: Callable[[float], Floats], task: Task, target: Floats, weight: Floats | None
) -> float:
    losses = [np.average(loss(task, moved(each), target), weights=weight) for each in grid]
    return grid[int(np.argmin(losses))]


def loss(task: Task, margins: Floats, target: Floats) -> Floats:
    """Return the squared error, or the log-loss, of each row.

    >>> loss("binary", np.array([0.0, 40.0]), np.array([1.0, 1.0])).round(3).tolist()
    [0.693, 0.0]
    >>> loss("multiclass", np.zeros((1, 4)), np.array([2.0])).round(3).tolist()
    [1.386]
    """
    held: Floats = margins.astype(np.float64)
    if task == "regression":
        squared: Floats = np.square(held - target)
        return squared
    if task == "binary":
        one: Floats = np.logaddexp(0, np.where(target > 0, -held, held))
        return one
    total: Floats = np.logaddexp.reduce(held, axis=1) - held[np.arange(len(held)), target.astype(np.intp)]
    return total


def seed_of(*what: object) -> int:
    """Return a seed for the noise that is added: the same job gives the same model."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:8])


def noised_again(column: Opened, mechanism: Mechanism, between: Between, seed: int) -> Opened:
    """Return a column that its own mechanism has noised once more; ranks, cuts and categories mean what they meant."""
    sent, values, bits = column.sent, column.values, ReplayableBits(seed=seed)
    if isinstance(mechanism, UnaryEncoding):
        again: NDArray[Any] = _flipped(values, mechanism, seed)
    elif sent.form == "categories":
        codes = np.where(values == 0, _size(mechanism), values)
        drawn = mechanism.draw(codes, bits=bits)
        again = np.where(drawn > sent.count, 0, drawn)
    else:
        again = _ranks_again(sent, values, mechanism, between, bits)
    return Opened(sent, again.astype(values.dtype))


def _size(mechanism: Mechanism) -> int:
    return int(getattr(mechanism, "size", 0))


def _ranks_again(
    sent: Sent, ranks: NDArray[Any], mechanism: Mechanism, between: Between, bits: ReplayableBits
) -> NDArray[Any]:
    """Return ranks noised once more; a code that has no rank goes where a split would send its raw value."""
    codes = np.zeros(0, np.int64) if sent.codes is None else sent.codes.read()
    if not len(codes):
        return ranks
    size = _size(mechanism)
    held = np.append(size, codes)[ranks]  # the code set aside for missing values is the last one
    known = held.clip(1, size) if isinstance(mechanism, ValueMechanism) else held
    drawn = mechanism.draw(known, bits=bits)
    gap = np.zeros(len(ranks), dtype=bool)
    if isinstance(mechanism, ValueMechanism):  # unbiased estimates: noise is added, also beyond the bounds
        drawn = held - known + np.rint((mechanism.values(drawn) + 1) / 2 * (size - 1)).astype(np.int64) + 1
    elif (ranks == 0).any():
        gap = drawn == size
    last = codes[1:] - 1 if between == "next" else (codes[:-1] + codes[1:]) // 2
    return np.where(gap, 0, np.searchsorted(last, drawn, side="left") + 1)


def _flipped(bits: NDArray[np.uint8], mechanism: UnaryEncoding, seed: int) -> NDArray[np.bool_]:
    """Return bits of unary encoding, each kept or raised once more as it had been before."""
    answers = mechanism.answers
    words = np.random.default_rng(seed).integers(0, TOTAL, bits.shape, dtype=np.int64)
    return words < np.where(bits == 1, answers.kept, answers.raised)
