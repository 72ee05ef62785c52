"""Tables in and out: CSV, Parquet, Arrow and PostgreSQL, a batch at a time."""

from veilboost.data.columns import coded, first_misfit, fits, is_text
from veilboost.data.dialect import Dialect
from veilboost.data.numbered import NumberedSource
from veilboost.data.sink import Sink, open_sink
from veilboost.data.source import MemorySource, Source, open_source
from veilboost.data.whole import read_whole

__all__ = [
    "Dialect",
    "MemorySource",
    "NumberedSource",
    "Sink",
    "Source",
    "coded",
    "first_misfit",
    "fits",
    "is_text",
    "open_sink",
    "open_source",
    "read_whole",
]
