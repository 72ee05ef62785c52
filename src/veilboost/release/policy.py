"""A partner's policy: which columns may leave, through which mechanism, how often, to whom and what for."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from veilboost.data import Dialect
from veilboost.domain import Domain, declared
from veilboost.errors import RefusalError, SettingError, UsageError, blaming
from veilboost.mechanisms import CODE_MECHANISMS, VALUE_MECHANISMS, Mechanism, TightMap, from_settings
from veilboost.privacy.budget import loss_of, neighbour_loss, units
from veilboost.settings import DomainSettings, MechanismSettings, convert, positive, printable, read_toml, refuse_blanks

FORMAT = 1
_WITHOUT_ROOM = ("discrete-laplace", "discrete-gaussian")  # noise without bounds, noise with a failure probability
RELEASED = [
    *(name for name in CODE_MECHANISMS if name not in _WITHOUT_ROOM),
    *VALUE_MECHANISMS,
    "unary",
]
"""The mechanisms through which a column may leave."""

BLANKS = (
    "<your name>",
    "<column>",
    "<receiver>",
    "<purpose>",
    "<lowest>",
    "<highest>",
    "<first day>",
    "<last day>",
    "<first>",
    "<last>",
    "<one>",
    "<another>",
)
"""What a draft leaves to be filled in."""


class Rows(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which column names a row, and which columns leave as they are."""

    key: str | None = None
    type: Literal["integer", "text"] | None = None
    of: str | None = None
    noise: Literal["permanent", "fresh"] = "permanent"
    carry: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.noise == "permanent" and (self.key is None or self.type is None):
            rule = "must name the column of your own stable row keys, and rows.type say 'integer' or 'text'"
            raise SettingError("rows.key", f"{rule}; without such keys set rows.noise = 'fresh'", self.key)
        if self.noise == "fresh" and self.key is not None:
            raise SettingError("rows.key", "must be left out with fresh noise, which does not read it", self.key)
        if len(set(self.carry)) < len(self.carry):
            raise SettingError("rows.carry", "must name each column once", list(self.carry))


class Caps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the whole table may spend: each row over all its columns, how many releases, of how many rows."""

    row: float = float("inf")
    releases: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        positive("caps.row", self.row, infinite=True)
        for name, most in (("caps.releases", self.releases), ("caps.rows", self.rows)):
            if most is not None and most < 1:
                raise SettingError(name, "must be at least 1", most)

    @property
    def row_units(self) -> int | None:
        """What one row may spend over all its columns, in trillionths."""
        return units("caps.row", self.row)


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may ask, for which purposes, and for which columns: without a list, for all."""

    who: str
    purposes: tuple[str, ...]
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for each in (self.who, *self.purposes):
            printable("grants: who and purposes", each)
        if not self.purposes:
            raise SettingError("grants", "must each be for at least one purpose", self.who)


class _Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    domain: DomainSettings
    mechanism: dict[str, Any]
    cap: float
    source: str | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: int
    party: str
    columns: dict[str, dict[str, Any]]
    grants: tuple[Grant, ...]
    rows: Rows
    caps: Caps = Caps()
    csv: Dialect | None = None
    noise_key: str = "noise.key"
    ledger: str = "ledger.db"


@dataclass(frozen=True)
class Column:
    """A column that may leave: what its codes mean, how they get their noise, and how much of it there may be."""

    name: str
    source: str
    domain: Domain
    mechanism: Mechanism
    cap: int | None
    """The most that one row's value may spend, in trillionths; none if there is no bound."""

    @property
    def budget(self) -> int | None:
        """What one code of one row spends when it first leaves."""
        return units("epsilon", neighbour_loss(self.mechanism.definition))

    @property
    def table(self) -> str:
        """The identity of codes and noise together."""
        return hashlib.sha256(self.mechanism.digest + self.domain.digest()).hexdigest()


@dataclass(frozen=True)
class Request:
    """Who asks for which columns, what for, and in which job."""

    who: str
    purpose: str
    job: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Policy:
    """A checked policy."""

    file: Path
    digest: str
    party: str
    rows: Rows
    caps: Caps
    grants: tuple[Grant, ...]
    columns: Mapping[str, Column]
    dialect: Dialect | None
    noise_key: Path
    ledger: Path

    def permit(self, who: str | None, purpose: str | None, job: str, columns: Sequence[str] | None) -> Request:
        """Return the request if a grant allows it; where there is one grant, it need not be named."""
        who = who if who is not None else _only("--to", [grant.who for grant in self.grants])
        theirs = [grant for grant in self.grants if grant.who == who]
        if not theirs:
            raise RefusalError(f"the policy of {self.party!r} grants nothing to {who!r}")
        purposes = [each for grant in theirs for each in grant.purposes]
        purpose = purpose if purpose is not None else _only("--purpose", purposes)
        allowed = [grant for grant in theirs if purpose in grant.purposes]
        if not allowed:
            raise RefusalError(f"the policy of {self.party!r} grants {who!r} nothing for the purpose {purpose!r}")
        named = {name for grant in allowed for name in (grant.columns if grant.columns is not None else self.columns)}
        wanted = columns if columns is not None else [name for name in self.columns if name in named]
        for name in wanted:
            if name not in named:
                raise RefusalError(
                    f"the policy of {self.party!r} does not grant column {name!r} to {who!r} for {purpose!r}"
                )
        if not wanted or len(set(wanted)) < len(wanted):
            raise SettingError("columns", "must be one or more, each named once", list(wanted))
        return Request(who, purpose, printable("job", job), tuple(self.columns[name] for name in wanted))


