"""Parties that talk over recorded lines, and the people whom they know."""

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from veilboost.data import MemorySource
from veilboost.domain import Domain
from veilboost.mechanisms import Duchi, GlobalMap, Mechanism, RandomizedResponse, TightMap, UnaryEncoding
from veilboost.randomness import ReplayableBits
from veilboost.release import Column, Door, SimulationDoor
from veilboost.trees import BoostingSettings
from veilboost.vertical import Job, LeadTable, Own, Trained, opboost
from veilboost.vertical.sent import Sent
from veilboost.wire import Channel, MemoryChannel, Message, decode, kind_of

ROWS = 300
NO_NOISE = 40.0
"""A budget under which a value keeps its code, but for chances that never come."""


@dataclass(frozen=True)
class Said:
    """One message on a line."""

    sender: str
    receiver: str
    kind: str
    body: bytes


Change = Callable[[Message], Message]


class Recorded(MemoryChannel):
    """An end of a line that writes down what it sends, and may change it."""

    def __init__(self, owner: str, *ends: Any, record: list[Said], change: Change) -> None:
        super().__init__(*ends)
        self._owner, self._record, self._change = owner, record, change

    def send(self, message: Message, timeout: float = 60.0) -> None:
        super().send(self._change(message), timeout)

    def _push(self, kind: str, body: bytes, timeout: float) -> None:
        self._record.append(Said(self._owner, self.peer, kind, body))
        super()._push(kind, body, timeout)


@dataclass
class Talk:
    """How a job went: what the lead and each partner ended with, a result or an error, and what was said."""

    lead: Any
    partners: dict[str, Any]
    said: list[Said] = field(default_factory=list)

    def bodies(self, sender: str, receiver: str) -> list[tuple[str, bytes]]:
        return [(each.kind, each.body) for each in self.said if (each.sender, each.receiver) == (sender, receiver)]

    def columns(self, party: str) -> list[Sent]:
        return [decode(body, Sent) for kind, body in self.bodies(party, "lead") if kind == kind_of(Sent)]


def same(message: Message) -> Message:
    return message


def talk(
    lead: Callable[[Sequence[Channel]], Any],
    partners: Mapping[str, Callable[[Channel], Any]],
    changes: Mapping[str, Change] | None = None,
) -> Talk:
    """Run all parties, each in a thread of its own, over recorded lines."""
    record: list[Said] = []
    changes = changes or {}
    ours, theirs = [], {}
    for party in partners:
        there, back = queue.Queue[Any](), queue.Queue[Any]()
        ours.append(Recorded("lead", party, there, back, record=record, change=changes.get("lead", same)))
        theirs[party] = Recorded(party, "lead", back, there, record=record, change=changes.get(party, same))
    with ThreadPoolExecutor(len(partners) + 1) as pool:
        running = {party: pool.submit(run, theirs[party]) for party, run in partners.items()}
        leading = pool.submit(lead, ours)
        ended = {party: each.exception(60) or each.result() for party, each in running.items()}
        return Talk(leading.exception(60) or leading.result(), ended, record)


def day(number: int) -> date:
    return date(2020, 1, 1) + timedelta(days=number)


def people(seed: int = 0, rows: int = ROWS) -> pa.Table:
    """Return people with columns of every kind; some values are missing."""
    chance = np.random.default_rng(seed)
    missing = chance.random(rows) < 0.1
    return pa.table(
        {
            "spend": pa.array(chance.normal(50, 25, rows)),
            "age": pa.array(chance.integers(0, 100, rows), mask=missing),
            "colour": pa.array(np.array(["red", "green", "blue"])[chance.integers(0, 3, rows)], mask=missing[::-1]),
            "since": pa.array([day(n) for n in chance.integers(0, 1000, rows).tolist()]),
            "size": pa.array(np.array(["small", "middle", "large"])[chance.integers(0, 3, rows)]),
            "member": pa.array(chance.random(rows) < 0.5),
            "score": pa.array(chance.integers(0, 10, rows)),
            "own": pa.array(np.where(chance.random(rows) < 0.1, np.nan, chance.normal(0, 1, rows))),
        }
    )


