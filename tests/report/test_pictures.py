"""The SVG that is drawn, read as XML: everything in its place, text as text, nothing loaded."""

import itertools
import math
import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilboost.errors import SettingError
from veilboost.report.marks import COLOURS, Look
from veilboost.report.pictures import Axis, Band, Bars, Chart, Line, Mark, Points, ranking

NAME = "{http://www.w3.org/2000/svg}"
X, Y = [1.0, 2.0, 4.0], [0.5, 3.0, 1.0]
EVERY_KIND: list[Mark] = [
    Line(name="line", x=X, y=Y),
    Line(name="dashed", x=X, y=Y, dashed=True),
    Line(name="steps", x=X, y=Y, steps=True),
    Points(name="points", x=X, y=Y),
    Points(name="error bars", x=X, y=Y, low=[0.4, 2.0, 0.5], high=[0.6, 4.0, 1.5]),
    Bars(name="bars", at=X, length=Y),
    Band(name="band", x=X, low=[0.4, 2.0, 0.5], high=[0.6, 4.0, 1.5]),
]


def drawn(*marks: Mark, width: int = 720, **rest: Any) -> ET.Element:
    return ET.fromstring(Chart(marks=marks, **rest).svg(width))


def all_of(kind: str, svg: ET.Element) -> list[ET.Element]:
    return list(svg.iter(NAME + kind))


def said(svg: ET.Element) -> list[str]:
    return [text.text or "" for text in all_of("text", svg)]


def corners(line: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


def inside(svg: ET.Element) -> bool:
    """Return whether every line, bar and text begins within the picture."""
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    down = {row: float(group.attrib["transform"][:-1].split()[1]) for group in all_of("g", svg) for row in group}
    found = []
    for each in svg.iter():
        places = corners(each) if "points" in each.attrib else []
        pairs = [("x", "y"), ("x1", "y1"), ("x2", "y2")]
        ends = [(each.attrib[x], each.attrib.get(y, "0")) for x, y in pairs if x in each.attrib]
        places += [(float(x), float(y)) for x, y in ends]
        found += [(x, y + down.get(each, 0)) for x, y in places]
    return all(math.isfinite(x + y) and 0 <= x <= width and 0 <= y <= height for x, y in found)


@pytest.mark.parametrize("mark", EVERY_KIND, ids=lambda mark: mark.name)
@pytest.mark.parametrize("width", [360, 720])
def test_every_mark_lies_inside_has_a_legend_and_draws_the_same_twice(mark: Mark, width: int) -> None:
    chart = Chart(marks=[mark], across=Axis(label="across"), up=Axis(label="up"), title="title")
    svg = ET.fromstring(chart.svg(width))
    assert inside(svg)
    assert {"title", mark.name, "up", "across"} < set(said(svg))
    assert svg.attrib["viewBox"].startswith(f"0 0 {width} ")
    assert svg.attrib["aria-label"] == "title"
    assert "width" not in svg.attrib
    assert chart.svg(width) == chart.svg(width)


def test_a_line_goes_through_its_values() -> None:
    (line, sample) = sorted(all_of("polyline", drawn(Line(name="a", x=[0, 5, 10], y=[0, 10, 5]))), key=corners)[::-1]
    (x0, y0), (x1, y1), (x2, y2) = corners(line)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.02)
    assert y0 - y1 == pytest.approx(2 * (y0 - y2), abs=0.02)
    assert len(corners(sample)) == 2


def test_steps_keep_their_height_half_way_to_the_next() -> None:
    svg = drawn(Line(name="", x=[1, 2, 4], y=[1, 3, 2], steps=True), across=Axis(tight=True))
    (line,) = all_of("polyline", svg)
    places = corners(line)
    assert len(places) == 6
    assert all(a[1] == b[1] for a, b in zip(places[::2], places[1::2], strict=True))
    assert all(a[0] == b[0] for a, b in zip(places[1::2], places[2::2], strict=False))
    ends = [round((x - places[0][0]) / (places[-1][0] - places[0][0]) * 4.5 + 0.5, 2) for x, _ in places]
    assert ends == [0.5, 1.5, 1.5, 3.0, 3.0, 5.0]


