"""Draw what leaves: bucket by bucket, each value once, in the order of the rows' tags."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.domain import Domain
from veilboost.errors import SettingError
from veilboost.mechanisms import UnaryEncoding, ValueMechanism
from veilboost.randomness import Bits, FreshBits, PermanentBits, RowKeys
from veilboost.release.ahead import ahead
from veilboost.release.keys import NoiseKey
from veilboost.release.policy import Column
from veilboost.release.staging import Bucket, Staged

_LISTED = 1 << 16


@dataclass(frozen=True)
class Leaving:
    """One column on its way out, as codes or in the raw values that the codes stand for."""

    column: Column
    key: NoiseKey | None
    as_codes: bool

    def draw(self, codes: NDArray[Any], rows: RowKeys | None) -> dict[str, pa.Array]:
        """Return the noisy values of ``codes``, which belong to ``rows``: one column, or one for each category."""
        return self.shown(self.column.mechanism.draw(codes, bits=self.bits(rows), threads=1))

    def shown(self, noisy: NDArray[Any]) -> dict[str, pa.Array]:
        """Return what was drawn as it leaves."""
        match mechanism := self.column.mechanism:
            case UnaryEncoding():
                return {name: pa.array(bits) for name, bits in zip(self.types, noisy.T.copy(), strict=True)}
            case _ if self.as_codes:
                return {self.column.name: pa.array(noisy)}
            case ValueMechanism():
                return {self.column.name: pa.array(self._estimated(mechanism, noisy))}
            case _:
                return {self.column.name: self._decoded(noisy)}

    def bits(self, rows: RowKeys | None) -> Bits:
        """Return where the noise comes from."""
        if self.key is None or rows is None:
            return FreshBits()
        return PermanentBits(
            secret=self.key.secret,
            source=self.column.source,
            version=self.key.version,
            row_keys=rows,
            domain=self.column.domain,
        )

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        """The columns that leave, with their Arrow types; a domain whose values Arrow cannot hold is refused."""
        name, domain, mechanism = self.column.name, self.column.domain, self.column.mechanism
        if isinstance(mechanism, UnaryEncoding):
            return {f"{name}={_label(domain, code)}": pa.uint8() for code in range(1, domain.size + 1)}
        if isinstance(mechanism, ValueMechanism):
            return {name: pa.int64() if self.as_codes else pa.float64()}
        if self.as_codes:
            return {name: pa.from_numpy_dtype(np.min_scalar_type(domain.size))}
        try:
            return {name: pa.array(domain.decode([1, domain.value_codes])).type}
        except (pa.ArrowException, OverflowError):
            rule = "must have values that a file's column can hold, unless codes are asked for"
            raise SettingError(f"columns.{name}: domain", rule, domain.describe()) from None

    def _estimated(self, mechanism: ValueMechanism, noisy: NDArray[Any]) -> NDArray[np.float64]:
        """Stretch estimates from -1 to 1 over the domain; they may lie outside it."""
        low, high = float(self.column.domain.lower), float(self.column.domain.upper)
        stretched: NDArray[np.float64] = (low + high) / 2 + mechanism.values(noisy) * ((high - low) / 2)
        return stretched

    def _decoded(self, noisy: NDArray[Any]) -> pa.Array:
        domain = self.column.domain
        gaps = noisy > domain.value_codes
        if domain.size <= _LISTED:
            places = noisy.astype(np.min_scalar_type(-domain.size)) - 1
            return pa.DictionaryArray.from_arrays(pa.array(places, mask=gaps), self._values)
        values = domain.decode(noisy) if len(noisy) else np.array([], dtype=domain.kind.dtype)
        return pa.array(values, mask=gaps, type=self.types[self.column.name])

    @cached_property
    def _values(self) -> pa.Array:
        """The raw value that each code stands for, of a domain small enough to list."""
        domain = self.column.domain
        return pa.array(domain.decode(np.arange(1, domain.value_codes + 1)), type=self.types[self.column.name])


def _label(domain: Domain, code: int) -> str:
    return str(domain.decode([code])[0]) if code <= domain.value_codes else "missing"


def leave(staged: Staged, columns: Sequence[Leaving]) -> Iterator[pa.Table]:
    """Yield the noisy table, bucket by bucket."""

    def drawn(number: int) -> pa.Table:
        return _drawn(staged.bucket(number), columns, staged.carry)

    return ahead(drawn, range(staged.buckets))


def _drawn(bucket: Bucket, columns: Sequence[Leaving], carry: Sequence[str]) -> pa.Table:
    rows = bucket.keys
    noisy = {name: bucket.carried(name) for name in carry}
    for each in columns:
        noisy |= each.draw(bucket.codes[each.column.name], rows)
    return pa.table(noisy)
