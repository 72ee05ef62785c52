"""Pure mathematics: definitions of privacy, exact losses of tables, order preservation, composition."""

from veilboost.privacy.comparison import best_under_pairs, best_under_profile
from veilboost.privacy.composition import Composition, compose
from veilboost.privacy.guarantee import (
    LDP,
    ApproximateDP,
    Definition,
    DistanceLDP,
    GapLDP,
    Guarantee,
    Neighbours,
    PartitionLDP,
)
from veilboost.privacy.kendall import expected_weighted_kendall, weighted_kendall
from veilboost.privacy.order import (
    adj_bound,
    beta,
    global_bound,
    grr_bound,
    local_bound,
    mean_absolute_noise,
    order_preserving,
    order_preserving_pairs,
    probabilities,
)
from veilboost.privacy.profile import TOTAL, TOTAL_BITS, Profile, profile

__all__ = [
    "LDP",
    "TOTAL",
    "TOTAL_BITS",
    "ApproximateDP",
    "Composition",
    "Definition",
    "DistanceLDP",
    "GapLDP",
    "Guarantee",
    "Neighbours",
    "PartitionLDP",
    "Profile",
    "adj_bound",
    "best_under_pairs",
    "best_under_profile",
    "beta",
    "compose",
    "expected_weighted_kendall",
    "global_bound",
    "grr_bound",
    "local_bound",
    "mean_absolute_noise",
    "order_preserving",
    "order_preserving_pairs",
    "probabilities",
    "profile",
    "weighted_kendall",
]
