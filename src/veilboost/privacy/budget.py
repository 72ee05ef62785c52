"""What a ledger counts in: the loss between neighbouring codes, in whole trillionths, so that sums are exact.

The loss between neighbours is what every pure definition states, and it adds: where definitions differ, the sum
bounds the loss of two values by their distance in the finest codes times it.
"""

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from veilboost.errors import SettingError
from veilboost.privacy.guarantee import ApproximateDP, Definition

TRILLION = 10**12
_LARGEST = 10**6


def neighbour_loss(definition: Definition) -> float:
    """Return what two neighbouring codes may lose at most under a pure ``definition``, perhaps infinity.

    >>> from veilboost.privacy.guarantee import GapLDP, PartitionLDP
    >>> neighbour_loss(GapLDP((0.1, 2.0, 0.1))), neighbour_loss(PartitionLDP(0.4, 0.1, 4))
    (2.0, 0.4)
    """
    if isinstance(definition, ApproximateDP):
        raise SettingError(
            "mechanism", "must have a guarantee without a failure probability to be released", definition
        )
    return definition.loss(1)


def units(name: str, loss: float) -> int | None:
    """Return a finite ``loss`` in trillionths, to the nearest, and none for an infinite one.

    >>> units("cap", 0.1), 3 * units("epsilon", 0.1) == units("cap", 0.3), units("cap", float("inf"))
    (100000000000, True, None)
    """
    if loss == float("inf"):
        return None
    counted = int((Decimal(repr(loss)) * TRILLION).to_integral_value(ROUND_HALF_EVEN))
    if not 0 < counted <= _LARGEST * TRILLION:
        raise SettingError(name, f"must lie from {1 / TRILLION:g} to {_LARGEST}, or be infinite", loss)
    return counted


def loss_of(counted: int | None) -> float:
    """Return trillionths as a loss.

    >>> loss_of(300_000_000_000), loss_of(None)
    (0.3, inf)
    """
    return float("inf") if counted is None else float(Fraction(counted, TRILLION))
