"""A bank that leads, a shop and a club, and what is recorded of their jobs: every message before it is encrypted, every
byte on the wire, and what each keeps until it is done.
"""

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sites import free_port, write_csv

from certified import party
from party import policy_text
from relay import relay
from unpacking import unpacked
from veilboost.estimators.predictions import predict
from veilboost.release import Ledger, load_policy, new_key
from veilboost.vertical.folder import load
from veilboost.vertical.joining import join
from veilboost.vertical.leading import lead
from veilboost.vertical.plans import LeadPlan, PartnerPlan, PredictPlan, load_plan
from veilboost.vertical.steps import Steps
from veilboost.wire import TlsChannel, new_authority

ROWS = 300
JOB, PURPOSE = "scoring of march", "credit scoring"
PARTNERS = {"bookshop": ("spend", "visits", "town"), "chessclub": ("discounts", "returns")}
_DOMAINS = {
    "spend": 'kind = "numbers", lower = 0, upper = 2000, size = 20',
    "visits": 'kind = "integers", lower = 0, upper = 19',
    "discounts": 'kind = "numbers", lower = 0, upper = 1, size = 20',
    "returns": 'kind = "integers", lower = 0, upper = 19',
    "town": 'kind = "unordered", categories = ["Bergen", "Lagos", "Lima", "Oslo", "Rome"]',
}
_MEETING = """\
format = 1
name = "{job}"
purpose = "{purpose}"
id = "person"
keys = "bank"
listen = "127.0.0.1:{port}"
wait = 60.0
"""
_LEAD = """\
table = "bank.csv"
label = "ruined"
weight = "weight"
thresholds = "{thresholds}"
sharpen = false
[boosting]
trees = {trees}
depth = {depth}
threads = 1
[partners.bookshop]
[partners.chessclub]
"""
_PARTNER = """\
format = 1
lead = "bank"
address = "localhost:{port}"
policy = "{name}.toml"
table = "{name}.csv"
id = "person"
keys = "{name}"
wait = 60.0
"""


def people(seed: int) -> dict[str, pa.Table]:
    """Return what each knows of the same people; from another seed everything but who they are is another."""
    chance = np.random.default_rng(seed)
    ids = [f"person-{hashlib.sha256(b'%d' % n).hexdigest()[:12]}" for n in range(ROWS)]
    spend, care = np.exp(chance.normal(6, 0.8, ROWS)).round(2), chance.normal(0, 1, ROWS)
    towns = np.array(["Bergen", "Lagos", "Lima", "Oslo", "Rome"])[chance.integers(0, 5, ROWS)]
    ruined = (care + np.log(spend) / 3 + chance.normal(0, 0.5, ROWS) > 2).astype(np.int64)
    bank = {"income": chance.normal(3000, 700, ROWS).round(2), "weight": chance.random(ROWS).round(4), "ruined": ruined}
    shop = {"spend": spend, "visits": chance.poisson(4, ROWS), "town": towns}
    club = {"discounts": (1 / (1 + np.exp(care))).round(4), "returns": chance.poisson(np.exp(1 - care))}
    return {
        name: pa.table({"person": ids, **columns})
        for name, columns in (("bank", bank), ("bookshop", shop), ("chessclub", club))
    }


@dataclass(frozen=True)
class Said:
    """One message, before it is encrypted."""

    sender: str
    receiver: str
    kind: str
    body: bytes


@dataclass
class Recording:
    """One job: where, with which tables, what was said, and what went each way over the wire of each partner."""

    folder: Path
    tables: dict[str, pa.Table]
    said: list[Said] = field(default_factory=list)
    wire: dict[str, list[bytes]] = field(default_factory=dict)
    asked: Any = None

    def between(self, sender: str, receiver: str) -> list[tuple[str, bytes]]:
        return [(each.kind, each.body) for each in self.said if (each.sender, each.receiver) == (sender, receiver)]

    def message(self, sender: str, receiver: str, kind: str) -> Any:
        """Return the one message of a kind, read by hand."""
        (body,) = [body for name, body in self.between(sender, receiver) if name.partition("/")[0] == kind]
        return msgspec.msgpack.decode(body)

    def columns(self, partner: str) -> dict[str, Any]:
        sent = [body for kind, body in self.between(partner, "bank") if kind.startswith("Sent/")]
        return {each["name"]: each for each in map(msgspec.msgpack.decode, sent)}

    def spoken(self, partner: str) -> bytes:
        """Return every byte between a partner and the lead, and packed columns in every way they could be written."""
        bodies = [body for ends in ((partner, "bank"), ("bank", partner)) for _, body in self.between(*ends)]
        bodies += [text for each in self.columns(partner).values() for text in written(unpacked(each["values"]))]
        return b"\0".join(bodies)

    def kept(self, name: str) -> Path:
        """Return a copy of what a party kept when its part was done."""
        return self.folder / f"kept-{name}"

    def codes(self, partner: str) -> dict[str, NDArray[Any]]:
        """Return a partner's codes before noise."""
        table, policy = self.tables[partner], load_policy(self.folder / f"{partner}.toml")
        return {name: each.domain.encode(table[name].to_pylist()).codes for name, each in policy.columns.items()}


def written(values: NDArray[Any]) -> list[bytes]:
    """Return the ways in which a column of whole numbers could be written."""
    return [values.astype(kind).tobytes() for kind in ("<u1", "<u2", "<u4", "<i8", "<f8", "<f4")]


