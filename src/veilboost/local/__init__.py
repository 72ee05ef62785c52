"""The protocol between a data user and very many data owners, each of whom answers one question, once."""

from veilboost.local.attendance import Attendance
from veilboost.local.boosting import Arrival, Arrivals, Boosted, Job, Round, data_user
from veilboost.local.catalogue import SHARES, share_of
from veilboost.local.classifier import LocalClassifier
from veilboost.local.learners import Centroids, Ensemble, Learner, Linear, Stump
from veilboost.local.owner import answer
from veilboost.local.promise import Promise, promise
from veilboost.local.question import Answers, Columns, Labels, Question
from veilboost.local.sample import LocalSample
from veilboost.local.share import Condition, Own, Rows, Share, Totals
from veilboost.local.simulation import Owners
from veilboost.local.statistic import LocalStatistic
from veilboost.local.weighting import Weighting

__all__ = [
    "SHARES",
    "Answers",
    "Arrival",
    "Arrivals",
    "Attendance",
    "Boosted",
    "Centroids",
    "Columns",
    "Condition",
    "Ensemble",
    "Job",
    "Labels",
    "Learner",
    "Linear",
    "LocalClassifier",
    "LocalSample",
    "LocalStatistic",
    "Own",
    "Owners",
    "Promise",
    "Question",
    "Round",
    "Rows",
    "Share",
    "Stump",
    "Totals",
    "Weighting",
    "answer",
    "data_user",
    "promise",
    "share_of",
]
