"""The scikit-learn face of the protocols."""

from veilboost.estimators.local import LocalBoostClassifier
from veilboost.estimators.opboost import OpBoostClassifier, OpBoostRegressor

__all__ = ["LocalBoostClassifier", "OpBoostClassifier", "OpBoostRegressor"]
