"""A bank and a shop on this machine, each with a table, keys and a file of its own: real processes do a job.

Run as a program it is the command line, and writes down when each thing was done, and how long it had computed by then.
"""

import logging
import runpy
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from socket import create_server

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from veilboost.benchmarks.process import peak_memory
from veilboost.domain import Domain
from veilboost.errors import UsageError
from veilboost.release import Ledger, new_key
from veilboost.wire import ask, install, new_authority

SIZE = 100
_PIECE = 1 << 18
_PATIENCE = 300
_POLICY = """format = 1
party = "shop"
[rows]
key = "id"
type = "integer"
[[grants]]
who = "bank"
purposes = ["measuring"]
"""
_COLUMN = """[columns.c{i}]
domain = {{ kind = "numbers", lower = 0, upper = 100, size = {size} }}
mechanism = {{ name = "tight", epsilon = 0.5 }}
cap = 1000.0
"""
_JOB = """format = 1
name = "bench"
purpose = "measuring"
table = "bank.parquet"
label = "label"
id = "id"
keys = "bank"
listen = "127.0.0.1:{port}"
wait = {wait}
[boosting]
trees = {trees}
depth = {depth}
threads = {threads}
[partners.shop]
"""
_PARTNER = """format = 1
lead = "bank"
address = "localhost:{port}"
policy = "shop.toml"
table = "shop.parquet"
id = "id"
keys = "shop"
wait = {wait}
"""


@dataclass(frozen=True)
class Shape:
    """How many rows, and how many columns each side has."""

    rows: int
    own: int
    partner: int


@dataclass(frozen=True)
class Spans:
    """How long one job took, part by part, in seconds, and the most memory that its partner held, in MB.

    ``processor`` is what both processes together computed for the job, on all threads: waiting does not count.
    """

    start: float
    keys: float
    alignment: float
    job: float
    processor: float
    release: float
    training: float
    partner_memory: float


@dataclass(frozen=True)
class Sites:
    """Both parties in one folder; each job there is under a new ledger, so every value is charged."""

    folder: Path
    shape: Shape

    @classmethod
    def settled(cls, folder: Path, shape: Shape, *, trees: int, depth: int, threads: int) -> "Sites":
        """Give both their table, keys and plans."""
        folder.mkdir()
        _write_tables(folder, shape)
        by = new_authority(folder / "authority", "consortium")
        for name in ("bank", "shop"):
            ask(folder / name, name, ["localhost"])
            by.sign(folder / name / "request.pem", folder / name / "signed.pem", 30)
            install(folder / name, folder / name / "signed.pem")
        new_key(folder / "noise.key")
        columns = "".join(_COLUMN.format(i=i, size=SIZE) for i in range(shape.partner))
        (folder / "shop.toml").write_text(_POLICY + columns)
        plan = {"port": _free_port(), "wait": _PATIENCE, "trees": trees, "depth": depth, "threads": threads}
        (folder / "job.toml").write_text(_JOB.format(**plan))
        (folder / "partner.toml").write_text(_PARTNER.format(**plan))
        return cls(folder, shape)

    def pooled(self) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Return all columns of both as codes in one matrix, and the label."""
        bank, shop = (pq.read_table(self.folder / f"{name}.parquet") for name in ("bank", "shop"))
        codes = [bank[f"a{i}"].to_numpy() for i in range(self.shape.own)]
        domain = Domain.numbers(0, 100, size=SIZE)
        codes += [domain.encode(shop[f"c{i}"].to_numpy()).codes for i in range(self.shape.partner)]
        return np.column_stack(codes).astype(np.uint8), bank["label"].to_numpy().astype(np.float64)

    def job(self) -> Spans:
        """Let both do the job from the start, and return how long it took."""
        for log in self.folder.glob("*.log"):
            log.unlink()
        for old in self.folder.glob("ledger.db*"):
            old.rename(self.folder / f"old-{time.monotonic_ns()}")
        Ledger.create(self.folder / "ledger.db").close()
        begin = time.time()
        running = self._started("bank", "lead", "job.toml"), self._started("shop", "join", "partner.toml")
        try:
            memory = peak_memory(running[1])
            peak_memory(running[0])
        except subprocess.CalledProcessError as error:
            raise UsageError(f"a job could not be measured: {error}") from None
        finally:
            for each in running:
                if each.returncode is None:
                    each.kill()
                    each.wait()
        return self._spans(begin, memory)

    def _spans(self, begin: float, memory: float) -> Spans:
        bank, shop = _read(self.folder / "bank.log"), _read(self.folder / "shop.log")
        reached, known = shop["reached bank"].at, shop["bank has shown its certificate, and taken ours"].at
        first, second = bank["job.state: 1-aligned"], shop["partner.state: aligned"]
        last, released, aligned = bank["wrote model"], shop["partner.state: released"], min(first.at, second.at)
        return Spans(
            start=reached - begin,
            keys=known - reached,
            alignment=aligned - known,
            job=last.at - aligned,
            processor=last.computed - first.computed + released.computed - second.computed,
            release=released.at - aligned,
            training=bank["job.state: trained"].at - bank["job.state: 1-left"].at,
            partner_memory=memory,
        )

    def _started(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        program = [sys.executable, "-m", __name__, f"{name}.log", *command, "--json"]
        return subprocess.Popen(program, cwd=self.folder, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command


def _write_tables(folder: Path, shape: Shape) -> None:
    """Write both tables a piece at a time: the same ids in the same order, and a label that hangs on every column."""
    chance = np.random.default_rng()
    own = [f"a{i}" for i in range(shape.own)]
    private = [f"c{i}" for i in range(shape.partner)]
    bank = pa.schema([("id", pa.int64()), ("label", pa.int64()), *((name, pa.int64()) for name in own)])
    shop = pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in private)])
    with pq.ParquetWriter(folder / "bank.parquet", bank) as a, pq.ParquetWriter(folder / "shop.parquet", shop) as b:
        for first in range(0, shape.rows, _PIECE):
            ids = np.arange(first, min(first + _PIECE, shape.rows))
            raw = chance.normal(50, 20, (shape.own + shape.partner, len(ids)))
            label = ((raw - 50).sum(axis=0) + chance.normal(0, 80, len(ids)) > 0).astype(np.int64)
            codes = raw[: shape.own].round().clip(1, SIZE).astype(np.int64)
            a.write_table(pa.table([ids, label, *codes], schema=bank))
            b.write_table(pa.table([ids, *raw[shape.own :].round(2)], schema=shop))


@dataclass(frozen=True)
class _Moment:
    at: float
    computed: float


def _read(log: Path) -> dict[str, _Moment]:
    """Return when each line of a log was last written."""
    lines = [line.split(" ", 2) for line in log.read_text(encoding="utf-8").splitlines()]
    return {said: _Moment(float(at), float(computed)) for at, computed, said in lines}


def _free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _timed(record: logging.LogRecord) -> bool:
    record.computed = time.process_time()
    return True


def _keep_time(log: str) -> None:
    handler = logging.FileHandler(log, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(created).6f %(computed).6f %(message)s"))
    handler.addFilter(_timed)
    logging.getLogger("veilboost").addHandler(handler)


if __name__ == "__main__":
    _keep_time(sys.argv.pop(1))
    runpy.run_module("veilboost", run_name="__main__")
