"""The scikit-learn face of the protocols."""

from veilboost.estimators.opboost import OpBoostClassifier, OpBoostRegressor

__all__ = ["OpBoostClassifier", "OpBoostRegressor"]
