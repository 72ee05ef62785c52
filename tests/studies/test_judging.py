"""Settings files are refused in one line, and verdicts fall as they should."""

import math
from typing import Any

import pytest

from veilboost.errors import SettingError
from veilboost.studies import running
from veilboost.studies.looks import looks, pictured
from veilboost.studies.outcome import Cell, Claim, Difference, Outcome
from veilboost.studies.repeats import each
from veilboost.studies.study import Expected, Study, judge, pinned, read

TEXT = """
title = "t"
experiment = "order"
paper = "p"
about = ["a"]
measure = "m"
across = "x"
[settings]
epsilon = 0.1
size = 10
theta = 2
alphas = [1.0]
distances = [1]
"""


def cell(value: float, *more: float, panel: str = "p", line: str = "l", at: float | str = 1.0) -> Cell:
    return Cell(panel=panel, line=line, at=at, values=[value, *more])


def said(value: float, tolerance: float = 0.1, *, at: str = "1", source: Any = "print") -> Expected:
    return Expected(panel="p", line="l", at=at, value=value, tolerance=tolerance, source=source)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('title = "t"', "title = 3", "title"),
        ('title = "t"', "", "title"),
        ('title = "t"', 'titel = "t"', "titel"),
        ('title = "t"', "title = ", "line 2"),
        ('paper = "p"', 'paper = "p"\nbetter = "higher"', "better"),
        ('across = "x"', 'across = "x"\nsides = { q = { up = "m" } }', "up"),
    ],
)
def test_a_malformed_settings_file_is_refused(old: str, new: str, what: str) -> None:
    with pytest.raises(SettingError, match=what) as refused:
        read("mine", TEXT.replace(old, new))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("size = 10", 'size = "10"', "size"),
        ("size = 10", "", "size"),
        ("size = 10", "size = 10\nsise = 10", "sise"),
        ('experiment = "order"', 'experiment = "disorder"', "disorder"),
    ],
)
def test_settings_that_do_not_fit_the_experiment_are_refused(old: str, new: str, what: str) -> None:
    with pytest.raises(SettingError, match=what) as refused:
        read("mine", TEXT.replace(old, new)).checked(quick=False)
    assert "\n" not in str(refused.value)


def test_verdicts() -> None:
    study = read("mine", TEXT)
    explained = read("mine", TEXT.replace("[settings]", 'explained = { "p|l|*" = "because" }\n[settings]'))
    found = Outcome(cells=[cell(1.0)])
    assert [j.verdict for j in judge(study, found, [said(1.09)])] == ["agrees"]
    assert [j.verdict for j in judge(study, found, [said(1.11)])] == ["off"]
    assert [(j.verdict, j.reason) for j in judge(explained, found, [said(1.11)])] == [("explained", "because")]
    assert [(j.verdict, j.reason) for j in judge(explained, found, [said(1.09)])] == [("agrees", None)]
    assert [j.verdict for j in judge(explained, found, [said(1.0, at="2")])] == ["off"], "gone, and no reason helps"
    assert [j.verdict for j in judge(study, Outcome(cells=[cell(math.nan)]), [said(1.0)])] == ["off"]
    assert [j.verdict for j in judge(study, Outcome(cells=[cell(math.inf)]), [said(math.inf)])] == ["agrees"]


def test_a_reason_excuses_print_and_not_what_we_measured_ourselves() -> None:
    study = read("mine", TEXT.replace("[settings]", 'explained = { "*" = "because" }\n[settings]'))
    both = [said(0.5), said(1.0, source="measured")]
    assert [j.verdict for j in judge(study, Outcome(cells=[cell(1.0)]), both)] == ["explained", "agrees"]
    assert [(j.verdict, j.reason) for j in judge(study, Outcome(cells=[cell(10.0)]), both)] == [
        ("explained", "because"), ("off", None),
    ]  # fmt: skip


def ran(study: Study, *claims: Claim, quick: bool = False, judged: Any = ()) -> running.Ran:
    return running.Ran(
        name="mine",
        study=study,
        quick=quick,
        settings={},
        seconds=0.0,
        outcome=Outcome(cells=[cell(1.0)], claims=list(claims)),
        judged=list(judged),
        differences=[],
    )


