"""TightMap: spend exactly the budget of every gap between neighbouring codes, at every output."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Self, cast

import numpy as np

from veilboost.domain import Domain
from veilboost.errors import SettingError
from veilboost.mechanisms.mechanism import TableMechanism, table_size
from veilboost.mechanisms.table import DIGITS, FRACTION_BITS, ONE, Ideal, fixed
from veilboost.privacy import DistanceLDP, GapLDP
from veilboost.privacy.rounding import precise
from veilboost.settings import fix, positive, whole


@dataclass(frozen=True, kw_only=True)
class TightMap(TableMechanism):
    """Draw o for x with probability λ_o exp(-d(x,o)), where d adds up the budgets of the gaps between x and o.

    Give one ``epsilon`` and a ``size``, or the ``gaps`` themselves: one budget for each pair of neighbouring
    codes, infinite between groups that may be told apart. `grouped` and `per_unit` work the gaps out.

    **Guarantee**: P(o|x) <= exp(d(x,y)) P(o|y) for all codes x, y, with d from ``promised_gaps``; equal gaps
    ε give ε-dLDP. Between neighbours the ideal loses exactly its budget at every output. Proof in tight_map.proof.md.

    >>> TightMap(epsilon=0.5, size=100).profile().gaps[0]
    0.5
    >>> TightMap(gaps=[0.1, 0.1, 2.0]).size
    4
    """

    size: int = 0
    epsilon: float | None = None
    gaps: Sequence[float] = ()

    def __post_init__(self) -> None:
        given: object = self.gaps
        listed = isinstance(given, Sequence) and not isinstance(given, str | bytes)
        if not listed and not (isinstance(given, np.ndarray) and given.ndim == 1):
            raise SettingError("gaps", "must be a list of numbers", given)
        if (self.epsilon is None) == (len(self.gaps) == 0):
            raise SettingError("epsilon", "or gaps must be given, and not both", (self.epsilon, self.gaps))
        if self.epsilon is not None:
            fix(self, "epsilon", positive("epsilon", self.epsilon))
        elif self.size not in (0, len(self.gaps) + 1):
            raise SettingError("size", f"must be one more than the {len(self.gaps)} gaps", self.size)
        fix(self, "gaps", tuple(positive(f"gaps[{i}]", gap, infinite=True) for i, gap in enumerate(self.gaps)))
        fix(self, "size", table_size(len(self.gaps) + 1 if self.gaps else self.size, "ClampedLaplace"))
        super().__post_init__()

    @classmethod
    def grouped(cls, lengths: Sequence[int], *, inside: float, between: float) -> Self:
        """Return the map for groups of ``lengths`` codes: one budget inside all of them, one between them.

        >>> TightMap.grouped([2, 3], inside=0.1, between=1.0).gaps
        (0.1, 1.0, 0.1, 0.1)
        """
        if not isinstance(lengths, Sequence | np.ndarray) or len(lengths) == 0:
            raise SettingError("lengths", "must list at least one group", lengths)
        counts = [whole(f"lengths[{i}]", length, 1, 2**31) for i, length in enumerate(lengths)]
        table_size(sum(counts), "ClampedLaplace")
        inner, outer = positive("inside", inside), positive("between", between, infinite=True)
        return cls(gaps=tuple(gap for count in counts for gap in [*[inner] * (count - 1), outer])[:-1])

    @classmethod
    def per_unit(cls, domain: Domain, *, epsilon: float) -> Self:
        """Return the map whose budget is ``epsilon`` for each raw unit of ``domain``.

        A gap gets ``epsilon`` times the width w of one code. Two raw values that lie Δ apart can lie 1 + ⌊Δ/w⌋
        gaps apart, even when Δ < w: a pair of values may therefore lose up to one gap more than epsilon · Δ.
        """
        if not isinstance(domain, Domain) or domain.unit_width is None:
            raise SettingError("domain", "must be one with a raw unit", domain)
        if not domain.public:
            raise SettingError("domain", "must be public: its width shapes the mechanism", domain)
        exact = Fraction(positive("epsilon", epsilon)) * domain.unit_width
        budget = positive("epsilon for each code", exact)
        return cls(epsilon=budget if budget <= exact else math.nextafter(budget, 0), size=domain.size)

    def _ideal(self) -> Ideal:
        with precise(DIGITS):
            decay = [(-Decimal(gap)).exp() for gap in self.promised_gaps()]
            share = [1 / (1 + a) for a in [Decimal(0), *decay, Decimal(0)]]
            edge = [fixed(left + right - 1) for left, right in pairwise(share)]
            across = np.array([fixed(a) for a in decay], dtype=object)
        ideal: Ideal = np.zeros((self.size, self.size), dtype=object)
        for x in range(self.size):
            ideal[x, x] = ONE
            if x:
                ideal[x, :x] = (ideal[x - 1, :x] * across[x - 1]) >> FRACTION_BITS
        ideal = np.maximum(ideal, ideal.T) * np.array(edge, dtype=object)
        return ideal >> FRACTION_BITS

    def promised_gaps(self) -> Sequence[float]:
        return self.gaps or (cast("float", self.epsilon),) * (self.size - 1)

    @property
    def definition(self) -> DistanceLDP | GapLDP:
        gaps = tuple(self.promised_gaps())
        return DistanceLDP(gaps[0]) if len(set(gaps)) == 1 and math.isfinite(gaps[0]) else GapLDP(gaps)
