"""A study as a page, and in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from veilboost.report import page
from veilboost.report.pictures import Chart
from veilboost.report.terminal import say
from veilboost.report.terminal import table as print_table
from veilboost.studies.charts import charts
from veilboost.studies.outcome import Cell, Claim, Difference

if TYPE_CHECKING:
    from veilboost.studies.running import Ran

_SOURCES = {"print": "in print", "measured": "measured before"}
_FOOTER = (
    "Noise was drawn in one process from a seed that anyone can repeat: a simulation. Bounds follow the papers, which "
    "take them from data."
)


def figure_of(value: float) -> str:
    """Return a figure in four digits; an en dash where there is none.

    >>> figure_of(0.123456), figure_of(12345.678), figure_of(2.0e-7), figure_of(float("inf"))
    ('0.1235', '12346', '2e‑07', '∞')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else _unbroken(f"{value:.4g}")


def _unbroken(figure: str) -> str:
    """Return a figure that no line of a table breaks at its minus."""
    return figure.replace("-", "\N{NON-BREAKING HYPHEN}")


def _said(cell: Cell) -> str:
    if len(cell.values) < 2:
        return figure_of(cell.mean)
    error = f"{cell.error:.0f}" if 100 <= cell.error < 1e9 else _unbroken(f"{cell.error:.2g}")
    return f"{figure_of(cell.mean)}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{error}"


def page_of(ran: Ran) -> str:
    """Return the page of one study."""
    blocks = [page.paragraph(f"{ran.study.paper}. {_short(ran)}"), *map(page.paragraph, ran.study.about)]
    for name, drawn in groupby(charts(ran), key=itemgetter(0)):
        sides = ran.study.of(name)
        words = f"{sides.measure} by {sides.across}"
        figures = [(replace(chart, title=""), f"{chart.title}: {words}.") for _, chart in drawn]
        blocks += [page.heading(name), *_figures(figures), page.table(*_panel(ran, name))]
    blocks += [*_claims(ran), *_beside(ran), *_against(ran)]
    blocks += [
        page.heading("Settings"),
        page.table(("setting", "value"), [(k, str(v)) for k, v in ran.settings.items()]),
    ]
    return page.page(ran.study.title, blocks, _FOOTER)


def _figures(figures: Sequence[tuple[Chart, str]]) -> list[str]:
    """Return the pictures of a panel: bars side by side, lines one below the other."""
    if all(chart.up.names for chart, _ in figures):
        return [page.gallery(figures)]
    return [page.figure(chart, caption) for chart, caption in figures]


def _short(ran: Ran) -> str:
    most = max(len(cell.values) for cell in ran.outcome.cells)
    once = "One run of each." if "repeats" in ran.settings else "Nothing is drawn: figures are exact."
    repeats = f"Mean and standard error of {most} repeats." if most > 1 else once
    return repeats + (" A QUICK RUN, with fewer rows or repeats: not judged." if ran.quick else "")


