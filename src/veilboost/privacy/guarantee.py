"""What is promised, as frozen values: the definition, whom it protects, against whom, on what assumptions."""

import math
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

from veilboost.errors import SettingError
from veilboost.privacy.rounding import shown, sum_up, up
from veilboost.settings import fix, positive, whole

_LARGEST = 2**33


class Neighbours(StrEnum):
    """What may differ between the two worlds that a guarantee keeps from being told apart."""

    ONE_VALUE = "one value of one column changes"
    ONE_ROW = "one whole row changes"
    ROW_PRESENT = "one whole row is added or removed"
    ONE_OWNER = "all rows of one owner change"


@dataclass(frozen=True)
class LDP:
    """Any two inputs: at most ``epsilon``, however far apart.

    >>> print(LDP(1.0))  # doctest: +NORMALIZE_WHITESPACE
    Pure local differential privacy: if one value of one column changes, no output becomes more than exp(1)
    times as likely.
    """

    epsilon: float
    _: KW_ONLY
    neighbours: Neighbours = Neighbours.ONE_VALUE

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "neighbours", _neighbours(self.neighbours))

    def loss(self, distance: int) -> float:
        """Return the most that two codes ``distance`` apart may lose."""
        return self.epsilon if whole("distance", distance, 0, _LARGEST) else 0.0

    def pair_loss(self, x: int, y: int) -> float:
        """Return the most that the codes ``x`` and ``y`` may lose."""
        return self.loss(_apart(x, y))

    def __str__(self) -> str:
        return (
            f"Pure local differential privacy: if {self.neighbours}, no output becomes more than "
            f"exp({shown(self.epsilon)}) times as likely."
        )


@dataclass(frozen=True)
class DistanceLDP:
    """Two codes t apart: at most ``t * epsilon`` (the dLDP of Theorem 4.1).

    >>> DistanceLDP(0.5).loss(3), DistanceLDP(0.5).pair_loss(9, 2)
    (1.5, 3.5)
    """

    epsilon: float
    _: KW_ONLY
    neighbours: Neighbours = Neighbours.ONE_VALUE

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon, infinite=True))
        fix(self, "neighbours", _neighbours(self.neighbours))

    def loss(self, distance: int) -> float:
        """Return the most that two codes ``distance`` apart may lose, rounded up."""
        apart = whole("distance", distance, 0, _LARGEST)
        if math.isinf(self.epsilon):
            return math.inf if apart else 0.0
        return up(Fraction(self.epsilon) * apart)

    def pair_loss(self, x: int, y: int) -> float:
        """Return the most that the codes ``x`` and ``y`` may lose, rounded up."""
        return self.loss(_apart(x, y))

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return f"No bound: if {self.neighbours}, an output may show it with certainty."
        return (
            f"Distance-based local differential privacy: if {self.neighbours}, each value by at "
            f"most t codes, no output becomes more than exp(t * {shown(self.epsilon)}) times as likely."
        )


