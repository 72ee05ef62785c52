"""The main job on an embedded table: desensitise it with every mechanism, nominal and exact privacy side by side."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.domain import Domain
from veilboost.files import check_writable, write_whole
from veilboost.mechanisms import AdjMap, GlobalMap, LocalMap, RandomizedResponse, TableMechanism, TightMap
from veilboost.privacy import compose, weighted_kendall
from veilboost.report import page
from veilboost.report.pictures import Axis, Chart, Line
from veilboost.report.terminal import bars, number, say, table

_SIZE = 20
_THETA = 5
_SHOWN = "bmi"
_UNIT = "kg/m²"

DOMAINS = {
    "age": Domain.numbers(0, 100, size=_SIZE, column="age"),
    "bmi": Domain.numbers(10, 60, size=_SIZE, column="bmi"),
    "bp": Domain.numbers(40, 180, size=_SIZE, column="bp"),
    "s1": Domain.numbers(50, 450, size=_SIZE, column="s1"),
    "s6": Domain.numbers(40, 240, size=_SIZE, column="s6"),
}
"""Bounds that anyone could write down without having seen a patient: years, kg/m², mmHg, mg/dl, mg/dl."""


class DemoLine(msgspec.Struct, frozen=True, kw_only=True):
    """One mechanism: what it says, what it costs and what it leaves."""

    title: str
    nominal: float
    neighbours: float
    borders: float | None
    whole_range: float
    kendall: float
    mean_noise: float


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost demo` did."""

    rows: int
    columns: list[str]
    size: int
    epsilon: float
    lines: list[DemoLine]
    whole_row: str
    report: str
    table: str


def run(out: Path, *, epsilon: float = 0.5) -> DemoReport:
    """Desensitise scikit-learn's diabetes table, write report and table into ``out``, and return the figures."""
    check_writable(out / "report.html", out / "desensitised.csv")
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    raw = {name: bunch.data[:, bunch.feature_names.index(name)] for name in DOMAINS}
    codes = {name: domain.encode(raw[name]).codes for name, domain in DOMAINS.items()}
    mechanisms = _mechanisms(epsilon)
    for mechanism in mechanisms.values():
        for domain in DOMAINS.values():
            mechanism.fit(domain)
    noisy = {title: {name: each.draw(codes[name]) for name in codes} for title, each in mechanisms.items()}
    found = DemoReport(
        rows=len(bunch.data),
        columns=list(DOMAINS),
        size=_SIZE,
        epsilon=epsilon,
        lines=[_line(title, each, epsilon, codes, noisy[title]) for title, each in mechanisms.items()],
        whole_row=str(compose({name: [mechanisms["TightMap"].definition] for name in DOMAINS})),
        report=str(out / "report.html"),
        table=str(out / "desensitised.csv"),
    )
    write_whole(out / "desensitised.csv", _csv(noisy["TightMap"]))
    write_whole(out / "report.html", _page(found, mechanisms))
    return found


Columns = dict[str, NDArray[Any]]


def _mechanisms(epsilon: float) -> dict[str, TableMechanism]:
    return {
        "Global-map": GlobalMap(epsilon=epsilon, size=_SIZE),
        "Adj-map": AdjMap(epsilon=epsilon, size=_SIZE, theta=_THETA),
        "Local-map": LocalMap(epsilon=epsilon, size=_SIZE, theta=_THETA),
        "TightMap": TightMap(epsilon=epsilon, size=_SIZE),
        "GRR": RandomizedResponse(epsilon=epsilon, size=_SIZE),
    }


def _line(title: str, mechanism: TableMechanism, epsilon: float, codes: Columns, noisy: Columns) -> DemoLine:
    profile = mechanism.profile()
    partitioned = isinstance(mechanism, AdjMap | LocalMap)
    borders = [gap for code, gap in enumerate(profile.gaps, 1) if partitioned and code % _THETA == 0]
    inside = [gap for code, gap in enumerate(profile.gaps, 1) if not (partitioned and code % _THETA == 0)]
    raw = {name: DOMAINS[_SHOWN].decode(column[_SHOWN]) for name, column in (("before", codes), ("after", noisy))}
    return DemoLine(
        title=title,
        nominal=epsilon,
        neighbours=max(inside),
        borders=max(borders) if borders else None,
        whole_range=profile.worst,
        kendall=float(np.mean([weighted_kendall(codes[name], noisy[name]) for name in codes])),
        mean_noise=float(np.abs(raw["after"] - raw["before"]).mean()),
    )


