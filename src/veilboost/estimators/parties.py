"""Which party holds which columns of X, and the door they leave by: its own policy's, or a simulated one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from veilboost.data import MemorySource
from veilboost.errors import SettingError
from veilboost.estimators.private import Protection, chosen, held_by
from veilboost.randomness import Bits, FreshBits, ReplayableBits
from veilboost.release import Door, PolicyDoor, SimulationDoor, load_policy
from veilboost.settings import whole
from veilboost.trees import as_compared

_PLACE = "(place)"
_EXACT = 2**24
"""Whole numbers up to here are the same in float32."""


@dataclass(frozen=True)
class Asked:
    """A partner's door, and which columns the lead asks for there."""

    door: Door
    columns: list[str]


@dataclass(frozen=True, kw_only=True)
class Parties:
    """Everything that says which columns of X are not the lead's."""

    lead: str
    private: str | Sequence[str | int] | None
    partners: Mapping[str, Sequence[str | int]] | None
    policies: Mapping[str, str | Path] | None
    protection: Protection
    row_key: str | None
    backend: Literal["xgboost", "lightgbm"]
    simulation_seed: int | None

    def asked(self, table: pa.Table, chance: np.random.Generator) -> tuple[dict[str, Asked], list[str]]:
        """Return each partner's door, a policy's or a simulated one, and the columns that are left for the lead.

        What a partner holds is never the lead's, also where the budget is spent on other columns.
        """
        names = table.column_names
        if self.row_key is not None and self.row_key not in names:
            raise SettingError("row_key", f"must name a column of X: {', '.join(names[:20])}", self.row_key)
        self._check_names()
        found = {party: self._under_policy(party, path, table) for party, path in (self.policies or {}).items()}
        taken = {name for each in found.values() for name in each.columns} | {self.row_key}
        held = held_by(self.partners, self._private(names, taken), names)
        for party in held:
            if party in found:
                raise SettingError("partners", "must not name a party that has a policy", party)
        for party, columns in self.protection.columns(held, chance).items():
            compared = {each.name: _compared(table[each.name], self.backend) for each in columns}
            source = MemorySource(pa.table(compared), name=f"X, columns of {party!r}")
            found[party] = Asked(SimulationDoor(party, columns, source, self._bits(party)), list(compared))
        away = taken.union(*held.values())
        return found, [name for name in names if name not in away]

    def _check_names(self) -> None:
        for option, what in (("partners", "columns"), ("policies", "policy file")):
            given = getattr(self, option)
            if given is not None and not isinstance(given, Mapping):
                raise SettingError(option, f"must be the {what} of each partner, by its name", given)
            if self.lead in (given or {}):
                raise SettingError(option, "must not name the lead", self.lead)

    def _private(self, names: Sequence[str], taken: set[str | None]) -> list[str]:
        """Return the columns that leave in a simulation: those that are named, or else those of the partners."""
        private = self.private
        if private is None and self.partners:
            private = [name for columns in self.partners.values() for name in columns]
        return [name for name in chosen("private", private, names) if name not in taken]

    def _bits(self, party: str) -> Bits:
        """Return where the noise of a simulated partner comes from; partners draw at the same time, each its own."""
        if self.simulation_seed is None:
            return FreshBits()
        seed = whole("simulation_seed", self.simulation_seed, 0, 2**64 - 1)
        return ReplayableBits(seed=int.from_bytes(sha256(f"{seed} {party}".encode()).digest()[:8]))

    def _under_policy(self, party: str, path: str | Path, table: pa.Table) -> Asked:
        policy = load_policy(Path(path))
        if policy.party != party:
            raise SettingError("policies", f"must be given under the party's own name, {policy.party!r}", party)
        names = [name for name in policy.columns if name in table.column_names]
        rows = [self.row_key] if self.row_key is not None else []
        places = pa.array(np.arange(table.num_rows))
        held = table.select([*rows, *names]).append_column(_PLACE, places)
        door = PolicyDoor(policy, MemorySource(held, name=f"X, columns of {party!r}"), order=_PLACE)
        return Asked(door, names)


def _compared(column: pa.ChunkedArray, backend: Literal["xgboost", "lightgbm"]) -> pa.ChunkedArray:
    """Return numbers as the model will compare them, so that each raw value falls on the side of its code."""
    number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    if not number or column.null_count == len(column):
        return column
    values = column.cast(pa.float64(), safe=False).to_numpy()
    if pa.types.is_integer(column.type) and np.nanmax(np.abs(values)) <= _EXACT:
        return column
    return pa.chunked_array([pa.array(as_compared(values, backend), from_pandas=column.null_count > 0)])
