"""A table of the shape of the paper's industrial one, which is not public: many rows, few numbers, many categories."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data import MemorySource
from veilboost.domain import Domain
from veilboost.mechanisms import Mechanism, UnaryEncoding
from veilboost.randomness import ReplayableBits
from veilboost.release import Column, SimulationDoor
from veilboost.studies.clock import busy
from veilboost.studies.models_claims import CODED
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import GLOBAL, LOCAL, TIGHT, adj, all_of
from veilboost.studies.study import Progress
from veilboost.trees import BoostingSettings
from veilboost.vertical import Job, LeadTable, Own, Trained, opboost, samples, together

RATIO, TIME, LEAD, PARTNER = (
    "mean squared error, over that of the plain model",
    "time of the whole training, over that of the plain model",
    "bytes of party A",
    "bytes of party B",
)
_BLOCK = 5000


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of the table, and what is tried on it."""

    rows: int
    numbers: int
    nominal: int
    size: int
    theta: int
    epsilons: list[float]
    alphas: list[float]
    lines: list[str]
    fair_to: list[str] = []
    trees: int
    repeats: int
    seed: int


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All columns of the partner, how many categories each has that is no number, and the label of the lead."""

    columns: pa.Table
    categories: Mapping[str, int]
    target: NDArray[np.float64]
    training: int
    """So many rows train, the others test."""

    def domain(self, name: str, size: int) -> Domain:
        """Return what is public about a column."""
        if name in self.categories:
            return Domain.unordered([f"{place}" for place in range(self.categories[name])], column=name)
        return Domain.numbers(0, 1, size=size, column=name)


def made(settings: Settings) -> Table:
    """Return a table whose label hangs on a third of its columns, by steps and by categories, and on chance."""
    chance = np.random.default_rng(settings.seed)
    rows, columns, categories = settings.rows, dict[str, pa.Array](), dict[str, int]()
    score = chance.normal(0, 0.5, rows)
    for place in range(settings.numbers):
        values = chance.beta(2, 3, rows)
        columns[f"n{place}"] = pa.array(values)
        if place % 3 == 0:
            score += chance.normal(0, 1) * np.sin(chance.uniform(2, 6) * values)
    for place in range(settings.nominal):
        count = 2 + place % 3
        codes = chance.choice(count, rows, p=chance.dirichlet(np.full(count, 3.0)))
        columns[f"c{place}"] = pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int8)), [f"{each}" for each in range(count)]
        )
        categories[f"c{place}"] = count
        if place % 3 == 0:
            score += chance.normal(0, 0.15, count)[codes]
    return Table(columns=pa.table(columns), categories=categories, target=score, training=rows * 4 // 5)


def run(settings: Settings, progress: Progress) -> Outcome:
    """Train the plain model, then each mechanism's, at every ε; each has its own noise in every repeat."""
    table, count = made(settings), settings.repeats
    coded = as_codes(table, settings.size)
    _warm_up(settings)
    steps = [partial(_share, progress, repeat, count) for repeat in range(count)]
    found = [dict(repeated(settings, table, coded, repeat, step)) for repeat, step in enumerate(steps)]
    cells = [
        Cell(panel=panel, line=line, at=at, values=[figures[panel, line, at] for figures in found])
        for panel, line, at in sorted(found[0], key=lambda place: (RATIO, TIME, LEAD, PARTNER).index(place[0]))
    ]
    return Outcome(cells=cells, claims=list(_claims(settings, Outcome(cells=cells))))


def _share(progress: Progress, repeat: int, count: int, step: str, share: float) -> None:
    progress(step, (repeat + share) / count)


def repeated(
    settings: Settings, table: Table, coded: Table, repeat: int, progress: Progress
) -> Iterator[tuple[tuple[str, str, float], float]]:
    """Yield the figures of one repeat, each with its panel, its line and its ε."""
    works = [(epsilon, line) for epsilon in settings.epsilons for line in settings.lines]
    plain, spent = _timed(partial(_plain, table, settings))
    least = error(plain, table)
    on_codes = error(_plain(coded, settings), coded) / least
    for done, (epsilon, line) in enumerate(works):
        progress(f"training {line}, ε = {epsilon:g}", (done + 1) / (len(works) + 1))
        trained, time = _timed(partial(_private, table, settings, epsilon, line, settings.seed + repeat))
        traffic = trained.traffic["partner"]
        yield (RATIO, line, epsilon), error(trained, table) / least
        yield (TIME, line, epsilon), time / spent
        yield (LEAD, line, epsilon), sum(traffic.sent.values())
        yield (PARTNER, line, epsilon), sum(traffic.received.values())
    yield from (((RATIO, CODED, epsilon), on_codes) for epsilon in settings.epsilons)


