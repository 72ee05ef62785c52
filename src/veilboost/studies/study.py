"""A published experiment as one settings file and one expected table, and how its figures compare with it."""

import csv
import io
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module, resources
from typing import Any, Literal, Protocol, cast

import msgspec

from veilboost.errors import SettingError
from veilboost.studies.outcome import Cell, Outcome

Progress = Callable[[str, float], None]
Verdict = Literal["agrees", "explained", "off"]


class Experiment(Protocol):
    """The module that a study runs: its settings, and the function that runs them."""

    Settings: type[msgspec.Struct]

    def run(self, settings: Any, progress: Progress) -> Outcome:
        """Return what was found."""


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One settings file.

    ``quick`` replaces some settings for a short run. ``explained`` gives reasons for cells that do not agree, by
    patterns of "panel|line|place". ``better`` says whether more or less of the measure is better, and ``compare`` which
    lines are set against which, repeat by repeat; ``alike`` in words says on what footing they are.
    """

    title: str
    experiment: str
    paper: str
    about: list[str]
    measure: str
    across: str
    log_across: bool = False
    log_up: bool = False
    better: Literal["more", "less"] | None = None
    compare: dict[str, list[str]] = {}
    alike: str = ""
    explained: dict[str, str] = {}
    settings: dict[str, Any] = {}
    quick: dict[str, Any] = {}

    def load(self) -> Experiment:
        """Return the experiment; it is imported now, not before."""
        return cast("Experiment", import_module(f"veilboost.studies.{self.experiment}"))

    def checked(self, *, quick: bool) -> msgspec.Struct:
        """Return the settings of a run, as the experiment declares them."""
        given = self.settings | (self.quick if quick else {})
        try:
            return msgspec.convert(given, self.load().Settings)
        except msgspec.ValidationError as error:
            raise SettingError(f"settings of {self.title!r}", str(error), given) from None

    def reason(self, cell: Cell) -> str | None:
        """Return why a cell may differ from what was expected, if that is known."""
        name = f"{cell.panel}|{cell.line}|{cell.where}"
        return next((text for pattern, text in self.explained.items() if fnmatchcase(name, pattern)), None)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a cell ought to be, how far it may be off, and who says so: "print", or "measured" where print has none."""

    panel: str
    line: str
    at: str
    value: float
    tolerance: float
    source: Literal["print", "measured"]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A cell beside what was expected of it."""

    expected: Expected
    found: float
    error: float
    verdict: Verdict
    reason: str | None


def judge(study: Study, outcome: Outcome, expected: Sequence[Expected]) -> list[Judged]:
    """Return every expected cell that was run, with its verdict."""
    found = []
    for each in expected:
        cell = outcome.cell(each.panel, each.line, each.at)
        if cell is None:
            continue
        reason = None if abs(cell.mean - each.value) <= each.tolerance else study.reason(cell) or ""
        verdict: Verdict = "agrees" if reason is None else "explained" if reason else "off"
        found.append(Judged(expected=each, found=cell.mean, error=cell.error, verdict=verdict, reason=reason or None))
    return found


def names() -> list[str]:
    """Return the ids of all studies."""
    return sorted((path.name[:-5] for path in _folder("settings").iterdir() if path.name.endswith(".toml")), key=_order)


def _order(name: str) -> tuple[str, int]:
    """Figures by their numbers, then tables."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


@cache
def study(name: str) -> Study:
    """Return the study of that id."""
    if name not in names():
        raise SettingError("study", f"must be one of all, {', '.join(names())}", name)
    try:
        return msgspec.convert(tomllib.loads(_folder("settings").joinpath(f"{name}.toml").read_text("utf-8")), Study)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"the settings file of {name}", f"must be read: {error}", name) from None


def expected(name: str) -> list[Expected]:
    """Return the expected table of a study."""
    text = _folder("expected").joinpath(f"{name}.csv").read_text("utf-8")
    return [msgspec.convert(row, Expected, strict=False) for row in csv.DictReader(io.StringIO(text))]


def pinned(outcome: Outcome, print_: Mapping[tuple[str, str, str], Expected]) -> str:
    """Return an expected table: cells of ``print_`` as they are, others as measured, within four standard errors."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Expected.__struct_fields__)
    for cell in outcome.cells:
        given = print_.get((cell.panel, cell.line, cell.where))
        tolerance = max(4 * cell.error, abs(cell.mean) * 1e-6)
        rest = (
            (f"{cell.mean:.6g}", f"{tolerance:.2g}", "measured")
            if given is None
            else (given.value, given.tolerance, given.source)
        )
        writer.writerow((cell.panel, cell.line, cell.where, *rest))
    return text.getvalue()


def _folder(name: str) -> Any:
    return resources.files("veilboost.studies").joinpath(name)
