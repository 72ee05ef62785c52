"""Who has been asked: no owner is asked twice, by this run or any later one.

It is the ledger of `veilboost.release`, with lines of its own: before a round's question goes out, one line says how
many owners get it, with what budgets, and names a file of their keyed hashes; afterwards one says what became of the
round. Owners who were asked are used up, whether they answered or not, and whether the round was kept or not.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from veilboost.errors import EvidenceError
from veilboost.privacy.budget import units
from veilboost.randomness import Keys, RowKeys, tag_order
from veilboost.release.history import Tags, check_file, check_newest, digest, match
from veilboost.release.ledger import Ledger

ASKED, ROUND = "asked", "round"


class Attendance:
    """Who is on an open ledger.

    >>> with tempfile.TemporaryDirectory() as folder, Ledger.create(Path(folder) / "owners.db") as ledger:
    ...     attendance = Attendance(ledger)
    ...     first, second = attendance.newcomers(np.array([7, 8, 7]), most=9), attendance.newcomers(["x"], most=0)
    ...     _ = attendance.charge(np.ones(2), {"job": "votes", "round": 1})
    ...     again = Attendance(ledger).newcomers(np.array([8, 9]), most=9)
    >>> int(first.sum()), second.tolist(), again.tolist()
    (2, [False], [False, True])
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        lines = ledger.lines()
        check_newest(ledger.folder, len(lines))
        self._files = [_checked(ledger.folder, line.number, line.body) for line in lines if line.body["event"] == ASKED]
        self._lines = len(lines)
        self._gathered: list[Tags] = []

    def newcomers(self, keys: Keys, *, most: int) -> NDArray[np.bool_]:
        """Return which of ``keys`` were never asked and are not gathered yet, and gather ``most`` of them."""
        tags = RowKeys.read(keys).tags(self._ledger.tag_key)
        order = tag_order(tags)
        ordered = tags[order]
        known = np.zeros(len(tags), dtype=np.bool_)
        known[1:] = (ordered[1:] == ordered[:-1]).all(axis=1)
        for earlier in self._earlier():
            known |= match(ordered, earlier) >= 0
        chosen = np.zeros(len(tags), dtype=np.bool_)
        chosen[np.sort(order[~known])[:most]] = True
        self._gathered.append(ordered[chosen[order]])
        return chosen

    def forget(self) -> None:
        """Let those go who were gathered: they are not asked."""
        self._gathered = []

    def _earlier(self) -> Iterator[Tags]:
        yield from self._gathered
        yield from map(_read, self._files)

    def charge(self, budgets: NDArray[np.float64], body: Mapping[str, Any]) -> int:
        """Write down that all gathered owners are asked, with their ``budgets``, and return the line's number."""
        gathered, self._gathered = np.concatenate(self._gathered), []
        ordered = gathered[tag_order(gathered)]
        levels, owners = np.unique(budgets, return_counts=True)
        with tempfile.TemporaryDirectory(dir=self._ledger.folder) as aside, self._ledger.held():
            if self._ledger.receipt().lines != self._lines:
                raise EvidenceError(f"{self._ledger.file}: another process has written to it since this one began")
            file = Path(aside) / "tags"
            _write(file, ordered)
            sha256, name = digest(file), self._ledger.keep(file)
            spent = [
                {"budget": units("epsilon", level), "owners": count}
                for level, count in zip(levels.tolist(), owners.tolist(), strict=True)
            ]
            history = {"file": name, "sha256": sha256}
            line = self._ledger.append(
                {"event": ASKED, **body, "owners": len(ordered), "spent_by": spent, "history": history}
            )
        self._files.append(self._ledger.folder / name)
        self._lines = line.number
        return line.number

    def outcome(self, body: Mapping[str, Any]) -> None:
        """Write down what became of a round."""
        with self._ledger.held():
            self._lines = self._ledger.append({"event": ROUND, **body}).number


def _checked(folder: Path, number: int, body: Mapping[str, Any]) -> Path:
    """Return the file of the owners that a line says were asked, which must be what was written."""
    file = folder / str(body["history"]["file"])
    check_file(file, body["history"]["sha256"], number)
    return file


def _write(file: Path, tags: Tags) -> None:
    batch = pa.RecordBatch.from_pydict({f"tag{i}": pa.array(np.ascontiguousarray(tags[:, i])) for i in (0, 1)})
    with pa.OSFile(str(file), "wb") as opened, ipc.new_file(opened, batch.schema) as writer:
        writer.write_batch(batch)


def _read(file: Path) -> Tags:
    with pa.OSFile(str(file)) as opened:
        batch = ipc.open_file(opened).get_batch(0)
        return np.column_stack([batch["tag0"].to_numpy(), batch["tag1"].to_numpy()])