def _panel(ran: Ran, name: str, most: int = 25) -> tuple[list[str], list[list[str]]]:
    """Return a panel as a table of up to ``most`` places, evenly chosen."""
    cells = ran.outcome.of(name)
    every = list(dict.fromkeys(cell.where for cell in cells))
    places = [every[len(every) * place // most] for place in range(most)] if len(every) > most else every
    by = {(cell.line, cell.where): cell for cell in cells}
    rows = [
        [line, *(_said(by[line, at]) if (line, at) in by else "–" for at in places)]
        for line in dict.fromkeys(cell.line for cell in cells)
    ]
    return [ran.study.of(name).across, *places], rows


def _claims(ran: Ran) -> Iterator[str]:
    if not ran.outcome.claims:
        return
    yield page.heading("What is said, and whether it holds")
    yield page.listed(
        (("Holds", f"{c.says} Found: {c.found}.") if c.holds else (_fails(ran), _unheld(ran, c)))
        for c in ran.outcome.claims
    )


def _fails(ran: Ran) -> str:
    return "Not in this short run" if ran.quick else "Does not hold"


def _unheld(ran: Ran, claim: Claim) -> str:
    return (
        f"{claim.says} Found: {claim.found}. {ran.explains(claim.says) or ('' if ran.quick else 'Nobody knows why.')}"
    )


def _beside(ran: Ran) -> Iterator[str]:
    """Yield how the figures compare with print, or with what was measured before; reasons where they do not."""
    if not ran.judged:
        return
    yield page.heading("Beside what was expected")
    for source, words in _SOURCES.items():
        of = [each for each in ran.judged if each.expected.source == source]
        good = sum(each.verdict == "agrees" for each in of)
        if of:
            yield page.paragraph(f"{good} of {len(of)} figures lie within their tolerance of the one {words}.")
    rows = [
        (
            *(e.panel, e.line, e.at, figure_of(j.found), figure_of(e.value)),
            *(figure_of(j.found / e.value if e.value else math.nan), figure_of(e.tolerance), j.reason or j.verdict),
        )
        for j in ran.judged
        for e in (j.expected,)
        if e.source == "print" or j.verdict != "agrees"
    ]
    if rows:
        headers = ("panel", "line", ran.study.across, "found", "expected", "ratio", "tolerance", "verdict")
        yield page.table(headers, rows)


def _against(ran: Ran) -> Iterator[str]:
    if not ran.differences:
        return
    yield page.heading("Side by side, repeat by repeat")
    yield page.paragraph(
        f"On what footing: {ran.study.alike}. Above zero the first is better; worse means by more than two standard "
        "errors of the paired difference."
    )
    yield page.table(("", "against", "places", "better on average by", "worse in"), list(against(ran.differences)))


def against(found: Sequence[Difference]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each pair of lines: over how many places, the mean difference, and where ours is worse."""
    for ours, rival in dict.fromkeys((each.ours, each.rival) for each in found):
        of = [each for each in found if (each.ours, each.rival) == (ours, rival)]
        mean = math.fsum(each.mean for each in of) / len(of)
        worse: dict[str, list[str]] = {}
        for each in of:
            if each.worse:
                worse.setdefault(each.panel, []).append(each.at)
        places = "; ".join(f"{panel}: {', '.join(at)}" for panel, at in worse.items())
        yield ours, rival, str(len(of)), figure_of(mean), places or "none"


def index(ran: Sequence[Ran]) -> str:
    """Return the page that leads to the others."""
    links = "".join(f'<li><a href="{each.name}.html">{each.name}</a>: {each.study.title}</li>\n' for each in ran)
    return page.page(
        "Published experiments, run again",
        [page.table(_HEADERS, list(map(_line, ran))), f"<ul>\n{links}</ul>\n"],
        _FOOTER,
    )


_HEADERS = ("study", "figures", "in print", "agree", "explained", "off", "claims that hold", "worse", "seconds")


def _line(ran: Ran) -> tuple[str, ...]:
    printed = [each for each in ran.judged if each.expected.source == "print"]
    counts = [sum(each.verdict == verdict for each in ran.judged) for verdict in ("agrees", "explained", "off")]
    claims = ran.outcome.claims
    return (
        ran.name + (" (quick)" if ran.quick else ""),
        str(len(ran.outcome.cells)),
        str(len(printed)),
        *map(str, counts),
        f"{sum(claim.holds for claim in claims)} of {len(claims)}",
        f"{sum(each.worse for each in ran.differences)} of {len(ran.differences)}",
        f"{ran.seconds:.0f}",
    )


def show(ran: Ran) -> None:
    """Print one study."""
    say("", f"{ran.name}: {ran.study.title}", f"{ran.study.paper}. {_short(ran)}")
    for name in ran.outcome.panels:
        headers, rows = _panel(ran, name, most=8)
        say("", name)
        print_table(headers, rows)
    say("")
    for claim in ran.outcome.claims:
        say(f"{'Holds' if claim.holds else _fails(ran)}: {claim.says} ({claim.found})")
        if not claim.holds and (why := ran.explains(claim.says)):
            say(f"  {why}")
    for each in ran.judged:
        if each.verdict != "agrees":
            e = each.expected
            where = f"{e.panel}, {e.line}, {e.at}: {figure_of(each.found)}, expected {figure_of(e.value)}"
            say(f"{each.verdict}: {where} ± {figure_of(e.tolerance)} ({_SOURCES[e.source]}). {each.reason or ''}")
    if ran.differences:
        say("", f"Side by side, repeat by repeat; on what footing: {ran.study.alike}.")
        print_table(("", "against", "places", "better by", "worse in"), list(against(ran.differences)))


def summary(ran: Sequence[Ran]) -> None:
    """Print one line for each study."""
    say("")
    print_table(_HEADERS, list(map(_line, ran)))
