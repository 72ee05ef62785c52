"""Columns of categories: text, whole numbers or truth values from a public list."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from veilboost.domain.kind import Array, Kind, MisfitError, each
from veilboost.domain.numeric import whole_number
from veilboost.errors import SettingError

Category = str | int | bool


@dataclass(frozen=True)
class Categories(Kind):
    """Units are places in a public list, from 1."""

    unit: Fraction | None = None
    values: tuple[Category, ...] = ()

    @classmethod
    def listed(cls, name: str, listed: Sequence[str] | Sequence[int], *, ordered: bool) -> Self:
        """Check a list of categories and return its kind."""
        if isinstance(listed, str) or not isinstance(listed, Sequence | np.ndarray):
            raise SettingError("categories", "must be a list", listed)
        try:
            values = tuple(each(listed, _category))
        except MisfitError:
            values = ()
        if {type(value) for value in values} not in ({str}, {int}):
            raise SettingError("categories", "must be at least 2, all text or all whole numbers", listed)
        if len(values) < 2 or len(set(values)) < len(values):
            raise SettingError("categories", "must be at least 2, all different", listed)
        return cls(name, f"one of the {len(values)} categories", ordered=ordered, values=values)

    @property
    def marks(self) -> tuple[object, ...]:
        return self.values

    @cached_property
    def _places(self) -> dict[tuple[type, Category], int]:
        return {(type(value), value): place for place, value in enumerate(self.values, 1)}

    def read(self, array: Array) -> Array:
        if array.dtype.kind == "O":
            return super().read(array)
        seen, where = np.unique(array, return_inverse=True)
        try:
            return super().read(seen)[where]
        except MisfitError:
            return super().read(array)  # names the first row that does not fit

    def read_one(self, value: object) -> int:
        own = _category(value)
        place = self._places.get((type(own), own))
        if place is None:
            raise MisfitError
        return place

    def raw_one(self, point: Fraction) -> Category:
        return self.values[math.floor(point) - 1]


def _category(value: object) -> Category:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return whole_number(value)