def _csv(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        zip(*(DOMAINS[name].decode(column).round(4).tolist() for name, column in columns.items()), strict=True)
    )
    return text.getvalue()


_HEADERS = (
    "mechanism",
    "nominal ε",
    "neighbours",
    "border",
    "whole range",
    "order kept",
    f"{_SHOWN} noise",
)
_LEGEND = (
    "Exact loss of the worst neighbours, of the worst neighbours on either side of a partition's border, and of the "
    "worst two values of the whole range; order kept is the weighted Kendall coefficient of codes before and after, "
    f"averaged over the columns; {_SHOWN} noise is its mean absolute change in {_UNIT}."
)


def _rows(found: DemoReport) -> Iterator[tuple[str, ...]]:
    for line in found.lines:
        losses = map(number, (line.nominal, line.neighbours, line.borders, line.whole_range))
        yield line.title, *losses, f"{line.kendall:.3f}", f"{line.mean_noise:.1f}"


def _intro(found: DemoReport) -> str:
    return (
        f"{found.rows} patients, {len(found.columns)} columns ({', '.join(found.columns)}), {found.size} codes each. "
        f"Every value was drawn once by each mechanism, at the same nominal ε = {found.epsilon:g} per code. Nominal is "
        "what was asked for; exact is computed from the integers that were sampled, and rounded up."
    )


_READING = (
    "Global-map spends less than it was given: far inside the domain only half of it. Adj-map spends less "
    "inside a partition and more across its borders, where neighbours can lose several times the nominal ε. Local-map "
    "releases the partition of every value: across a border nothing is protected. TightMap spends what was asked for, "
    "at every gap. GRR, randomised response, protects far values as much as near ones, and keeps almost no order."
)


def show(found: DemoReport) -> None:
    """Print what was done."""
    say(_intro(found), "")
    table(_HEADERS, _rows(found))
    probabilities = TightMap(epsilon=found.epsilon, size=_SIZE).probabilities()
    say("", _LEGEND, "", _READING, "", f"TightMap on all {len(found.columns)} columns of a row.", found.whole_row, "")
    say(f"What leaves for the middle of {_SHOWN}'s domain under TightMap (height: probability of each code):")
    bars(probabilities[_SIZE // 2 - 1])
    say("", f"Report with pictures:            {found.report}", f"Desensitised table, by TightMap: {found.table}")


def _page(found: DemoReport, mechanisms: dict[str, TableMechanism]) -> str:
    code, palette = _SIZE // 2, list(mechanisms)
    across = np.asarray(DOMAINS[_SHOWN].decode(np.arange(1, _SIZE + 1)))
    leaves = [
        Line(name=title, x=across.tolist(), y=each.probabilities()[code - 1].tolist(), steps=True)
        for title, each in mechanisms.items()
    ]
    distances = list(range(1, _SIZE))
    losses = [
        Line(name=title, x=distances, y=list(each.profile().epsilon_by_distance))
        for title, each in mechanisms.items()
        if not isinstance(each, LocalMap)
    ]
    nominal = Line(name="nominal ε · t", x=distances, y=[found.epsilon * t for t in distances], dashed=True)
    blocks = [
        page.paragraph(_intro(found)),
        page.table(_HEADERS, _rows(found)),
        page.paragraph(_LEGEND),
        page.paragraph(_READING),
        page.heading(f"What leaves for one patient with {_SHOWN} {across[code - 1]:.1f} {_UNIT}"),
        page.figure(
            Chart(
                marks=leaves,
                across=Axis(label=f"{_SHOWN} as released ({_UNIT})", tight=True),
                up=Axis(label="probability", zero=True),
                palette=palette,
            ),
            "The distribution of the released value under each mechanism.",
        ),
        page.heading("What the worst pair of values loses"),
        page.figure(
            Chart(
                marks=[*losses, nominal],
                across=Axis(label="codes apart", whole=True),
                up=Axis(label="exact loss", zero=True),
                palette=palette,
            ),
            "Exact loss of the worst pair at each distance, beside nominal, on which TightMap lies. Local-map is left "
            "out: it loses everything from the first border on.",
        ),
        page.heading(f"TightMap on all {len(found.columns)} columns of a row: two statements"),
        *(page.paragraph(line) for line in found.whole_row.splitlines()),
    ]
    return page.page("What desensitising really costs, and what it leaves", blocks, _FOOTER)


_FOOTER = "Data: the diabetes table that ships with scikit-learn. Bounds are public, not taken from the table."
