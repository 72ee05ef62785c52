"""Desensitise a table: stage, charge, draw, hand over. Nothing is drawn before it is charged for."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from veilboost.data import Source, fits, open_sink
from veilboost.data.sink import check_ending, check_types
from veilboost.domain import Domain
from veilboost.errors import DataError, FileError, SettingError, blaming
from veilboost.files import as_json, check_writable, move_together
from veilboost.release import statement as statements
from veilboost.release.charging import Bill, charge
from veilboost.release.history import digest
from veilboost.release.keys import NoiseKey, load_key
from veilboost.release.leaving import Leaving, leave
from veilboost.release.ledger import Ledger
from veilboost.release.policy import Policy, Request
from veilboost.release.rows import row_kind
from veilboost.release.staging import Counts, Staged, private_folder, stage

Progress = Callable[[str, float], None]
log = logging.getLogger("veilboost.release")


@dataclass(frozen=True)
class Outcome:
    """What a release did, or would do: for its owner's eyes."""

    request: Request
    rows: int
    counts: dict[str, Counts]
    bill: Bill
    written: tuple[Path, ...]
    dry_run: bool = False


def desensitise(
    source: Source,
    out: Path,
    policy: Policy,
    request: Request,
    *,
    as_codes: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda _step, _share: None,
) -> Outcome:
    """Write the columns that ``request`` asks for to ``out``, each value with its noise, and a statement beside it.

    1. *Stage*: read the table once, check and encode every value.
    2. *Charge*: compare with each row's past and enter the cost into the ledger, or refuse.
    3. *Draw*: every value, into a private file.
    4. *Hand over*: enter the file's digest into the ledger, write the statement, move the file to ``out``.

    A dry run ends before anything is entered.
    """
    ending = check_ending(out)
    files = (out, out.with_name(f"{out.name}.privacy.json"), out.with_name(f"{out.name}.privacy.txt"))
    check_writable(*files)
    _check_places(files, source, policy)
    check_schema(source, policy, request)
    _check_types(source, policy, [Leaving(column, None, as_codes) for column in request.columns], ending)
    with admitted(source, policy, request, dry_run=dry_run, progress=progress) as it:
        if dry_run:
            return Outcome(request, it.staged.rows, it.staged.counts, it.bill, (), dry_run=True)
        made = it.staged.folder / f"out{ending}"
        _draw(it.staged, [Leaving(column, it.key, as_codes) for column in request.columns], made, ending, progress)
        _hand_over(it.ledger, policy, request, it.key, made, files)
    log.info("wrote %s", out)
    return Outcome(request, it.staged.rows, it.staged.counts, it.bill, files)


@dataclass(frozen=True)
class Admitted:
    """A table that was charged for: it may be drawn."""

    ledger: Ledger
    staged: Staged
    bill: Bill
    key: NoiseKey | None


@contextmanager
def admitted(
    source: Source,
    policy: Policy,
    request: Request,
    *,
    rows: int | None = None,
    dry_run: bool = False,
    progress: Progress = lambda _step, _share: None,
) -> Iterator[Admitted]:
    """Stage the table and charge for it, or refuse; what is staged lasts as long as the context.

    With ``rows`` a table of another length is refused before anything is charged.
    """
    check_schema(source, policy, request)
    key = load_key(policy.noise_key) if policy.rows.noise == "permanent" else None
    with Ledger(policy.ledger) as ledger, blaming(policy.ledger), private_folder(ledger.folder) as folder:
        with blaming(source.name, disk=False):
            staged = stage(
                source, request.columns, policy.rows, ledger.tag_key, folder, lambda share: progress("reading", share)
            )
        log.info("staged %d rows of %s", staged.rows, source.name)
        if rows is not None and staged.rows != rows:
            raise FileError(source.name, f"must have the {rows} rows that were agreed; found {staged.rows}")
        with ledger.held(), blaming(source.name, disk=False):
            history = folder / "history"
            bill = charge(ledger, staged, policy, key, history, lambda share: progress("charging", share))
            if not dry_run:
                _enter(ledger, policy, request, key, staged, bill, history)
        log.info("charged %d rows with something new", bill.rows_with_history)
        yield Admitted(ledger, staged, bill, key)


def _check_places(files: Sequence[Path], source: Source, policy: Policy) -> None:
    """Refuse to write over what a release is made from."""
    held = {"table": Path(source.name), "policy": policy.file, "noise key": policy.noise_key, "ledger": policy.ledger}
    for name, path in held.items():
        for file in files:
            if file.exists() and path.exists() and file.samefile(path):
                raise FileError(file, f"is the {name} itself; name another file for what leaves")


