"""Estimate how often each code occurs from answers that say yes too rarely where it does and too often where not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veilboost.privacy import TOTAL


@dataclass(frozen=True)
class Answers:
    """The weights, out of 2^63, of a yes: ``kept`` where it is true, ``raised`` where it is not."""

    kept: int
    raised: int

    def counts(self, yes: NDArray[np.int64], rows: int) -> NDArray[np.float64]:
        """Return unbiased estimates of how many of ``rows`` are true, given how many said ``yes``."""
        surplus: NDArray[np.float64] = yes - np.float64(rows * (self.raised / TOTAL))
        return surplus / np.float64((self.kept - self.raised) / TOTAL)

    def count_variance(self, true: float, rows: int) -> float:
        """Return the variance of such an estimate where ``true`` of ``rows`` are."""
        kept, raised = self.kept / TOTAL, self.raised / TOTAL
        noise = true * kept * (1 - kept) + (rows - true) * raised * (1 - raised)
        return noise / (kept - raised) ** 2