def test_what_refutes_a_study() -> None:
    study = read("mine", TEXT)
    explained = read("mine", TEXT.replace("[settings]", 'explained = { "It rises." = "because" }\n[settings]'))
    fails = Claim(says="It rises.", holds=False, found="it falls")
    assert not ran(study, Claim(says="It rises.", holds=True, found="it does")).refuted
    assert ran(study, fails).refuted
    assert not ran(explained, fails).refuted
    assert not ran(study, fails, quick=True).refuted
    assert ran(study, judged=judge(study, Outcome(cells=[]), [said(1.0)])).refuted


def test_measured_figures_are_pinned_close_enough_to_agree_with_themselves() -> None:
    study = read("mine", TEXT)
    cells = [cell(value, value, at=place) for place, value in enumerate((0.49494949, 1e-30, 1234567.891, 0.0, -2 / 3))]
    cells = [cell(*c.values, at=float(c.at)) for c in cells]
    text = pinned(Outcome(cells=cells), {("p", "l", "0"): said(0.5, at="0"), ("p", "l", "2"): said(7.0, at="2")})
    import csv
    import io

    import msgspec

    table = [msgspec.convert(row, Expected, strict=False) for row in csv.DictReader(io.StringIO(text))]
    assert [e.at for e in table] == ["0", "2", "1", "2", "3", "4"], "beside print only where it does not agree"
    assert [e.source for e in table] == ["print", "print", *["measured"] * 4]
    assert [j.expected.source for j in judge(study, Outcome(cells=cells), table) if j.verdict != "agrees"] == ["print"]


def test_a_printed_figure_stays_though_it_was_not_found() -> None:
    assert "p,l,7,0.5,0.1,print" in pinned(Outcome(cells=[]), {("p", "l", "7"): said(0.5, at="7")})


def test_worse_means_by_more_than_two_standard_errors() -> None:
    def of(mean: float, error: float) -> Difference:
        return Difference(panel="p", at="1", ours="a", rival="b", mean=mean, error=error)

    assert of(-2.1, 1.0).worse
    assert not of(-1.9, 1.0).worse
    assert of(-1e-9, 0.0).worse


def test_each_panel_has_its_own_sides() -> None:
    sides = 'sides = { "bytes *" = { measure = "bytes", log_up = true, better = "less" } }'
    study = read("mine", TEXT.replace("[settings]", f"{sides}\n[settings]"))
    assert (study.of("bytes of A").measure, study.of("bytes of A").log_up, study.of("time").measure) == (
        "bytes", True, "m",
    )  # fmt: skip
    assert study.of("bytes of A").across == "x"


def test_fair_lines_are_drawn_beside_their_rival() -> None:
    names = ["Global-map", "GRR", "TightMap", "TightMap under the profile of GRR", "TightMap under the pairs of GRR"]
    (all_of_them, _), (fair, looked) = pictured([cell(1.0, line=name) for name in names])
    assert [c.line for c in all_of_them] == names[:3]
    assert [c.line for c in fair] == ["GRR", "TightMap, profile of GRR", "TightMap, pairs of GRR"]
    assert len({look.colour for look in looked.values()}) == 1
    assert len({look.dash for look in looked.values()}) == 3
    assert len(list(pictured([cell(1.0, line=name) for name in names[:3]]))) == 1


def test_lines_of_a_family_are_told_apart() -> None:
    names = [f"Adj-map, α = {alpha:g}" for alpha in (0.4, 0.6, 0.8, 1, 2, 5, 10)] + ["GRR", "GRR, θε", "Global-map"]
    names += ["TightMap", "TightMap in groups", "Local-map", "Piecewise"]
    found = looks(names)
    assert len({(look.colour, look.dash) for look in found.values()}) == len(names)


def test_work_is_repeated_in_order_and_a_failure_is_told() -> None:
    shares: list[float] = []
    assert each(lambda n: n * n, range(50), shares.append) == [n * n for n in range(50)]
    assert shares[-1] == 1
    with pytest.raises(ZeroDivisionError):
        each(lambda n: 1 // n, [1, 0, 2], shares.append)


def test_lines_named_by_numbers_lie_on_a_ramp() -> None:
    names = [f"ε = {epsilon:g}" for epsilon in (0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)]
    assert len({look.colour for look in looks(names).values()}) == len(names)
    assert not looks([*names, "another"])