def load_policy(file: str | Path) -> Policy:
    """Read the policy in ``file``; an unknown key, or one that breaks its rule, is refused by name."""
    path = Path(file)
    with blaming(file):
        text, raw = read_toml(path)
        refuse_blanks(raw, BLANKS)
        read = convert(raw, _File)
        if read.format != FORMAT:
            raise SettingError("format", f"must be {FORMAT}, the only one known", read.format)
        for name in ("party", "noise_key", "ledger"):
            printable(name, getattr(read, name))
        columns = {name: _column(name, settings, read) for name, settings in read.columns.items()}
        _check(read, columns)
        return Policy(
            file=path,
            digest=hashlib.sha256(text).hexdigest(),
            party=read.party,
            rows=read.rows,
            caps=read.caps,
            grants=read.grants,
            columns=columns,
            dialect=read.csv,
            noise_key=path.parent / read.noise_key,
            ledger=path.parent / read.ledger,
        )


def _column(name: str, settings: dict[str, Any], read: _File) -> Column:
    place = f"columns.{name}"
    column = convert(settings, _Column, place)
    try:
        domain = declared(column.domain, name)
        mechanism = _mechanism(column.mechanism, domain, place)
        mechanism.fit(domain)
        cap = units("cap", positive("cap", column.cap, infinite=True))
        made = Column(name, _source(name, column, read), domain, mechanism, cap)
        _check_cap(made)
    except SettingError as error:
        raise SettingError(f"{place}: {error.name}", error.rule, error.value) from None
    return made


def _source(name: str, column: _Column, read: _File) -> str:
    return printable("source", default_source(read.party, name) if column.source is None else column.source)


def default_source(party: str, column: str) -> str:
    """Return how a column of ``party`` is called where nothing else is said."""
    return f"{party}/{column}"


def _check_cap(column: Column) -> None:
    """Refuse a cap that not even one release keeps."""
    budget = column.budget
    if column.cap is not None and (budget is None or budget > column.cap):
        rule = f"must be at least {loss_of(budget):g}, what neighbouring codes lose in one release"
        raise SettingError("cap", rule, loss_of(column.cap))


def _mechanism(settings: dict[str, Any], domain: Domain, place: str) -> Mechanism:
    """Return the mechanism of a column: its size is that of the domain, unless it says otherwise."""
    given = dict(settings)
    name = given.pop("name", None)
    if name not in RELEASED:
        raise SettingError("mechanism.name", f"must be one of {', '.join(RELEASED)}", name)
    if name in VALUE_MECHANISMS and (domain.kind.name not in ("numbers", "integers") or domain.missing == "code"):
        rule = "must be for a column of numbers or integers without a code for missing values"
        raise SettingError("mechanism.name", rule, name)
    if "mechanism" in given:
        raise SettingError("mechanism", "must be named by mechanism.name alone", given["mechanism"])
    if name == "tight" and "epsilon_per_unit" in given:
        epsilon = positive("mechanism.epsilon_per_unit", given.pop("epsilon_per_unit"))
        if given:
            raise SettingError("mechanism.epsilon_per_unit", "must be given without other settings", sorted(given))
        return TightMap.per_unit(domain, epsilon=epsilon)
    if "gaps" not in given:
        given.setdefault("size", domain.size)
    return from_settings(convert({"mechanism": name, **given}, MechanismSettings, f"{place}.mechanism"))


def _check(read: _File, columns: Mapping[str, Column]) -> None:
    if not columns:
        raise SettingError("columns", "must name at least one column", {})
    if not read.grants:
        raise SettingError("grants", "must say who may ask for what, at least once", [])
    for grant in read.grants:
        for name in grant.columns or ():
            if name not in columns:
                raise SettingError(f"grants to {grant.who!r}: columns", "must name columns of the policy", name)
    for name in read.rows.carry:
        if name in columns:
            raise SettingError("rows.carry", "must not name a column that has a mechanism", name)
    sources = [column.source for column in columns.values()]
    if len(set(sources)) < len(sources):
        raise SettingError("columns", "must each have a source of their own", sources)


def _only(option: str, choices: Sequence[str]) -> str:
    if len(set(choices)) != 1:
        raise UsageError(f"{option} must be given: the policy knows {', '.join(sorted(set(choices)))}")
    return choices[0]
