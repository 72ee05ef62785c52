"""A column of new samples, as a partner sends it and as the lead reads it: it holds what a desensitised file would."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.mechanisms import UnaryEncoding
from veilboost.release import Column
from veilboost.release.leaving import Leaving
from veilboost.vertical.columns import Input, compared, imputed, pack, real
from veilboost.vertical.samples import samples
from veilboost.vertical.sent import Opened, Sent
from veilboost.wire import Array, Values


def pack_samples(column: Column, noisy: NDArray[Any]) -> Sent:
    """Return the noisy codes of ``column`` as they are sent: ranks, and the raw value that each stands for.

    That is the very number that a model would read from a desensitised file.
    """
    if isinstance(column.mechanism, UnaryEncoding) or not column.domain.order:
        return pack(column, noisy, "next", with_cuts=False).sent
    drawn, places = np.unique(noisy, return_inverse=True)
    gap = column.domain.missing == "code" and len(drawn) > 0 and drawn[-1] == column.domain.size
    codes = drawn[: len(drawn) - gap]
    unit, listed = compared(column)
    categories = None if listed is None else real(listed)
    read = Input(feature=column.name, column=column.name, party="", kind=unit, categories=categories)
    held = pa.table(Leaving(column, None, as_codes=False).shown(codes))
    return Sent(
        name=column.name,
        form="ranks",
        count=len(codes),
        values=Values.of(np.where(places < len(codes), places + 1, 0).astype(np.min_scalar_type(len(codes)))),
        unit=unit,
        raw=Array.of(samples([read], held)[:, 0]),
        categories=listed,
        impute=imputed(column.domain),
    )


def as_in_a_file(column: Opened) -> dict[str, pa.Array]:
    """Return a column as a desensitised file holds it: itself, or one column for each bit."""
    sent, values = column.sent, column.values
    if sent.form == "bits":
        names = ["missing" if each is None else each for each in sent.categories or []]
        return {f"{sent.name}={name}": pa.array(bits) for name, bits in zip(names, values.T.copy(), strict=True)}
    places = pa.array(values.astype(np.int64) - 1, mask=values == 0)
    return {sent.name: pa.DictionaryArray.from_arrays(places, _values(sent))}


def _values(sent: Sent) -> pa.Array:
    """Return what each rank, or each category, stands for."""
    if sent.raw is None:
        return pa.array(sent.categories)
    raw = sent.raw.read()
    match sent.unit:
        case "place":
            return pa.array(sent.categories).take(pa.array(raw.astype(np.int64)))
        case "days":
            return pa.array(raw.astype(np.int32)).cast(pa.date32())
        case "microseconds":
            return pa.array(raw.astype(np.int64)).cast(pa.timestamp("us"))
        case _:
            return pa.array(raw)
