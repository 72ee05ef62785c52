"""Columns for a protocol: noisy codes of the rows in their agreed order, through policy and ledger, or simulated."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
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

    codes: Callable[[str], NDArray[Any]]
    """Reads one column: all of them together are large."""
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
    def release(
        self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int
    ) -> AbstractContextManager[Released]:
        """Let out the noisy codes of ``columns``, or of all that may leave, for exactly so many ``rows``, or refuse.

        They can be read as long as the context lasts.
        """


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

    @contextmanager
    def release(
        self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int
    ) -> Iterator[Released]:
        request = self._policy.permit(who, purpose, job, columns)
        with admitted(self._source, self._policy, request, rows=rows, progress=self._progress) as it:
            codes = self._drawn(it.staged, [Leaving(column, it.key, as_codes=True) for column in request.columns])
            digest = _digest(codes(column.name) for column in request.columns)
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
            yield Released(codes, request.columns, said, outcome)

    def look(self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int) -> Outcome:
        """Return what a release would let out and what it would cost, or refuse; nothing is drawn or charged."""
        request = self._policy.permit(who, purpose, job, columns)
        options: dict[str, Any] = {"rows": rows, "dry_run": True, "progress": self._progress}
        with admitted(self._source, self._policy, request, **options) as it:
            return Outcome(request, it.staged.rows, it.staged.counts, it.bill, (), dry_run=True)

    def _drawn(self, staged: Staged, leaving: Sequence[Leaving]) -> Callable[[str], NDArray[Any]]:
        """Draw bucket by bucket, keep what was drawn beside what was staged, and return what reads a column of it."""
        there, types = np.zeros(staged.rows, dtype=np.bool_), {each.column.name: list(each.types) for each in leaving}
        for number, table in enumerate(leave(staged, leaving)):
            there[self._places(table, staged.rows)] = True
            staged.keep(number, table)
            self._progress("drawing", (number + 1) / staged.buckets)
        if not there.all():
            raise self._disordered(staged.rows)
        return lambda name: self._column(staged, types[name])

    def _column(self, staged: Staged, types: Sequence[str]) -> NDArray[Any]:
        """Put every row of a column where it stands in the agreed order."""
        codes: NDArray[Any] = np.empty(0)
        for number, drawn in enumerate(staged.kept([self._order, *types])):
            found = np.stack([drawn[name].to_numpy() for name in types])
            if number == 0:
                codes = np.empty((len(found), staged.rows), found.dtype)
            codes[:, drawn[self._order].to_numpy()] = found
        return codes[0] if len(codes) == 1 else codes.T

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

    @contextmanager
    def release(
        self, *, who: str, purpose: str, job: str, columns: Sequence[str] | None, rows: int
    ) -> Iterator[Released]:
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
            digest=_digest(drawn.values()),
            receipt=None,
        )
        yield Released(drawn.pop, chosen, said)


def _digest(codes: Iterable[NDArray[Any]]) -> str:
    found = hashlib.sha256()
    for code in codes:
        found.update(np.ascontiguousarray(code).data)
    return found.hexdigest()
