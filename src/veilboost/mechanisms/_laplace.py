"""Draw discrete Laplace noise exactly and without a table, from independent coin flips.

With q = exp(-rate), the sign of the noise is one coin and its size in binary is one coin for each bit: P(noise = z)
is proportional to q^|z| when the noise is not negative with probability 1/(1+q), and bit i of its size is one with
probability 1/(1 + exp(rate 2^i)). A coin's odds are real numbers: a random 32-bit number that ties with their first
32 bits is continued, so that no rounding is left in the distribution. Proof in _laplace.proof.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import chain
from math import ceil, exp, expm1, log2

import numpy as np
from numpy.typing import NDArray

from veilboost.compiled import compiled
from veilboost.errors import GuaranteeError
from veilboost.mechanisms._parts import in_parts
from veilboost.privacy.rounding import precise
from veilboost.randomness import Halves, Tape

SAMPLER_VERSION = 1
_HALF_BITS = 32
_PART_HALVES = 1 << 22
_BATCH_HALVES = 1 << 17
_FAILURE_BITS = 64

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Noise:
    """Discrete Laplace noise, P(z) proportional to exp(-rate |z|), its size cut off at 2^bits or not at all."""

    rate: float
    bits: int
    endless: bool
    candidates: int

    @property
    def coins(self) -> int:
        """How many coins one candidate takes: its sign, its bits and, if endless, whether it goes beyond them."""
        return 1 + self.bits + self.endless

    @cached_property
    def thresholds(self) -> NDArray[np.uint32]:
        """The first 32 bits of each coin's odds."""
        return np.array([self.odds(coin, _HALF_BITS) for coin in range(self.coins)], dtype=np.uint32)

    def odds(self, coin: int, digits: int) -> int:
        """Return the first binary ``digits`` of the odds of ``coin``."""
        if coin > self.bits:
            return _odds(self.rate, 1 << self.bits, digits, tail=True)
        return _odds(self.rate, -1 if coin == 0 else 1 << (coin - 1), digits, tail=False)


def endless(rate: float) -> Noise:
    """Return noise without bounds."""
    return Noise(rate, bits=max(0, ceil(log2(_HALF_BITS / rate))), endless=True, candidates=1)


def within(rate: float, longest: int, shortest: int) -> Noise:
    """Return noise to be drawn again until it falls in a range of ``shortest`` to ``longest`` integers around 0.

    Every value draws the same number of candidates, and takes its first that fits: nobody outside can see how
    many it needed. The number makes it less likely than 2^-64 that none fits.
    """
    refused = max(1 - _acceptance(rate, longest), 1 - _acceptance(rate, shortest))
    candidates = ceil(_FAILURE_BITS / -log2(max(refused, 2.0**-32))) + 1  # one more than a float may be wrong by
    return Noise(rate, bits=(longest - 1).bit_length(), endless=False, candidates=candidates)


def draw(noise: Noise, low: Integers, high: Integers, tape: Tape, threads: int | None = None) -> Integers:
    """Return, for each value, noise from ``low`` to ``high``: clamped to them if endless, else drawn again."""
    out = np.empty(len(low), dtype=np.int64)
    per_value = noise.candidates * noise.coins
    part_size, batch = max(1, _PART_HALVES // per_value), max(1, _BATCH_HALVES // per_value)

    def part(start: int) -> None:
        for first, halves in tape.batches(start, min(start + part_size, len(low)), batch, per_value):
            here = slice(first, first + len(halves))
            rare = np.empty(len(halves), dtype=np.bool_)
            _flip_all(noise.thresholds, noise.bits, noise.candidates, halves, low[here], high[here], out[here], rare)
            for i in np.flatnonzero(rare):
                strip = chain(map(int, halves[i, :per_value]), more := tape.more(first + int(i)))
                out[first + i] = _flip_slowly(noise, strip, more, int(low[first + i]), int(high[first + i]))

    in_parts(part, range(0, len(low), part_size), threads)
    return out


@compiled
def _flip_all(
    thresholds: NDArray[np.uint32],
    bits: int,
    candidates: int,
    halves: Halves,
    low: Integers,
    high: Integers,
    out: Integers,
    rare: NDArray[np.bool_],
) -> None:
    """Take each value's first candidate that fits; mark the rare values that a tie or a far tail leaves open."""
    coins = len(thresholds)
    for i in range(len(out)):
        mask = np.int64(high[i] - low[i]) if coins == bits + 1 else np.int64(-1)
        for shift in (1, 2, 4, 8, 16):
            mask |= mask >> shift
        chosen, found, opened = np.int64(0), False, False
        for candidate in range(candidates):
            at = candidate * coins
            sign, size = halves[i, at], np.int64(0)
            opened |= sign == thresholds[0]
            for bit in range(bits):
                half = halves[i, at + 1 + bit]
                size |= np.int64(half < thresholds[1 + bit]) << bit
                opened |= half == thresholds[1 + bit]
            for tail in range(bits + 1, coins):
                opened |= halves[i, at + tail] <= thresholds[tail]
            size &= mask
            noise = size if sign < thresholds[0] else -1 - size
            if coins > bits + 1:
                noise = max(low[i], min(high[i], noise))
            fits = (noise >= low[i]) & (noise <= high[i])
            chosen = noise if fits & (not found) else chosen
            found |= fits
        out[i] = chosen
        rare[i] = opened | (not found)


def _flip_slowly(noise: Noise, strip: Iterator[int], more: Iterator[int], low: int, high: int) -> int:
    """Do the same with odds to as many digits as it takes."""
    mask = -1 if noise.endless else (1 << (high - low).bit_length()) - 1
    while True:
        flips = [_flip(noise, coin, next(strip), more) for coin in range(noise.coins)]
        size = sum(flip << bit for bit, flip in enumerate(flips[1 : noise.bits + 1])) & mask
        beyond = noise.endless and flips[-1]
        while beyond:
            size += 1 << noise.bits
            beyond = _flip(noise, noise.coins - 1, next(more), more)
        value = size if flips[0] else -1 - size
        if noise.endless:
            return max(low, min(high, value))
        if low <= value <= high:
            return value


def _flip(noise: Noise, coin: int, half: int, more: Iterator[int]) -> bool:
    digits = _HALF_BITS
    while half == noise.odds(coin, digits):
        half, digits = (half << _HALF_BITS) | next(more), digits + _HALF_BITS
    return half < noise.odds(coin, digits)


def _acceptance(rate: float, length: int) -> float:
    """Return the least probability that a candidate falls in a range of ``length`` integers that holds 0."""
    return expm1(-rate * length) / expm1(-rate * (1 << (length - 1).bit_length())) / (1 + exp(-rate))


@lru_cache(maxsize=4096)
def _odds(rate: float, power: int, digits: int, *, tail: bool) -> int:
    """Return the first ``digits`` of exp(-rate power) for a tail, else of 1 / (1 + exp(rate power)).

    Odds above one half are what is left by those below: their distance from one may be too small to compute.
    """
    with precise(digits // 3 + 60):
        weight = (-Decimal(rate) * abs(power)).exp()
        odds = (weight if tail else weight / (1 + weight)) * (1 << digits)
        doubt = odds / (1 << digits + 64)
        below, above = int(odds - doubt), int(odds + doubt)
    if below != above:
        raise GuaranteeError(f"{digits} digits of a coin's odds cannot be told from the next fraction")
    return (1 << digits) - 1 - below if power < 0 else below
