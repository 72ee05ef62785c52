"""A published experiment as one settings file and one expected table, and how its figures compare with it."""

import csv
import io
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module, resources
from typing import Any, Literal, Protocol, Self, cast

import msgspec

from veilboost.errors import SettingError
from veilboost.studies.outcome import Cell, Outcome

Progress = Callable[[str, float], None]
Verdict = Literal["agrees", "explained", "off"]
Better = Literal["more", "less", "neither"]


class Experiment(Protocol):
    """The module that a study runs: its settings, and the function that runs them."""

    Settings: type[msgspec.Struct]

    def run(self, settings: Any, progress: Progress) -> Outcome:
        """Return what was found."""


class Sides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What some panels have along their two sides, where it is not what the others have."""

    measure: str | None = None
    across: str | None = None
    log_across: bool | None = None
    log_up: bool | None = None
    better: Better | None = None


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One settings file.

    ``quick`` replaces some settings for a short run. ``explained`` gives reasons for cells that do not agree, by
    patterns of "panel|line|place", and for claims that do not hold, by their words. ``better`` says whether more or
    less of the measure is better, and ``compare`` which lines are set against which, repeat by repeat; ``alike`` in
    words says on what footing they are. ``sides`` are for panels that measure something else, by patterns of their
    names.
    """

    title: str
    experiment: str
    paper: str
    about: list[str]
    measure: str
    across: str
    log_across: bool = False
    log_up: bool = False
    better: Better = "neither"
    compare: dict[str, list[str]] = {}
    alike: str = ""
    sides: dict[str, Sides] = {}
    explained: dict[str, str] = {}
    settings: dict[str, Any] = {}
    quick: dict[str, Any] = {}

    def load(self) -> Experiment:
        """Return the experiment; it is imported now, not before."""
        try:
            return cast("Experiment", import_module(f"veilboost.studies.{self.experiment}"))
        except ModuleNotFoundError as error:
            if error.name != f"veilboost.studies.{self.experiment}":
                raise
            raise SettingError("experiment", "must be a module of veilboost.studies", self.experiment) from None

    def of(self, panel: str) -> Self:
        """Return the study as it is for one panel, with the sides that this one has."""
        found = next((sides for pattern, sides in self.sides.items() if fnmatchcase(panel, pattern)), Sides())
        return msgspec.structs.replace(self, **msgspec.to_builtins(found))

    def checked(self, *, quick: bool) -> msgspec.Struct:
        """Return the settings of a run, as the experiment declares them."""
        given = self.settings | (self.quick if quick else {})
        try:
            return msgspec.convert(given, self.load().Settings)
        except msgspec.ValidationError as error:
            raise SettingError(f"the settings of {self.title!r}", f"must fit: {error}", list(given)) from None

    def reason(self, cell: Cell) -> str | None:
        """Return why a cell may differ from what was expected, if that is known."""
        name = f"{cell.panel}|{cell.line}|{cell.where}"
        return next((text for pattern, text in self.explained.items() if fnmatchcase(name, pattern)), None)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a cell ought to be, how far it may be off, and who says so: "print", or "measured", which is our own.

    Where print has a figure and ours does not agree with it, both are expected.
    """

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
    """Return every expected cell with its verdict; one that is not there any more is off.

    A reason excuses print alone: what we measured ourselves has to be found again.
    """
    return [_judged(study, outcome.cell(each.panel, each.line, each.at), each) for each in expected]


def _judged(study: Study, cell: Cell | None, said: Expected) -> Judged:
    if cell is None:
        missing = "this figure was not found"
        return Judged(expected=said, found=math.nan, error=0.0, verdict="off", reason=missing)
    found = Judged(expected=said, found=cell.mean, error=cell.error, verdict="agrees", reason=None)
    if _agrees(cell, said):
        return found
    reason = study.reason(cell) if said.source == "print" else None
    return msgspec.structs.replace(found, verdict="explained" if reason else "off", reason=reason)


def _agrees(cell: Cell, said: Expected) -> bool:
    return abs(cell.mean - said.value) <= said.tolerance or cell.mean == said.value


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
    return read(name, _folder("settings").joinpath(f"{name}.toml").read_text("utf-8"))


def read(name: str, text: str) -> Study:
    """Return the study that the ``text`` of a settings file describes."""
    try:
        return msgspec.convert(tomllib.loads(text), Study)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise SettingError("the settings file", f"must describe a study: {error}", name) from None


def expected(name: str) -> list[Expected]:
    """Return the expected table of a study."""
    text = _folder("expected").joinpath(f"{name}.csv").read_text("utf-8")
    return [msgspec.convert(row, Expected, strict=False) for row in csv.DictReader(io.StringIO(text))]


def pinned(outcome: Outcome, print_: Mapping[tuple[str, str, str], Expected]) -> str:
    """Return an expected table: ``print_`` as it is, and what does not agree with it, or is not in it, as measured."""
    rows = list(print_.values())
    for cell in outcome.cells:
        printed = print_.get((cell.panel, cell.line, cell.where))
        if printed is None or not _agrees(cell, printed):
            rows.append(_measured(cell))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Expected.__struct_fields__)
    for row in rows:
        writer.writerow((row.panel, row.line, row.at, f"{row.value:.9g}", f"{row.tolerance:.2g}", row.source))
    return text.getvalue()


def _measured(cell: Cell) -> Expected:
    """Within four standard errors; a run without noise has to be the same again."""
    tolerance = max(4 * cell.error, abs(cell.mean) * 1e-6, 1e-12)
    return Expected(
        panel=cell.panel, line=cell.line, at=cell.where, value=cell.mean, tolerance=tolerance, source="measured"
    )


def _folder(name: str) -> Any:
    return resources.files("veilboost.studies").joinpath(name)
