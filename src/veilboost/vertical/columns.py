"""Columns on their way to the lead, and what they become in a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError
from veilboost.mechanisms import UnaryEncoding, ValueMechanism
from veilboost.release import Column
from veilboost.trees import Feature, as_compared
from veilboost.vertical.ranks import Between, Ranked, cuts, numbers, rank, rank_estimates, spoken
from veilboost.vertical.sent import Category, Opened, Sent, Unit
from veilboost.wire import Array, Values

Nominal = Literal["one-hot", "native"]
_MOST_INDICATORS = 1024
_UNITS: dict[str, Unit] = {"dates": "days", "timestamps": "microseconds"}


@dataclass(frozen=True)
class Packed:
    """A column that is sent, and all its cuts, for when they are asked for."""

    sent: Sent
    cuts: NDArray[np.float64] | None


def pack(column: Column, noisy: NDArray[Any], between: Between, *, with_cuts: bool) -> Packed:
    """Return the noisy codes of ``column`` as they are sent; from here on nothing but post-processing happens."""
    domain, mechanism = column.domain, column.mechanism
    if isinstance(mechanism, UnaryEncoding):
        bits = Values.plain(np.packbits(noisy))
        return Packed(_categorical(column, "bits", mechanism.size, bits), None)
    if not domain.order:
        places = np.where(noisy > domain.value_codes, 0, noisy).astype(noisy.dtype)
        return Packed(_categorical(column, "categories", domain.value_codes, Values.of(places)), None)
    ranked = _ranked(column, noisy)
    found = cuts(ranked, domain, between)
    unit, listed = compared(column)
    sent = Sent(
        name=column.name,
        form="ranks",
        count=len(ranked.codes),
        values=Values.of(ranked.ranks),
        unit=unit,
        cuts=Array.of(found) if with_cuts else None,
        codes=Array.of(ranked.codes) if with_cuts else None,
        categories=listed,
        impute=imputed(domain),
    )
    return Packed(sent, found)


def compared(column: Column) -> tuple[Unit, list[Category | None] | None]:
    """Return as what a model compares an ordered column, and the list in which ordered text has its places."""
    if spoken(column.domain):
        return "place", _listed(column, column.domain.value_codes)
    return _UNITS.get(column.domain.kind.name, "number"), None


def imputed(domain: Domain) -> float | None:
    """Return the number that the model compares for a missing value, where the domain imputes one."""
    if domain.impute is None:
        return None
    return float(domain.impute) - 1 if spoken(domain) else float(numbers(domain.kind.raw([domain.impute]))[0])


def _ranked(column: Column, noisy: NDArray[Any]) -> Ranked:
    if isinstance(column.mechanism, ValueMechanism):
        return rank_estimates(noisy, column.mechanism, column.domain)
    return rank(noisy, column.domain)


def _categorical(column: Column, form: Literal["categories", "bits"], count: int, values: Values) -> Sent:
    return Sent(name=column.name, form=form, count=count, values=values, categories=_listed(column, count))


def _listed(column: Column, count: int) -> list[Category | None]:
    """Return what each code stands for; only categories have a list."""
    domain: Domain = column.domain
    if domain.unit_width is not None:
        rule = "must be categories or booleans to be sent bit by bit, as unary encoding does"
        raise SettingError(f"columns.{column.name}: domain", rule, domain.describe())
    values: list[Category | None] = domain.decode(np.arange(1, domain.value_codes + 1)).tolist()
    return values + [None] * (count - len(values))


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One feature of a model: from which column it comes, and how a raw value becomes the number that it compares.

    A category, and a place, is the place of the value in ``categories``, from 0; an indicator is 1 where the value is
    ``value`` (None: missing) and else 0. A missing value is read as ``impute``, if that is given.
    """

    feature: str
    column: str
    party: str
    kind: Literal["number", "days", "microseconds", "place", "category", "indicator"]
    categories: list[Category] | None = None
    value: Category | None = None
    impute: float | None = None


@dataclass(frozen=True)
class ModelColumn:
    """One feature with its values, 0 where missing; ``cuts`` in raw units, None where a model compares categories."""

    input: Input
    feature: Feature
    values: NDArray[Any]
    cuts: NDArray[np.float64] | None
    asked: bool = False
    """Whether the cuts are still to be asked for."""


