"""The main job on two tables: train with every mechanism at several ε, accuracy next to exact privacy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.domain import Domain
from veilboost.estimators import OpBoostClassifier, OpBoostRegressor
from veilboost.files import check_writable, write_whole
from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, RandomizedResponse, TableMechanism, TightMap
from veilboost.report import page
from veilboost.report.pictures import Axis, Chart, Line
from veilboost.report.terminal import Report, number, say, table
from veilboost.studies.example import SHOP, bank_and_shop
from veilboost.vertical.folder import check_place

EPSILONS = (0.1, 0.4, 1.6)
_THETA, _SIZE, _FOLDS, _ROWS, _TESTED = 5, 20, 5, 50_000, 10_000
SHARPENED = "TightMap, sharpened"
_MECHANISMS: dict[str, dict[str, Any]] = {
    "Global-map": {"mechanism": "global"},
    "Adj-map": {"mechanism": "adj", "theta": _THETA},
    "Local-map": {"mechanism": "local", "theta": _THETA},
    "TightMap": {"mechanism": "tight"},
    SHARPENED: {"mechanism": "tight"},
    "GRR": {"mechanism": "grr"},
    "Piecewise": {"mechanism": "piecewise"},
}
_TABLES: dict[str, Callable[[float], TableMechanism]] = {
    "Global-map": lambda epsilon: GlobalMap(epsilon=epsilon, size=_SIZE),
    "Adj-map": lambda epsilon: AdjMap(epsilon=epsilon, size=_SIZE, theta=_THETA),
    "Local-map": lambda epsilon: LocalMap(epsilon=epsilon, size=_SIZE, theta=_THETA),
    "TightMap": lambda epsilon: TightMap(epsilon=epsilon, size=_SIZE),
    SHARPENED: lambda epsilon: TightMap(epsilon=epsilon, size=_SIZE),
    "GRR": lambda epsilon: RandomizedResponse(epsilon=epsilon, size=_SIZE),
}
PLAIN, CODED, ALONE = "no protection", "codes without noise", "without the partner"

PATIENTS = {
    "bmi": Domain.numbers(10, 60, size=_SIZE, column="bmi"),
    "bp": Domain.numbers(40, 180, size=_SIZE, column="bp"),
    "s1": Domain.numbers(50, 450, size=_SIZE, column="s1"),
    "s3": Domain.numbers(10, 120, size=_SIZE, column="s3"),
    "s6": Domain.numbers(40, 240, size=_SIZE, column="s6"),
}
"""Bounds that anyone could write down without having seen a patient: kg/m², mmHg, and three times mg/dl."""


class DemoLine(msgspec.Struct, frozen=True, kw_only=True):
    """One model: how its columns were protected, and how good it is."""

    mechanism: str
    nominal: float | None
    neighbours: float | None
    borders: float | None
    whole_range: float | None
    score: float


class DemoTable(msgspec.Struct, frozen=True, kw_only=True):
    """All models on one table."""

    name: str
    about: str
    measure: str
    lines: list[DemoLine]


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost demo` did."""

    tables: list[DemoTable]
    one_column: str
    whole_row: str
    model: str
    report: str


@dataclass(frozen=True)
class _Case:
    """A table with an unfitted model of it, and the parts of its rows that are trained on and tested."""

    name: str
    about: str
    measure: str
    X: pa.Table
    y: NDArray[Any]
    model: Any
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

    def score(self, **protection: Any) -> float:
        """Return the score of models that are protected this way, averaged over the splits."""
        return float(np.mean([self._one(split, protection) for split in self.splits]))

    def _one(self, split: tuple[NDArray[np.intp], NDArray[np.intp]], protection: Mapping[str, Any]) -> float:
        train, test = split
        made = type(self.model)(**self.model.get_params() | protection).fit(self.X.take(train), self.y[train])
        return float(made.score(self.X.take(test), self.y[test]))


