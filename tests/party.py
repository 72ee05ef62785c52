"""A party for tests: a folder with a noise key, a ledger and a policy, and what it releases from there."""

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from veilboost.cli.main import main
from veilboost.data import open_source
from veilboost.release import Ledger, Line, NoiseKey, Outcome, desensitise, load_key, load_policy, new_key

AGE = {"domain": 'kind = "integers", lower = 0, upper = 99, size = 20', "epsilon": 0.5, "name": "tight", "cap": 2.0}
COLOUR = {
    "domain": 'kind = "unordered", categories = ["red", "green", "blue"], missing = "code"',
    "epsilon": 1.0,
    "name": "grr",
    "cap": 2.5,
}
COLUMNS: Mapping[str, Mapping[str, Any]] = {"age": AGE, "colour": COLOUR}


def policy_text(
    *,
    rows: str = 'key = "id"\ntype = "integer"\ncarry = ["town"]',
    caps: str = "",
    grants: str = 'who = "shop"\npurposes = ["churn"]',
    columns: Mapping[str, Mapping[str, Any]] = COLUMNS,
    top: str = 'format = 1\nparty = "bank"',
    more: str = "",
) -> str:
    """Return a policy that is good unless the arguments make it bad."""
    parts = [top, f"[rows]\n{rows}", f"[caps]\n{caps}", f"[[grants]]\n{grants}"]
    for name, each in columns.items():
        parts.append(
            f'[columns."{name}"]\ndomain = {{ {each["domain"]} }}\n'
            f'mechanism = {{ name = "{each["name"]}", epsilon = {each["epsilon"]} }}\ncap = {each["cap"]}'
        )
    return "\n".join([*parts, more]) + "\n"


def people(count: int, *, first: int = 1) -> pa.Table:
    """Return a table of people whose values follow from their number."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "age": pa.array([(n * 37) % 120 for n in numbers], pa.int32()),
            "colour": pa.array([("red", "green", "blue", None)[n % 4] for n in numbers]),
            "town": pa.array([f"town {n % 7}" for n in numbers]),
        }
    )


@dataclass(frozen=True)
class Party:
    """A folder with key, ledger and policy."""

    folder: Path

    @classmethod
    def settled(cls, folder: Path, **policy: Any) -> "Party":
        """Make a party in ``folder`` under the policy of `policy_text`."""
        party = cls(folder)
        party.rule(**policy)
        new_key(folder / "noise.key")
        Ledger.create(folder / "ledger.db").close()
        return party

    def rule(self, name: str = "policy.toml", **policy: Any) -> Path:
        """Write a policy."""
        path = self.folder / name
        path.write_text(policy_text(**policy), encoding="utf-8")
        return path

    @property
    def key(self) -> NoiseKey:
        return load_key(self.folder / "noise.key")

    def lines(self) -> list[Line]:
        with Ledger(self.folder / "ledger.db") as ledger:
            return ledger.lines()

    def charges(self) -> list[dict[str, Any]]:
        """Return how many new values each release was charged for, by column."""
        return [
            {column["column"]: column["new_values"] for column in line.body["columns"]}
            for line in self.lines()
            if line.body["event"] == "charged"
        ]

    def write(self, table: pa.Table, name: str = "table.parquet") -> Path:
        """Write a table in the format of its name."""
        path = self.folder / name
        match path.suffix:
            case ".parquet":
                pq.write_table(table, path)
            case ".csv":
                pyarrow.csv.write_csv(table, path)
            case ".arrow":
                with ipc.new_file(path, table.schema) as file:
                    file.write_table(table)
        return path

    def release(
        self,
        table: pa.Table | Path,
        out: str = "out.parquet",
        *,
        policy: str = "policy.toml",
        columns: Sequence[str] | None = None,
        **options: Any,
    ) -> Outcome:
        """Release a table, and return what it did."""
        path = self.write(table) if isinstance(table, pa.Table) else table
        read = load_policy(self.folder / policy)
        request = read.permit("shop", "churn", options.pop("job", "test"), columns)
        return desensitise(open_source(str(path), read.dialect), self.folder / out, read, request, **options)

    def out(self, name: str = "out.parquet") -> pa.Table:
        """Read what has left."""
        return pq.read_table(self.folder / name)

    def left_over(self) -> set[str]:
        """Return every file and folder, except what a settled party has and history that the ledger names."""
        named = {line.body["history"]["file"] for line in self.lines() if line.body.get("history")}
        usual = {"policy.toml", "noise.key", "ledger.db", "ledger.db.rows"}
        inside = {path.name for path in (self.folder / "ledger.db.rows").iterdir()} - named
        return {path.name for path in self.folder.iterdir()} - usual | inside


def run(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line in this process, and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["veilboost", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    logger = logging.getLogger("veilboost")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    return int(str(ended.value.code))
