"""What a person sees: numbers that never read too well, pictures that fit, pages that stand alone."""

import math
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilboost.mechanisms import AdjMap, LocalMap, RandomizedResponse, TableMechanism, TightMap, certify
from veilboost.privacy.rounding import shown
from veilboost.report import certificate, page
from veilboost.report.pictures import Chart, Line
from veilboost.report.terminal import number, picture, runs, spread


@given(st.floats(5e-324, 1e5))
def test_a_printed_loss_is_never_below_the_loss(loss: float) -> None:
    for text, room in ((number(loss), Decimal("1.001e-4")), (shown(loss), Decimal(loss) * Decimal("1.1e-5"))):
        assert Decimal(loss) * (1 - Decimal("6e-16")) <= Decimal(text) <= Decimal(loss) + room


@given(st.integers(1, 10**6), st.integers(2, 30))
def test_a_spread_has_both_ends_in_order(count: int, most: int) -> None:
    chosen = spread(count, most)
    assert (chosen[0], chosen[-1]) == (1, count)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= max(most, 2)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=300), st.integers(1, 120))
def test_a_picture_fits_and_its_highest_bar_is_full(heights: list[float], width: int) -> None:
    drawn = picture(np.array(heights), width, rows=4)
    assert len(drawn) == 4
    assert {len(line) for line in drawn} == {len(drawn[0])}
    assert len(drawn[0]) <= max(width, 1)
    assert "█" in drawn[-1]
    if len(heights) <= width:
        assert "█" in drawn[0]


def test_runs_name_every_gap_once() -> None:
    assert runs([math.inf, 0.5, 0.5]) == "1: ∞, 2-3: 0.5000"
    long = runs([0.1 * (1 + i % 7) for i in range(99)])
    assert "… 87 more …" in long


@pytest.mark.parametrize(
    ("mechanism", "note"),
    [
        (TightMap(epsilon=20.0, size=10), "saturates"),
        (LocalMap(epsilon=1.0, size=6, theta=3), "told apart with certainty"),
        (AdjMap(epsilon=0.1, size=100, theta=10), "times the nominal"),
        (AdjMap(epsilon=1.28, size=10, theta=4, alpha=10.0), "no bound here"),
    ],
)
def test_a_certificate_says_what_is_unexpected(
    mechanism: TableMechanism, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate.show(certify(mechanism), mechanism)
    assert note in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("mechanism", [TightMap(epsilon=0.5, size=10), RandomizedResponse(epsilon=1.0, size=100)])
def test_an_ordinary_certificate_has_no_note(mechanism: TableMechanism, capsys: pytest.CaptureFixture[str]) -> None:
    certificate.show(certify(mechanism), mechanism)
    assert "Note:" not in capsys.readouterr().out


def test_a_page_escapes_what_it_is_given_and_loads_nothing() -> None:
    chart = Chart(marks=[Line(name="<a>", x=[1, 2], y=[0.5, 3])])
    blocks = [page.paragraph("a < b"), page.table(["<h>"], [["<c>"]]), page.figure(chart, "&")]
    made = page.page("<title>", blocks, "<f>")
    assert re.findall(r"<(?:script|img|link|iframe)", made) == []
    for text in ("&lt;title&gt;", "a &lt; b", "&lt;h&gt;", "&lt;c&gt;", "&lt;f&gt;", "&amp;", "&lt;a&gt;"):
        assert text in made
