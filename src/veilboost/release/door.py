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
from veilboost.domain import Domain
from veilboost.errors import DataError, FileError, RefusalError, blaming
from veilboost.randomness import Bits
from veilboost.release.desensitise import Outcome, Progress, admitted
from veilboost.release.leaving import Leaving, leave
from veilboost.release.policy import Column, Policy
from veilboost.release.staging import Staged
from veilboost.release.statement import Statement, state


@dataclass(frozen=True)
class Released:
    """Noisy codes that may leave, column by column, and the statement that goes with them."""

    codes: dict[str, NDArray[Any]]
    """Who needs a column for the last time may take it out: all of them together are large."""
    columns: tuple[Column, ...]
    statement: Statement
    outcome: Outcome | None = None
    """What its owner may know of it: nothing in a simulation."""


class Door(ABC):
    """What stands between a partner's table and a protocol."""

    party: str

    @property
    @abstractmethod
    def domains(self) -> dict[str, Domain]:
        """The public domain of every column that may leave."""

    @abstractmethod
    def release(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int) -> Released:
        """Return the noisy codes of ``columns``, or of all that may leave, for exactly so many ``rows``, or refuse."""


class PolicyDoor(Door):
    """The real one: what leaves is charged to the ledger before it is drawn.

    ``order`` names a column of the table that numbers its rows from 0 in the order that was agreed with the lead.
    """

    def __init__(
        self,
        policy: Policy,
        source: Source,
        *,
        order: str,
        progress: Progress = lambda _step, _share: None,
    ) -> None:
        rows = msgspec.structs.replace(policy.rows, carry=(order,))
        self.party, self._policy, self._source, self._order = policy.party, replace(policy, rows=rows), source, order
        self._progress = progress

    @property
    def domains(self) -> dict[str, Domain]:
        return {name: column.domain for name, column in self._policy.columns.items()}

    def release(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int) -> Released:
        request = self._policy.permit(who, purpose, job, columns)
        with admitted(self._source, self._policy, request, rows=rows, progress=self._progress) as it:
            leaving = [Leaving(column, it.key, as_codes=True) for column in request.columns]
            codes = self._drawn(it.staged, leaving)
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
        outcome = Outcome(request, it.staged.rows, it.staged.counts, it.bill, ())
        return Released(codes, request.columns, said, outcome)

    def look(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int) -> Outcome:
        """Return what a release would let out and what it would cost, or refuse; nothing is drawn or charged."""
        request = self._policy.permit(who, purpose, job, columns)
        options: dict[str, Any] = {"rows": rows, "dry_run": True, "progress": self._progress}
        with admitted(self._source, self._policy, request, **options) as it:
            return Outcome(request, it.staged.rows, it.staged.counts, it.bill, (), dry_run=True)

    def _drawn(self, staged: Staged, leaving: Sequence[Leaving]) -> dict[str, NDArray[Any]]:
        """Draw bucket by bucket, and put every row where it stands in the agreed order."""
        codes: dict[str, NDArray[Any]] = {}
        there = np.zeros(staged.rows, dtype=np.bool_)
        for number, table in enumerate(leave(staged, leaving), 1):
            places = self._places(table, staged.rows)
            there[places] = True
            for each in leaving:
                drawn = np.stack([table[name].to_numpy() for name in each.types])
                if number == 1:
                    codes[each.column.name] = np.empty((len(drawn), staged.rows), drawn.dtype)
                codes[each.column.name][:, places] = drawn
            self._progress("drawing", number / staged.buckets)
        if not there.all():
            raise self._disordered(staged.rows)
        return {name: each[0] if len(each) == 1 else each.T for name, each in codes.items()}

    def _places(self, drawn: pa.Table, rows: int) -> NDArray[np.int64]:
        places: NDArray[np.int64] = drawn[self._order].to_numpy()
        if len(places) and not 0 <= places.min() <= places.max() < rows:
            raise self._disordered(rows)
        return places

    def _disordered(self, rows: int) -> DataError:
        return DataError(self._order, "must number the rows from 0, each once", f"{rows} other numbers")


class SimulationDoor(Door):
    """For experiments in one process: noise from ``bits``, no policy, no ledger, and every output says so."""

    def __init__(self, party: str, columns: Sequence[Column], source: Source, bits: Bits) -> None:
        self.party, self._columns, self._source, self._bits = party, tuple(columns), source, bits

    @property
    def domains(self) -> dict[str, Domain]:
        return {column.name: column.domain for column in self._columns}

    def release(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int) -> Released:
        known = {column.name: column for column in self._columns}
        for name in columns or ():
            if name not in known:
                raise RefusalError(f"{self.party!r} has no column {name!r}")
        chosen = tuple(known[name] for name in columns) if columns is not None else self._columns
        with blaming(self._source.name), ThreadPoolExecutor(os.cpu_count()) as pool:
            self._source.check([column.name for column in chosen])
            batch = pa.concat_batches([b for b, _ in self._source.batches([column.name for column in chosen])])
            if batch.num_rows != rows:
                raise FileError(
                    self._source.name, f"must have the {rows} rows that were agreed; found {batch.num_rows}"
                )
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