def run(out: Path, *, progress: Report = lambda _: None) -> DemoReport:
    """Train on both tables, write the report and one model folder into ``out``, and return the figures."""
    check_writable(out / "report.html")
    check_place(out / "model")
    cases = [_patients(), _people()]
    steps = len(cases) * (len(_MECHANISMS) * len(EPSILONS) + 3)
    done = iter(range(1, steps + 1))
    tables = [_table(case, lambda: progress(next(done) / steps)) for case in cases]
    statement = _save(cases[1], out / "model")
    found = DemoReport(
        tables=tables,
        one_column=statement.one_column,
        whole_row=statement.whole_row,
        model=str(out / "model"),
        report=str(out / "report.html"),
    )
    write_whole(out / "report.html", _page(found))
    return found


def _patients() -> _Case:
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import KFold

    bunch = load_diabetes(scaled=False)
    X = pa.table({name: bunch.data[:, place] for place, name in enumerate(bunch.feature_names)})
    about = (
        f"{X.num_rows} patients; a clinic knows how their diabetes went on, age, sex and s2, s4, s5, and a laboratory "
        f"{', '.join(PATIENTS)}, {_SIZE} codes each. Mean R² over {_FOLDS} folds: with so few rows it moves by some "
        "hundredths from run to run."
    )
    model = OpBoostRegressor(
        private=list(PATIENTS), domains=PATIENTS, lead="clinic", purpose="progress of diabetes", max_depth=2, n_jobs=1
    )
    splits = list(KFold(_FOLDS, shuffle=True, random_state=0).split(bunch.data))
    return _Case("Diabetes", about, "R²", X, bunch.target, model, splits)


def _people() -> _Case:
    example = bank_and_shop(_ROWS)
    about = (
        f"{_ROWS:,} generated people; a bank knows who failed to pay, income, age and how much of their credit they "
        f"use, and a shop {', '.join(SHOP)}. Share of {_TESTED:,} other people that is predicted rightly."
    )
    model = OpBoostClassifier(
        private=list(SHOP),
        domains=SHOP,
        partners={"shop": list(SHOP)},
        lead="bank",
        purpose="default risk",
        job="demo",
        n_jobs=1,  # threads that wait for each other on a busy machine take many times as long
    )
    rows = np.arange(_ROWS)
    return _Case(
        "Bank and shop", about, "accuracy", example.joined, example.label, model, [(rows[_TESTED:], rows[:_TESTED])]
    )


def _table(case: _Case, step: Callable[[], None]) -> DemoTable:
    lines = []
    for title, settings in _MECHANISMS.items():
        for epsilon in EPSILONS:
            score = case.score(mechanism=settings, epsilon=epsilon, sharpen=title == SHARPENED)
            lines.append(DemoLine(mechanism=title, nominal=epsilon, score=score, **_losses(title, epsilon)))
            step()
    for title, work in _baselines(case).items():
        lines.append(
            DemoLine(mechanism=title, nominal=None, neighbours=None, borders=None, whole_range=None, score=work())
        )
        step()
    return DemoTable(name=case.name, about=case.about, measure=case.measure, lines=lines)


def _baselines(case: _Case) -> dict[str, Callable[[], float]]:
    from dataclasses import replace

    from veilboost.estimators.compare import unprotected, without_noise

    model, domains = unprotected(case.model), case.model.domains
    ways = {
        ALONE: replace(case, model=model, X=case.X.drop_columns(list(domains))),
        CODED: replace(case, model=model, X=without_noise(case.X, domains)),
        PLAIN: replace(case, model=model),
    }
    return {title: partial(each.score) for title, each in ways.items()}


def _losses(title: str, epsilon: float) -> dict[str, float | None]:
    """Return what a mechanism really loses; Piecewise has no table, and its promise holds for any two codes."""
    if title not in _TABLES:
        return {"neighbours": epsilon, "borders": None, "whole_range": epsilon}
    profile = _TABLES[title](epsilon).profile()
    partitioned = title in ("Adj-map", "Local-map")
    borders = [gap for code, gap in enumerate(profile.gaps, 1) if partitioned and code % _THETA == 0]
    inside = [gap for code, gap in enumerate(profile.gaps, 1) if not (partitioned and code % _THETA == 0)]
    return {"neighbours": max(inside), "borders": max(borders) if borders else None, "whole_range": profile.worst}