def settled(folder: Path) -> Path:
    """Give all three their keys and ledgers, which every recorded job begins with: so noise is the same in all."""
    by = new_authority(folder / "authority", "consortium")
    for name in ("bank", *PARTNERS):
        party(by, folder / name, name)
    for name in PARTNERS:
        new_key(folder / f"{name}.key")
        Ledger.create(folder / f"{name}.db").close()
    return folder


def recorded(
    settled: Path,
    folder: Path,
    tables: dict[str, pa.Table],
    *,
    thresholds: str = "up-front",
    epsilon: float = 1.0,
    fixed: bool = True,
    looks_first: bool = False,
    grown: tuple[int, int] = (4, 3),
    model: Path | None = None,
) -> Recording:
    """Do a job of all three over TLS and a relay, or predict with a ``model``, and return what was recorded.

    ``fixed`` puts known bytes in the place of fresh ones, for nonces and names alone: two jobs can then be compared.
    """
    shutil.copytree(settled, folder)
    port, found = free_port(), Recording(folder, tables)
    meeting = _MEETING.format(job=JOB, purpose=PURPOSE, port=port)
    (folder / "job.toml").write_text(meeting + _LEAD.format(thresholds=thresholds, trees=grown[0], depth=grown[1]))
    (folder / "predict.toml").write_text(meeting)
    for name, table in tables.items():
        write_csv(table, folder / f"{name}.csv")
    for name, columns in PARTNERS.items():
        (folder / f"{name}.toml").write_text(_policy(name, columns, epsilon))
    with ExitStack() as opened:
        opened.enter_context(_watched(found))
        if fixed:
            opened.enter_context(_known())
        pool = opened.enter_context(ThreadPoolExecutor(1, thread_name_prefix="bank"))
        listening = threading.Event()
        leading = pool.submit(_led, folder, model, lambda _: listening.set())
        assert listening.wait(60)
        names = PARTNERS if model is None else read_of(model)
        parties = [_partner(found, name, port, looks_first and name == "bookshop", opened) for name in names]
        for each in parties:
            each()
        leading.result(120)
    return found


def read_of(model: Path) -> dict[str, set[str]]:
    """Return the columns of partners that some tree of a model compares."""
    saved, found = load(model), dict[str, set[str]]()
    splits = saved.model.importance("weight")
    for each, name in zip(saved.statement.features, saved.model.features, strict=True):
        if splits[name] and each.party != "bank":
            found.setdefault(each.party, set()).add(each.column)
    return found


def _led(folder: Path, model: Path | None, tell: Callable[[str], None]) -> Any:
    if model is None:
        return lead(load_plan(folder / "job.toml", LeadPlan), tell=tell)
    plan = load_plan(folder / "predict.toml", PredictPlan)
    return predict(model, str(folder / "bank.csv"), folder / "predicted.csv", partners=plan, tell=tell)


def _partner(found: Recording, name: str, port: int, looks: bool, opened: ExitStack) -> Callable[[], Any]:
    between = opened.enter_context(relay(("127.0.0.1", port)))
    plan = found.folder / f"{name}-plan.toml"
    plan.write_text(_PARTNER.format(name=name, port=between.address[1]))
    pool = opened.enter_context(ThreadPoolExecutor(1, thread_name_prefix=name))
    looking = pool.submit(join, load_plan(plan, PartnerPlan), dry_run=True) if looks else None
    joining = pool.submit(join, load_plan(plan, PartnerPlan))

    def ended() -> None:
        if looking is not None:
            found.asked = looking.result(120)
        joining.result(120)
        found.wire[name] = [bytes(way) for way in between.ways]

    return ended


def _policy(name: str, columns: Sequence[str], epsilon: float) -> str:
    kinds = {each: "grr" if each == "town" else "tight" for each in columns}
    return policy_text(
        top=f'format = 1\nparty = "{name}"\nnoise_key = "{name}.key"\nledger = "{name}.db"',
        rows='key = "person"\ntype = "text"',
        grants=f'who = "bank"\npurposes = ["{PURPOSE}"]',
        columns={
            each: {"domain": _DOMAINS[each], "epsilon": epsilon, "name": kind, "cap": 987.654}
            for each, kind in kinds.items()
        },
    )


@contextmanager
def _watched(found: Recording) -> Iterator[None]:
    """Write down what each party says, and copy what it keeps before it forgets."""
    push, finish = TlsChannel._push, Steps.finish

    def pushed(self: TlsChannel, kind: str, body: bytes, timeout: float) -> None:
        sender = threading.current_thread().name.partition("_")[0] if self.peer == "bank" else "bank"
        found.said.append(Said(sender, self.peer, kind, bytes(body)))
        push(self, kind, body, timeout)

    def finished(self: Steps) -> None:
        name = {"job": "bank", "predict": "bank"}.get(self.folder.stem, self.folder.stem.partition("-")[0])
        shutil.copytree(self.folder, found.kept(name))
        finish(self)

    with patch.object(TlsChannel, "_push", pushed), patch.object(Steps, "finish", finished):
        yield


@contextmanager
def _known() -> Iterator[None]:
    fresh = SimpleNamespace(token_bytes=bytes, token_hex=lambda count: "00" * count)
    with patch("veilboost.vertical.alignment.secrets", fresh), patch("veilboost.vertical.partners.secrets", fresh):
        yield