DOMAINS = {
    "spend": Domain.numbers(0, 100, size=25, column="spend"),
    "age": Domain.integers(0, 99, size=20, missing="code", column="age"),
    "colour": Domain.unordered(["blue", "green", "red"], missing="code", column="colour"),
    "since": Domain.dates(day(0), day(1000), size=30, column="since"),
    "size": Domain.ordered(["small", "middle", "large"], column="size"),
    "member": Domain.booleans(column="member"),
    "score": Domain.integers(0, 9, column="score"),
}
HELD = {"bank": ["spend", "age"], "shop": ["colour", "since"], "clinic": ["size", "score"], "town": ["member"]}


def mechanism(name: str, epsilon: float) -> Mechanism:
    size = DOMAINS[name].size
    match name:
        case "colour":
            return RandomizedResponse(epsilon=epsilon, size=size)
        case "member":
            return UnaryEncoding(epsilon=2 * epsilon, size=size)
        case "since":
            return GlobalMap(epsilon=epsilon, size=size)
        case "score" if epsilon < NO_NOISE:
            return Duchi(epsilon=epsilon, size=size)
        case _:
            return TightMap(epsilon=epsilon, size=size)


def columns(party: str, epsilon: float) -> list[Column]:
    return [Column(name, f"{party}/{name}", DOMAINS[name], mechanism(name, epsilon), None) for name in HELD[party]]


def door(party: str, epsilon: float, table: pa.Table, seed: int = 1) -> SimulationDoor:
    source = MemorySource(table, name=f"the table of {party}")
    return SimulationDoor(party, columns(party, epsilon), source, ReplayableBits(seed=seed + sum(party.encode())))


def label(table: pa.Table, task: str = "binary") -> Any:
    """Return what is to be predicted: it follows from all columns, and chance."""
    first = np.nan_to_num(table["age"].to_numpy(), nan=50) / 25 + table["spend"].to_numpy() / 25
    second = (np.array(table["size"].to_pylist()) == "large") * 1.0 + (np.array(table["colour"].to_pylist()) == "red")
    number = first + second + table["member"].to_numpy() + np.random.default_rng(5).normal(0, 0.5, len(first))
    match task:
        case "binary":
            return (number > np.median(number)).astype(float)
        case "multiclass":
            return np.digitize(number, np.quantile(number, [0.3, 0.6])).astype(float)
        case _:
            return number


def job(parties: Sequence[str], *, task: Any = "binary", backend: Any = "xgboost", **settings: Any) -> Job:
    classes = 3 if task == "multiclass" else None
    boosting = BoostingSettings(task=task, backend=backend, n_trees=12, max_depth=4, threads=1, classes=classes)
    return replace(
        Job(lead="lead", name="job", purpose="test", boosting=boosting, columns={each: HELD[each] for each in parties}),
        **settings,
    )


def train(
    made: Job,
    *,
    epsilon: float = 1.0,
    table: pa.Table | None = None,
    target: Any = None,
    weight: Any = None,
    held_out: Any = None,
    changes: Mapping[str, Change] | None = None,
    doors: Mapping[str, Door] | None = None,
) -> Talk:
    """Run OpBoost between a lead, who has the column ``own``, and the partners of the job."""
    table = people() if table is None else table
    target = label(table, made.boosting.task) if target is None else target
    own = [Own("own", table["own"].to_numpy())]
    held = LeadTable(target=target, columns=own, weight=weight, held_out=held_out)
    used = doors or {party: door(party, epsilon, table) for party in made.columns or ()}
    return talk(
        lambda channels: opboost.lead(channels, held, made),
        {party: partial(opboost.partner, door=each) for party, each in used.items()},
        changes,
    )


def trained(found: Talk) -> Trained:
    """Return what the lead ended with, which must be no error."""
    if isinstance(found.lead, Exception):
        raise found.lead
    assert isinstance(found.lead, Trained)
    return found.lead