@dataclass(frozen=True)
class PartitionLDP:
    """Codes t apart and b borders between: at most ``b * epsilon_partition + min(t - b, theta - 1) * epsilon_near``.

    The definition is the paper's 4.4 with a smaller last term: once a partition is drawn, an input outside it
    acts as the nearest code inside it. An infinite ``epsilon_partition`` promises nothing across partitions. Where
    a whole row changes, its columns cross different borders: then ceil(t/theta) borders and min(t, theta - 1).

    >>> PartitionLDP(0.4, 0.1, 4).loss(5) == 2 * 0.4 + 3 * 0.1
    True
    """

    epsilon_partition: float
    epsilon_near: float
    theta: int
    _: KW_ONLY
    neighbours: Neighbours = Neighbours.ONE_VALUE

    def __post_init__(self) -> None:
        fix(self, "epsilon_partition", positive("epsilon_partition", self.epsilon_partition, infinite=True))
        fix(self, "epsilon_near", positive("epsilon_near", self.epsilon_near))
        fix(self, "theta", whole("theta", self.theta, 1, _LARGEST))
        fix(self, "neighbours", _neighbours(self.neighbours))

    def loss(self, distance: int) -> float:
        """Return the most that two codes ``distance`` apart may lose, rounded up."""
        fewest, rest = divmod(whole("distance", distance, 0, _LARGEST), self.theta)
        most = fewest + (rest > 0)
        if self.neighbours is not Neighbours.ONE_VALUE:
            return self._lost(most, distance)  # in a row some columns cross more borders, others stay inside
        return max(self._lost(borders, distance - borders) for borders in (fewest, most))

    def pair_loss(self, x: int, y: int) -> float:
        """Return the most that the codes ``x`` and ``y`` may lose, rounded up; codes count from 1."""
        if self.neighbours is not Neighbours.ONE_VALUE:
            return self.loss(_apart(x, y))
        first, last = whole("x", x, 1, _LARGEST) - 1, whole("y", y, 1, _LARGEST) - 1
        borders = abs(first // self.theta - last // self.theta)
        return self._lost(borders, _apart(x, y) - borders)

    def _lost(self, borders: int, inside: int) -> float:
        if borders and math.isinf(self.epsilon_partition):
            return math.inf
        near = Fraction(self.epsilon_near) * min(inside, self.theta - 1)
        return up(near + (Fraction(self.epsilon_partition) * borders if borders else 0))

    def __str__(self) -> str:
        if math.isinf(self.epsilon_partition):
            return (
                f"Distance-based local differential privacy inside partitions of {self.theta} codes, none across "
                f"them: if {self.neighbours}, each value by at most t codes and within its partition, no output "
                f"becomes more than exp(t * {shown(self.epsilon_near)}) times as likely."
            )
        row = self.neighbours is not Neighbours.ONE_VALUE
        moves = "each value by at most t codes" if row else "by t codes and across b borders"
        borders, inside = (f"ceil(t/{self.theta})", "t") if row else ("b", "t - b")
        return (
            f"Partition-based local differential privacy, partitions of {self.theta} codes: if "
            f"{self.neighbours}, {moves}, no output becomes more than exp({borders} * {shown(self.epsilon_partition)} "
            f"+ min({inside}, {self.theta - 1}) * {shown(self.epsilon_near)}) times as likely."
        )


@dataclass(frozen=True)
class GapLDP:
    """Codes x and y: at most the sum of the budgets ``gaps`` that lie between them.

    Equal gaps are :class:`DistanceLDP`; an infinite one promises nothing across it (groups).

    >>> promise = GapLDP((0.5, 2.0, 0.25))
    >>> promise.pair_loss(4, 2), promise.pair_loss(1, 2), promise.loss(2)
    (2.25, 0.5, 2.5)
    """

    gaps: tuple[float, ...]
    _: KW_ONLY
    neighbours: Neighbours = Neighbours.ONE_VALUE

    def __post_init__(self) -> None:
        checked = (positive(f"gaps[{i}]", gap, infinite=True) for i, gap in enumerate(self.gaps))
        fix(self, "gaps", tuple(checked))
        fix(self, "neighbours", _neighbours(self.neighbours))

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.gaps) + 1

    def pair_loss(self, x: int, y: int) -> float:
        """Return the most that the codes ``x`` and ``y`` may lose, rounded up."""
        low, high = sorted((whole("x", x, 1, self.size), whole("y", y, 1, self.size)))
        return sum_up(self.gaps[low - 1 : high - 1])

    def loss(self, distance: int) -> float:
        """Return the most that two codes ``distance`` apart may lose, rounded up."""
        whole("distance", distance, 0, self.size - 1)
        return max(self.pair_loss(x, x + distance) for x in range(1, self.size - distance + 1))

    def __str__(self) -> str:
        return (
            f"Distance-based local differential privacy with a budget for each gap: if {self.neighbours}, "
            f"from x to y, no output becomes more than exp(e) times as likely, e being the sum of the budgets "
            f"between x and y; gap by gap they are {_runs(self.gaps)}."
        )