def test_bars_stand_on_zero_and_their_areas_are_as_their_lengths() -> None:
    svg = drawn(Bars(name="", at=[0, 1, 2], length=[4, -2, 1]))
    tall, below, low = all_of("rect", svg)
    heights = [float(bar.attrib["height"]) for bar in (tall, below, low)]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.05)
    assert heights[0] == pytest.approx(4 * heights[2], abs=0.05)
    zero = float(tall.attrib["y"]) + heights[0]
    assert float(below.attrib["y"]) == pytest.approx(zero, abs=0.02)
    assert float(low.attrib["y"]) + heights[2] == pytest.approx(zero, abs=0.02)
    (bar,) = all_of("rect", drawn(Bars(name="", at=[1], length=[100.0]), up=Axis(log=True)))
    assert float(bar.attrib["height"]) > 0


def test_a_ranking_names_its_bars_from_the_top_down() -> None:
    svg = ET.fromstring(ranking({"age": 0.5, "income": 0.25, "x" * 99: 0.0}, across="gain", title="t").svg(360))
    places = {text.text: float(text.attrib["y"]) for text in all_of("text", svg) if "y" in text.attrib}
    assert places["age"] < places["income"] < max(places[name] for name in places if name and name.endswith("x…"))
    first, second, third = all_of("rect", svg)
    assert float(first.attrib["width"]) == pytest.approx(2 * float(second.attrib["width"]), abs=0.02)
    assert float(third.attrib["width"]) == 0
    assert inside(svg)


def test_names_that_have_no_room_are_cut_short() -> None:
    names = [f"column {i}" for i in range(60)]
    svg = drawn(Bars(name="", at=range(60), length=[1.0] * 60), across=Axis(names=names), width=360)
    assert said(svg).count("…") == 60
    assert inside(svg)
    assert "no data" in said(ET.fromstring(ranking({}, across="gain").svg()))


def test_error_bars_reach_from_low_to_high() -> None:
    svg = drawn(Points(name="", x=[1, 2], y=[2, 3], low=[1, 3], high=[4, 3]))
    bars = [each.attrib["d"] for each in all_of("path", svg) if "stroke" in each.attrib]
    (low, high), (same, as_low) = (map(float, re.findall(r" ([\d.]+)h8m-4 0V([\d.]+)", bar)[0]) for bar in bars)
    assert low > high
    assert same == as_low


def test_marks_of_one_name_share_a_look_and_a_line_of_the_legend() -> None:
    svg = drawn(Band(name="ours", x=X, low=Y, high=[4, 4, 4]), Line(name="ours", x=X, y=Y), Line(name="b", x=X, y=Y))
    assert said(svg).count("ours") == 1
    assert {each.attrib["fill"] for each in all_of("polygon", svg)} == {COLOURS[0]}
    assert {each.attrib["stroke"] for each in all_of("polyline", svg)} == set(COLOURS[:2])


def test_a_palette_keeps_colours_from_chart_to_chart() -> None:
    marks = [Line(name="b", x=X, y=Y), Line(name="other", x=X, y=Y)]
    strokes = {each.attrib["stroke"] for each in all_of("polyline", drawn(*marks, palette=["a", "b"]))}
    assert strokes == {COLOURS[1], Look.aside(0).colour}


def test_more_names_than_colours_can_be_told_apart() -> None:
    svg = drawn(*(Line(name=str(i), x=X, y=Y) for i in range(9)))
    looks = {(each.attrib["stroke"], each.attrib.get("stroke-dasharray")) for each in all_of("polyline", svg)}
    assert len(looks) == 9


DEGENERATE: dict[str, list[float]] = {
    "empty": [],
    "one value": [3.0],
    "constant": [0.0, 0.0, 0.0],
    "negative": [-3.0, -1.0],
    "huge": [-1.7e308, 1.7e308],
    "tiny": [5e-324, 1e-323],
    "nearly constant": [1e15, 1e15 + 1],
}


