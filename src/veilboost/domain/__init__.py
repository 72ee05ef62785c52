"""Public codes of a column: what they stand for, raw values to codes, and codes back to raw values."""

from veilboost.domain.declared import declared
from veilboost.domain.domain import Coded, Domain

__all__ = ["Coded", "Domain", "declared"]
