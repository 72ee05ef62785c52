"""A mechanism's certificate: what was asked for and what the integers give, as plain values."""

import math
from typing import Any

import msgspec

from veilboost.mechanisms.catalogue import TABLE_MECHANISMS
from veilboost.mechanisms.mechanism import TableMechanism
from veilboost.privacy import expected_weighted_kendall, mean_absolute_noise, order_preserving

Number = float | str


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Exact figures of one table; lists begin at gap or distance 1, and an infinite loss is the text "inf"."""

    mechanism: str
    size: int
    nominal_epsilon: Number
    gaps: list[Number]
    epsilon_by_distance: list[Number]
    order_preserving_by_distance: list[float]
    order_preserving_bound_by_distance: list[float] | None
    expected_weighted_kendall: float
    mean_absolute_noise: float


def certify(mechanism: TableMechanism) -> Certificate:
    """Return the certificate of ``mechanism``, with uniform input wherever an average is taken.

    >>> from veilboost.mechanisms.global_map import GlobalMap
    >>> certify(GlobalMap(epsilon=0.64, size=10)).epsilon_by_distance[0] < 0.64
    True
    """
    profile, probabilities = mechanism.profile(), mechanism.probabilities()
    bound = mechanism.order_preserving_bound()
    return Certificate(
        mechanism=next(name for name, kind in TABLE_MECHANISMS.items() if type(mechanism) is kind),
        size=mechanism.size,
        nominal_epsilon=_number(mechanism.nominal_epsilon),
        gaps=_numbers(profile.gaps),
        epsilon_by_distance=_numbers(profile.epsilon_by_distance),
        order_preserving_by_distance=order_preserving(probabilities).tolist(),
        order_preserving_bound_by_distance=None if bound is None else bound.tolist(),
        expected_weighted_kendall=expected_weighted_kendall(probabilities),
        mean_absolute_noise=mean_absolute_noise(probabilities),
    )


def _numbers(values: Any) -> list[Number]:
    return [_number(value) for value in values]


def _number(value: float) -> Number:
    return "inf" if math.isinf(value) else float(value)
