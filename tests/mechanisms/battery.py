"""One small example of every mechanism in the catalogue, exact comparisons, and a tape with crafted bits."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray

from veilboost.mechanisms import MECHANISMS, TABLE_MECHANISMS, VECTOR_MECHANISMS, Mechanism, TableMechanism, TightMap
from veilboost.randomness import Halves, PermanentBits, Tape

PARAMETERS: dict[str, Any] = {"epsilon": 0.7, "size": 10, "theta": 4, "alpha": 0.4}
PARAMETERS |= {"delta": 1e-3, "sensitivity": 2, "d": 3, "k": 2, "each": "piecewise", "optimised": False}
CHANGED: dict[str, Any] = {"epsilon": 0.8, "size": 11, "theta": 3, "alpha": 0.5}
CHANGED |= {"delta": 2e-3, "sensitivity": 3, "d": 4, "k": 1, "each": "duchi", "optimised": True}
EPSILONS = (0.001, 0.1, 1.28, 20.0)


def taken(name: str) -> dict[str, Any]:
    """The example's settings that the mechanism ``name`` knows: a new mechanism needs nothing added here."""
    return {field.name: PARAMETERS[field.name] for field in fields(MECHANISMS[name]) if field.name in PARAMETERS}


def example(name: str, **changes: Any) -> Mechanism:
    made: Mechanism = MECHANISMS[name](**(taken(name) | changes))
    return made


def column(name: str, codes: Any) -> Any:
    """The ``codes`` as the mechanism ``name`` takes them: as they are, or each as a row of alike ones."""
    if name not in VECTOR_MECHANISMS:
        return codes
    rows = [[code] * PARAMETERS["d"] for code in codes]
    return np.array(rows, dtype=codes.dtype).reshape(-1, PARAMETERS["d"]) if isinstance(codes, np.ndarray) else rows


def width(name: str) -> tuple[int, ...]:
    """The shape of what is drawn for one value."""
    return (PARAMETERS["d"],) if name in VECTOR_MECHANISMS else (PARAMETERS["size"],) if name == "unary" else ()


def variants(name: str, size: int, epsilon: float) -> Iterator[TableMechanism]:
    """Tables of one size: uneven last partitions, partitions of one code and of all, uneven and single groups."""
    kind: Any = TABLE_MECHANISMS[name]
    thetas = sorted({1, min(4, size), max(1, size // 2 + 1), size})
    if name == "adj":
        yield from (
            kind(epsilon=epsilon, size=size, theta=theta, alpha=a) for theta in thetas for a in (0.1, 1.0, 10.0)
        )
    elif name == "local":
        yield from (kind(epsilon=epsilon, size=size, theta=theta) for theta in thetas)
    else:
        yield kind(epsilon=epsilon, size=size)
    if name == "tight":
        yield from (TightMap(gaps=gaps) for gaps in gap_lists(size - 1, epsilon))


def gap_lists(count: int, epsilon: float) -> list[tuple[float, ...]]:
    steps = range(count)
    return [
        tuple(epsilon * (1 + i % 3) for i in steps),
        tuple(10 * epsilon if i % 5 == 2 else epsilon for i in steps),
        tuple(math.inf if i % 4 == 1 or i == count - 1 else epsilon for i in steps),
        (math.inf,) * count,
    ]


def permanent(count: int, first: int = 0) -> PermanentBits:
    keys = np.arange(first, first + count)
    return PermanentBits(secret=bytes(range(32)), source="test/column", version=1, row_keys=keys, domain=None)


def row_sums(weights: NDArray[np.uint64]) -> list[int]:
    return [sum(row) for row in weights.tolist()]


def loses_at_most(first: NDArray[Any], second: NDArray[Any], loss: float) -> bool:
    """Whether no output is more than e^loss times as likely under one row as under the other; in integers."""
    if math.isinf(loss):
        return True
    with mp.workprec(400):
        odds = int(mp.floor(mp.ldexp(mp.exp(min(loss, 64.0)), 256)))  # beyond e^44 lie only zeros
    one, other = first.astype(object), second.astype(object)
    return bool((one << 256 <= other * odds).all() and (other << 256 <= one * odds).all())


def ideal(name: str, mechanism: Any) -> list[list[mpf]]:
    """The probabilities of the papers' formulas with 80 digits, cell by cell."""
    size = mechanism.size
    with mp.workdps(80):
        return [[FORMULAS[name](mechanism, x, o) for o in range(size)] for x in range(size)]


def _decay(x: int, o: int, epsilon: float, among: range) -> mpf:
    total = mp.fsum(mp.exp(-abs(x - i) * mpf(epsilon) / 2) for i in among)
    return mp.exp(-abs(x - o) * mpf(epsilon) / 2) / total if o in among else mpf(0)


def _partition(mechanism: Any, code: int) -> range:
    first = code // mechanism.theta * mechanism.theta
    return range(first, min(first + mechanism.theta, mechanism.size))


def _adj(m: Any, x: int, o: int) -> mpf:
    near = m.epsilon / (m.alpha + m.theta / m.size)
    between = _decay(x // m.theta, o // m.theta, m.alpha * m.theta * near, range(-(-m.size // m.theta)))
    inside = _partition(m, o)
    return between * _decay(min(max(x, inside.start), inside.stop - 1), o, near, inside)


def _tight(m: Any, x: int, o: int) -> mpf:
    low, high = sorted((x, o))
    left = mp.exp(-mpf(m.promised_gaps()[o - 1])) if o else mpf(0)
    right = mp.exp(-mpf(m.promised_gaps()[o])) if o < m.size - 1 else mpf(0)
    share = 1 / (1 + left) + 1 / (1 + right) - 1
    return share * mp.exp(-mp.fsum(map(mpf, m.promised_gaps()[low:high])))


def _response(m: Any, x: int, o: int) -> mpf:
    stay = mp.exp(mpf(m.epsilon))
    return (stay if x == o else 1) / (stay + m.size - 1)


FORMULAS: dict[str, Any] = {
    "global": lambda m, x, o: _decay(x, o, m.epsilon, range(m.size)),
    "adj": _adj,
    "local": lambda m, x, o: _decay(x, o, m.epsilon, _partition(m, x)),
    "tight": _tight,
    "grr": _response,
}


class Crafted(Tape):
    """Halves chosen by a test; it notes which positions asked for more, and how many halves a value was given."""

    def __init__(self, halves: Any, more: Mapping[int, Sequence[int]] | None = None) -> None:
        self._halves: Halves = np.asarray(halves, dtype=np.uint32)
        self._more = more or {}
        self.asked: list[int] = []
        self.per_value: set[int] = set()

    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Halves]]:
        self.per_value.add(per_value)
        for position in range(start, stop, step):
            yield position, self._halves[position : min(position + step, stop)]

    def more(self, position: int) -> Iterator[int]:
        self.asked.append(position)
        return iter(self._more.get(position, ()))