def _save(case: _Case, folder: Path) -> Any:
    """Write the model of the bank and the shop by TightMap in the middle of the budgets, compared with no noise."""
    ((train, test),) = case.splits
    made = type(case.model)(**case.model.get_params() | {"epsilon": EPSILONS[1]})
    X, X_test = case.X.take(train), case.X.take(test)
    made.fit(X, case.y[train])
    return made.save(folder, scores=made.compare(X, case.y[train], X_test, case.y[test]))


_LOSSES = ("neighbours lose", "border loses", "far ends lose")
_LEGEND = (
    "Nominal is what was asked for, for each column. The rest is computed from the integers that were sampled, and "
    "rounded up: the loss of the worst neighbouring codes, of the worst neighbours on either side of a partition's "
    "border, and of the worst two codes of all."
)
_READING = (
    "Global-map spends less than it was given: far inside the domain only half of it. Adj-map spends more than was "
    "asked for across its borders, and Local-map releases the partition of every value: across a border nothing is "
    "protected. TightMap spends what was asked for, at every gap. GRR and Piecewise protect far values as much as near "
    "ones, and keep little of the order at such budgets. Sharpened is the model of TightMap, moved away from what more "
    "noise does to it: no more is learnt of anybody."
)


def _rows(found: DemoTable) -> Iterator[tuple[str, ...]]:
    for line in found.lines:
        losses = map(number, (line.neighbours, line.borders, line.whole_range))
        yield line.mechanism, "–" if line.nominal is None else f"{line.nominal:g}", f"{line.score:.3f}", *losses


def _headers(found: DemoTable) -> tuple[str, ...]:
    return "mechanism", "nominal ε", found.measure, *_LOSSES


def show(found: DemoReport) -> None:
    """Print what was done."""
    for each in found.tables:
        say(f"{each.name}. {each.about}", "")
        table(_headers(each), _rows(each))
        say("")
    say(_LEGEND, "", _READING, "")
    say(f"The shop's columns by TightMap at ε = {EPSILONS[1]:g}. One column changed. {found.one_column}")
    say(f"The whole row changed. {found.whole_row}", "")
    say(
        f"Report with pictures:                    {found.report}",
        f"Model, its statement and its own report: {found.model}",
    )


def _page(found: DemoReport) -> str:
    blocks = [page.paragraph(_LEGEND), page.paragraph(_READING)]
    for each in found.tables:
        blocks += [
            page.heading(each.name),
            page.paragraph(each.about),
            page.figure(_scores(each), f"{each.measure} by nominal ε of each column; dashed lines need no noise."),
            page.table(_headers(each), _rows(each)),
        ]
    blocks += [page.heading("What leaves for one person"), *_leaving()]
    return page.page("What a model keeps of noisy columns, and what they really cost", blocks, _FOOTER)


def _scores(found: DemoTable) -> Chart:
    lines = [
        Line(name=title, x=list(EPSILONS), y=[line.score for line in found.lines if line.mechanism == title])
        for title in _MECHANISMS
    ]
    flat = {line.mechanism: line.score for line in found.lines if line.nominal is None}
    ends = [EPSILONS[0], EPSILONS[-1]]
    lines += [Line(name=title, x=ends, y=[score, score], dashed=True) for title, score in flat.items()]
    return Chart(
        marks=lines,
        across=Axis(label="nominal ε", log=True, tight=True),
        up=Axis(label=found.measure),
        palette=list(_MECHANISMS),
    )


def _leaving() -> Iterator[str]:
    code = _SIZE // 2
    across = np.asarray(SHOP["spend"].decode(np.arange(1, _SIZE + 1)))
    lines = [
        Line(name=title, x=across.tolist(), y=make(EPSILONS[1]).probabilities()[code - 1].tolist(), steps=True)
        for title, make in _TABLES.items()
        if title != SHARPENED
    ]
    chart = Chart(
        marks=lines,
        across=Axis(label="spend as it leaves (euros)", tight=True),
        up=Axis(label="probability", zero=True),
        palette=list(_MECHANISMS),
    )
    yield page.figure(
        chart, f"Spend of {across[code - 1]:.0f} euros under each mechanism with a table, ε = {EPSILONS[1]:g}."
    )


_FOOTER = (
    "Diabetes is the table that ships with scikit-learn; bank and shop are generated. Noise was drawn in one process "
    "that holds all columns: a simulation."
)
