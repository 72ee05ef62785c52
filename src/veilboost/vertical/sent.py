"""One column as it travels, and what makes it another than was agreed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veilboost.wire import Array, Message, Values
from veilboost.wire.packing import counted

Category = str | int | bool
Unit = Literal["number", "days", "microseconds", "place"]
Along = Literal["cuts", "nothing", "raw"]
"""What travels with ranks: for a model the raw values between them, unless these are to be asked for; for samples the
raw value of each."""

_WITHIN: Mapping[Unit, float] = {"days": 2.0**31, "microseconds": 2.0**63}


class Sent(Message, frozen=True, kw_only=True):
    """One column as it travels: ranks, places in a list of categories (both with 0 for missing), or a bit for each.

    ``count`` is the number of ranks, or of unordered categories. ``cuts`` are in raw units, one fewer than ranks, and
    ``codes`` the noisy code of each rank, unless they are to be asked for; of samples there is ``raw`` instead, the raw
    value of each rank. Ordered text is in places in ``categories``, from 0. A category that stands for missing values,
    as bits may have one, is None. ``impute`` is what a missing value is read as, if it is.
    """

    LARGEST = 1 << 32

    name: str
    form: Literal["ranks", "categories", "bits"]
    count: int
    values: Values
    unit: Unit = "number"
    cuts: Array | None = None
    codes: Array | None = None
    raw: Array | None = None
    categories: list[Category | None] | None = None
    impute: float | None = None


@dataclass(frozen=True)
class Opened:
    """A column that is as it was agreed, and its values; bits as one row for each row of the table."""

    sent: Sent
    values: NDArray[Any]


def opened(sent: Sent, rows: int, along: Along) -> Opened:
    """Unpack a column; raises ValueError with how it breaks what was agreed, if it does."""
    if sent.count < 0 or np.dtype(sent.values.dtype).kind != "u":
        raise ValueError("is not in unsigned whole numbers")
    if sent.form == "bits" and (sent.values.is_packed or sent.values.dtype != "|u1"):
        raise ValueError("is not in unsigned whole numbers, eight bits in each")
    values = sent.values.read(-(-rows * sent.count // 8) if sent.form == "bits" else rows)
    problem = _misfit(sent, values, along)
    if problem:
        raise ValueError(problem)
    if sent.form == "bits":
        values = np.unpackbits(values, count=rows * sent.count).reshape(rows, -1)
    return Opened(sent, values)


def _misfit(sent: Sent, values: NDArray[Any], along: Along) -> str | None:
    if sent.form != "bits" and values.max(initial=0) > sent.count:
        return f"has a value above {sent.count}"
    if sent.form == "ranks":
        return _misfit_of_ranks(sent, values) or _misfit_of_company(sent, along)
    if _company(sent) or sent.impute is not None or sent.unit != "number":
        return "has categories, and says how to compare them"
    return _misfit_of_categories(sent.categories, sent.count, gap=sent.form == "bits")


def _misfit_of_ranks(sent: Sent, values: NDArray[Any]) -> str | None:
    if sent.count > len(values) or not counted(values, sent.count + 1)[1:].all():
        return "leaves out a rank"
    if sent.impute is not None and not (np.isfinite(sent.impute) and values.all()):
        return "has missing values, and says that it has none"
    if (sent.categories is not None) != (sent.unit == "place"):
        return "does not say what its places are"
    return None if sent.categories is None else _misfit_of_categories(sent.categories, len(sent.categories), gap=False)


def _company(sent: Sent) -> set[str]:
    """Return what travels with the values of a column."""
    return {name for name in ("cuts", "codes", "raw") if getattr(sent, name) is not None}


def _misfit_of_company(sent: Sent, along: Along) -> str | None:
    match along:
        case "cuts":
            return "has raw values that were not asked for" if sent.raw is not None else _misfit_of_cuts(sent)
        case "raw":
            return "has cuts that were not asked for" if _company(sent) - {"raw"} else _misfit_of_raw(sent)
        case _:
            return "has cuts that were not asked for" if _company(sent) else None


def _misfit_of_raw(sent: Sent) -> str | None:
    """Return what is wrong with the raw values of ranks, if anything is: they rise, and are what their unit says."""
    raw = np.empty(0) if sent.raw is None else sent.raw.read()
    if sent.raw is None or raw.dtype != np.float64 or len(raw) != sent.count:
        return "must have one raw value for each rank"
    if not rising(raw):
        return "has raw values that do not rise"
    if sent.unit != "number" and not (raw == np.rint(raw)).all():
        return f"has raw values in fractions of {sent.unit}"
    if sent.unit == "place":
        return None if not len(raw) or 0 <= raw[0] <= raw[-1] < len(sent.categories or ()) else "has no such places"
    return "has times that there are not" if (np.abs(raw) >= _WITHIN.get(sent.unit, np.inf)).any() else None


def _misfit_of_cuts(sent: Sent) -> str | None:
    if sent.cuts is None or sent.codes is None:
        return "has no cuts"
    cuts, codes = sent.cuts.read(), sent.codes.read()
    if codes.dtype != np.int64 or len(codes) != sent.count or (np.diff(codes) <= 0).any():
        return "must have one code for each rank, and they must rise"
    if cuts.dtype != np.float64 or len(cuts) != max(0, sent.count - 1):
        return "must have one cut fewer than ranks"
    return None if rising(cuts) else "has cuts that do not rise"


def rising(cuts: NDArray[np.float64]) -> bool:
    """Whether cuts are numbers that nowhere fall."""
    return bool(np.isfinite(cuts).all() and (np.diff(cuts) >= 0).all())


def _misfit_of_categories(listed: list[Category | None] | None, count: int, *, gap: bool) -> str | None:
    """Categories are all of one type and differ; with ``gap`` the last may be None, for missing values."""
    if not listed or len(listed) != count or len(set(listed)) < count:
        return "does not say what each category is"
    named = listed[:-1] if gap and listed[-1] is None else listed
    if len({type(each) for each in named}) != 1 or None in named:
        return "has categories of different types"
    if any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in named):
        return "has a category beyond 64 bits"
    return None
