"""Turn ideal probabilities into the exact integer weights that are sampled, and check them before use."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import GuaranteeError, SettingError
from veilboost.mechanisms._alias import SAMPLER_VERSION, Alias, alias
from veilboost.privacy import TOTAL, TOTAL_BITS, Profile, profile
from veilboost.privacy.rounding import precise, shown

Ideal = NDArray[Any]
"""Fixed-point probabilities: Python integers in units of 2^-FRACTION_BITS, each row's sum at most one."""

FRACTION_BITS = 128
ONE = 1 << FRACTION_BITS
DIGITS = 80
LARGEST_SIZE = 2048
_MOST_MOVED_BITS = 24  # at most 2^-24 of a row may go to the slack


@dataclass(frozen=True, eq=False)
class Table:
    """Integer weights, row x-1 for input x, each row summing to ``TOTAL``; they alone decide what is drawn."""

    weights: NDArray[np.uint64] = field(repr=False)
    flat: bool
    """Whether some tail is too thin for the integers: its weights are level, and far pairs lose less than allowed."""

    @cached_property
    def digest(self) -> bytes:
        """The table's identity: sampler version, size and every weight."""
        head = f"veilboost table {SAMPLER_VERSION} {len(self.weights)} {TOTAL_BITS} ".encode()
        return hashlib.sha256(head + self.weights.astype("<u8").tobytes()).digest()

    @cached_property
    def profile(self) -> Profile:
        """What the weights lose."""
        return profile(self.weights)

    @cached_property
    def alias(self) -> Alias:
        """The same distribution, laid out for sampling."""
        return alias(self.weights)


def build(ideal: Ideal, gaps: Sequence[float]) -> Table:
    """Round ``ideal`` so that no pair exceeds the loss it is promised, and check the promised ``gaps``.

    ``gaps`` are the promised losses between neighbouring codes; an infinite one separates groups whose
    outputs never meet. Proof in table.proof.md.
    """
    weights = np.zeros(ideal.shape, dtype=np.uint64)
    flat = False
    for first, last in groups(gaps):
        inner = gaps[first:last]
        slack = needed_slack(last + 1 - first, min(inner, default=math.inf))
        block = slice(first, last + 1)
        weights[block, block] = _rounded(ideal[block, block], slack)
        _check(weights[block, block], inner)
        flat |= bool((weights[block, block] == slack).any())
    weights.setflags(write=False)
    return Table(weights, flat)


def groups(gaps: Sequence[float]) -> list[tuple[int, int]]:
    """Return first and last index of each run of codes without an infinite gap inside.

    >>> groups([1.0, math.inf, 1.0, 1.0])
    [(0, 1), (2, 4)]
    """
    borders = [i for i, gap in enumerate(gaps) if math.isinf(gap)]
    return list(zip([0, *(b + 1 for b in borders)], [*borders, len(gaps)], strict=True))


def needed_slack(size: int, epsilon: float) -> int:
    """Return the weight to add to every cell so that rounding cannot break any loss from ``epsilon`` up."""
    with precise(DIGITS):
        odds = Decimal(epsilon).exp()
        if odds.is_infinite():
            return 2
        most = (TOTAL >> _MOST_MOVED_BITS) // size
        if (odds - 1) * most < size + 4 + 2 * odds:
            least = shown(float(((size + 4 + most) / Decimal(most - 2)).ln()))
            rule = f"must be at least {least} for a table of {size} codes of {TOTAL_BITS} bits"
            raise SettingError("the smallest loss between neighbouring codes", rule, epsilon)
        return int(((size + 4 + 2 * odds) / (odds - 1)).to_integral_value(ROUND_CEILING))


def fixed(number: Decimal) -> int:
    """Return ``number``, which is not negative, in fixed point, rounded down."""
    return int(number * ONE)


def decays(epsilon: float, count: int) -> list[int]:
    """Return exp(-epsilon k) for k = 0 … count-1 in fixed point, rounded down."""
    with precise(DIGITS):
        return [fixed((-Decimal(epsilon) * k).exp()) for k in range(count)]


def _rounded(ideal: Ideal, slack: int) -> NDArray[np.uint64]:
    spread = TOTAL - len(ideal) * slack
    whole = ((ideal * spread) >> FRACTION_BITS) + slack
    left = TOTAL - whole.sum(axis=1)
    if not all(0 <= rest <= len(ideal) + 1 for rest in left):
        raise GuaranteeError("the ideal probabilities of a row do not sum to one")
    rows = np.arange(len(ideal))
    whole[rows, np.argmax(whole, axis=1)] += left
    rounded: NDArray[np.uint64] = whole.astype(np.uint64)
    return rounded


def _check(weights: NDArray[np.uint64], gaps: Sequence[float]) -> None:
    """Refuse weights that break a promised gap: w_x · 2^k <= p · w_y with p / 2^k <= exp(gap), in integers."""
    exact = weights.astype(object)
    for x, gap in enumerate(gaps):
        numerator, shift = odds_below(gap)
        here, there = exact[x], exact[x + 1]
        if (here > (there * numerator) >> shift).any() or (there > (here * numerator) >> shift).any():
            raise GuaranteeError(f"the integer weights of codes {x + 1} and {x + 2} break their gap {gap}")


def odds_below(epsilon: float) -> tuple[int, int]:
    """Return p and k with p / 2^k <= exp(epsilon), as close as 63 bits allow.

    >>> odds_below(math.log(2))[0] / 2 ** odds_below(math.log(2))[1]
    2.0
    """
    if epsilon > TOTAL_BITS * math.log(2):
        return TOTAL, 0
    with precise(DIGITS):
        shift = TOTAL_BITS - 1 - math.floor(epsilon / math.log(2))
        return int(Decimal(epsilon).exp() * (1 << shift)), shift
