"""Arrow columns to codes: by numpy where it is exact, else each distinct value once."""

from datetime import UTC
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veilboost.domain import Coded, Domain
from veilboost.errors import DataError

_READ_AS = {"numbers": pa.float64(), "integers": pa.int64(), "dates": pa.date32(), "booleans": pa.bool_()}


def fits(domain: Domain, kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type can hold values of ``domain``.

    >>> fits(Domain.integers(0, 9), pa.int32()), fits(Domain.integers(0, 9), pa.string())
    (True, False)
    """
    inner = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    text = pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    number, whole = pa.types.is_integer(inner) or pa.types.is_floating(inner), pa.types.is_integer(inner)
    allowed = {
        "numbers": number,
        "integers": number,
        "dates": pa.types.is_date(inner),
        "timestamps": pa.types.is_timestamp(inner),
        "decimals": pa.types.is_decimal(inner) or whole or text,
        "booleans": pa.types.is_boolean(inner),
    }
    return bool(allowed.get(domain.kind.name, text or whole))


def coded(domain: Domain, column: pa.Array, *, first_row: int, decimal: str | None = None) -> Coded:
    """Return the codes of ``column``; ``decimal`` is the decimal mark of a column that is text still to be read.

    >>> coded(Domain.integers(0, 9), pa.array(["3", None, "12"]), first_row=1, decimal=".")
    Traceback (most recent call last):
    veilboost.errors.DataError: column 'column' must not hold missing values; found one at row 2
    """
    read = column if decimal is None else _read(domain, column, first_row, decimal)
    kind = read.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind):
        return domain.encode(_masked(read), first_row=first_row)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return domain.encode(_masked(read), first_row=first_row)
    return _by_distinct(domain, read, first_row)


def _masked(column: pa.Array) -> NDArray[Any]:
    """Return ``column`` as numpy has it, its missing values under a mask: whole numbers stay whole."""
    gaps = column.is_null().to_numpy(zero_copy_only=False)
    if column.null_count:
        column = column.fill_null(pa.scalar(0, pa.int32()).cast(column.type))
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(values, mask=gaps) if gaps.any() else values


def _by_distinct(domain: Domain, column: pa.Array, first_row: int) -> Coded:
    """Encode each distinct value once, and a missing one behind them."""
    distinct = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    values = [_python(value) for value in distinct.dictionary.to_pylist()]
    where = distinct.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
    times = np.bincount(where, minlength=len(values) + 1)
    used = np.flatnonzero(times)
    try:
        found = domain.encode([[*values, None][i] for i in used.tolist()], times=times[used])
    except DataError:
        domain.encode([_python(value) for value in column.to_pylist()], first_row=first_row)
        raise
    codes = np.zeros(len(times), dtype=found.codes.dtype)
    codes[used] = found.codes
    return Coded(codes[where], found.clipped_low, found.clipped_high, found.missing, found.public)


def _python(value: Any) -> Any:
    """Give times of day with a zone their zone: Arrow hands them out in UTC."""
    return value.astimezone(UTC) if getattr(value, "tzinfo", None) is not None else value


def _read(domain: Domain, column: pa.Array, first_row: int, decimal: str) -> pa.Array:
    """Read text by the rule of the domain's kind."""
    name = domain.kind.name
    whole_categories = name.endswith("categories") and isinstance(domain.kind.raw_of(domain.lower), int)
    target = pa.int64() if whole_categories else _READ_AS.get(name)
    text = pc.utf8_trim_whitespace(column) if target is not None or name == "decimals" else column
    if decimal == "," and name in ("numbers", "decimals"):
        text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
    if target is None:
        return text
    try:
        return pc.cast(text, target)
    except pa.ArrowInvalid:
        row = _first_misfit(text, target)
        found = f"{column[row].as_py()!r} at row {first_row + row}"
        raise DataError(domain.column, f"must hold {domain.kind.noun} in every row", found) from None


def _first_misfit(text: pa.Array, target: pa.DataType) -> int:
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(text.slice(low, middle - low), target)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
