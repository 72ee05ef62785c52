"""A study as pictures: lines where places are numbers, else bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from veilboost.report.pictures import Axis, Bars, Chart, Line
from veilboost.studies.looks import looks, palette, pictured, short
from veilboost.studies.outcome import Cell

if TYPE_CHECKING:
    from veilboost.studies.running import Ran
    from veilboost.studies.study import Study


def charts(ran: Ran) -> Iterator[tuple[str, Chart]]:
    """Yield each panel with each of its pictures."""
    for name in ran.outcome.panels:
        sides = ran.study.of(name)
        cells = [cell for cell in ran.outcome.of(name) if math.isfinite(cell.mean)]
        named = any(isinstance(cell.at, str) for cell in cells)
        drawn = _bars(sides, name, cells) if named else _lines(sides, name, cells, ran.outcome.lines)
        yield from ((name, chart) for chart in drawn)


def _lines(sides: Study, name: str, cells: Sequence[Cell], every: Sequence[str]) -> Iterator[Chart]:
    """Yield all lines in one picture, and those under exact losses of rivals in another."""
    across = Axis(label=sides.across, log=sides.log_across, tight=True)
    up = Axis(label=sides.measure, log=sides.log_up)
    titles = (name, f"{name}, TightMap under exact losses of rivals")
    held = [cell for cell in cells if cell.mean > 0 or not sides.log_up]
    for title, (shown, look) in zip(titles, pictured(held), strict=False):
        marks = [_line(line, shown) for line in dict.fromkeys(cell.line for cell in shown)]
        yield Chart(marks=marks, across=across, up=up, title=title, palette=palette(every), looks=look)


def _line(name: str, cells: Sequence[Cell]) -> Line:
    points = [(float(cell.at), cell.mean) for cell in cells if cell.line == name]
    return Line(name=name, x=[x for x, _ in points], y=[y for _, y in points])


def _bars(sides: Study, name: str, cells: Sequence[Cell]) -> Iterator[Chart]:
    """Yield a picture for each place, with a bar for each line, in the colour of its family."""
    places = list(dict.fromkeys(cell.where for cell in cells))
    for place in places:
        here = [cell for cell in cells if cell.where == place]
        lines = [cell.line for cell in here]
        marks = [
            Bars(name=cell.line, at=[len(here) - 1 - row], length=[cell.mean], thick=0.7, flat=True)
            for row, cell in enumerate(here)
        ]
        yield Chart(
            marks=marks,
            across=Axis(label=sides.measure),
            up=Axis(names=[short(line) for line in reversed(lines)]),
            title=f"{name}, {place}" if len(places) > 1 else name,
            palette=palette(lines),
            looks=looks(lines),
            legend=False,
        )


def picture(ran: Ran) -> str:
    """Return the panels of a study as one picture, one below the other."""
    drawn = [chart.svg(720) for _, chart in charts(ran)]
    heights = [float(svg.partition('viewBox="0 0 720 ')[2].partition('"')[0]) for svg in drawn]
    tops = [sum(heights[:place]) for place in range(len(heights))]
    inner = "".join(svg.replace("<svg ", f'<svg y="{top:g}" width="720" height="{height:g}" ', 1)
                    for svg, top, height in zip(drawn, tops, heights, strict=True))  # fmt: skip
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {sum(heights):g}">{inner}</svg>\n'
