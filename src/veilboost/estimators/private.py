"""Which columns are private, what is public about them, and how a budget for a whole row is split over them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veilboost.domain import Domain
from veilboost.errors import SettingError
from veilboost.mechanisms import CODE_MECHANISMS, VALUE_MECHANISMS, Mechanism, from_settings
from veilboost.release import Column
from veilboost.settings import MechanismSettings, positive, whole

NOMINAL = ("grr", "unary")
ORDERED = tuple(name for name in (*CODE_MECHANISMS, *VALUE_MECHANISMS) if not name.startswith("discrete"))
Bounds = tuple[float, float]
Split = str | Mapping[str, float | int]


@dataclass(frozen=True, kw_only=True)
class Protection:
    """How private columns are protected; everything here is public."""

    mechanism: str | Mapping[str, Any]
    nominal_mechanism: str | Mapping[str, Any]
    epsilon: float | Mapping[str, float]
    nominal_epsilon: float | None
    row_epsilon: float | None
    split: Split
    bounds: Bounds | Mapping[str, Bounds] | None
    domains: Mapping[str, Domain]
    size: int | Mapping[str, int]
    _made: dict[str, Mechanism] = field(default_factory=dict, init=False)

    def columns(self, held: Mapping[str, Sequence[str]], chance: np.random.Generator) -> dict[str, list[Column]]:
        """Return the columns that leave each party of ``held``, with domain and mechanism; none, and it is left out."""
        domains = {name: self._domain(name) for names in held.values() for name in names}
        budgets = self._budgets(domains, chance)
        leaving = {
            party: [
                Column(
                    name, f"{party}/{name}", domains[name], self._mechanism(name, domains[name], budgets[name]), None
                )
                for name in names
                if name in budgets
            ]
            for party, names in held.items()
        }
        return {party: columns for party, columns in leaving.items() if columns}

    def _domain(self, name: str) -> Domain:
        if name in self.domains:
            if not isinstance(self.domains[name], Domain):
                rule = "must be a Domain, as Domain.numbers(0, 1, size=10)"
                raise SettingError(f"domains[{name!r}]", rule, self.domains[name])
            return replace(self.domains[name], column=name)
        bounds = self.bounds.get(name) if isinstance(self.bounds, Mapping) else self.bounds
        if bounds is None:
            rule = "must give the public lowest and highest value of each private column, or domains its Domain"
            raise SettingError("bounds", rule, f"nothing for {name!r}")
        size = _of(self.size, "size", name)
        if not isinstance(bounds, Sequence) or len(bounds) != 2:
            raise SettingError("bounds", f"must be a pair of numbers for column {name!r}", bounds)
        try:
            return Domain.numbers(*bounds, size=size, missing="code", column=name)
        except SettingError as error:
            raise SettingError(f"{error.name} of column {name!r}", error.rule, error.value) from None

    def _budgets(self, domains: Mapping[str, Domain], chance: np.random.Generator) -> dict[str, float]:
        if self.row_epsilon is not None:
            for option, given in (("epsilon", self.epsilon), ("nominal_epsilon", self.nominal_epsilon)):
                if isinstance(given, Mapping) or (option == "nominal_epsilon" and given is not None):
                    raise SettingError(
                        option, "must be left out with row_epsilon: split gives columns their share", given
                    )
            return split_budget(list(domains), positive("row_epsilon", self.row_epsilon), self.split, chance)
        return {name: self._epsilon(name, domain) for name, domain in domains.items()}

    def _epsilon(self, name: str, domain: Domain) -> float:
        if not domain.order and self.nominal_epsilon is not None:
            return positive("nominal_epsilon", self.nominal_epsilon)
        return positive("epsilon", _of(self.epsilon, "epsilon", name))

    def _mechanism(self, name: str, domain: Domain, epsilon: float) -> Mechanism:
        option, choices = ("mechanism", ORDERED) if domain.order else ("nominal_mechanism", NOMINAL)
        settings = self._settings(option, name)
        if settings.get("mechanism") not in choices:
            raise SettingError(option, f"must be one of {', '.join(choices)}", settings.get("mechanism"))
        if "gaps" not in settings:
            settings["epsilon"] = epsilon
        elif self.row_epsilon is not None:
            raise SettingError(option, "must not have gaps with row_epsilon: they are budgets by themselves", settings)
        try:
            key = repr(sorted({"size": domain.size, **settings}.items()))
            if key not in self._made:  # a table is worth keeping for the next column
                self._made[key] = from_settings(MechanismSettings(size=domain.size, **settings))
            self._made[key].fit(domain)
        except TypeError:
            raise SettingError(
                option, "must have settings of a mechanism, without epsilon and size", settings
            ) from None
        except SettingError as error:
            raise SettingError(f"{error.name} of column {name!r}", error.rule, error.value) from None
        return self._made[key]

    def _settings(self, option: str, name: str) -> dict[str, Any]:
        """Return the mechanism that is given for all columns, or for each by name, with its settings by name."""
        given = getattr(self, option)
        if isinstance(given, Mapping) and "mechanism" not in given:
            given = _of(given, option, name)
        return dict(given) if isinstance(given, Mapping) else {"mechanism": given}


def split_budget(names: Sequence[str], budget: float, split: Split, chance: np.random.Generator) -> dict[str, float]:
    """Return what each column gets of the ``budget`` of a whole row; a column that gets nothing does not leave.

    >>> split_budget(["age", "income"], 1.0, "even", np.random.default_rng())
    {'age': 0.5, 'income': 0.5}
    >>> split_budget(["age", "income"], 1.0, {"age": 3, "income": 1}, np.random.default_rng())
    {'age': 0.75, 'income': 0.25}
    >>> len(split_budget(["age", "income", "town"], 1.0, {"sample": 2}, np.random.default_rng()))
    2
    """
    if split == "even":
        return dict.fromkeys(names, budget / max(1, len(names)))
    if isinstance(split, Mapping) and set(split) == {"sample"}:
        count = whole("split: sample", split["sample"], 1, max(1, len(names)))
        chosen = sorted(chance.choice(len(names), count, replace=False).tolist())
        return {names[place]: budget / count for place in chosen}
    if not isinstance(split, Mapping) or set(split) != set(names):
        rule = "must be 'even', {'sample': how many columns}, or a weight for each private column"
        raise SettingError("split", rule, split)
    weights = {name: positive(f"split: {name}", split[name]) for name in names}
    parts = {name: budget * weight / sum(weights.values()) for name, weight in weights.items()}
    while math.fsum(parts.values()) > budget:  # by rounding
        largest = max(parts, key=parts.__getitem__)
        parts[largest] = math.nextafter(parts[largest], 0)
    return parts


def _of(given: Any, option: str, name: str) -> Any:
    """Return what is given for the column ``name``, or for all."""
    if not isinstance(given, Mapping):
        return given
    if name not in given:
        raise SettingError(option, "must be given for every private column", f"nothing for {name!r}")
    return given[name]


def chosen(option: str, given: object, names: Sequence[str]) -> list[str]:
    """Return the columns that are ``given`` by name or by place, each once, or "all"."""
    if given is None:
        return []
    if isinstance(given, str) and given == "all":
        return list(names)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SettingError(option, "must be 'all' or a list of columns", given)
    found = [_named(option, each, names) for each in given]
    if len(set(found)) < len(found):
        raise SettingError(option, "must name each column once", found)
    return found


def _named(option: str, column: object, names: Sequence[str]) -> str:
    if not isinstance(column, str):
        return names[whole(option, column, 0, len(names) - 1)]
    if column not in names:
        raise SettingError(option, f"must name columns of X: {', '.join(names[:20])}", column)
    return column


def held_by(
    partners: Mapping[str, Sequence[str | int]] | None, private: Sequence[str], names: Sequence[str]
) -> dict[str, list[str]]:
    """Return which of the ``private`` columns each partner holds; without ``partners`` one holds them all."""
    if partners is None:
        return {"partner": list(private)} if private else {}
    held = {party: chosen(f"partners[{party!r}]", columns, names) for party, columns in partners.items()}
    if sorted(name for columns in held.values() for name in columns) != sorted(private):
        raise SettingError("partners", "must give each private column to one partner, and no other column", held)
    return {party: columns for party, columns in held.items() if columns}