def as_codes(table: Table, size: int) -> Table:
    """Return the table with codes in the place of numbers, without any noise."""
    columns = {
        name: column
        if name in table.categories
        else table.domain(name, size).encode(column.to_numpy()).codes.astype(np.float64)
        for name, column in zip(table.columns.column_names, table.columns.columns, strict=True)
    }
    return msgspec.structs.replace(table, columns=pa.table(columns))


def _warm_up(settings: Settings) -> None:
    """Train once on a few rows, so that nothing is compiled or loaded while we measure."""
    few = made(msgspec.structs.replace(settings, rows=100))
    _plain(few, settings)
    for line in settings.lines:
        _private(few, settings, settings.epsilons[0], line, settings.seed)


def _timed(work: Callable[[], Trained]) -> tuple[Trained, float]:
    begin = busy()
    return work(), busy() - begin


def _job(settings: Settings) -> Job:
    boosting = BoostingSettings(task="regression", n_trees=settings.trees, threads=1)
    return Job(lead="lead", name="table 3", purpose="studying", boosting=boosting, thresholds="on-request")


def _plain(table: Table, settings: Settings) -> Trained:
    """Train on the table as it is, which the lead holds as a whole."""
    own = [_own(name, table.columns[name].slice(0, table.training), table) for name in table.columns.column_names]
    return opboost.lead([], LeadTable(target=table.target[: table.training], columns=own), _job(settings))


def _own(name: str, column: pa.ChunkedArray, table: Table) -> Own:
    if name not in table.categories:
        return Own(name, column.to_numpy())
    codes = column.combine_chunks().indices.to_numpy()
    return Own(name, codes.astype(np.int64) + 1, [f"{place}" for place in range(table.categories[name])])


def _private(table: Table, settings: Settings, epsilon: float, line: str, seed: int) -> Trained:
    """Train by the whole protocol on noisy codes and noisy bits."""
    mechanisms = dict[int, Mechanism]()
    columns = []
    for name in table.columns.column_names:
        domain = table.domain(name, settings.size)
        kind = -domain.size if name in table.categories else domain.size
        if kind not in mechanisms:
            mechanisms[kind] = (
                UnaryEncoding(epsilon=epsilon, size=domain.size) if kind < 0 else _mechanism(settings, epsilon, line)
            )
        columns.append(Column(name, f"partner/{name}", domain, mechanisms[kind], None))
    source = MemorySource(table.columns.slice(0, table.training))
    door = SimulationDoor("partner", columns, source, ReplayableBits(seed=seed))
    label = LeadTable(target=table.target[: table.training])
    return together(
        "lead",
        lambda channels: opboost.lead(channels, label, _job(settings)),
        {"partner": partial(opboost.partner, door=door)},
    )


def _mechanism(settings: Settings, epsilon: float, line: str) -> Mechanism:
    size, theta, alphas = settings.size, settings.theta, settings.alphas
    return all_of(epsilon, size=size, theta=theta, alphas=alphas, fair_to=settings.fair_to)[line]


def error(trained: Trained, table: Table) -> float:
    """Return the mean squared error on the rows that did not train, on clean columns."""
    total, rows = 0.0, len(table.target)
    for start in range(table.training, rows, _BLOCK):
        block = table.columns.slice(start, _BLOCK)
        found = trained.model.predict(samples(trained.inputs, block))
        total += float(((found - table.target[start : start + len(block)]) ** 2).sum())
    return total / (rows - table.training)


def _claims(settings: Settings, found: Outcome) -> Iterator[Claim]:
    """Yield what the paper says of its own table, and what we say of TightMap."""
    by = {(cell.line, float(cell.at)): cell.mean for cell in found.of(RATIO)}
    published = [line for line in settings.lines if not line.startswith(TIGHT)]
    best = [min(published, key=lambda line: by[line, epsilon]) for epsilon in settings.epsilons]
    yield Claim(
        says="Of the paper's mechanisms Local-map, which promises nothing across partitions, is least off at every ε.",
        holds=set(best) == {LOCAL},
        found="the least off is " + ", ".join(f"{b} at {e:g}" for b, e in zip(best, settings.epsilons, strict=True)),
    )
    falls = [
        by[line, settings.epsilons[0]] - by[line, settings.epsilons[-1]]
        for line in (GLOBAL, *map(adj, settings.alphas))
    ]
    yield Claim(
        says="Global-map and Adj-map gain as ε grows.",
        holds=min(falls) > 0,
        found=f"their ratio falls by {min(falls):.3f} to {max(falls):.3f}",
    )
