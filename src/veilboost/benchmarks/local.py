"""A round over very many owners against what it cannot do without: a random word for each number, and a look at it."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from veilboost.benchmarks.clock import refuse_if_busy, seconds
from veilboost.benchmarks.process import peak_memory
from veilboost.local import (
    Arrival,
    Attendance,
    Boosted,
    Columns,
    Job,
    LocalSample,
    LocalStatistic,
    Owners,
    Share,
    data_user,
)
from veilboost.release import Ledger
from veilboost.report.terminal import Report, say, table
from veilboost.settings import whole

_BLOCK, _WORD = 1 << 20, 8
_COLUMNS = 67
_EPSILON = 1.0
_OWN = 2000
_CASES: list[tuple[str, Share, str]] = [
    ("local sample, piecewise", LocalSample(), "piecewise"),
    ("local sample, duchi", LocalSample(), "duchi"),
    ("local statistic, piecewise", LocalStatistic(), "piecewise"),
]
_FEW_ROUNDS, _MANY_ROUNDS, _PER_ROUND = 3, 12, 100_000


class LocalReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost bench local` measured; ratios are medians over rounds, by case, the first case's on top."""

    owners: int
    columns: int
    threads: int
    ratio_to_draw_and_pass: float
    draw_and_pass_seconds: dict[str, float]
    round_seconds: dict[str, float]
    ratio: dict[str, float]
    lowest_ratio: dict[str, float]
    highest_ratio: dict[str, float]
    peak_memory_mb: dict[str, float]
    """By number of rounds, each with as many new owners."""


def measure(*, owners: int = 1_000_000, repeats: int = 5, progress: Report | None = None) -> LocalReport:
    """Run a first round over ``owners`` of one row each, and in turn draw a word for each number and add up the table.

    Both use all cores, and fresh bits. A round is all of it but the ledger: the data user's preparation, every owner's
    answer with its label hidden, the sums, the learner and its weight.
    """
    count, rounds = whole("owners", owners, 10_000, 10**8), whole("repeats", repeats, 3, 100)
    report = progress or (lambda _: None)
    peaks = {str(each): _peak_memory(each) for each in (_FEW_ROUNDS, _MANY_ROUNDS)}  # while this process is small
    values, truth = _table(count)
    base: dict[str, list[float]] = {name: [] for name, _, _ in _CASES}
    ours: dict[str, list[float]] = {name: [] for name, _, _ in _CASES}
    for turn in range(-1, rounds):  # the first one compiles, and does not count
        for place, (name, share, mechanism) in enumerate(_CASES):
            job = _job(share, mechanism, count, 1)
            needed = seconds(partial(_draw_and_pass, values, count * share.length(job.first())))
            taken = seconds(partial(_boost, job, values, truth))
            if turn >= 0:
                base[name].append(needed)
                ours[name].append(taken)
            report(((turn + 1) * len(_CASES) + place + 1) / ((rounds + 1) * len(_CASES)))
    refuse_if_busy(base[_CASES[0][0]], "drawing and looking")
    ratios = {name: [mine / least for mine, least in zip(ours[name], base[name], strict=True)] for name in base}
    return LocalReport(
        owners=count,
        columns=_COLUMNS,
        threads=_threads(),
        ratio_to_draw_and_pass=statistics.median(ratios[_CASES[0][0]]),
        draw_and_pass_seconds={name: statistics.median(each) for name, each in base.items()},
        round_seconds={name: statistics.median(each) for name, each in ours.items()},
        ratio={name: statistics.median(each) for name, each in ratios.items()},
        lowest_ratio={name: min(each) for name, each in ratios.items()},
        highest_ratio={name: max(each) for name, each in ratios.items()},
        peak_memory_mb=peaks,
    )


def _threads() -> int:
    return os.cpu_count() or 1


def _table(rows: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    values = np.random.default_rng().random((rows, _COLUMNS), dtype=np.float32)
    return values, (values[:, :5].sum(axis=1) > 2.5).astype(np.int64)


def _job(share: Share, mechanism: str, owners: int, rounds: int) -> Job:
    columns = Columns((0.0,) * _COLUMNS, (1.0,) * _COLUMNS)
    return Job(name="bench", share=share, columns=columns, classes=2, owners=owners, rounds=rounds, mechanism=mechanism)


def _boost(job: Job, values: NDArray[np.float32], truth: NDArray[np.int64]) -> Boosted:
    owners = Owners(values, truth, budgets=_EPSILON)
    return data_user(owners.arrivals(), job, values[:_OWN], truth[:_OWN])


def _draw_and_pass(values: NDArray[np.float32], words: int) -> None:
    """Make so many words of the AES keystream and add up the columns of the table, a part of both on each core."""
    threads = _threads()
    parts: list[Callable[[], Any]] = [partial(_keystream, words // threads) for _ in range(threads)]
    parts += [partial(part.sum, axis=0) for part in np.array_split(values, threads)]
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(part) for part in parts]:
            done.result()


def _keystream(words: int) -> None:
    encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
    zeros, out = bytes(_BLOCK), bytearray(_BLOCK)
    for _ in range(-(-words * _WORD // _BLOCK)):
        encryptor.update_into(zeros, out)


def _peak_memory(rounds: int) -> float:
    """Return the most memory, in MB, that a process of its own held which boosts over new owners in every round."""
    started = subprocess.Popen([sys.executable, "-m", __name__, str(rounds)])  # noqa: S603 - our own module
    return peak_memory(started)


def boost_over_streamed_owners(rounds: int) -> Boosted:
    """Boost over owners who are made when they arrive and forgotten when they have answered, with a ledger."""

    def arrivals(_timeout: float) -> Iterator[Arrival]:
        first = 0
        while True:
            values, truth = _table(_PER_ROUND)
            owners = Owners(values, truth, budgets=_EPSILON, keys=np.arange(first, first + _PER_ROUND))
            yield from owners.arrivals()(_timeout)
            first += _PER_ROUND

    own, truth = _table(_OWN)
    with tempfile.TemporaryDirectory() as folder, Ledger.create(Path(folder) / "owners.db") as ledger:
        job = _job(LocalSample(), "piecewise", _PER_ROUND, rounds)
        return data_user(arrivals, job, own, truth, attendance=Attendance(ledger))


def show(found: LocalReport) -> None:
    """Print what was measured."""
    say(
        f"One round over {found.owners:,} owners with a row of {found.columns} columns each, on {found.threads} "
        "threads, against drawing a random word for each number that leaves and adding up the table once:"
    )
    rows = [
        (
            name,
            f"{found.draw_and_pass_seconds[name]:.2f}",
            f"{found.round_seconds[name]:.2f}",
            f"{ratio:.2f}",
            f"{found.lowest_ratio[name]:.2f} to {found.highest_ratio[name]:.2f}",
        )
        for name, ratio in found.ratio.items()
    ]
    table(("share and mechanism", "draw and pass (s)", "round (s)", "ratio", "from, to"), rows)
    for rounds, peak in found.peak_memory_mb.items():
        say(f"Peak memory of {rounds} rounds over {_PER_ROUND:,} new owners each, with a ledger: {peak:,.0f} MB")


if __name__ == "__main__":
    boost_over_streamed_owners(int(sys.argv[1]))
