"""What a lead's plan and table come to: labels, own columns, ids, and the job."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data import open_source, read_whole
from veilboost.errors import DataError, SettingError, blaming
from veilboost.trees.settings import Task
from veilboost.vertical.alignment import Ids
from veilboost.vertical.job import Job, LeadTable
from veilboost.vertical.own_table import label_of, own_column, task_of, values_of, weight_of
from veilboost.vertical.plans import LeadPlan

Class = str | int | float | bool
_HELD_OUT = 0.1


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A lead's table, ready to be trained on; ``digest`` is the identity of job and table together."""

    table: LeadTable
    ids: Ids
    job: Job
    classes: Sequence[Class] | None
    digest: str


def prepared(plan: LeadPlan, name: str) -> Prepared:
    """Read the table of the lead ``name``, or say what is wrong with it."""
    read = read_whole(open_source(plan.table, plan.csv))
    with blaming(plan.table):
        ids = Ids.of(read, plan.id)
        task, classes, target = _target(plan, read)
        named = [each for each in (plan.id, plan.label, plan.weight) if each is not None]
        others = _others(read, [*named, *plan.leave_out])
        table = LeadTable(
            target=target,
            columns=[own_column(each, read[each], plan.boosting.backend) for each in others],
            weight=None if plan.weight is None else weight_of(read, plan.weight),
            held_out=_held_out(plan, len(target)),
        )
    job = Job(
        lead=name,
        name=plan.name,
        purpose=plan.purpose,
        boosting=plan.boosting.settings(task, len(classes) if classes and task == "multiclass" else None),
        thresholds=plan.thresholds,
        nominal=plan.nominal,
        bins=plan.bins,
        sharpen=plan.sharpens(task),
        columns={party: each.columns for party, each in plan.partners.items() if each.columns is not None},
    )
    return Prepared(table=table, ids=ids, job=job, classes=classes, digest=_digest(plan, ids, table))


def _target(plan: LeadPlan, table: pa.Table) -> tuple[Task, list[Class] | None, NDArray[np.float64]]:
    column = label_of(table, plan.label)
    task, y = task_of(plan.task, plan.label, column), values_of(column)
    if task == "regression":
        return "regression", None, y.astype(np.float64)
    classes, places = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise DataError(plan.label, "must have two classes or more", f"{len(classes)} class")
    return "binary" if len(classes) == 2 else "multiclass", classes.tolist(), places.astype(np.float64)


def _others(table: pa.Table, named: Sequence[str]) -> list[str]:
    for name in named:
        if name not in table.column_names:
            raise SettingError("leave_out", "must name columns of the table", name)
    return [name for name in table.column_names if name not in named]


def _held_out(plan: LeadPlan, rows: int) -> NDArray[np.bool_] | None:
    """Return which rows decide when to stop, if any do."""
    if plan.boosting.early_stopping is None:
        return None
    out = np.zeros(rows, dtype=bool)
    out[np.random.default_rng(plan.boosting.seed).permutation(rows)[: max(1, round(rows * _HELD_OUT))]] = True
    return out


def _digest(plan: LeadPlan, ids: Ids, table: LeadTable) -> str:
    found = hashlib.sha256(plan.digest.encode())
    found.update(ids.digest(b"", "", in_order=True))
    for each in _arrays(table):
        found.update(np.ascontiguousarray(each).data)
    return found.hexdigest()


def _arrays(table: LeadTable) -> Iterable[NDArray[Any]]:
    yield table.target
    if table.weight is not None:
        yield table.weight
    for column in table.columns:
        yield np.frombuffer(msgspec.json.encode([column.name, column.categories]), np.uint8)
        yield column.values
