"""Samplers against the raw AES keystream, and against other libraries, in one run."""

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from veilboost.benchmarks.clock import own_seconds, refuse_if_busy, seconds
from veilboost.benchmarks.rivals import Rival, rivals
from veilboost.errors import UsageError
from veilboost.mechanisms import (
    AdjMap,
    ClampedLaplace,
    GlobalMap,
    LocalMap,
    Mechanism,
    RandomizedResponse,
    TableMechanism,
    TightMap,
)
from veilboost.randomness import Bits, FreshBits, PermanentBits
from veilboost.report.terminal import Report, say, table
from veilboost.settings import whole

Clock = Callable[[Callable[[], object]], float]

_BLOCK = 1 << 20
_WORD = 8


class SamplingCase(msgspec.Struct, frozen=True, kw_only=True):
    """One sampler's speed; ``ratio_to_keystream`` is the median over rounds of values drawn per word streamed."""

    mechanism: str
    size: int
    epsilon: float
    bits: str
    threads: int
    values_per_s: float
    ratio_to_keystream: float
    spread: float


class SamplingReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost bench sampling` measured."""

    keystream_words_per_s: float
    keystream_spread: float
    cases: list[SamplingCase]
    left_out: str | None
    """Why there is nothing about two threads, if so."""
    rivals: list[Rival]


@dataclass(frozen=True)
class _Case:
    """One sampler, and how fast keystream and draws were, round by round.

    The work of one thread is timed by what that thread computed, so that a busy machine does not spoil it; how fast two
    are together, only the clock on the wall can tell.
    """

    mechanism: str
    size: int
    epsilon: float
    bits: str
    threads: int
    work: Callable[[], object]
    streams: list[float] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)

    def run(self, count: int) -> None:
        clock = own_seconds if self.threads == 1 else seconds
        self.streams.append(_keystream(clock))
        self.drawn.append(count / clock(self.work))

    def report(self) -> SamplingCase:
        ratios = [rate / stream for rate, stream in zip(self.drawn, self.streams, strict=True)]
        return SamplingCase(
            mechanism=self.mechanism,
            size=self.size,
            epsilon=self.epsilon,
            bits=self.bits,
            threads=self.threads,
            values_per_s=statistics.median(self.drawn),
            ratio_to_keystream=statistics.median(ratios),
            spread=max(ratios) / min(ratios),
        )


def measure(*, repeats: int = 7, values: int = 20_000_000, progress: Report | None = None) -> SamplingReport:
    """Interleave keystream and samplers ``repeats`` times, and return medians.

    The keystream is AES-256-CTR in blocks of 1 MiB, as fast as this machine gives it, on one thread.
    """
    rounds = whole("repeats", repeats, 5, 1000)
    count = whole("values", values, 100_000, 10**9)
    cases = _cases(count)
    for index in range(rounds):
        for at, case in enumerate(cases):
            case.run(count)
            if progress:
                progress((index * len(cases) + at + 1) / (rounds * len(cases)))
    alone, together = ([case for case in cases if (case.threads == 1) == one] for one in (True, False))
    streams = _streams(alone)
    refuse_if_busy(streams, "the keystream")
    left_out = None
    try:
        refuse_if_busy(_streams(together), "the keystream")
    except UsageError as error:
        cases, left_out = alone, f"two threads: {error}"
    return SamplingReport(
        keystream_words_per_s=statistics.median(streams),
        keystream_spread=max(streams) / min(streams),
        cases=[case.report() for case in cases],
        left_out=left_out,
        rivals=rivals(),
    )


def _streams(cases: list[_Case]) -> list[float]:
    return [stream for case in cases for stream in case.streams]


def _cases(count: int) -> list[_Case]:
    row_keys = np.arange(count)
    permanent = PermanentBits(secret=os.urandom(32), source="benchmark", version=1, row_keys=row_keys, domain=None)
    cases = []
    for mechanism, name, epsilon in _mechanisms():
        narrowest = np.min_scalar_type(mechanism.size)
        codes = np.random.default_rng().integers(1, mechanism.size, count, dtype=narrowest, endpoint=True)
        for bits, label in ((FreshBits(), "fresh"), (permanent, "permanent")):
            for threads in (1, 2) if name == "tight" and mechanism.size == 100 else (1,):
                work = _draw(mechanism, codes, bits, threads)
                work()
                cases.append(_Case(name, mechanism.size, epsilon, label, threads, work))
    return cases


def _mechanisms() -> list[tuple[TableMechanism | ClampedLaplace, str, float]]:
    made: list[tuple[TableMechanism | ClampedLaplace, str, float]] = []
    for size in (10, 100):
        made += [
            (GlobalMap(epsilon=0.64, size=size), "global", 0.64),
            (TightMap(epsilon=0.64, size=size), "tight", 0.64),
        ]
    made.append((AdjMap(epsilon=0.64, size=100, theta=10), "adj", 0.64))
    made.append((LocalMap(epsilon=0.64, size=100, theta=10), "local", 0.64))
    made.append((RandomizedResponse(epsilon=0.64, size=100), "grr", 0.64))
    made.append((ClampedLaplace(epsilon=1e-4, size=10**6), "clamped-laplace", 1e-4))
    return made


def _draw(mechanism: Mechanism, codes: NDArray[Any], bits: Bits, threads: int) -> Callable[[], object]:
    return lambda: mechanism.draw(codes, bits=bits, threads=threads)


def _keystream(clock: Clock, blocks: int = 32) -> float:
    encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
    zeros, out = bytes(_BLOCK), bytearray(_BLOCK)

    def stream() -> None:
        for _ in range(blocks):
            encryptor.update_into(zeros, out)

    return blocks * _BLOCK / _WORD / clock(stream)


def show(found: SamplingReport) -> None:
    """Print what was measured."""
    say(
        f"AES-256 keystream: {found.keystream_words_per_s / 1e6:,.0f} million words a second of one thread's own time "
        f"(slowest to fastest {found.keystream_spread:.2f}×). Ratio: values drawn per word streamed."
    )
    rows = [
        (
            f"{case.mechanism}, {case.size} codes, ε {case.epsilon:g}",
            case.bits,
            str(case.threads),
            f"{case.values_per_s / 1e6:,.1f}",
            f"{case.ratio_to_keystream:.3f}",
            f"{case.spread:.2f}×",
        )
        for case in found.cases
    ]
    table(("mechanism", "bits", "threads", "million values/s", "ratio", "spread"), rows)
    if found.left_out:
        say(f"Left out: {found.left_out}")
    for rival in found.rivals:
        if rival.our_speed_over_theirs is None:
            say(f"{rival.library}: {rival.note}")
        else:
            say(f"{rival.library} ({rival.note}): ours is {rival.our_speed_over_theirs:,.0f} times as fast")
