"""What the OpBoost paper trains models on: raw columns, the same as codes, and who holds which."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data.public import public_table
from veilboost.studies.public import codes_of

ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "hours-per-week")
"""The paper counts four numbers and does not name them; capital gains and losses stay with the lead here."""
_LABELS = {
    "Adult": ("adult", "income"),
    "Pen-digits": ("pendigits", "class"),
    "Powerplant": ("powerplant", "PE"),
    "CASP": ("casp", "RMSD"),
}


@dataclass(frozen=True)
class Table:
    """One public table: ``private`` names the numbers, which a partner holds; the other columns are the lead's."""

    name: str
    task: Literal["classification", "regression"]
    raw: pa.Table
    coded: pa.Table
    private: tuple[str, ...]
    label: NDArray[Any]
    train: NDArray[np.bool_] | None
    """Which rows the publisher set aside for training, if so."""

    def split(self, repeat: int, rows: int | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which rows train and which test: the publisher's, or four fifths and one fifth at random."""
        chance = np.random.default_rng(repeat)
        if self.train is None:
            order = chance.permutation(len(self.label))
            train, test = np.split(order, [len(order) * 4 // 5])
        else:
            train, test = np.flatnonzero(self.train), np.flatnonzero(~self.train)
            train = chance.permutation(train)
        return train[:rows], test


def load(name: str, size: int) -> Table:
    """Return "Adult", "Pen-digits", "Powerplant" or "CASP", its numbers also as codes from 1 to ``size``."""
    file, label = _LABELS[name]
    table = public_table(file)
    columns = {each: _plain(table, each) for each in table.column_names if each not in (label, "split")}
    private = ADULT_NUMBERS if name == "Adult" else tuple(columns)
    raw = {each: values.astype(np.float64) if each in private else values for each, values in columns.items()}
    split = _plain(table, "split") == "train" if "split" in table.column_names else None
    return Table(
        name=name,
        task="regression" if name in ("Powerplant", "CASP") else "classification",
        raw=pa.table(raw),
        coded=pa.table(raw | {each: codes_of(columns[each], size).astype(np.int64) for each in private}),
        private=private,
        label=_plain(table, label),
        train=split,
    )


def _plain(table: pa.Table, name: str) -> NDArray[Any]:
    return np.asarray(table[name].to_pylist() if pa.types.is_dictionary(table[name].type) else table[name].to_numpy())