@dataclass(frozen=True)
class ApproximateDP:
    """At most ``epsilon``, but for a failure of probability at most ``delta``; for values ``codes`` apart if given.

    >>> print(ApproximateDP(1.0, 1e-6, neighbours=Neighbours.ONE_VALUE, codes=3))  # doctest: +NORMALIZE_WHITESPACE
    Approximate differential privacy: if one value of one column changes by at most 3 codes, no set of outputs becomes
    more than exp(1) times as likely, but for a probability of at most 0.000001.
    >>> ApproximateDP(1.0, 1.5, neighbours=Neighbours.ONE_ROW)
    Traceback (most recent call last):
    veilboost.errors.SettingError: delta must be a number between 0 and 1; got 1.5
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    neighbours: Neighbours
    codes: int | None = None

    def __post_init__(self) -> None:
        fix(self, "epsilon", positive("epsilon", self.epsilon))
        fix(self, "delta", positive("delta", self.delta))
        fix(self, "neighbours", _neighbours(self.neighbours))
        if self.codes is not None:
            fix(self, "codes", whole("codes", self.codes, 1, _LARGEST))
        if self.delta >= 1:
            raise SettingError("delta", "must be a number between 0 and 1", self.delta)

    def __str__(self) -> str:
        moved = "" if self.codes is None else f" by at most {self.codes} code{'s' * (self.codes > 1)}"
        return (
            f"Approximate differential privacy: if {self.neighbours}{moved}, no set of outputs becomes more than "
            f"exp({shown(self.epsilon)}) times as likely, but for a probability of at most {shown(self.delta)}."
        )


Definition = LDP | DistanceLDP | PartitionLDP | GapLDP | ApproximateDP


@dataclass(frozen=True)
class Guarantee:
    """A definition together with who is protected, against whom, and what must hold for it.

    >>> promise = Guarantee(DistanceLDP(0.1), protects="the partner's rows", against="the lead")
    >>> print(promise)  # doctest: +NORMALIZE_WHITESPACE
    Distance-based local differential privacy: if one value of one column changes, each value by at most t
    codes, no output becomes more than exp(t * 0.1) times as likely.
    Protects the partner's rows against the lead. Assumes nothing further.
    """

    definition: Definition
    _: KW_ONLY
    protects: str
    against: str
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.definition, Definition):
            raise SettingError("definition", "must be one of the definitions of privacy", self.definition)
        if not isinstance(self.assumptions, tuple):
            raise SettingError("assumptions", "must be a tuple of sentences", self.assumptions)
        named = [("protects", self.protects), ("against", self.against)]
        for name, text in [*named, *(("assumptions", each) for each in self.assumptions)]:
            if not isinstance(text, str) or not text.strip():
                raise SettingError(name, "must be words", text)

    def __str__(self) -> str:
        assumed = "; ".join(self.assumptions) or "nothing further"
        return f"{self.definition}\nProtects {self.protects} against {self.against}. Assumes {assumed}."


def _neighbours(value: object) -> Neighbours:
    try:
        return Neighbours(str(value))
    except ValueError:
        rule = "must be one of: " + "; ".join(Neighbours)
        raise SettingError("neighbours", rule, value) from None


def _apart(x: int, y: int) -> int:
    return abs(whole("x", x, -_LARGEST // 2, _LARGEST // 2) - whole("y", y, -_LARGEST // 2, _LARGEST // 2))


def _runs(gaps: tuple[float, ...]) -> str:
    """Write equal gaps in a row once.

    >>> _runs((0.5, 0.5, float("inf"), 0.5))
    '2 x 0.5, 1 x ∞, 1 x 0.5'
    """
    starts = [0, *(i for i, (a, b) in enumerate(pairwise(gaps), 1) if a != b), len(gaps)]
    return ", ".join(f"{stop - start} x {shown(gaps[start])}" for start, stop in pairwise(starts) if stop > start)
