"""OpBoost in one process against plain XGBoost on the same codes: desensitise, rank, train and put thresholds back."""

import os
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.benchmarks.clock import refuse_if_busy, seconds
from veilboost.data import MemorySource
from veilboost.domain import Domain
from veilboost.mechanisms import TightMap
from veilboost.randomness import FreshBits
from veilboost.release import Column, SimulationDoor
from veilboost.report.terminal import Report, say
from veilboost.settings import whole
from veilboost.trees import BoostingSettings
from veilboost.vertical import Job, LeadTable, opboost, together

TREES, DEPTH = 80, 3
_SIZE = 100
_SHAPES = ((30_000, 14), (1_000_000, 20))


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost bench training` measured; ratios are medians over rounds, by shape."""

    threads: int
    trees: int
    depth: int
    plain_seconds: dict[str, float]
    opboost_seconds: dict[str, float]
    ratio_to_plain: dict[str, float]
    lowest_ratio: dict[str, float]
    highest_ratio: dict[str, float]


def measure(*, repeats: int = 5, progress: Report | None = None) -> TrainingReport:
    """Train plainly and by OpBoost in turn, at every shape, and return how much longer OpBoost takes.

    Both see the same raw table of numbers. The plain way gets its codes for nothing, and builds the matrix anew each
    time; ours begins with the raw table at the partner and ends with the stock model on raw features at the lead.
    """
    rounds, report = whole("repeats", repeats, 3, 100), progress or (lambda _: None)
    threads = os.cpu_count() or 1
    base: dict[str, list[float]] = {}
    ours: dict[str, list[float]] = {}
    for place, (rows, columns) in enumerate(_SHAPES):
        raw, target = _table(rows, columns)
        shape, ways = f"{rows}x{columns}", (plain(_codes(raw), target, threads), _opboost(raw, target, threads))
        base[shape], ours[shape] = _in_turn(*ways, rounds, partial(_share, report, place))
        refuse_if_busy(base[shape], "plain XGBoost")
    ratios = {shape: [mine / least for mine, least in zip(ours[shape], base[shape], strict=True)] for shape in base}
    return TrainingReport(
        threads=threads,
        trees=TREES,
        depth=DEPTH,
        plain_seconds={shape: statistics.median(each) for shape, each in base.items()},
        opboost_seconds={shape: statistics.median(each) for shape, each in ours.items()},
        ratio_to_plain={shape: statistics.median(each) for shape, each in ratios.items()},
        lowest_ratio={shape: min(each) for shape, each in ratios.items()},
        highest_ratio={shape: max(each) for shape, each in ratios.items()},
    )


def _in_turn(
    plain: Callable[[], object], ours: Callable[[], object], rounds: int, report: Report
) -> tuple[list[float], list[float]]:
    plain()
    ours()
    found: tuple[list[float], list[float]] = [], []
    for done in range(1, rounds + 1):
        found[0].append(seconds(plain))
        found[1].append(seconds(ours))
        report(done / rounds)
    return found


def _share(report: Report, place: int, done: float) -> None:
    report((place + done) / len(_SHAPES))


def _table(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a raw table, one row for each column, and a label that hangs on half of them."""
    chance = np.random.default_rng()
    raw = chance.normal(50, 20, (columns, rows))
    score = (raw[: columns // 2] - 50).sum(axis=0) + chance.normal(0, 50, rows)
    return raw, (score > 0).astype(np.float64)


def _domain(place: int) -> Domain:
    return Domain.numbers(0, 100, size=_SIZE, column=f"c{place}")


def plain(codes: NDArray[Any], target: NDArray[np.float64], threads: int) -> Callable[[], Any]:
    """Return the baseline of every ratio: plain XGBoost on codes, its matrix included."""
    import xgboost as xgb

    settings = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": DEPTH,
        "learning_rate": 0.1,
        "max_bin": 256,
        "nthread": threads,
    }

    def train() -> Any:
        matrix = xgb.QuantileDMatrix(codes, target, max_bin=256, nthread=threads)
        return xgb.train(settings, matrix, TREES)

    return train


def _codes(raw: NDArray[np.float64]) -> NDArray[Any]:
    return np.column_stack([_domain(place).encode(column).codes for place, column in enumerate(raw)])


def _opboost(raw: NDArray[np.float64], target: NDArray[np.float64], threads: int) -> Callable[[], Any]:
    columns = [
        Column(f"c{place}", f"shop/c{place}", _domain(place), TightMap(epsilon=0.5, size=_SIZE), None)
        for place in range(len(raw))
    ]
    table = pa.table([pa.array(column) for column in raw], names=[column.name for column in columns])
    boosting = BoostingSettings(task="binary", n_trees=TREES, max_depth=DEPTH, threads=threads)
    job = Job(lead="bank", name="bench", purpose="measuring", boosting=boosting)

    def train() -> Any:
        door = SimulationDoor("shop", columns, MemorySource(table), FreshBits())
        return together(
            "bank",
            lambda channels: opboost.lead(channels, LeadTable(target=target), job),
            {"shop": partial(opboost.partner, door=door)},
        )

    return train


def show(found: TrainingReport) -> None:
    """Print what was measured."""
    for shape, ratio in found.ratio_to_plain.items():
        rows, columns = map(int, shape.split("x"))
        say(
            f"{rows:,} rows of {columns} columns, {found.trees} trees of depth {found.depth}, {found.threads} threads: "
            f"plain XGBoost takes {found.plain_seconds[shape]:.2f} s, desensitising, ranking, training and putting "
            f"thresholds back {found.opboost_seconds[shape]:.2f} s: {ratio:.2f} times as long (median; "
            f"{found.lowest_ratio[shape]:.2f} to {found.highest_ratio[shape]:.2f})."
        )
