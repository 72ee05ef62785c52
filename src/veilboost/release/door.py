"""Columns for a protocol: noisy codes of the rows in their agreed order, through policy and ledger, or simulated."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data import Source, coded
from veilboost.errors import RefusalError, blaming
from veilboost.randomness import Bits
from veilboost.release.desensitise import admitted
from veilboost.release.leaving import Leaving, leave
from veilboost.release.policy import Column, Policy
from veilboost.release.statement import Statement, state


@dataclass(frozen=True)
class Released:
    """Noisy codes that may leave, column by column, and the statement that goes with them."""

    codes: Mapping[str, NDArray[Any]]
    columns: tuple[Column, ...]
    statement: Statement


class Door(ABC):
    """What stands between a partner's table and a protocol."""

    party: str

    @abstractmethod
    def release(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None) -> Released:
        """Return the noisy codes of ``columns``, or of all that may leave, or refuse."""


class PolicyDoor(Door):
    """The real one: what leaves is charged to the ledger before it is drawn.

    ``order`` names a column of the table that numbers its rows from 0 in the order that was agreed with the lead.
    """

    def __init__(self, policy: Policy, source: Source, *, order: str) -> None:
        rows = msgspec.structs.replace(policy.rows, carry=(order,))
        self.party, self._policy, self._source, self._order = policy.party, replace(policy, rows=rows), source, order

    def release(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None) -> Released:
        request = self._policy.permit(who, purpose, job, columns)
        with admitted(self._source, self._policy, request) as it:
            leaving = [Leaving(column, it.key, as_codes=True) for column in request.columns]
            codes = self._in_order(pa.concat_tables(leave(it.staged, leaving)), [c.name for c in request.columns])
            digest = _digest(codes)
            with it.ledger.held():
                it.ledger.append({"event": "left", "job": job, "to": who, "file": "(a protocol)", "sha256": digest})
                receipt = it.ledger.receipt()
        said = state(
            request.columns,
            party=self.party,
            to=who,
            purpose=request.purpose,
            job=job,
            noise=self._policy.rows.noise,
            key_version=None if it.key is None else it.key.version,
            carried=(),
            digest=digest,
            receipt=receipt,
        )
        return Released(codes, request.columns, said)

    def _in_order(self, drawn: pa.Table, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        places = drawn[self._order].to_numpy()
        ordered = {name: np.empty(len(places), drawn[name].to_numpy().dtype) for name in names}
        for name, codes in ordered.items():
            codes[places] = drawn[name].to_numpy()
        return ordered


class SimulationDoor(Door):
    """For experiments in one process: noise from ``bits``, no policy, no ledger, and every output says so."""

    def __init__(self, party: str, columns: Sequence[Column], source: Source, bits: Bits) -> None:
        self.party, self._columns, self._source, self._bits = party, tuple(columns), source, bits

    def release(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None) -> Released:
        known = {column.name: column for column in self._columns}
        for name in columns or ():
            if name not in known:
                raise RefusalError(f"{self.party!r} has no column {name!r}")
        chosen = tuple(known[name] for name in columns) if columns is not None else self._columns
        with blaming(self._source.name), ThreadPoolExecutor(os.cpu_count()) as pool:
            batch = pa.concat_batches([b for b, _ in self._source.batches([column.name for column in chosen])])
            codes = pool.map(lambda column: coded(column.domain, batch[column.name], first_row=0).codes, chosen)
            drawn = {
                column.name: column.mechanism.draw(code, bits=self._bits)
                for column, code in zip(chosen, codes, strict=True)
            }
        said = state(
            chosen,
            party=self.party,
            to=who,
            purpose=purpose,
            job=job,
            noise="simulated",
            key_version=None,
            carried=(),
            digest=_digest(drawn),
            receipt=None,
        )
        return Released(drawn, chosen, said)


def _digest(codes: Mapping[str, NDArray[Any]]) -> str:
    found = hashlib.sha256()
    for code in codes.values():
        found.update(np.ascontiguousarray(code).data)
    return found.hexdigest()
