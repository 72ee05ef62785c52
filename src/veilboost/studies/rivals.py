"""The mechanisms that are compared, by the names that studies give them; TightMap under all three comparisons."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from veilboost.mechanisms import (
    AdjMap,
    GlobalMap,
    LocalMap,
    Mechanism,
    Piecewise,
    RandomizedResponse,
    TableMechanism,
    TightMap,
)
from veilboost.privacy import best_under_pairs, best_under_profile

GLOBAL, LOCAL, PIECEWISE, GRR = "Global-map", "Local-map", "Piecewise", "GRR"
ADJS = "Adj-map"
TIGHT, GROUPS = "TightMap", "TightMap in groups"
"""Comparison 1: the same stated definition. In groups: the same inside each, and as Local-map infinite between them."""
KEPT = "{} at the ε kept by {}"
"""Comparison 1 again, at the ε-dLDP that the rival really keeps: its largest exact loss between neighbours."""
BY_PROFILE, BY_PAIRS = "{} under the profile of {}", "{} under the pairs of {}"
"""Comparisons 2 and 3: no loss above the rival's exact one at any distance, or between any two codes."""


def adj(alpha: float) -> str:
    """Return the name of Adj-map with that ratio.

    >>> adj(0.4)
    'Adj-map, α = 0.4'
    """
    return f"Adj-map, α = {alpha:g}"


def tables(
    epsilon: float, *, size: int, theta: int, alphas: Sequence[float], fair_to: Sequence[str] = ()
) -> dict[str, TableMechanism]:
    """Return all mechanisms with a table at a stated ε, Global-map, Local-map and GRR among them.

    ``fair_to`` names the rivals under whose exact losses TightMap is put too.
    """
    made: dict[str, Callable[[], TableMechanism]] = {
        LOCAL: lambda: LocalMap(epsilon=epsilon, size=size, theta=theta),
        **{adj(alpha): _adj(epsilon, size, theta, alpha) for alpha in alphas},
        GLOBAL: lambda: GlobalMap(epsilon=epsilon, size=size),
        GRR: lambda: RandomizedResponse(epsilon=epsilon, size=size),
        TIGHT: lambda: TightMap(epsilon=epsilon, size=size),
        GROUPS: lambda: TightMap.grouped(lengths(size, theta), inside=epsilon, between=math.inf),
    }
    found = {name: make() for name, make in made.items()}
    for name in fair_to:
        found |= fair(name, found[name])
    return found


def _adj(epsilon: float, size: int, theta: int, alpha: float) -> Callable[[], TableMechanism]:
    return lambda: AdjMap(epsilon=epsilon, size=size, theta=theta, alpha=alpha)


def lengths(size: int, theta: int) -> list[int]:
    """Return how long the partitions are: the last one may be shorter.

    >>> lengths(10, 4)
    [4, 4, 2]
    """
    return [min(theta, size - start) for start in range(0, size, theta)]


def fair(name: str, rival: TableMechanism) -> Mapping[str, TableMechanism]:
    """Return TightMap with gaps that lose no more than ``rival`` at any distance, and between any two codes."""
    return {
        BY_PROFILE.format(TIGHT, name): _under(rival, "profile"),
        BY_PAIRS.format(TIGHT, name): _under(rival, "pairs"),
    }


@cache
def _under(rival: TableMechanism, how: str) -> TableMechanism:
    exact = rival.profile()
    gaps = best_under_profile(exact.epsilon_by_distance) if how == "profile" else best_under_pairs(exact.pairs())
    return TightMap(gaps=gaps)


def at_kept(made: Mapping[str, Mechanism]) -> dict[str, TableMechanism]:
    """Return TightMap at the ε-dLDP that Global-map and each Adj-map among ``made`` really keep.

    Local-map keeps none: it tells values of different partitions apart with certainty.

    >>> made = tables(0.64, size=10, theta=4, alphas=[0.4])
    >>> {name: f"{max(one.profile().gaps):.3f}" for name, one in at_kept(made).items()}
    {'TightMap at the ε kept by Adj-map, α = 0.4': '0.769', 'TightMap at the ε kept by Global-map': '0.495'}
    """
    return {
        KEPT.format(TIGHT, name): TightMap(epsilon=max(rival.profile().gaps), size=rival.size)
        for name, rival in made.items()
        if isinstance(rival, TableMechanism) and name.startswith((GLOBAL, ADJS))
    }


def all_of(
    epsilon: float, *, size: int, theta: int, alphas: Sequence[float], fair_to: Sequence[str] = ()
) -> dict[str, Mechanism]:
    """Return the mechanisms with a table, and Piecewise, which has none."""
    return {
        **tables(epsilon, size=size, theta=theta, alphas=alphas, fair_to=fair_to),
        PIECEWISE: Piecewise(epsilon=epsilon, size=size),
    }
