"""A job between two real processes over mutual TLS against plain XGBoost, which has all columns in one place."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from veilboost.benchmarks.clock import refuse_if_busy, seconds
from veilboost.benchmarks.sites import Shape, Sites, Spans
from veilboost.benchmarks.training import DEPTH, TREES, plain
from veilboost.report.terminal import Report, say, table
from veilboost.settings import whole

_SMALL, _LARGE = Shape(30_000, 4, 10), Shape(1_000_000, 4, 16)
_STREAMED = Shape(1_000_000, 0, 10), Shape(10_000_000, 0, 10)
_DEFINITION = (
    "The job begins when both processes are started and connected, and have found that they hold the same ids in the "
    "same order. It ends when the folder with the stock model is written at the lead. In between the partner reads "
    "its table, charges its ledger, draws permanent noise, ranks, packs, and keeps what it sends; the lead checks and "
    "keeps what came, trains, puts the thresholds back, and writes model, statement and report. Plain XGBoost gets the "
    "codes of all columns for nothing, and builds its matrix anew each time. Keys and alignment stand apart, and so "
    "does the start, in which both load what they call, the partner reads its ids and builds its tables, and the lead "
    "reads and ranks its own columns."
)


class PartiesReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost bench parties` measured; by rows, and medians over rounds where nothing else is said."""

    definition: str
    threads: int
    trees: int
    depth: int
    columns: dict[str, tuple[int, int]]
    """Of the lead, and of the partner."""
    ratio_to_plain: dict[str, float]
    lowest_ratio: dict[str, float]
    highest_ratio: dict[str, float]
    processor_ratio_to_plain: dict[str, float]
    """The same of what all threads of both processes computed: what else the machine did meanwhile hardly counts."""
    plain_seconds: dict[str, float]
    job_seconds: dict[str, float]
    release_seconds: dict[str, float]
    """Of these: from reading the partner's table to packed ranks that are kept."""
    training_seconds: dict[str, float]
    start_seconds: dict[str, float]
    keys_seconds: dict[str, float]
    alignment_seconds: dict[str, float]
    partner_memory_mb: dict[str, float]
    """The most that the partner's process held, where it has ten columns."""
    partner_memory_bytes_per_row: float | None


@dataclass(frozen=True)
class Plain:
    """How long plain XGBoost took, and what it computed, in seconds."""

    wall: float
    processor: float


def measure(
    *, repeats: int = 5, threads: int | None = None, full: bool = False, progress: Report | None = None
) -> PartiesReport:
    """Train plainly and between two processes in turn; with ``full`` also on 10⁶ rows, and memory up to 10⁷ rows."""
    rounds, report = whole("repeats", repeats, 5, 100), progress or (lambda _: None)
    cores = whole("threads", threads or os.cpu_count() or 1, 1, 4096)
    shapes = (_SMALL, _LARGE) if full else (_SMALL,)
    with tempfile.TemporaryDirectory() as place:
        # first, while this process is small: a child inherits the peak of its parent
        memory = {str(each.rows): _partner_memory(Path(place), each) for each in (_STREAMED if full else (_SMALL,))}
        found = {
            str(shape.rows): _in_turn(Path(place), shape, cores, rounds, partial(_share, report, at, len(shapes)))
            for at, shape in enumerate(shapes)
        }
    ratios = {rows: [ours.job / base.wall for base, ours in each] for rows, each in found.items()}
    work = {rows: [ours.processor / base.processor for base, ours in each] for rows, each in found.items()}
    spans = {rows: [ours for _, ours in each] for rows, each in found.items()}
    return PartiesReport(
        definition=_DEFINITION,
        threads=cores,
        trees=TREES,
        depth=DEPTH,
        columns={str(each.rows): (each.own, each.partner) for each in shapes},
        ratio_to_plain={rows: statistics.median(each) for rows, each in ratios.items()},
        lowest_ratio={rows: min(each) for rows, each in ratios.items()},
        highest_ratio={rows: max(each) for rows, each in ratios.items()},
        processor_ratio_to_plain={rows: statistics.median(each) for rows, each in work.items()},
        plain_seconds={rows: statistics.median(base.wall for base, _ in each) for rows, each in found.items()},
        job_seconds=_medians(spans, "job"),
        release_seconds=_medians(spans, "release"),
        training_seconds=_medians(spans, "training"),
        start_seconds=_medians(spans, "start"),
        keys_seconds=_medians(spans, "keys"),
        alignment_seconds=_medians(spans, "alignment"),
        partner_memory_mb=memory,
        partner_memory_bytes_per_row=_slope(memory),
    )


def _in_turn(folder: Path, shape: Shape, threads: int, rounds: int, report: Report) -> list[tuple[Plain, Spans]]:
    """Return the seconds of every plain training, each with the job beside it; the first of both do not count."""
    sites = Sites.settled(folder / f"{shape}", shape, trees=TREES, depth=DEPTH, threads=threads)
    train, found = plain(*sites.pooled(), threads), []
    for done in range(rounds + 1):
        found.append((_timed(train), sites.job()))
        report((done + 1) / (rounds + 1))
    refuse_if_busy([base.wall for base, _ in found[1:]], "plain XGBoost")
    return found[1:]


def _timed(train: Callable[[], object]) -> Plain:
    begin = time.process_time()
    wall = seconds(train)
    return Plain(wall, time.process_time() - begin)


def _partner_memory(folder: Path, shape: Shape) -> float:
    sites = Sites.settled(folder / f"memory of {shape}", shape, trees=1, depth=DEPTH, threads=1)
    return sites.job().partner_memory


def _slope(memory: dict[str, float]) -> float | None:
    """Return how many bytes a row takes, from the fewest rows to the most."""
    rows = sorted(map(int, memory))
    if len(rows) < 2:
        return None
    return (memory[str(rows[-1])] - memory[str(rows[0])]) * (1 << 20) / (rows[-1] - rows[0])


def _medians(spans: dict[str, list[Spans]], what: str) -> dict[str, float]:
    return {rows: statistics.median(getattr(each, what) for each in found) for rows, found in spans.items()}


def _share(report: Report, place: int, of: int, done: float) -> None:
    report((place + done) / of)


def show(found: PartiesReport) -> None:
    """Print what was measured."""
    for rows, ratio in found.ratio_to_plain.items():
        own, theirs = found.columns[rows]
        say(
            f"{int(rows):,} rows of {own} + {theirs} columns, {found.trees} trees of depth {found.depth}, "
            f"{found.threads} threads: plain XGBoost takes {found.plain_seconds[rows]:.2f} s, the job between two "
            f"processes {found.job_seconds[rows]:.2f} s: {ratio:.2f} times as long (median; "
            f"{found.lowest_ratio[rows]:.2f} to {found.highest_ratio[rows]:.2f}). It computes "
            f"{found.processor_ratio_to_plain[rows]:.2f} times as long."
        )
    say("", found.definition, "")
    parts = ("release", "training", "start", "keys", "alignment")
    lines = [
        (f"{int(rows):,}", *(f"{getattr(found, f'{part}_seconds')[rows]:.2f}" for part in parts))
        for rows in found.ratio_to_plain
    ]
    table(("rows", *(f"{part} (s)" for part in parts)), lines)
    for rows, peak in found.partner_memory_mb.items():
        say(f"Peak memory of a partner with {int(rows):,} rows of 10 columns: {peak:,.0f} MB")
    if found.partner_memory_bytes_per_row is not None:
        say(f"That is {found.partner_memory_bytes_per_row:.0f} bytes for every row more.")
