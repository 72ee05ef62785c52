"""Piecewise mechanism (Wang et al. 2019) for one value: an output near it is likely, any other is not."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError
from veilboost.mechanisms._words import Words
from veilboost.mechanisms.table import DIGITS, odds_below
from veilboost.mechanisms.value_mechanism import Integers, OneValueMechanism
from veilboost.privacy import TOTAL
from veilboost.privacy.rounding import precise

_FEWEST_CELLS = 1 << 23  # that a window moves over from end to end, in steps of two


class Cells(NamedTuple):
    """The integers that are sampled: outputs from -``last`` to ``last``, a window ``reach`` to each side."""

    stride: int
    reach: int
    near: int
    """Weight of each output in the window."""
    far: int
    """Weight of each output outside it."""
    last: int

    @property
    def window(self) -> int:
        """Number of outputs in the window."""
        return 2 * self.reach + 1

    @property
    def outside(self) -> int:
        """Number of outputs outside it."""
        return 2 * (self.last - self.reach)


@dataclass(frozen=True, kw_only=True)
class Piecewise(OneValueMechanism):
    """Draw an output near the value with high weight, any other with low weight, all on a grid.

    **Guarantee**: ε-LDP with ε = ``epsilon``, for any two of the ``size`` codes: one weight is at most exp(ε) times
    the other, in integers, and what 2^63 leaves goes to output 0 whatever the code. The estimate is unbiased, with the
    published variance up to the rounding of the window. Proof in piecewise.proof.md.

    At a very large ε the window is a single output, and the variance no longer falls as the formula's does.

    >>> mechanism = Piecewise(epsilon=1.0, size=201)
    >>> drawn = mechanism.draw(np.full(100_000, 151))
    >>> bool(abs(mechanism.values(drawn).mean() - 0.5) < 0.1)
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        numerator, shift = odds_below(self.epsilon)
        cells = self.cells
        spent = cells.near * cells.window + cells.far * cells.outside
        if not (cells.far < cells.near <= cells.far * numerator >> shift and spent <= TOTAL):
            raise GuaranteeError(f"the integer weights {cells.near} and {cells.far} break the budget {self.epsilon}")

    @cached_property
    def cells(self) -> Cells:
        """The outputs and their weights: the window takes the share of them that makes the variance least."""
        steps = self.size - 1
        stride = -(-_FEWEST_CELLS // steps)
        with precise(DIGITS):
            reach = int(stride * steps / (Decimal(self.epsilon) / 2).exp())
        last, window = stride * steps + reach, 2 * reach + 1
        outside = 2 * stride * steps
        numerator, shift = odds_below(self.epsilon)
        far = max(1, (TOTAL << shift) // (numerator * window + (outside << shift)))
        near = min(far * numerator >> shift, (TOTAL - far * outside) // window)
        return Cells(stride, reach, near, far, last)

    @property
    def unit(self) -> Fraction:
        cells = self.cells
        pull = (cells.near - cells.far) * cells.window * cells.stride * (self.size - 1)
        return Fraction(TOTAL, pull)

    def second_moment(self, code: int) -> Fraction:
        cells, centre = self.cells, self.cells.stride * self.point(code) * (self.size - 1)
        everywhere = cells.far * _squares(cells.last)
        window = (cells.near - cells.far) * (cells.window * centre**2 + _squares(cells.reach))
        return self.unit**2 * (everywhere + window) / TOTAL

    def decide(self, codes: NDArray[Any], words: Words) -> Integers:
        cells = self.cells
        border = cells.near * cells.window
        first = cells.stride * self._centred(codes) - cells.reach
        near = first + words // cells.near
        far = (words - border) // cells.far - cells.last
        far += np.where(far < first, 0, cells.window)
        outside: Integers = np.where(far > cells.last, 0, far)
        return np.where(words < border, near, outside)


def _squares(last: int) -> int:
    """Return the sum of the squares of the integers from -``last`` to ``last``."""
    return last * (last + 1) * (2 * last + 1) // 3
