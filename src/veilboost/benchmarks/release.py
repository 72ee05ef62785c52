"""Desensitising a Parquet file against copying it with pyarrow alone, and the memory it takes, by rows."""

import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veilboost.benchmarks.clock import refuse_if_busy, seconds
from veilboost.benchmarks.process import peak_memory
from veilboost.data import open_source
from veilboost.release import Ledger, desensitise, load_policy, new_key
from veilboost.report.terminal import Report, say
from veilboost.settings import whole

_COLUMNS = 10
_PIECE = 1 << 18
_POLICY = """format = 1
party = "benchmark"
[rows]
key = "id"
type = "integer"
carry = ["id"]
[[grants]]
who = "nobody"
purposes = ["measuring"]
"""
_COLUMN = """[columns.c{i}]
domain = {{ kind = "numbers", lower = 0, upper = 100, size = 100 }}
mechanism = {{ name = "tight", epsilon = 0.1 }}
cap = 1000.0
"""


class ReleaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost bench release` measured; the ratio is the median over rounds."""

    rows: int
    columns: int
    copy_seconds: float
    desensitise_seconds: float
    ratio_to_copy: float
    lowest_ratio: float
    highest_ratio: float
    peak_memory_mb: dict[str, float]


def measure(*, rows: int = 10_000_000, repeats: int = 5, progress: Report | None = None) -> ReleaseReport:
    """Copy and desensitise the same table of ``rows`` in turn; then measure memory with it and with a tenth of it.

    Every round desensitises into a new ledger, so every value is charged. The memory is the highest that a process of
    its own held, program and libraries included.
    """
    count, rounds = whole("rows", rows, 100_000, 10**9), whole("repeats", repeats, 5, 100)
    report = progress or (lambda _: None)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        peaks = {}
        for size in (count // 10, count):  # first, while this process is small: a child inherits the peak of its parent
            _make(folder / "table.parquet", size)
            peaks[str(size)] = _peak_memory(folder / "table.parquet", _party(folder / f"memory-{size}"))
            report(0.15 if size < count else 0.3)
        copies, ours = _in_turn(folder, rounds, report)
    refuse_if_busy(copies, "the copy")
    ratios = [mine / copy for mine, copy in zip(ours, copies, strict=True)]
    return ReleaseReport(
        rows=count,
        columns=_COLUMNS,
        copy_seconds=statistics.median(copies),
        desensitise_seconds=statistics.median(ours),
        ratio_to_copy=statistics.median(ratios),
        lowest_ratio=min(ratios),
        highest_ratio=max(ratios),
        peak_memory_mb=peaks,
    )


def _in_turn(folder: Path, rounds: int, report: Report) -> tuple[list[float], list[float]]:
    """Return the seconds of every copy and of every release."""
    copies, ours = [], []
    for done in range(rounds):
        policy = _party(folder / f"round-{done}")
        copies.append(seconds(partial(_copy, folder / "table.parquet", folder / "copy.parquet")))
        ours.append(seconds(partial(_desensitise, folder / "table.parquet", policy)))
        report(0.3 + 0.7 * (done + 1) / rounds)
    return copies, ours


def _make(path: Path, rows: int) -> None:
    """Write a key and ten columns of numbers with two decimals, as prices or measurements have them."""
    chance = np.random.default_rng()
    names = ["id", *(f"c{i}" for i in range(_COLUMNS))]
    with pq.ParquetWriter(path, pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in names[1:])])) as file:
        for start in range(0, rows, _PIECE):
            ids = np.arange(start, min(start + _PIECE, rows))
            columns = [chance.normal(50, 20, len(ids)).round(2) for _ in range(_COLUMNS)]
            file.write_table(pa.table([ids, *columns], names=names))


def _copy(table: Path, out: Path) -> None:
    read = pq.ParquetFile(table)
    with pq.ParquetWriter(out, read.schema_arrow) as file:
        for batch in read.iter_batches(_PIECE):
            file.write_batch(batch)


def _party(folder: Path) -> Path:
    folder.mkdir()
    policy = folder / "policy.toml"
    policy.write_text(_POLICY + "".join(_COLUMN.format(i=i) for i in range(_COLUMNS)))
    new_key(folder / "noise.key")
    Ledger.create(folder / "ledger.db").close()
    return policy


def _desensitise(table: Path, file: Path) -> None:
    policy = load_policy(file)
    desensitise(
        open_source(str(table)), file.parent / "out.parquet", policy, policy.permit(None, None, "measuring", None)
    )


def _peak_memory(table: Path, policy: Path) -> float:
    """Return the most memory, in MB, that the command held."""
    command = [sys.executable, "-m", "veilboost", "desensitise", str(table), str(policy.parent / "out.parquet")]
    started = subprocess.Popen([*command, "--policy", str(policy), "--json"], stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    return peak_memory(started)


def show(found: ReleaseReport) -> None:
    """Print what was measured."""
    say(
        f"{found.rows:,} rows of {found.columns} columns: reading and writing the file with pyarrow alone takes "
        f"{found.copy_seconds:.1f} s, desensitising it {found.desensitise_seconds:.1f} s: {found.ratio_to_copy:.2f} "
        f"times as long (median; {found.lowest_ratio:.2f} to {found.highest_ratio:.2f})."
    )
    for rows, peak in found.peak_memory_mb.items():
        say(f"Peak memory with {int(rows):,} rows: {peak:,.0f} MB")
