"""Which columns are private, what is public about them, and how a budget for a whole row is split over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilboost.domain import Domain
from veilboost.errors import SettingError
from veilboost.mechanisms import CODE_MECHANISMS, VALUE_MECHANISMS, from_settings
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
    nominal_mechanism: str
    epsilon: float | Mapping[str, float]
    nominal_epsilon: float | None
    row_epsilon: float | None
    split: Split
    bounds: Bounds | Mapping[str, Bounds] | None
    domains: Mapping[str, Domain]
    size: int | Mapping[str, int]

    def columns(self, names: Sequence[str], party: str, chance: np.random.Generator) -> list[Column]:
        """Return the columns ``names`` that leave ``party``, each with its domain and mechanism."""
        domains = {name: self._domain(name) for name in names}
        budgets = self._budgets(domains, chance)
        return [
            Column(name, f"{party}/{name}", domains[name], self._mechanism(name, domains[name], budget), None)
            for name, budget in budgets.items()
        ]

    def _domain(self, name: str) -> Domain:
        if name in self.domains:
            if not isinstance(self.domains[name], Domain):
                raise SettingError(f"domains[{name!r}]", "must be a Domain, as Domain.numbers(0, 1, size=10)", name)
            return self.domains[name]
        bounds = self.bounds.get(name) if isinstance(self.bounds, Mapping) else self.bounds
        if bounds is None:
            rule = "must give the public lowest and highest value of each private column, or domains its Domain"
            raise SettingError("bounds", rule, f"nothing for {name!r}")
        try:
            low, high = bounds
            return Domain.numbers(low, high, size=_of(self.size, "size", name), missing="code", column=name)
        except SettingError as error:
            raise SettingError(f"{error.name} of column {name!r}", error.rule, error.value) from None
        except (TypeError, ValueError):
            rule = f"must be a pair of numbers for column {name!r}"
            raise SettingError("bounds", rule, bounds) from None

    def _budgets(self, domains: Mapping[str, Domain], chance: np.random.Generator) -> dict[str, float]:
        if self.row_epsilon is not None:
            return split_budget(list(domains), positive("row_epsilon", self.row_epsilon), self.split, chance)
        return {name: self._epsilon(name, domain) for name, domain in domains.items()}

    def _epsilon(self, name: str, domain: Domain) -> float:
        if not domain.order and self.nominal_epsilon is not None:
            return positive("nominal_epsilon", self.nominal_epsilon)
        return positive("epsilon", _of(self.epsilon, "epsilon", name))

    def _mechanism(self, name: str, domain: Domain, epsilon: float) -> Any:
        choices, chosen = (ORDERED, self.mechanism) if domain.order else (NOMINAL, self.nominal_mechanism)
        settings = dict(chosen) if isinstance(chosen, Mapping) else {"mechanism": chosen}
        if settings.get("mechanism") not in choices:
            option = "mechanism" if domain.order else "nominal_mechanism"
            raise SettingError(option, f"must be one of {', '.join(choices)}", settings.get("mechanism"))
        try:
            made = from_settings(MechanismSettings(epsilon=epsilon, size=domain.size, **settings))
            made.fit(domain)
        except TypeError:
            raise SettingError("mechanism", "must have settings of a mechanism", dict(settings)) from None
        except SettingError as error:
            raise SettingError(f"{error.name} of column {name!r}", error.rule, error.value) from None
        return made


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
    return {name: budget * weight / sum(weights.values()) for name, weight in weights.items()}


def _of(given: Any, option: str, name: str) -> Any:
    """Return what is given for the column ``name``, or for all."""
    if not isinstance(given, Mapping):
        return given
    if name not in given:
        raise SettingError(option, "must be given for every private column", f"nothing for {name!r}")
    return given[name]


def chosen(private: object, names: Sequence[str]) -> list[str]:
    """Return the names of the private columns, which may be given by place."""
    if private is None:
        return []
    if isinstance(private, str):
        if private != "all":
            raise SettingError("private", "must be 'all' or a list of columns", private)
        return list(names)
    try:
        wanted = list(private)  # type: ignore[call-overload]
    except TypeError:
        raise SettingError("private", "must be 'all' or a list of columns", private) from None
    found = []
    for each in wanted:
        if isinstance(each, str) and each in names:
            found.append(each)
        elif not isinstance(each, str):
            found.append(names[whole("private", each, 0, len(names) - 1)])
        else:
            raise SettingError("private", f"must name columns of the table: {', '.join(names[:20])}", each)
    if len(set(found)) < len(found):
        raise SettingError("private", "must name each column once", wanted)
    return found


def held_by(partners: Mapping[str, Sequence[str]] | None, private: Sequence[str]) -> dict[str, list[str]]:
    """Return which of the ``private`` columns each partner holds; without ``partners`` one holds them all."""
    if partners is None:
        return {"partner": list(private)} if private else {}
    held = [name for columns in partners.values() for name in columns]
    if sorted(held) != sorted(private):
        rule = "must give each private column to one partner, and no other column"
        raise SettingError("partners", rule, {party: list(columns) for party, columns in partners.items()})
    return {party: list(columns) for party, columns in partners.items() if columns}
