"""Unary encoding: one bit for each code, most of them kept; for counting how often each code occurs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.errors import DataError, GuaranteeError, SettingError
from veilboost.mechanisms._frequency import Answers
from veilboost.mechanisms._words import fill
from veilboost.mechanisms.mechanism import Mechanism, Tapes, checked_codes, parameter_digest
from veilboost.mechanisms.table import odds_below
from veilboost.mechanisms.value_mechanism import SMALLEST_EPSILON
from veilboost.privacy import LDP, TOTAL
from veilboost.settings import fix, positive, whole

SAMPLER_VERSION = 1
LARGEST_SIZE = 2**14


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(Mechanism):
    """Write a code as ``size`` bits with a single one; keep that one with p, raise every zero with q.

    **Guarantee**: ε-LDP with ε = ``epsilon``, for any two codes: p (1-q) / (q (1-p)) is at most exp(ε), in integers.
    Symmetric: p = 1 - q. With ``optimised``: p = 1/2, which counts rare codes better. It knows nothing of order.
    Proof in unary_encoding.proof.md.

    >>> mechanism = UnaryEncoding(epsilon=2.0, size=3)
    >>> bits = mechanism.draw([1] * 60_000 + [3] * 40_000)
    >>> bits.shape, bits.dtype, (mechanism.counts(bits) / 1000).round(-1).astype(int).tolist()
    ((100000, 3), dtype('uint8'), [60, 0, 40])
    """

    keeps_order: ClassVar[bool] = False
    epsilon: float
    size: int
    optimised: bool = False

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "size", whole("size", self.size, 2, LARGEST_SIZE))
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError("epsilon", f"must be at least {SMALLEST_EPSILON}", self.epsilon)
        if not isinstance(self.optimised, bool):
            raise SettingError("optimised", "must be True or False", self.optimised)
        kept, raised = self.answers.kept, self.answers.raised
        bits = 1 if self.optimised else 2  # that tell two codes apart by odds of more than one
        numerator, shift = odds_below(self.epsilon / bits)
        if raised >= kept or kept * (TOTAL - raised) << bits * shift > raised * (TOTAL - kept) * numerator**bits:
            raise GuaranteeError(f"the integer weights {kept} and {raised} break the budget {self.epsilon}")

    @cached_property
    def answers(self) -> Answers:
        """The weights of a one, out of 2^63: in the place of the code and in any other."""
        if self.optimised:
            return Answers(TOTAL // 2, _against(self.epsilon))
        raised = _against(self.epsilon / 2)
        return Answers(TOTAL - raised, raised)

    @property
    def definition(self) -> LDP:
        return LDP(self.epsilon)

    @property
    def digest(self) -> bytes:
        return parameter_digest(self, SAMPLER_VERSION)

    def counts(self, bits: ArrayLike) -> NDArray[np.float64]:
        """Return an unbiased estimate of how often each code occurs, from the drawn ``bits``."""
        drawn = np.asarray(bits)
        if drawn.shape[1:] != (self.size,):
            raise DataError("bits", f"must be rows of {self.size}", f"an array of shape {drawn.shape}")
        return self.answers.counts(drawn.sum(axis=0, dtype=np.int64), len(drawn))

    def count_variance(self, true: float, rows: int) -> float:
        """Return the variance of an estimate by `counts`, for a code that occurs ``true`` times in ``rows``."""
        return self.answers.count_variance(true, rows)

    def _checked(self, codes: ArrayLike) -> NDArray[Any]:
        return checked_codes(codes, self.size)

    def _noisy(self, codes: NDArray[Any], tapes: Tapes, threads: int | None) -> NDArray[Any]:
        out = np.empty((len(codes), self.size), dtype=np.uint8)
        places, answers = np.arange(1, self.size + 1), self.answers

        def decide(here: slice, words: NDArray[np.int64]) -> NDArray[np.bool_]:
            return words < np.where(codes[here, None] == places, answers.kept, answers.raised)

        fill(out, decide, tapes.step(""), self.size, threads)
        return out


def _against(epsilon: float) -> int:
    """Return the weight 1 / (e^epsilon + 1) of 2^63, rounded up."""
    numerator, shift = odds_below(epsilon)
    return -(-(TOTAL << shift) // (numerator + (1 << shift)))
