"""Charge a staged table to the ledger, or refuse it: each row for its new codes, before anything is drawn."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, RefusalError
from veilboost.privacy.budget import loss_of
from veilboost.randomness import count_repeated
from veilboost.release.ahead import ahead
from veilboost.release.history import Charged, History, check_file, check_newest, write_history
from veilboost.release.keys import NoiseKey
from veilboost.release.ledger import Ledger, Line
from veilboost.release.policy import Column, Policy, default_source
from veilboost.release.rows import check_rows, row_kind
from veilboost.release.staging import Bucket, Staged

_NO_MORE = "the policy allows no such release any more"

Truth = NDArray[np.bool_]
Units = NDArray[np.int64]

_MOST = 2**62  # far above every cap; who has spent that much counts as having no bound


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What a release costs in one column; losses in trillionths, none where nothing bounds them."""

    column: str
    source: str
    new_values: int
    budget: int | None
    spent: int | None
    """By the row that has spent most, this release included."""
    cap: int | None

    @property
    def remaining(self) -> int | None:
        """What is left for the row that has spent most."""
        return None if self.cap is None or self.spent is None else self.cap - self.spent


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """What a release costs, column by column and for the row that has spent most over all of them."""

    columns: list[Charge]
    row_spent: int | None
    row_cap: int | None
    rows_with_history: int


@dataclass(frozen=True)
class _Past:
    """What has been charged before: row by row in ``history``, and at most so much to any row besides."""

    history: History
    by_source: dict[str, int]
    row: int
    unbounded: bool


@dataclass(frozen=True)
class _Part:
    """What one bucket costs."""

    bucket: Bucket
    new: Truth
    spent: list[int]
    row_spent: int
    repeated: int


def charge(
    ledger: Ledger,
    staged: Staged,
    policy: Policy,
    key: NoiseKey | None,
    history_file: Path,
    progress: Callable[[float], None],
) -> Bill:
    """Work out what the staged table costs, and write down what is new about its rows; the ledger must be held.

    Nothing enters the ledger here. A cap that would be exceeded and a repeated row key are refused.
    """
    lines = ledger.lines()
    check_newest(ledger.folder, len(lines))
    check_rows(lines, policy, {column.source for column in staged.columns})
    earlier = [line for line in lines if _concerns(line, row_kind(policy))]
    _check_table(policy, len(earlier), staged.rows)
    past = _past(ledger, earlier, policy, {column.source for column in staged.columns})
    tracked = [column for column in staged.columns if column.budget is not None]
    charged = [_charged(column, key) for column in tracked]
    parts = []

    def noted(part: _Part, number: int) -> tuple[Bucket, Sequence[NDArray[Any]], Truth]:
        parts.append((part.new.sum(axis=1), part.spent, part.row_spent, part.repeated))
        progress((number + 1) / staged.buckets)
        return part.bucket, [part.bucket.codes[column.name] for column in tracked], part.new

    def work(number: int) -> _Part:
        return _part(staged.bucket(number, codes_alone=True), (number, staged.buckets), past, tracked, charged)

    written = (noted(part, number) for number, part in enumerate(ahead(work, range(staged.buckets))))
    if key is None:
        rows = sum(len(bucket.tags) for bucket, _, _ in written)
    else:
        rows = write_history(history_file, charged, written)
    new, spent, row_spent, repeated = (np.array(each) for each in zip(*parts, strict=True))
    if repeated.sum():
        raise DataError(str(policy.rows.key), "must name each row once", f"{repeated.sum()} repeated row keys")
    bill = _bill(staged, policy, past, tracked, new.sum(axis=0), spent.max(axis=0), int(row_spent.max()), rows)
    _check_caps(bill)
    return bill


def _part(
    bucket: Bucket, place: tuple[int, int], past: _Past, tracked: Sequence[Column], charged: Sequence[Charged]
) -> _Part:
    """Compare the rows of a bucket with their past: a code that was charged for before costs nothing."""
    rows = len(bucket.tags)
    new = np.ones((len(tracked), rows), dtype=np.bool_)
    row_spent: Units = np.full(rows, min(past.row, _MOST))
    spent: dict[str, Units | np.int64] = {each.source: np.int64(0) for each in charged}
    for entry in past.history.entries(place, bucket):
        cost = entry.known * np.int64(entry.charged.budget)
        row_spent = _plus(row_spent, cost)
        if entry.charged.source in spent:
            spent[entry.charged.source] = _plus(spent[entry.charged.source], cost)
        for i, column in enumerate(tracked):
            if entry.charged.same_noise(charged[i]):
                new[i] &= ~(entry.known & (entry.codes == bucket.codes[column.name]))
    most = []
    for i, each in enumerate(charged):
        cost = new[i] * np.int64(each.budget)
        row_spent = _plus(row_spent, cost)
        before = _plus(spent.pop(each.source), np.int64(min(past.by_source.get(each.source, 0), _MOST)))
        most.append(int(_plus(before, cost).max(initial=0)))
    return _Part(bucket, new, most, int(row_spent.max(initial=0)), count_repeated(bucket.tags))