def check_schema(source: Source, policy: Policy, request: Request) -> None:
    """Refuse a table that lacks a column, or has one of a type that cannot hold its domain."""
    rows = policy.rows
    with blaming(source.name):
        source.check([*([rows.key] if rows.key else []), *(each.name for each in request.columns), *rows.carry])
        for column in request.columns:
            held = source.schema.field(column.name).type
            if not source.textual and not fits(column.domain, held):
                raise DataError(column.name, f"must hold {_nouns(column.domain)}", f"a column of type {held}")


def _check_types(source: Source, policy: Policy, columns: Sequence[Leaving], ending: str) -> None:
    """Refuse what the file to be written cannot hold, before anything is charged."""
    with blaming(source.name):
        check_types(ending, {name: source.schema.field(name).type for name in policy.rows.carry})
    with blaming(policy.file):
        names = [*policy.rows.carry, *(name for each in columns for name in each.types)]
        if len(set(names)) < len(names):
            raise SettingError("columns", "must leave under different names", names)
        for each in columns:
            check_types(ending, each.types)


def _nouns(domain: Domain) -> str:
    return f"{domain.kind.name} ({domain.kind.noun} in every row)"


def _enter(
    ledger: Ledger,
    policy: Policy,
    request: Request,
    key: NoiseKey | None,
    staged: Staged,
    bill: Bill,
    history: Path,
) -> None:
    """Enter a charge; what is new about the rows goes into the ledger's folder first."""
    kept = None
    if key is not None and bill.rows_with_history:
        kept = {"sha256": digest(history), "file": ledger.keep(history)}
    costs = {each.column: each for each in bill.columns}
    ledger.append(
        {
            "event": "charged",
            "job": request.job,
            "to": request.who,
            "purpose": request.purpose,
            "party": policy.party,
            "policy": policy.digest,
            "rows": staged.rows,
            "row_kind": row_kind(policy),
            "row_type": policy.rows.type,
            "noise": policy.rows.noise,
            "key": None if key is None else key.fingerprint,
            "key_version": None if key is None else key.version,
            "carried": list(policy.rows.carry),
            "columns": [
                {
                    "column": column.name,
                    "source": column.source,
                    "domain": column.domain.describe(),
                    "mechanism": repr(column.mechanism),
                    "table": column.table,
                    "guarantee": str(column.mechanism.definition),
                    "budget": column.budget,
                    "new_values": costs[column.name].new_values,
                    "spent": costs[column.name].spent,
                    "cap": column.cap,
                    "remaining": costs[column.name].remaining,
                }
                for column in request.columns
            ],
            "row_spent": bill.row_spent,
            "row_cap": bill.row_cap,
            "history": kept,
        }
    )


def _draw(staged: Staged, columns: Sequence[Leaving], made: Path, ending: str, progress: Progress) -> None:
    tables = leave(staged, columns)
    first = next(tables)
    with open_sink(made, ending, first.schema) as sink:
        sink.write(first)
        for number, table in enumerate(tables, 2):
            sink.write(table)
            progress("drawing", number / staged.buckets)


def _hand_over(
    ledger: Ledger, policy: Policy, request: Request, key: NoiseKey | None, made: Path, files: tuple[Path, Path, Path]
) -> None:
    """Enter what is about to leave, and let it go, its statement first."""
    out, for_programs, for_people = files
    body: dict[str, Any] = {"event": "left", "job": request.job, "to": request.who, "file": out.name}
    body |= {"sha256": digest(made), "bytes": made.stat().st_size}
    with ledger.held():
        ledger.append(body)
        receipt = ledger.receipt()
    said = statements.state(
        request.columns,
        party=policy.party,
        to=request.who,
        purpose=request.purpose,
        job=request.job,
        noise=policy.rows.noise,
        key_version=None if key is None else key.version,
        carried=policy.rows.carry,
        digest=body["sha256"],
        receipt=receipt,
    )
    texts = (made.with_name("statement.json"), made.with_name("statement.txt"))
    texts[0].write_bytes(msgspec.json.format(as_json(said)) + b"\n")
    texts[1].write_text(statements.text(said), encoding="utf-8")
    with blaming(out):
        move_together([(texts[0], for_programs), (texts[1], for_people), (made, out)])
