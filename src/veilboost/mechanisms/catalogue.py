"""Every mechanism by its short name, and how settings turn into one."""

from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, cast

from veilboost.errors import SettingError
from veilboost.mechanisms.adj_laplace import AdjLaplace
from veilboost.mechanisms.adj_map import AdjMap
from veilboost.mechanisms.bounded_laplace import BoundedLaplace
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
from veilboost.mechanisms.tight_map import TightMap
from veilboost.mechanisms.unary_encoding import UnaryEncoding
from veilboost.mechanisms.value_mechanism import ValueMechanism, VectorMechanism
from veilboost.settings import MechanismSettings, only_taken

TABLE_MECHANISMS: dict[str, type[TableMechanism]] = {
    "global": GlobalMap,
    "adj": AdjMap,
    "local": LocalMap,
    "tight": TightMap,
    "grr": RandomizedResponse,
}
CODE_MECHANISMS: dict[str, type[Mechanism]] = TABLE_MECHANISMS | {
    "bounded-laplace": BoundedLaplace,
    "clamped-laplace": ClampedLaplace,
    "adj-laplace": AdjLaplace,
    "local-laplace": LocalLaplace,
    "discrete-laplace": DiscreteLaplace,
    "discrete-gaussian": DiscreteGaussian,
}
"""From one code to one code."""
VALUE_MECHANISMS: dict[str, type[ValueMechanism]] = {
    "piecewise": Piecewise,
    "duchi": Duchi,
    "range-laplace": RangeLaplace,
}
"""From one value to multiples of a step."""
VECTOR_MECHANISMS: dict[str, type[VectorMechanism]] = {
    "sampled-vector": SampledVector,
    "duchi-vector": DuchiVector,
    "laplace-vector": LaplaceVector,
}
"""The same for whole rows."""
MECHANISMS: dict[str, type[Mechanism]] = (
    CODE_MECHANISMS | VALUE_MECHANISMS | VECTOR_MECHANISMS | {"unary": UnaryEncoding}
)


def from_settings(settings: MechanismSettings) -> Mechanism:
    """Return the mechanism that ``settings`` describe; a setting that it does not know is refused.

    Columns of a table often have the same one, and it takes long to make: the last few are kept.

    >>> from_settings(MechanismSettings(mechanism="tight", epsilon=0.5, size=4))
    TightMap(size=4, epsilon=0.5, gaps=())
    >>> from_settings(MechanismSettings(mechanism="global", epsilon=0.5, size=4, theta=2))
    Traceback (most recent call last):
    veilboost.errors.SettingError: theta is no setting of 'global', which takes size, epsilon; got 2
    """
    name = settings.mechanism
    if name not in MECHANISMS:
        raise SettingError("mechanism", f"must be one of {', '.join(MECHANISMS)}", name)
    taken = [field for field in fields(MECHANISMS[name]) if field.init]
    needed = [field.name for field in taken if field.default is MISSING]
    given = only_taken(repr(name), settings.values(), [field.name for field in taken], needed)
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return _made(MECHANISMS[name], tuple((key, type(value), value) for key, value in plain.items()))


@lru_cache(maxsize=8)
def _made(kind: Any, given: tuple[tuple[str, type, object], ...]) -> Mechanism:
    made: Mechanism = kind(**{key: value for key, _, value in given})
    return made


def settings_of(mechanism: Mechanism) -> dict[str, Any]:
    """Return the settings from which `from_settings` makes ``mechanism`` again.

    >>> settings_of(TightMap(epsilon=0.5, size=4))
    {'mechanism': 'tight', 'size': 4, 'epsilon': 0.5}
    """
    name = next(name for name, kind in MECHANISMS.items() if type(mechanism) is kind)
    given = {field.name: getattr(mechanism, field.name) for field in fields(mechanism) if field.init}
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
    if plain.get("gaps"):
        plain = {"gaps": plain["gaps"]}
    return {"mechanism": name} | {key: value for key, value in plain.items() if value not in (None, [])}


def table_from_settings(settings: MechanismSettings) -> TableMechanism:
    """Return the table mechanism that ``settings`` describe, or say which mechanisms have a table."""
    if settings.mechanism not in TABLE_MECHANISMS:
        raise SettingError("mechanism", f"must be one with a table: {', '.join(TABLE_MECHANISMS)}", settings.mechanism)
    return cast("TableMechanism", from_settings(settings))
