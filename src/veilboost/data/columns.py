"""Arrow columns to codes: by numpy where it is exact, else each distinct value once."""

import reprlib
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
    text, whole = is_text(inner), pa.types.is_integer(inner)
    number = whole or pa.types.is_floating(inner)
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
    read = _plain(domain, column, first_row) if decimal is None else _read(domain, column, first_row, decimal)
    kind = read.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind):
        return domain.encode(_masked(read), first_row=first_row)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return domain.encode(_masked(read), first_row=first_row)
    return _by_distinct(domain, read, first_row)


def _plain(domain: Domain, column: pa.Array, first_row: int) -> pa.Array:
    """Return ``column`` in the one type of several that its values have in Python."""
    if isinstance(column, pa.DictionaryArray) and not is_text(column.type.value_type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _cast(domain, column, pa.timestamp("us", "UTC"), column, first_row)
    if pa.types.is_date64(kind):
        return _cast(domain, column, pa.date32(), column, first_row)
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def _masked(column: pa.Array) -> NDArray[Any]:
    """Return ``column`` as numpy has it, its missing values under a mask: whole numbers stay whole."""
    gaps = column.is_null().to_numpy(zero_copy_only=False)
    if column.null_count:
        zero = pa.scalar(0, pa.int32() if pa.types.is_date32(column.type) else pa.int64())
        column = column.fill_null(zero.cast(column.type))
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(values, mask=gaps) if gaps.any() else values


def _by_distinct(domain: Domain, column: pa.Array, first_row: int) -> Coded:
    """Encode each distinct value once, and a missing one behind them."""
    distinct = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    values = _python(domain, distinct.dictionary, column, first_row)
    where = distinct.indices.cast(pa.int64()).fill_null(len(values)).to_numpy(zero_copy_only=False)
    times = np.bincount(where, minlength=len(values) + 1)
    used = np.flatnonzero(times)
    try:
        found = domain.encode([[*values, None][i] for i in used.tolist()], times=times[used])
    except DataError:
        domain.encode(column.to_pylist(), first_row=first_row)
        raise
    codes = np.zeros(len(times), dtype=found.codes.dtype)
    codes[used] = found.codes
    return Coded(codes[where], found.clipped_low, found.clipped_high, found.missing, found.public)


def _python(domain: Domain, values: pa.Array, column: pa.Array, first_row: int) -> list[Any]:
    """Return ``values`` as Python has them, or name the first row whose value it cannot have."""
    try:
        listed: list[Any] = values.to_pylist()
    except (ValueError, OverflowError):  # text that is no UTF-8, a time beyond the year 9999
        row = next(row for row, value in enumerate(column) if not _has_python(value))
        rule = f"must hold {domain.kind.noun} in every row"
        raise DataError(domain.column, rule, f"something else at row {first_row + row}") from None
    return listed


def _has_python(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except (ValueError, OverflowError):
        return False
    return True


def _read(domain: Domain, column: pa.Array, first_row: int, decimal: str) -> pa.Array:
    """Read text by the rule of the domain's kind."""
    name = domain.kind.name
    whole_categories = name.endswith("categories") and isinstance(domain.kind.raw_of(domain.lower), int)
    target = pa.int64() if whole_categories else _READ_AS.get(name)
    text = pc.utf8_trim_whitespace(column) if target is not None or name == "decimals" else column
    if decimal == "," and name in ("numbers", "decimals"):
        text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
    return text if target is None else _cast(domain, text, target, column, first_row)


def _cast(domain: Domain, values: pa.Array, target: pa.DataType, shown: pa.Array, first_row: int) -> pa.Array:
    """Return ``values`` as ``target``, or name the first row that has none, with the value ``shown`` there."""
    try:
        return pc.cast(values, target)
    except pa.ArrowInvalid:
        row = first_misfit(values, target)
        found = f"{_shown(shown[row])} at row {first_row + row}"
        raise DataError(domain.column, f"must hold {domain.kind.noun} in every row", found) from None


def _shown(value: pa.Scalar) -> str:
    return reprlib.repr(value.as_py()) if _has_python(value) else "something else"


def first_misfit(values: pa.Array, target: pa.DataType) -> int:
    """Return where the first of ``values`` stands that cannot be cast to ``target``; there must be one."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(values.slice(low, middle - low), target)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def is_text(kind: pa.DataType) -> bool:
    """Whether Arrow's ``kind`` is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
