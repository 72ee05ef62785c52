"""How a CSV file is written: what stands between fields, which encoding, which decimal mark, what means missing."""

import codecs

import msgspec
import pyarrow as pa

from veilboost.errors import SettingError


class Dialect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The dialect of a CSV file; an unquoted field that is one of ``missing`` holds no value.

    >>> Dialect(delimiter=";", decimal=",").encoding
    'utf-8'
    >>> Dialect(delimiter=";;")
    Traceback (most recent call last):
    veilboost.errors.SettingError: delimiter must be one ASCII character; got ';;'
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    missing: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise SettingError("delimiter", "must be one ASCII character", self.delimiter)
        if self.decimal not in (".", ",") or self.decimal == self.delimiter:
            raise SettingError("decimal", "must be '.' or ',', and not the delimiter", self.decimal)
        try:
            codecs.decode(pa.py_buffer("a,1\n".encode(self.encoding)), self.encoding)  # as Arrow will
        except (LookupError, ValueError, AttributeError):
            raise SettingError("encoding", "must be a text encoding that Python knows", self.encoding) from None
