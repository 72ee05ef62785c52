"""Mechanisms: randomised maps from a code to what leaves, one a file, each with its proof beside it."""

from veilboost.mechanisms.adj_laplace import AdjLaplace
from veilboost.mechanisms.adj_map import AdjMap
from veilboost.mechanisms.bounded_laplace import BoundedLaplace
from veilboost.mechanisms.catalogue import (
    CODE_MECHANISMS,
    MECHANISMS,
    TABLE_MECHANISMS,
    VALUE_MECHANISMS,
    VECTOR_MECHANISMS,
    from_settings,
    settings_of,
    table_from_settings,
)
from veilboost.mechanisms.certificate import Certificate, certify
from veilboost.mechanisms.clamped_laplace import ClampedLaplace
from veilboost.mechanisms.discrete_gaussian import DiscreteGaussian
from veilboost.mechanisms.discrete_laplace import DiscreteLaplace
from veilboost.mechanisms.duchi import Duchi
from veilboost.mechanisms.duchi_vector import DuchiVector
from veilboost.mechanisms.global_map import GlobalMap
from veilboost.mechanisms.laplace_vector import LaplaceVector
from veilboost.mechanisms.local_laplace import LocalLaplace
from veilboost.mechanisms.local_map import LocalMap
from veilboost.mechanisms.mechanism import Mechanism, TableMechanism
from veilboost.mechanisms.piecewise import Piecewise
from veilboost.mechanisms.randomized_response import RandomizedResponse
from veilboost.mechanisms.range_laplace import RangeLaplace
from veilboost.mechanisms.sampled_vector import SampledVector
from veilboost.mechanisms.table import LARGEST_SIZE, Table
from veilboost.mechanisms.tight_map import TightMap
from veilboost.mechanisms.unary_encoding import UnaryEncoding
from veilboost.mechanisms.value_mechanism import ValueMechanism, VectorMechanism

__all__ = [
    "CODE_MECHANISMS",
    "LARGEST_SIZE",
    "MECHANISMS",
    "TABLE_MECHANISMS",
    "VALUE_MECHANISMS",
    "VECTOR_MECHANISMS",
    "AdjLaplace",
    "AdjMap",
    "BoundedLaplace",
    "Certificate",
    "ClampedLaplace",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Duchi",
    "DuchiVector",
    "GlobalMap",
    "LaplaceVector",
    "LocalLaplace",
    "LocalMap",
    "Mechanism",
    "Piecewise",
    "RandomizedResponse",
    "RangeLaplace",
    "SampledVector",
    "Table",
    "TableMechanism",
    "TightMap",
    "UnaryEncoding",
    "ValueMechanism",
    "VectorMechanism",
    "certify",
    "from_settings",
    "settings_of",
    "table_from_settings",
]
