"""Gradient-boosted trees across organisations that may not show each other their data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veilboost.audits import audit_table
    from veilboost.domain import Domain
    from veilboost.errors import DataError, GuaranteeError, SettingError, UsageError, VeilboostError
    from veilboost.estimators import LocalBoostClassifier, OpBoostClassifier, OpBoostRegressor
    from veilboost.mechanisms import (
        AdjLaplace,
        AdjMap,
        BoundedLaplace,
        ClampedLaplace,
        DiscreteGaussian,
        DiscreteLaplace,
        Duchi,
        DuchiVector,
        GlobalMap,
        LaplaceVector,
        LocalLaplace,
        LocalMap,
        Piecewise,
        RandomizedResponse,
        RangeLaplace,
        SampledVector,
        TightMap,
        UnaryEncoding,
        certify,
    )
    from veilboost.privacy import compose, weighted_kendall
    from veilboost.randomness import FreshBits, PermanentBits, ReplayableBits

__version__ = "0.1.0"

_ROOMS = {
    "AdjLaplace": "mechanisms",
    "AdjMap": "mechanisms",
    "BoundedLaplace": "mechanisms",
    "ClampedLaplace": "mechanisms",
    "DataError": "errors",
    "DiscreteGaussian": "mechanisms",
    "DiscreteLaplace": "mechanisms",
    "Domain": "domain",
    "Duchi": "mechanisms",
    "DuchiVector": "mechanisms",
    "FreshBits": "randomness",
    "GlobalMap": "mechanisms",
    "GuaranteeError": "errors",
    "LaplaceVector": "mechanisms",
    "LocalBoostClassifier": "estimators",
    "LocalLaplace": "mechanisms",
    "LocalMap": "mechanisms",
    "OpBoostClassifier": "estimators",
    "OpBoostRegressor": "estimators",
    "PermanentBits": "randomness",
    "Piecewise": "mechanisms",
    "RandomizedResponse": "mechanisms",
    "RangeLaplace": "mechanisms",
    "ReplayableBits": "randomness",
    "SampledVector": "mechanisms",
    "SettingError": "errors",
    "TightMap": "mechanisms",
    "UnaryEncoding": "mechanisms",
    "UsageError": "errors",
    "VeilboostError": "errors",
    "audit_table": "audits",
    "certify": "mechanisms",
    "compose": "privacy",
    "weighted_kendall": "privacy",
}

__all__ = [
    "AdjLaplace",
    "AdjMap",
    "BoundedLaplace",
    "ClampedLaplace",
    "DataError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Domain",
    "Duchi",
    "DuchiVector",
    "FreshBits",
    "GlobalMap",
    "GuaranteeError",
    "LaplaceVector",
    "LocalBoostClassifier",
    "LocalLaplace",
    "LocalMap",
    "OpBoostClassifier",
    "OpBoostRegressor",
    "PermanentBits",
    "Piecewise",
    "RandomizedResponse",
    "RangeLaplace",
    "ReplayableBits",
    "SampledVector",
    "SettingError",
    "TightMap",
    "UnaryEncoding",
    "UsageError",
    "VeilboostError",
    "audit_table",
    "certify",
    "compose",
    "weighted_kendall",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `veilboost --help` opens at once."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'veilboost' has no attribute {name!r}")
    return getattr(import_module(f"veilboost.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
