"""A mechanism's certificate: what was asked for and what the integers give, as plain values."""

import msgspec

from veilboost.errors import SettingError
from veilboost.mechanisms.catalogue import TABLE_MECHANISMS
from veilboost.mechanisms.mechanism import TableMechanism
from veilboost.privacy import expected_weighted_kendall, mean_absolute_noise, order_preserving


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Exact figures of one table; lists begin at gap or distance 1."""

    mechanism: str
    size: int
    nominal_epsilon: float
    gaps: list[float]
    epsilon_by_distance: list[float]
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
    if not isinstance(mechanism, TableMechanism):
        raise SettingError("mechanism", f"must be one with a table: {', '.join(TABLE_MECHANISMS)}", mechanism)
    profile, probabilities = mechanism.profile(), mechanism.probabilities()
    bound = mechanism.order_preserving_bound()
    return Certificate(
        mechanism=next(name for name, kind in TABLE_MECHANISMS.items() if type(mechanism) is kind),
        size=mechanism.size,
        nominal_epsilon=mechanism.nominal_epsilon,
        gaps=list(profile.gaps),
        epsilon_by_distance=list(profile.epsilon_by_distance),
        order_preserving_by_distance=order_preserving(probabilities).tolist(),
        order_preserving_bound_by_distance=None if bound is None else bound.tolist(),
        expected_weighted_kendall=expected_weighted_kendall(probabilities),
        mean_absolute_noise=mean_absolute_noise(probabilities),
    )
