"""Sequential composition: what several releases cost together, for one column and for the whole row.

Releases of one value add up: dLDP budgets by Theorem B.1, partition budgets by Theorem B.2, pure and per-gap
budgets by the same proof. All releases of one column are read in the same codes: it is for the caller to give those of
one domain. Where definitions differ, or their partitions or numbers of gaps, each is first read as what it implies: the
dLDP of what neighbouring codes may lose. Promises about whole rows and failure probabilities do not add: refused.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from veilboost.errors import SettingError
from veilboost.privacy.budget import neighbour_loss
from veilboost.privacy.guarantee import (
    LDP,
    Definition,
    DistanceLDP,
    GapLDP,
    Guarantee,
    Neighbours,
    PartitionLDP,
)
from veilboost.privacy.rounding import sum_up

_Total = Callable[[tuple[float, ...]], float]


@dataclass(frozen=True)
class Composition:
    """The two statements about a set of releases: one column changed, and the whole row changed."""

    one_column: Definition
    whole_row: Definition

    def __str__(self) -> str:
        return f"One column changed. {self.one_column}\nThe whole row changed. {self.whole_row}"


def compose(releases: Mapping[str, Sequence[Definition | Guarantee]]) -> Composition:
    """Add up the releases of each column, given by its name, and state the worst column and the sum of all.

    The whole row is the honest statement where columns are correlated: every column may move, each in its own way.

    >>> spent = compose({"age": [DistanceLDP(0.5), DistanceLDP(0.25)], "income": [DistanceLDP(0.5)]})
    >>> spent.one_column.epsilon, spent.whole_row.epsilon
    (0.75, 1.25)
    >>> compose({"age": [DistanceLDP(0.5)], "colour": [LDP(1.0)]}).whole_row.epsilon
    1.5
    """
    if not isinstance(releases, Mapping) or not releases:
        raise SettingError("releases", "must name columns with their releases", releases)
    if not all(isinstance(column, Sequence) and column for column in releases.values()):
        raise SettingError("releases", "must list one release or more for each column", releases)
    known = {name: [_known(release) for release in column] for name, column in releases.items()}
    alike = iter(_alike([release for column in known.values() for release in column]))
    columns = [[next(alike) for _ in column] for column in known.values()]
    sums = [_combine(column, sum_up, Neighbours.ONE_VALUE) for column in columns]
    return Composition(
        one_column=_combine(sums, max, Neighbours.ONE_VALUE),
        whole_row=_combine(_moving_apart(sums), sum_up, Neighbours.ONE_ROW),
    )


def _moving_apart(columns: list[Definition]) -> list[Definition]:
    """Read gap budgets as those of their largest gap: in a whole row each column may move across another gap."""
    return [DistanceLDP(neighbour_loss(column)) if isinstance(column, GapLDP) else column for column in columns]


def _known(release: Definition | Guarantee) -> Definition:
    definition = release.definition if isinstance(release, Guarantee) else release
    if not isinstance(definition, LDP | DistanceLDP | PartitionLDP | GapLDP):
        raise SettingError("releases", "must be guarantees whose budgets add", type(definition).__name__)
    if definition.neighbours is not Neighbours.ONE_VALUE:
        raise SettingError("releases", f"must each say: {Neighbours.ONE_VALUE}", str(definition.neighbours))
    return definition


def _alike(definitions: list[Definition]) -> list[Definition]:
    """Return definitions whose budgets add as they are, or else the dLDP that each implies."""
    kinds = {(type(d), getattr(d, "theta", None), getattr(d, "size", None)) for d in definitions}
    return definitions if len(kinds) == 1 else [DistanceLDP(neighbour_loss(d)) for d in definitions]


def _combine(alike: Sequence[Definition], total: _Total, neighbours: Neighbours) -> Definition:
    first, budgets = alike[0], [total(column) for column in zip(*map(_budgets, alike), strict=True)]
    match first:
        case LDP():
            return LDP(budgets[0], neighbours=neighbours)
        case DistanceLDP():
            return DistanceLDP(budgets[0], neighbours=neighbours)
        case PartitionLDP():
            return PartitionLDP(budgets[0], budgets[1], first.theta, neighbours=neighbours)
        case _:
            return GapLDP(tuple(budgets), neighbours=neighbours)


def _budgets(definition: Definition) -> Iterable[float]:
    match definition:
        case GapLDP():
            return definition.gaps
        case PartitionLDP():
            return definition.epsilon_partition, definition.epsilon_near
        case _:
            return (definition.epsilon,)
