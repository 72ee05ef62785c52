"""Draw what leaves: bucket by bucket, each value once, in the order of the rows' tags."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.errors import SettingError
from veilboost.randomness import Bits, FreshBits, PermanentBits, RowKeys
from veilboost.release.ahead import ahead
from veilboost.release.keys import NoiseKey
from veilboost.release.policy import Column
from veilboost.release.staging import BUCKETS, Bucket, Staged

_LISTED = 1 << 16


@dataclass(frozen=True)
class Leaving:
    """One column on its way out, as codes or in the raw values that the codes stand for."""

    column: Column
    key: NoiseKey | None
    as_codes: bool

    def draw(self, codes: NDArray[Any], rows: RowKeys | None) -> pa.Array:
        """Return the noisy values of ``codes``, which belong to ``rows``."""
        noisy = self.column.mechanism.draw(codes, bits=self.bits(rows), threads=1)
        return pa.array(noisy) if self.as_codes else self._decoded(noisy)

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
    def type(self) -> pa.DataType:
        """The Arrow type of what leaves; a domain whose values Arrow cannot hold is refused."""
        if self.as_codes:
            return pa.from_numpy_dtype(np.min_scalar_type(self.column.domain.size))
        domain = self.column.domain
        try:
            return pa.array(domain.decode([1, domain.value_codes])).type
        except (pa.ArrowException, OverflowError):
            rule = "must have values that a file's column can hold, unless codes are asked for"
            raise SettingError(f"columns.{self.column.name}: domain", rule, domain.describe()) from None

    def _decoded(self, noisy: NDArray[Any]) -> pa.Array:
        domain = self.column.domain
        gaps = noisy > domain.value_codes
        if domain.size <= _LISTED:
            return pa.DictionaryArray.from_arrays(pa.array(noisy.astype(np.int32) - 1, mask=gaps), self._values)
        values = domain.decode(noisy) if len(noisy) else np.array([], dtype=domain.kind.dtype)
        return pa.array(values, mask=gaps, type=self.type)

    @cached_property
    def _values(self) -> pa.Array:
        """The raw value that each code stands for, of a domain small enough to list."""
        domain = self.column.domain
        return pa.array(domain.decode(np.arange(1, domain.value_codes + 1)), type=self.type)


def leave(staged: Staged, columns: Sequence[Leaving]) -> Iterator[pa.Table]:
    """Yield the noisy table, bucket by bucket."""

    def drawn(number: int) -> pa.Table:
        return _drawn(staged.bucket(number), columns, staged.carry)

    return ahead(drawn, range(BUCKETS))


def _drawn(bucket: Bucket, columns: Sequence[Leaving], carry: Sequence[str]) -> pa.Table:
    rows = bucket.keys
    noisy = {each.column.name: each.draw(bucket.codes[each.column.name], rows) for each in columns}
    return pa.table({name: bucket.carried(name) for name in carry} | noisy)
