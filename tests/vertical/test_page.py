"""What a model's report says: the figures of its statement, in one page that loads nothing."""

import re
from functools import cache
from html import unescape

import pyarrow as pa
import pytest
from talking import HELD, job, label, people, train, trained

from veilboost.estimators import OpBoostClassifier
from veilboost.report.page import table
from veilboost.report.terminal import number
from veilboost.vertical.page import Scores, model_page
from veilboost.vertical.statement import ModelStatement, state


@cache
def made(thresholds: str = "up-front") -> tuple[ModelStatement, dict[str, float]]:
    used = job(list(HELD), thresholds=thresholds)
    found = trained(train(used))
    return state(found, used, rows=300, classes=[0, 1]), found.gains


def cells(page: str) -> list[list[str]]:
    """Return the rows of all tables."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def test_every_column_stands_there_with_its_figures() -> None:
    statement, gains = made()
    rows = cells(model_page(statement, gains))
    for said in statement.released:
        for each in said.columns:
            worst = None if each.exact_gaps is None else max(each.exact_gaps)
            losses = [each.nominal_epsilon, worst, each.exact_whole_range, each.promised_neighbours]
            assert [each.column, each.settings["mechanism"], *map(number, losses), each.domain] in rows
    assert len(statement.released) == len(HELD)


def test_what_is_said_about_noise_composition_and_parties() -> None:
    statement, gains = made()
    page = unescape(model_page(statement, gains))
    for text in (
        statement.one_column,
        statement.whole_row,
        "A SIMULATION",
        "nobody may see the raw columns next to the",
    ):
        assert text in page
    for party in HELD:
        assert f"{party} learned nothing" in page
        assert [f"raw columns of {party}", party, "never leave it"] in cells(page)
    assert "which ranks became thresholds" not in page
    asked = unescape(model_page(*made("on-request")))
    assert "bank learned which of its ranks became thresholds" in asked
    assert any(row[0] == "which ranks became thresholds" for row in cells(asked) if row)


def test_bytes_and_scores_stand_there_as_they_were_counted() -> None:
    statement, gains = made()
    scores = Scores(["accuracy"], {"this model": [0.91234], "no protection": [0.95]}, "Measured on 7 rows.")
    page = model_page(statement, gains, scores)
    rows = cells(page)
    assert ["this model", "0.9123"] in rows
    assert ["no protection", "0.9500"] in rows
    assert "Measured on 7 rows." in page
    for party, ways in statement.traffic.items():
        for way, kinds in ways.items():
            for kind, count in kinds.items():
                assert [party, way, kind.partition("/")[0], f"{count:,}"] in rows


def test_a_page_loads_nothing_and_escapes_every_name() -> None:
    table = people().select(["own"]).append_column("<b>&", pa.array(label(people())))
    model = OpBoostClassifier(
        private=["<b>&"], bounds=(0, 1), size=3, backend="lightgbm", purpose="<script>", lead="<i>", n_estimators=2
    )
    model.fit(table, label(people()))
    page = model_page(state(model._trained, model._job, rows=300, classes=[0, 1]), model._trained.gains)
    assert not re.findall(r"<(?:b|i|script|img|link|iframe)\b|src=|@import|url\(|https?://(?!www\.w3\.org)", page)
    for text in ("&lt;b&gt;&amp;", "a model for &lt;script&gt;", "&lt;i&gt; trained 2 trees"):
        assert text in page


def test_a_model_without_partners_says_so_once() -> None:
    model = OpBoostClassifier(n_estimators=3).fit(people().select(["own"]), label(people()))
    page = model_page(state(model._trained, model._job, rows=300, classes=[0, 1]), model._trained.gains)
    assert page.count("No column of a partner went into this model.") == 1
    assert "from 1 columns of its own." in page


def test_two_partners_of_thirty_columns_each_are_still_read() -> None:
    names = [f"c{n}" for n in range(60)]
    values = people()["spend"]
    model = OpBoostClassifier(
        private=names,
        partners={"bank": names[:30], "shop": names[30:]},
        bounds=(0, 100),
        size=10,
        epsilon={name: 0.1 + n / 10 for n, name in enumerate(names)},
        n_estimators=60,
    ).fit(pa.table(dict.fromkeys(names, values)), label(people()))
    page = model_page(state(model._trained, model._job, rows=300, classes=[0, 1]), model._trained.gains)
    assert page.count("<h3>30 columns of") == 2
    assert sum(row[0] in names for row in cells(page) if row) == 60
    assert page.count('<div class="gallery">') == 1
    assert page.count("<figure>") == 1 + 24
    assert "36 more mechanisms are in the statement." in page
    assert len(page) < 500_000


@pytest.mark.parametrize(
    ("cell", "right"), [("1,024", True), ("–", True), ("∞", True), ("-0.5", True), ("a1", False), ("", False)]
)
def test_numbers_stand_to_the_right_and_words_to_the_left(cell: str, right: bool) -> None:
    assert ('<td class="number">' in table(["name", "value"], [["x", "1"], ["y", cell]])) is right
    assert "<th>name</th>" in table(["name", "value"], [])
