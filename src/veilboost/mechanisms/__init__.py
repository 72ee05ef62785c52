"""Mechanisms: randomised maps from a code to what leaves, one a file, each with its proof beside it."""

from veilboost.mechanisms.adj_laplace import AdjLaplace
from veilboost.mechanisms.adj_map import AdjMap
from veilboost.mechanisms.bounded_laplace import BoundedLaplace
from veilboost.mechanisms.catalogue import MECHANISMS, TABLE_MECHANISMS, from_settings, table_from_settings
from veilboost.mechanisms.certificate import Certificate, certify
from veilboost.mechanisms.clamped_laplace import ClampedLaplace
from veilboost.mechanisms.discrete_laplace import DiscreteLaplace
from veilboost.mechanisms.global_map import GlobalMap
from veilboost.mechanisms.local_laplace import LocalLaplace
from veilboost.mechanisms.local_map import LocalMap
from veilboost.mechanisms.mechanism import Mechanism, TableMechanism
from veilboost.mechanisms.randomized_response import RandomizedResponse
from veilboost.mechanisms.table import LARGEST_SIZE, Table
from veilboost.mechanisms.tight_map import TightMap

__all__ = [
    "LARGEST_SIZE",
    "MECHANISMS",
    "TABLE_MECHANISMS",
    "AdjLaplace",
    "AdjMap",
    "BoundedLaplace",
    "Certificate",
    "ClampedLaplace",
    "DiscreteLaplace",
    "GlobalMap",
    "LocalLaplace",
    "LocalMap",
    "Mechanism",
    "RandomizedResponse",
    "Table",
    "TableMechanism",
    "TightMap",
    "certify",
    "from_settings",
    "table_from_settings",
]