def _charged(column: Column, key: NoiseKey | None) -> Charged:
    return Charged(
        source=column.source,
        table=column.table,
        key="" if key is None else key.fingerprint,
        key_version=0 if key is None else key.version,
        budget=column.budget or 0,
    )


def _plus(spent: Units | np.int64, cost: Units | np.int64) -> Units:
    """Add without wrapping around: what would exceed the most that is counted stays there."""
    total: Units = np.minimum(spent + cost, _MOST)
    return total


def _past(ledger: Ledger, earlier: Sequence[Line], policy: Policy, sources: Set[str]) -> _Past:
    """Read what concerns these rows: their history, what any row may have spent, and whether anything had no bound.

    Fresh noise is charged to every row alike. Rows without a key may be any rows: each counts as the one that has
    spent most. What left without a bound, or as it is, has spent more than any cap.
    """
    by_source: dict[str, int] = {}
    row, files, unbounded = 0, [], False
    for line in earlier:
        body = line.body
        unbounded |= any(column["budget"] is None for column in body["columns"])
        unbounded |= not sources.isdisjoint(_open(body))
        if body["noise"] == "fresh":
            for column in body["columns"]:
                by_source[column["source"]] = by_source.get(column["source"], 0) + (column["budget"] or 0)
                row += column["budget"] or 0
        elif policy.rows.key is None:
            for column in body["columns"]:
                by_source[column["source"]] = max(by_source.get(column["source"], 0), _counted(column["spent"]))
            row = max(row, _counted(body["row_spent"]))
        elif body["history"] is not None:
            files.append(ledger.folder / body["history"]["file"])
            check_file(files[-1], body["history"]["sha256"], line.number)
    by_source |= {source: _MOST for line in earlier for source in _open(line.body)}
    return _Past(History(files), by_source, row, unbounded)


def _open(body: Mapping[str, Any]) -> set[str]:
    """Return the sources that a release left without any bound: through a mechanism without one, or as they are."""
    without = {column["source"] for column in body["columns"] if column["budget"] is None}
    return without | {default_source(body["party"], name) for name in body["carried"]}


def _counted(spent: int | None) -> int:
    return _MOST if spent is None else spent


def _concerns(line: Line, kind: str) -> bool:
    """Whether a charge was for rows of this ``kind``; rows of which nobody says what they are may be any rows."""
    return line.body["event"] == "charged" and (kind == line.body["row_kind"] or "" in (kind, line.body["row_kind"]))


def _bill(
    staged: Staged,
    policy: Policy,
    past: _Past,
    tracked: Sequence[Column],
    new: NDArray[np.int64],
    spent: NDArray[np.int64],
    row_spent: int,
    rows: int,
) -> Bill:
    figures = {column.name: (int(n), _bounded(int(s))) for column, n, s in zip(tracked, new, spent, strict=True)}
    charges = []
    for column in staged.columns:
        new_values, most = figures.get(column.name, (staged.rows, None))
        charges.append(
            Charge(
                column=column.name,
                source=column.source,
                new_values=new_values,
                budget=column.budget,
                spent=most,
                cap=column.cap,
            )
        )
    unbounded = past.unbounded or len(tracked) < len(staged.columns)
    return Bill(
        columns=charges,
        row_spent=None if unbounded else _bounded(row_spent),
        row_cap=policy.caps.row_units,
        rows_with_history=rows,
    )


def _bounded(spent: int) -> int | None:
    return spent if spent < _MOST else None


def _check_table(policy: Policy, done: int, rows: int) -> None:
    caps = policy.caps
    if caps.releases is not None and done >= caps.releases:
        raise RefusalError(
            f"caps.releases: the policy allows {caps.releases}, and there have been {done}", told=_NO_MORE
        )
    if caps.rows is not None and rows > caps.rows:
        raise RefusalError(
            f"caps.rows: the policy allows {caps.rows:,} rows in one release; the table has {rows:,}", told=_NO_MORE
        )


def _check_caps(bill: Bill) -> None:
    for each in bill.columns:
        if each.cap is not None and (each.spent is None or each.spent > each.cap):
            raise RefusalError(
                f"column {each.column!r}: this release would bring what a row has spent to {loss_of(each.spent):g}, "
                f"above the policy's cap of {loss_of(each.cap):g}",
                told=f"the budget of column {each.column!r} is used up",
            )
    if bill.row_cap is not None and (bill.row_spent is None or bill.row_spent > bill.row_cap):
        raise RefusalError(
            f"caps.row: this release would bring what a row has spent over all its columns to "
            f"{loss_of(bill.row_spent):g}, above the policy's cap of {loss_of(bill.row_cap):g}",
            told="the budget of a whole row is used up",
        )
