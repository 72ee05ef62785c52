"""A generated bank and a shop that know the same people, as a table to try things on."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from veilboost.domain import Domain
from veilboost.errors import FileError
from veilboost.files import check_writable, write_whole

TOWNS = ("Bergen", "Lagos", "Lima", "Oslo", "Rome")
SHOP = {
    "spend": Domain.numbers(0, 2000, size=20, column="spend"),
    "visits": Domain.integers(0, 19, column="visits"),
    "discounts": Domain.numbers(0, 1, size=20, column="discounts"),
    "returns": Domain.integers(0, 19, column="returns"),
    "town": Domain.unordered(TOWNS, column="town"),
}
"""Bounds that the shop could write down without looking: euros a month, visits, share of the price, goods, towns."""

_POLICY = """\
# What the shop lets out of shop.csv: bounds, sizes and categories are what anyone could know without having seen it.
format = 1
party = "shop"
noise_key = "noise.key"           # veilboost keys noise new --file noise.key
ledger = "ledger.db"              # veilboost ledger new ledger.db

[rows]
key = "id"
type = "integer"
carry = ["id"]                    # the bank joins by it

[[grants]]
who = "bank"
purposes = ["default risk"]

[columns.spend]
domain = { kind = "numbers", lower = 0, upper = 2000, size = 20 }
mechanism = { name = "tight", epsilon = 0.4 }
cap = 0.8

[columns.visits]
domain = { kind = "integers", lower = 0, upper = 19 }
mechanism = { name = "tight", epsilon = 0.4 }
cap = 0.8

[columns.discounts]
domain = { kind = "numbers", lower = 0, upper = 1, size = 20 }
mechanism = { name = "tight", epsilon = 0.4 }
cap = 0.8

[columns.returns]
domain = { kind = "integers", lower = 0, upper = 19 }
mechanism = { name = "tight", epsilon = 0.4 }
cap = 0.8

[columns.town]
domain = { kind = "unordered", categories = ["Bergen", "Lagos", "Lima", "Oslo", "Rome"] }
mechanism = { name = "grr", epsilon = 2.0 }
cap = 4.0
"""


@dataclass(frozen=True)
class Example:
    """The same people at both: ``bank`` with the label ``default``, and ``shop``."""

    bank: pa.Table
    shop: pa.Table

    @property
    def joined(self) -> pa.Table:
        """All columns but the label, of the same people."""
        table = self.bank.drop_columns(["default"])
        for name in SHOP:
            table = table.append_column(name, self.shop[name])
        return table.drop_columns(["id"])

    @property
    def label(self) -> NDArray[Any]:
        """Whether each person failed to pay."""
        found: NDArray[Any] = self.bank["default"].to_numpy()
        return found


def bank_and_shop(rows: int, seed: int = 1) -> Example:
    """Return ``rows`` people; what the shop knows tells the bank much that it does not know itself."""
    chance = np.random.default_rng(seed)
    wealth, care = chance.normal(0, 1, (2, rows))
    income = np.exp(7.8 + 0.4 * wealth + 0.2 * chance.normal(0, 1, rows)).round(2)
    spend = np.exp(5.5 + 0.5 * wealth + 0.5 * chance.normal(0, 1, rows)).round(2)
    discounts = 1 / (1 + np.exp(0.5 + wealth - 0.5 * chance.normal(0, 1, rows)))
    returns = chance.poisson(2.5 * np.exp(-0.9 * care))
    used = 1 / (1 + np.exp(0.6 * care + 0.4 * wealth + chance.normal(0, 1, rows)))
    town = chance.integers(0, len(TOWNS), rows)
    odds = -1.0 - wealth - 1.6 * care + 0.8 * (town == TOWNS.index("Rome"))
    ids = np.arange(1, rows + 1)
    bank = {
        "id": ids,
        "income": income,
        "age": chance.integers(18, 90, rows),
        "used": used.round(3),
        "default": (chance.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64),
    }
    shop = {
        "id": ids,
        "spend": spend,
        "visits": chance.poisson(4 * np.exp(0.2 * wealth)),
        "discounts": discounts.round(3),
        "returns": returns,
        "town": [TOWNS[place] for place in town.tolist()],
    }
    return Example(pa.table(bank), pa.table(shop))


def write_example(folder: Path, rows: int = 20_000) -> list[Path]:
    """Write the bank's table, the shop's table and the shop's policy into ``folder``, and return the files."""
    example = bank_and_shop(rows)
    texts = {"bank.csv": _csv(example.bank), "shop.csv": _csv(example.shop), "shop.toml": _POLICY}
    files = [folder / name for name in texts]
    for file in files:
        if file.exists():
            raise FileError(file, "is there already")
    check_writable(*files)
    for file, text in zip(files, texts.values(), strict=True):
        write_whole(file, text)
    return files


def _csv(table: pa.Table) -> str:
    text = io.BytesIO()
    csv.write_csv(table, text)
    return text.getvalue().decode()
