"""SABOTAGE: mechanisms broken on purpose, to show that the audit sees it. For tests and demonstrations alone."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.audits.table import Audited
from veilboost.mechanisms import TableMechanism, from_settings
from veilboost.privacy import TOTAL_BITS, Definition
from veilboost.randomness import Bits, FreshBits, Halves, PermanentBits, Tape
from veilboost.settings import MechanismSettings, whole


@dataclass(frozen=True)
class Sabotaged:
    """A mechanism that draws as one does and claims what another one claims: every other name is the latter's."""

    draws_as: Audited
    claims_as: Audited

    @property
    def definition(self) -> Definition:
        """The definition that is claimed."""
        return self.claims_as.definition

    def draw(self, codes: ArrayLike, *, bits: Bits | None = None) -> NDArray[Any]:
        """Return what the other mechanism draws."""
        return self.draws_as.draw(codes, bits=bits)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.claims_as, name)

    def __repr__(self) -> str:
        return f"SABOTAGED {self.claims_as!r}"


def naively_rounded(mechanism: TableMechanism, *, bits: int = 8) -> Sabotaged:
    """Return ``mechanism`` sampled from probabilities rounded to multiples of 2^-bits: rare outputs get zero.

    >>> from veilboost.mechanisms import GlobalMap
    >>> honest = GlobalMap(epsilon=1.0, size=20)
    >>> int(naively_rounded(honest).draw(np.full(10_000, 1)).max()) < 12
    True
    """
    step = whole("bits", bits, 1, TOTAL_BITS - 1)
    shares = mechanism.probabilities()
    rounded = np.round(shares * 2.0**step).astype(np.int64)
    rounded[np.arange(len(shares)), shares.argmax(axis=1)] += 2**step - rounded.sum(axis=1)
    coarse = copy.copy(mechanism)
    weights = rounded.astype(np.uint64) << np.uint64(TOTAL_BITS - step)
    object.__setattr__(coarse, "table", replace(mechanism.table, weights=weights))
    return Sabotaged(coarse, mechanism)


def half_noise(name: str, *, epsilon: float, **settings: Any) -> Sabotaged:
    """Return the mechanism of that short ``name`` which claims ``epsilon`` and spends twice as much.

    >>> half_noise("global", epsilon=0.5, size=10)
    SABOTAGED GlobalMap(size=10, epsilon=0.5)
    """
    loud, honest = (
        from_settings(MechanismSettings(mechanism=name, epsilon=spent, **settings)) for spent in (2 * epsilon, epsilon)
    )
    return Sabotaged(loud, honest)


class CarelessBits(PermanentBits):
    """Permanent bits that forget the value's code, or which table they are for: the same word serves twice.

    >>> bits = CarelessBits(forget="code", secret=bytes(32), source="a", version=1, row_keys=[1], domain=None)
    >>> tapes = [bits.tape(np.array([code], np.uint8), b"table") for code in (1, 2)]
    >>> len({int(next(tape.batches(0, 1, 1, 1))[1][0, 0]) for tape in tapes})
    1
    """

    def __init__(self, *, forget: Literal["code", "table"], **settings: Any) -> None:
        super().__init__(**settings)
        self.forget = forget

    def tape(self, codes: NDArray[Any], digest: bytes) -> Tape:
        return super().tape(np.ones_like(codes), digest) if self.forget == "code" else super().tape(codes, b"")


class BiasedBits(Bits):
    """Fresh bits, but bit ``bit`` of every 32-bit half (31 is the highest) is forced to one in a ``share`` of them.

    >>> _, halves = next(BiasedBits(bit=0, share=1.0).tape(np.array([1, 1]), b"").batches(0, 2, 2, 1))
    >>> (halves & 1).tolist()
    [[1], [1]]
    """

    simulated = True

    def __init__(self, *, bit: int = 31, share: float = 1.0) -> None:
        self.mask = np.uint32(1 << whole("bit", bit, 0, 31))
        self.share = share

    def tape(self, codes: NDArray[Any], digest: bytes) -> Tape:
        return _Biased(FreshBits().tape(codes, digest), self.mask, self.share)


class _Biased(Tape):
    def __init__(self, honest: Tape, mask: np.uint32, share: float) -> None:
        self._honest, self._mask, self._share = honest, mask, share

    def batches(self, start: int, stop: int, step: int, per_value: int) -> Iterator[tuple[int, Halves]]:
        chance = np.random.default_rng()
        for position, halves in self._honest.batches(start, stop, step, per_value):
            forced = chance.random(halves.shape) < self._share
            yield position, halves | np.where(forced, self._mask, np.uint32(0))

    def more(self, position: int) -> Iterator[int]:
        return self._honest.more(position)