@pytest.mark.parametrize("values", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("width", [360, 720])
def test_poor_data_is_drawn_all_the_same(values: list[float], width: int) -> None:
    places = [float(i) for i in range(len(values))]
    for mark in (
        Line(name="a", x=values, y=values),
        Line(name="a", x=places, y=values, steps=True),
        Points(name="a", x=values, y=values, low=values, high=values),
        Bars(name="a", at=places, length=values),
        Bars(name="a", at=places, length=values, flat=True),
        Band(name="a", x=places, low=values, high=values),
    ):
        svg = drawn(mark, width=width)
        assert inside(svg)
        assert ("no data" in said(svg)) == (not values)
    assert "no data" in said(drawn())


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    for mark in (
        Line(name="a", x=[1.0, wrong], y=[1.0, 2.0]),
        Line(name="a", x=[1.0, 2.0], y=[1.0, wrong], steps=True),
        Points(name="a", x=[1.0], y=[1.0], low=[wrong], high=[2.0]),
        Bars(name="a", at=[1.0], length=[wrong]),
        Band(name="a", x=[1.0], low=[wrong], high=[1.0]),
    ):
        with pytest.raises(SettingError, match="finite numbers"):
            Chart(marks=[mark]).svg()


def test_values_that_do_not_pair_are_refused() -> None:
    for make in (
        lambda: Line(name="a", x=[1.0], y=[1.0, 2.0]),
        lambda: Points(name="a", x=[1.0, 2.0], y=[1.0, 2.0], low=[1.0], high=[2.0]),
        lambda: Points(name="a", x=[1.0], y=[1.0], low=[1.0]),
        lambda: Bars(name="a", at=[1.0, 2.0], length=[]),
        lambda: Band(name="a", x=[1.0], low=[1.0], high=[]),
    ):
        with pytest.raises(SettingError, match="'a' must have as many values each way"):
            make()


@given(st.text(max_size=30))
def test_any_text_stays_text(text: str) -> None:
    svg = drawn(Line(name=text, x=X, y=Y), across=Axis(label=text), up=Axis(label=text), title=text)
    assert {each.tag.removeprefix(NAME) for each in svg.iter()} <= {"svg", "g", "line", "polyline", "text"}
    ET.fromstring(ranking({text: 1.0}, across=text).svg())


def test_nothing_is_loaded() -> None:
    svg = Chart(marks=EVERY_KIND, title="t").svg()
    assert (
        re.findall(r"href|url\(|<(?:script|image|style|foreignObject|use)|https?://(?!www\.w3\.org/2000/svg)", svg)
        == []
    )


# Colours: linear light, seen without one kind of cone (Machado, Oliveira and Fernandes 2009), compared in OKLab.

CONES = {
    "all": np.eye(3),
    "no long": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no medium": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no short": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def light(colour: str) -> Any:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def difference(one: str, other: str, cones: Any) -> float:
    seen = [TO_LAB @ np.cbrt(TO_CONES @ np.clip(cones @ light(colour), 0, 1)) for colour in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


@pytest.mark.parametrize("cones", CONES.values(), ids=CONES)
def test_colours_can_be_told_apart_by_eyes_that_lack_a_cone(cones: Any) -> None:
    assert min(difference(*pair, cones) for pair in itertools.combinations(COLOURS, 2)) > 0.12
    if cones is not CONES["all"]:
        assert difference("#d62728", "#2ca02c", CONES["no medium"]) < 0.12  # red and green as often seen


def test_colours_stand_out_from_white() -> None:
    for colour in (*COLOURS, Look.aside(0).colour):
        assert 1.05 / (light(colour) @ [0.2126, 0.7152, 0.0722] + 0.05) > 2.99


def test_lines_for_comparison_are_told_apart_by_their_dashes() -> None:
    lines = [Line(name=name, x=[0, 1], y=[place, place], dashed=True) for place, name in enumerate("abc")]
    drawn = Chart(marks=lines, palette=["another"]).svg()
    assert len(set(re.findall(r'stroke-dasharray="([^"]+)"', drawn))) == 3


def test_a_long_label_across_stays_inside() -> None:
    for width in (360, 720):
        svg = drawn(Bars(name="", at=[0], length=[1.0], flat=True), width=width, across=Axis(label="a" * 40),
                    up=Axis(names=["a long name on the left of it"]))  # fmt: skip
        (label,) = (text for text in all_of("text", svg) if (text.text or "").startswith("aaaa"))
        half = 4 * len(label.text or "")
        assert half <= float(label.attrib["x"]) <= width - half


def test_looks_go_before_the_palette_and_a_legend_can_be_left_out() -> None:
    look = Look("#123456", width=5.0)
    marks = [Line(name="a", x=X, y=Y), Line(name="b", x=X, y=Y)]
    svg = drawn(*marks, palette=["a", "b"], looks={"b": look}, legend=False)
    strokes = [(each.attrib["stroke"], each.attrib["stroke-width"]) for each in all_of("polyline", svg)]
    assert strokes == [(COLOURS[0], "2.2"), ("#123456", "5")]
    assert not {"a", "b"} & set(said(svg))
