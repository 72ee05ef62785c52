"""Audit permanent noise: average repeated releases, watch a value change, compare two tables of one column."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from veilboost.audits.distinguish import lower_bounds, tell_apart, upper_bounds
from veilboost.audits.sample import split
from veilboost.errors import SettingError
from veilboost.mechanisms import TableMechanism
from veilboost.privacy.rounding import shown
from veilboost.randomness import Bits, FreshBits, PermanentBits, RowKeys
from veilboost.settings import whole

Source = Callable[[RowKeys], Bits]

_LARGEST = 100
_GUESSED = 2000


@dataclass(frozen=True)
class Averaging:
    """How many rows an observer guesses right from one release, and from all of them together."""

    releases: int
    rows: int
    right_from_one: int
    right_from_all: int
    refuted: bool

    def __str__(self) -> str:
        end = "REFUTED: repeated releases reveal more than one" if self.refuted else "more releases reveal no more"
        return (
            f"averaging: of {self.rows:,} values {self.right_from_one:,} are guessed right from one release, "
            f"{self.right_from_all:,} from {self.releases}: {end}"
        )


@dataclass(frozen=True)
class Joint:
    """What two releases about one row lose together, against the sum of what each may lose."""

    what: str
    loss_at_least: float
    allowed: float

    @property
    def refuted(self) -> bool:
        """Whether they lose more together than the sum."""
        return self.loss_at_least > self.allowed

    def __str__(self) -> str:
        end = "REFUTED" if self.refuted else "not refuted"
        return f"{self.what}: loss at least {self.loss_at_least:.4f}, allowed {shown(self.allowed, 5)}: {end}"


@dataclass(frozen=True)
class PermanenceAudit:
    """The three attacks."""

    mechanism: str
    averaging: Averaging
    change: Joint
    tables: Joint

    @property
    def refuted(self) -> bool:
        """Whether any claim about permanent noise is refuted."""
        return self.averaging.refuted or self.change.refuted or self.tables.refuted

    def values(self) -> dict[str, object]:
        """Return the audit as plain values."""
        joints = {
            name: {"loss_at_least": joint.loss_at_least, "allowed": joint.allowed, "refuted": joint.refuted}
            for name, joint in (("change", self.change), ("tables", self.tables))
        }
        averaging = {name: getattr(self.averaging, name) for name in self.averaging.__dataclass_fields__}
        return {"mechanism": self.mechanism, "refuted": self.refuted, "averaging": averaging, **joints}

    def __str__(self) -> str:
        return "\n".join([self.mechanism, str(self.averaging), str(self.change), str(self.tables)])


def audit_permanence(
    mechanism: TableMechanism,
    other: TableMechanism,
    *,
    releases: int = 50,
    samples: int = 1_000_000,
    level: float = 1e-9,
    source: Source | None = None,
) -> PermanenceAudit:
    """Attack what permanent noise claims for ``mechanism``, and for a column that also leaves through ``other``.

    **Guarantee**: if the claims are true, something is refuted with probability at most ``level``. They are: more
    releases of the same values reveal no more than one; two releases around a change from one code to its neighbour
    lose no more than both codes' steps together; nor do releases of one value through two tables.

    ``source`` gives the bits for some row keys; without one, `PermanentBits` under a new secret.

    >>> from veilboost.mechanisms import TightMap
    >>> table, finer = TightMap(epsilon=1.0, size=6), TightMap(epsilon=0.5, size=6)
    >>> audit_permanence(table, finer, samples=100_000, releases=10).refuted
    False
    """
    whole("releases", releases, 2, 10_000)
    whole("samples", samples, 1000, 10**8)
    for each in (mechanism, other):
        if not isinstance(each, TableMechanism) or each.size > _LARGEST:
            raise SettingError("mechanism", f"must have a table of at most {_LARGEST} codes", each)
    if mechanism.size != other.size or mechanism.size < 3:
        raise SettingError("other", "must have as many codes, 3 or more", other)
    bits = source or _permanent()
    return PermanenceAudit(
        repr(mechanism),
        _average(mechanism, bits, releases, level / 3),
        _change(mechanism, bits, samples, level / 3),
        _two_tables(mechanism, other, bits, samples, level / 3),
    )


def fresh(_rows: RowKeys) -> Bits:
    """Return bits that are new each time: averaging works against them."""
    return FreshBits()


def _permanent() -> Source:
    secret = os.urandom(32)
    return lambda rows: PermanentBits(secret=secret, source="audit", version=1, row_keys=rows, domain=None)


def _average(mechanism: TableMechanism, source: Source, releases: int, level: float) -> Averaging:
    """Guess each value as the code under which what was seen is likeliest, all releases taken as independent."""
    codes = np.random.default_rng().integers(1, mechanism.size + 1, _GUESSED).astype(np.uint16)
    rows = RowKeys.of(np.arange(_GUESSED))
    with np.errstate(divide="ignore"):
        likely = np.log(mechanism.probabilities())  # row: input, column: output
    seen = [mechanism.draw(codes, bits=source(rows)) for _ in range(releases)]
    one = likely[:, seen[0].astype(np.int64) - 1]
    every = sum((likely[:, outputs.astype(np.int64) - 1] for outputs in seen), np.zeros_like(one))
    right = [int(np.count_nonzero(scores.argmax(axis=0) + 1 == codes)) for scores in (one, every)]
    surely = lower_bounds(np.array([right[1]]), _GUESSED, level / 2) > upper_bounds(
        np.array([right[0]]), _GUESSED, level / 2
    )
    return Averaging(releases, _GUESSED, right[0], right[1], bool(surely[0]))


def _change(mechanism: TableMechanism, source: Source, samples: int, level: float) -> Joint:
    """Tell the middle code from its neighbour when each value is released, moves one code up, and is released again."""
    middle = (mechanism.size + 1) // 2
    histories = [(middle - 1, middle), (middle, middle + 1)]
    first, second = (mechanism.profile().pair(*sides) for sides in zip(*histories, strict=True))
    drawn = [[(mechanism, code) for code in history] for history in histories]
    return Joint("a value that changes", _joint(drawn, source, samples, level), first + second)


def _two_tables(mechanism: TableMechanism, other: TableMechanism, source: Source, samples: int, level: float) -> Joint:
    """Tell the middle code from its neighbour when the value is released through both tables."""
    middle = (mechanism.size + 1) // 2
    allowed = sum(each.profile().pair(middle, middle + 1) for each in (mechanism, other))
    drawn = [[(mechanism, code), (other, code)] for code in (middle, middle + 1)]
    return Joint("one value under two tables", _joint(drawn, source, samples, level), allowed)


def _joint(worlds: list[list[tuple[TableMechanism, int]]], source: Source, samples: int, level: float) -> float:
    """Return a lower bound on the loss between two worlds, each a sequence of releases about the same rows."""
    outcomes = {}
    for world, releases in enumerate(worlds):
        rows = RowKeys.of(np.arange(world * samples, (world + 1) * samples))
        outcome = np.zeros(samples, dtype=np.int64)
        for mechanism, code in releases:
            seen = mechanism.draw(np.full(samples, code), bits=source(rows))
            outcome = outcome * (_LARGEST + 1) + seen
        outcomes[world] = split(outcome)
    return tell_apart(0, 1, outcomes, level).epsilon_lower
