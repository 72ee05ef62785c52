"""The studies as a whole: each has all its parts, and what is expected of it fits what it computes."""

import math
import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache

import msgspec
import pytest

from veilboost.studies import pages, running
from veilboost.studies.charts import charts, picture
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.study import Expected, expected, judge, names, study

EXACT = ["opboost-fig3", "opboost-fig10", "opboost-table5"]
"""Studies that draw nothing, read nothing and take seconds."""


def silent(step: str, share: float) -> None:
    assert 0 <= share <= 1


@cache
def ran(name: str) -> running.Ran:
    return running.run(name, quick=True, progress=silent)


def key(each: Expected) -> tuple[str, str, str]:
    return each.panel, each.line, each.at


@pytest.mark.parametrize("name", names())
def test_every_study_has_settings_that_fit_and_an_expected_table(name: str) -> None:
    chosen = study(name)
    for quick in (False, True):
        assert chosen.checked(quick=quick)
    assert chosen.about
    table = expected(name)
    assert table
    assert not [each for each, count in Counter((*key(each), each.source) for each in table).items() if count > 1]
    assert all(math.isfinite(each.value) and each.tolerance > 0 for each in table)


@pytest.mark.parametrize("name", EXACT)
def test_what_is_expected_is_what_the_study_finds(name: str) -> None:
    found = ran(name)
    assert not found.quick, "an exact study has no shorter form"
    assert not found.refuted
    assert found.outcome.claims
    assert {key(each) for each in expected(name)} == set(map(place, found.outcome.cells))
    assert len(found.outcome.cells) == len(set(map(place, found.outcome.cells)))
    used = {each.reason for each in found.judged} | {
        found.explains(claim.says) for claim in found.outcome.claims if not claim.holds
    }
    assert set(found.study.explained.values()) <= used, "a reason that explains nothing"


def place(cell: Cell) -> tuple[str, str, str]:
    return cell.panel, cell.line, cell.where


def test_pages_and_pictures_are_whole() -> None:
    found = ran("opboost-fig10")
    drawn = ET.fromstring(picture(found))
    assert len(drawn) == len(list(charts(found)))
    html = pages.page_of(found)
    for text in (found.study.title, *found.outcome.panels, *found.outcome.lines, "Holds.", "Settings"):
        assert text.replace("'", "&#x27;") in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


def test_a_changed_figure_is_off_and_ends_the_study() -> None:
    found = ran("opboost-table5")
    kept = Outcome(cells=found.outcome.cells[1:], claims=found.outcome.claims)
    judged = judge(found.study, kept, expected("opboost-table5"))
    assert [each.verdict for each in judged if each.verdict == "off"] == ["off"]


def test_places_with_names_are_bars_side_by_side() -> None:
    found = ran("opboost-fig10")
    cells = [
        Cell(panel="ε = 1", line=line, at=task, values=[0.5, 0.75])
        for line in ("Global-map", "TightMap", "TightMap under the pairs of Global-map")
        for task in ("2-Cls.", "Reg.")
    ]
    cells.append(Cell(panel="ε = 1", line="GRR", at="Reg.", values=[math.inf]))
    named = msgspec.structs.replace(found, outcome=Outcome(cells=cells), judged=[], differences=[])
    drawn = [chart for _, chart in charts(named)]
    assert [chart.title for chart in drawn] == ["ε = 1, 2-Cls.", "ε = 1, Reg."]
    assert drawn[0].up.names == ["TightMap, pairs of Global-map", "TightMap", "Global-map"]
    html = pages.page_of(named)
    assert html.count("<svg") == 2
    assert "0.625 ± 0.12" in html.replace("\N{NO-BREAK SPACE}", " ")
    assert "∞" in html
