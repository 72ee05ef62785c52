"""Train on ordinal numbers with an ordinary boosting library, and put the thresholds back in raw units."""

from veilboost.trees.library import FILES
from veilboost.trees.model import RankModel, StockModel, as_compared, combine, get_ready, restore, train
from veilboost.trees.rows import Feature, Rows
from veilboost.trees.settings import BoostingSettings

__all__ = [
    "FILES",
    "BoostingSettings",
    "Feature",
    "RankModel",
    "Rows",
    "StockModel",
    "as_compared",
    "combine",
    "get_ready",
    "restore",
    "train",
]
