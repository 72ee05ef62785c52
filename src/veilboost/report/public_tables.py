"""Public tables, in words."""

from collections.abc import Sequence

from veilboost.data.public import Fetched, Listed
from veilboost.report import terminal


def show_list(tables: Sequence[Listed]) -> None:
    """Print which tables there are, and which of them are here."""
    terminal.table(
        ["name", "rows", "columns", "publisher", "licence", "here"],
        (
            [each.name, f"{each.rows:,}", str(each.columns), each.publisher, each.licence, each.here or "not yet"]
            for each in tables
        ),
    )


def show_fetched(found: Fetched) -> None:
    """Print what has come, and whether anybody has confirmed it."""
    terminal.say(f"{found.path}: {found.rows:,} rows, {found.columns} columns, digest {found.digest}")
    if not found.known:
        terminal.say(
            "  Nobody has told us this digest beforehand. Compare it with somebody else's; from now on, no other table "
            "of this name is taken here."
        )
