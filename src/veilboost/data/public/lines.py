"""Text with a row on each line, as the publishers write it, into a table of text."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from veilboost.errors import FileError


def rows(
    source: Path | IO[bytes],
    names: Sequence[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    missing: Sequence[str] = (),
    skip: int = 0,
    where: object = None,
) -> pa.Table:
    """Return every field as text without blanks around it; ``names`` where no line holds them, else ``columns``."""
    where = source if where is None else where
    try:
        table = csv.read_csv(
            source,
            csv.ReadOptions(column_names=names, skip_rows=skip),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names or columns or (), pa.string()),
                include_columns=None if names else columns,
                null_values=list(missing),
                strings_can_be_null=True,
            ),
        )
    except KeyError as error:
        raise FileError(where, f"must have the columns {', '.join(columns or ())}") from error
    except pa.ArrowException as error:
        raise FileError(where, "cannot be read as a table") from error
    return pa.table([pc.utf8_trim_whitespace(column) for column in table.columns], names=table.column_names)