def expand(column: Opened, party: str, nominal: Nominal) -> Iterator[ModelColumn]:
    """Yield the features that a column becomes: itself, or one for each category."""
    sent, values = column.sent, column.values
    if sent.form == "ranks":
        count = max(sent.count, 1)
        source = Input(
            feature=sent.name,
            column=sent.name,
            party=party,
            kind=sent.unit,
            categories=None if sent.categories is None else real(sent.categories),
            impute=sent.impute,
        )
        found = np.full(count - 1, np.nan) if sent.cuts is None else sent.cuts.read()
        yield ModelColumn(source, Feature(sent.name, ranks=count), values, found, asked=sent.cuts is None)
        return
    categories = sent.categories or []
    if sent.form == "categories":
        yield from categorical(sent.name, party, values, real(categories), nominal)
        return
    for category, bits in zip(categories, values.T, strict=True):
        yield _indicator(sent.name, party, category, bits)


def real(categories: Sequence[Category | None]) -> list[Category]:
    """Return the categories that stand for values."""
    return [each for each in categories if each is not None]


def categorical(
    name: str, party: str, places: NDArray[Any], categories: Sequence[Category], nominal: Nominal
) -> Iterator[ModelColumn]:
    """Yield the features of a column of ``places`` in ``categories``, from 1, and 0 where missing."""
    if nominal == "native":
        source = Input(feature=name, column=name, party=party, kind="category", categories=list(categories))
        yield ModelColumn(source, Feature(name, categories=len(categories)), places, None)
        return
    if len(categories) > _MOST_INDICATORS:
        rule = f"must have at most {_MOST_INDICATORS} categories for one column each (nominal='native' takes more)"
        raise DataError(name, rule, f"{len(categories)} categories")
    for place, category in enumerate(categories, 1):
        yield _indicator(name, party, category, places == place)


def _indicator(name: str, party: str, category: Category | None, bits: NDArray[Any]) -> ModelColumn:
    feature = f"{name}={'missing' if category is None else category}"
    source = Input(feature=feature, column=name, party=party, kind="indicator", value=category)
    return ModelColumn(source, Feature(feature, ranks=2), bits.astype(np.uint8) + np.uint8(1), np.array([0.5]))


@dataclass(frozen=True)
class Own:
    """A column of the lead's own: numbers with NaN where missing, or places in ``categories``, from 1."""

    name: str
    values: NDArray[Any]
    categories: Sequence[Category] | None = None
    unit: Unit = "number"


def own(
    column: Own, party: str, *, backend: Literal["xgboost", "lightgbm"], bins: int, nominal: Nominal
) -> Iterator[ModelColumn]:
    """Yield the features of a column of the lead's own: nothing is hidden, so ranks come from the values themselves."""
    if column.categories is not None:
        yield from categorical(column.name, party, column.values, column.categories, nominal)
        return
    ranks, found = own_ranks(as_compared(column.values, backend), bins, "next" if backend == "xgboost" else "middle")
    source = Input(feature=column.name, column=column.name, party=party, kind=column.unit)
    yield ModelColumn(source, Feature(column.name, ranks=len(found) + 1), ranks, found)


def own_ranks(values: NDArray[np.float64], bins: int, between: Between) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return ranks and cuts of clear values; more than ``bins`` different ones are put together, about as many in each.

    >>> own_ranks(np.array([5.0, 1.0, np.nan, 9.0]), 8, "middle")
    (array([2, 1, 0, 3], dtype=uint8), array([3., 7.]))
    """
    gaps = np.isnan(values)
    seen, where, times = np.unique(values[~gaps], return_inverse=True, return_counts=True)
    bin_of = np.arange(len(seen))
    if len(seen) > bins:
        _, bin_of = np.unique((np.cumsum(times) - times) * bins // times.sum(), return_inverse=True)
    starts = np.flatnonzero(np.diff(bin_of)) + 1
    ranks = np.zeros(len(values), dtype=np.min_scalar_type(len(starts) + 1))
    ranks[~gaps] = bin_of[where] + 1
    low, high = seen[starts - 1], seen[starts]
    middle = low / 2 + high / 2
    return ranks, np.nextafter(high, -np.inf) if between == "next" else np.where(middle < high, middle, low)


def in_order(columns: Sequence[ModelColumn], order: Sequence[str] | None) -> list[ModelColumn]:
    """Return the features in the order of their columns; two parties must not have columns of the same name."""
    parties: dict[str, str] = {}
    features: set[str] = set()
    for each in columns:
        source = each.input
        if parties.setdefault(source.column, source.party) != source.party:
            rule = f"must not be a name at {parties[source.column]!r} and at {source.party!r}: one must rename it"
            raise DataError(source.column, rule, "both")
        if source.feature in features:
            raise DataError(source.feature, "must be one feature of the model", "two columns that lead to it")
        features.add(source.feature)
    if order is None:
        return list(columns)
    places = {name: place for place, name in enumerate(order)}
    return sorted(columns, key=lambda each: places[each.input.column])
