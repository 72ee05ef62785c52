"""Frozen, checked settings: one rule and one error text for each kind of value, wherever it comes from."""

import math
import tomllib
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from veilboost.errors import FileError, SettingError, UsageError

_T = TypeVar("_T")


def positive(name: str, value: object, *, infinite: bool = False) -> float:
    """Return ``value`` as a float above zero, or refuse it.

    >>> positive("epsilon", 1)
    1.0
    >>> positive("epsilon", float("nan"))
    Traceback (most recent call last):
    veilboost.errors.SettingError: epsilon must be a finite number above 0; got nan
    """
    rule = "must be a number above 0" if infinite else "must be a finite number above 0"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SettingError(name, rule, value)
    try:
        number = float(value)
    except OverflowError as error:
        raise SettingError(name, rule, value) from error
    if math.isnan(number) or number <= 0 or (math.isinf(number) and not infinite):
        raise SettingError(name, rule, value)
    return number


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return ``value`` as an integer from ``low`` to ``high``, or refuse it.

    >>> whole("size", 10, 2, 100)
    10
    >>> whole("size", 2.5, 2, 100)
    Traceback (most recent call last):
    veilboost.errors.SettingError: size must be a whole number from 2 to 100; got 2.5
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise SettingError(name, f"must be a whole number from {low} to {high}", value)
    return int(value)


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a ``value`` that is not ``known``.

    >>> one_of("backend", "forest", ("xgboost", "lightgbm"))
    Traceback (most recent call last):
    veilboost.errors.SettingError: backend must be one of xgboost, lightgbm; got 'forest'
    """
    if value not in known:
        raise SettingError(name, f"must be one of {', '.join(known)}", value)


def printable(name: str, value: object) -> str:
    """Return ``value`` as text that prints in one line, or refuse it.

    >>> printable("job", "")
    Traceback (most recent call last):
    veilboost.errors.SettingError: job must be printable text; got ''
    """
    if not isinstance(value, str) or not value or not value.isprintable():
        raise SettingError(name, "must be printable text", value)
    return value


def fix(frozen: object, name: str, value: object) -> None:
    """Store the checked ``value`` of a field while its frozen dataclass is being made."""
    object.__setattr__(frozen, name, value)


class MechanismSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mechanism by name, and its parameters; those it does not take must be left out."""

    mechanism: str
    epsilon: float | None = None
    size: int | None = None
    theta: int | None = None
    alpha: float | None = None
    gaps: list[float] | None = None
    delta: float | None = None
    sensitivity: int | None = None
    d: int | None = None
    k: int | None = None
    each: str | None = None
    optimised: bool | None = None

    def values(self) -> dict[str, object]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "mechanism"}


class DomainSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A public domain by the name of its kind, and its parameters; those it does not take must be left out."""

    kind: str
    lower: object = None
    upper: object = None
    first: object = None
    last: object = None
    size: int | None = None
    places: int | None = None
    categories: list[str | int] | None = None
    missing: str | None = None
    impute: object = None

    def values(self) -> dict[str, object]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "kind"}


def only_taken(what: str, given: dict[str, object], taken: Iterable[str], needed: Iterable[str]) -> dict[str, object]:
    """Return the parameters that are ``given``, or refuse one that ``what`` does not take, or lacks.

    >>> only_taken("'dates'", {"first": 1, "last": None}, ["first", "last"], [])
    {'first': 1}
    """
    known, set_ = list(taken), {name: value for name, value in given.items() if value is not None}
    for name, value in set_.items():
        if name not in known:
            raise SettingError(name, f"is no setting of {what}, which takes {', '.join(known)}", value)
    for name in needed:
        if name not in set_:
            raise SettingError(name, f"must be given for {what}", None)
    return set_


def read_toml(path: Path) -> tuple[bytes, dict[str, Any]]:
    """Return a TOML file as it is, and what it says."""
    text = path.read_bytes()
    try:
        return text, tomllib.loads(text.decode("utf-8-sig"))
    except RecursionError:
        raise FileError(path, "is not TOML: it is nested too deeply") from None
    except ValueError as error:  # not UTF-8, not TOML, or a number of too many digits
        raise FileError(path, f"is not TOML: {error}") from None


def refuse_blanks(raw: Any, blanks: Collection[str], place: str = "") -> None:
    """Refuse what a draft leaves to be filled in."""
    if isinstance(raw, str) and raw in blanks:
        raise SettingError(place, "must be filled in: the draft cannot know it", raw)
    inside = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    for name, each in inside:
        refuse_blanks(each, blanks, f"{place}[{name}]" if isinstance(raw, list) else f"{place}.{name}".strip("."))


def convert(raw: Any, kind: type[_T], place: str = "") -> _T:
    """Return ``raw`` as ``kind``; msgspec names the rule and where in ``place`` it is broken."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        rule, _, inner = str(error).partition(" - at `$")
        where = (place + inner.rstrip("`")).strip(".")
        raise UsageError(f"{where}: {rule}" if where else rule) from None
