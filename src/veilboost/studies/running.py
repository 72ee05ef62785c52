"""Run studies, judge what they found, and write their pages, pictures and figures."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from veilboost.errors import SettingError
from veilboost.files import as_json, check_writable, write_whole
from veilboost.studies import pages
from veilboost.studies.charts import picture
from veilboost.studies.claims import of_tight
from veilboost.studies.outcome import Difference, Outcome, differences
from veilboost.studies.study import Expected, Judged, Progress, Study, expected, judge, names, pinned, study


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """One study with everything that is known of it; figures are judged only in a full run."""

    name: str
    study: Study
    quick: bool
    settings: Mapping[str, Any]
    seconds: float
    outcome: Outcome
    judged: list[Judged]
    differences: list[Difference]

    @property
    def off(self) -> list[Judged]:
        """Cells that do not agree with what was expected, and nobody knows why."""
        return [each for each in self.judged if each.verdict == "off"]

    @property
    def refuted(self) -> bool:
        """Whether a cell is off, or a claim that nobody explained does not hold; a short run refutes nothing."""
        unexplained = [claim for claim in self.outcome.claims if not claim.holds and not self.explains(claim.says)]
        return not self.quick and bool(self.off or unexplained)

    def explains(self, says: str) -> str | None:
        """Return why a claim does not hold, if that is known."""
        return self.study.explained.get(says)


def run(name: str, *, quick: bool, progress: Progress) -> Ran:
    """Run one study."""
    chosen = study(name)
    settings, begun = chosen.checked(quick=quick), time.monotonic()
    outcome = chosen.load().run(settings, progress)
    shortened = quick and bool(chosen.quick)
    unknown = {each for line, rivals in chosen.compare.items() for each in (line, *rivals)} - set(outcome.lines)
    if unknown and not shortened:
        raise SettingError("compare", f"must name lines that {name} has", sorted(unknown))
    compared = list(_differences(chosen, outcome))
    return Ran(
        name=name,
        study=chosen,
        quick=shortened,
        settings=msgspec.to_builtins(settings),
        seconds=time.monotonic() - begun,
        outcome=Outcome(cells=outcome.cells, claims=[*outcome.claims, *of_tight(compared)]),
        judged=[] if shortened else judge(chosen, outcome, expected(name)),
        differences=compared,
    )


def _differences(study: Study, outcome: Outcome) -> Iterator[Difference]:
    for panel in outcome.panels:
        better = study.of(panel).better
        if better != "neither":
            yield from differences(Outcome(cells=outcome.of(panel)), study.compare, more_is_better=better == "more")


def run_all(
    wanted: Sequence[str], out: Path, *, quick: bool, progress: Progress = lambda _step, _share: None
) -> list[Ran]:
    """Run each study, or "all"; write its page and picture into ``out`` as soon as it is done, and an index."""
    chosen = names() if "all" in wanted else list(dict.fromkeys(wanted))
    for name in chosen:
        study(name)
    check_writable(out / "index.html")
    ran = []
    for name in chosen:
        found = run(name, quick=quick, progress=_named(name, progress))
        write_whole(out / f"{name}.svg", picture(found))
        write_whole(out / f"{name}.html", pages.page_of(found))
        ran.append(found)
        write_whole(out / "index.html", pages.index(ran))
    return ran


def _named(name: str, progress: Progress) -> Progress:
    return lambda step, share: progress(f"{name}: {step}", share)


def values(ran: Sequence[Ran]) -> bytes:
    """Return all figures as JSON."""
    return as_json({"format": 1, "studies": [_values(each) for each in ran]})


def _values(ran: Ran) -> dict[str, Any]:
    beside: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for each in ran.judged:
        beside.setdefault((each.expected.panel, each.expected.line, each.expected.at), []).append(_beside(each))
    cells = [
        msgspec.to_builtins(cell)
        | {"mean": cell.mean, "error": cell.error, "judged": beside.get((cell.panel, cell.line, cell.where), [])}
        for cell in ran.outcome.cells
    ]
    return {
        "study": ran.name,
        "paper": ran.study.paper,
        "quick": ran.quick,
        "seconds": ran.seconds,
        "settings": ran.settings,
        "cells": cells,
        "claims": msgspec.to_builtins(ran.outcome.claims),
        "differences": [msgspec.to_builtins(each) | {"worse": each.worse} for each in ran.differences],
    }


def _beside(judged: Judged) -> dict[str, Any]:
    said = judged.expected
    return {
        "expected": said.value,
        "tolerance": said.tolerance,
        "source": said.source,
        "verdict": judged.verdict,
        "reason": judged.reason,
    }


def pin(ran: Ran) -> str:
    """Return the expected table of a study anew: printed figures stay, what we measured stands beside them."""
    print_: dict[tuple[str, str, str], Expected] = {
        (each.panel, each.line, each.at): each for each in expected(ran.name) if each.source == "print"
    }
    return pinned(ran.outcome, print_)
