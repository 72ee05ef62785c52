"""A commented draft of a policy, from a table's column names and types: no value is ever looked at."""

import json
from pathlib import Path

import pyarrow as pa

from veilboost.data import Dialect, Source

_HEAD = """# A draft, made from the names and types of {name}: its values were not looked at.
# Whatever stands in <angle brackets> is yours to say. Bounds, sizes and categories are public:
# write down what anyone could know without having seen the table.

format = 1
party = "<your name>"             # how you are called in ledger and statements

# Secrets and records, beside this file. Make them once:
#   veilboost keys noise new --file noise.key
#   veilboost ledger new ledger.db
noise_key = "noise.key"
ledger = "ledger.db"

[rows]
key = "<column>"                  # your own stable primary key; it does not leave unless you carry it
type = "integer"                  # or "text": the same in every file that holds these rows
# of = "customers"                # what the keys number: alike in all tables of these rows, and in no table of others
# noise = "fresh"                 # only without a stable key: drop key and type, and pay in full every time; say
#                                 # in "of" what the rows are, or they count as rows of every table
carry = []                        # columns that leave exactly as they are, without protection, as a join id

[caps]
# row = 10.0                      # what one row may spend over all its columns together
# releases = 12                   # how often the table may leave
# rows = 1000000                  # of how many rows at a time

[[grants]]                        # who may ask, and what for; as many as you need
who = "<receiver>"
purposes = ["<purpose>"]
# columns = ["..."]               # without this line: all columns below
{dialect}"""

_DIALECT = """
[csv]                             # how CSV files of this table are written
delimiter = {delimiter}
encoding = {encoding}
decimal = {decimal}
missing = [""]                    # what an unquoted field without a value looks like
"""

_COLUMN = """
[columns.{name}]                  # {type}
domain = {{ {domain} }}
mechanism = {{ name = "{mechanism}", epsilon = 0.5 }}   # see docs/choosing.md
cap = 2.0                         # what one row's value may spend in all; every changed value spends epsilon again
"""


def draft(source: Source) -> str:
    """Return a draft of a policy for the columns of ``source``."""
    head = _HEAD.format(name=_comment(Path(source.name).name), dialect=_csv(source.dialect))
    return head + "".join(_column(field, textual=source.textual) for field in source.schema)


def _csv(dialect: Dialect | None) -> str:
    if dialect is None:
        return ""
    return _DIALECT.format(**{name: _quoted(getattr(dialect, name)) for name in ("delimiter", "encoding", "decimal")})


def _column(field: pa.Field, *, textual: bool) -> str:
    domain, mechanism = _domain(field.type, textual=textual)
    kind = "text in a CSV file: choose the kind" if textual else _comment(str(field.type))
    return _COLUMN.format(name=_quoted(field.name), type=kind, domain=domain, mechanism=mechanism)


def _quoted(text: str) -> str:
    """Return ``text`` as TOML quotes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def _domain(kind: pa.DataType, *, textual: bool) -> tuple[str, str]:
    if pa.types.is_boolean(kind):
        return 'kind = "booleans"', "grr"
    if pa.types.is_integer(kind):
        return 'kind = "integers", lower = "<lowest>", upper = "<highest>", size = 50', "tight"
    if pa.types.is_date(kind):
        return 'kind = "dates", first = "<first day>", last = "<last day>", size = 50', "tight"
    if pa.types.is_timestamp(kind):
        return 'kind = "timestamps", first = "<first>", last = "<last>", size = 50', "tight"
    if pa.types.is_decimal(kind):
        return f'kind = "decimals", lower = "<lowest>", upper = "<highest>", size = 50, places = {kind.scale}', "tight"
    if pa.types.is_floating(kind) or textual:
        return 'kind = "numbers", lower = "<lowest>", upper = "<highest>", size = 50', "tight"
    return 'kind = "unordered", categories = ["<one>", "<another>"]', "grr"
