"""Public tables, in words."""

from collections.abc import Sequence

from veilboost.data.public import Haul, Listed
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


def show_haul(found: Haul) -> None:
    """Print what is here now, whether anybody has confirmed it, and what is missing."""
    for each in found.fetched:
        terminal.say(
            f"{each.name}: {each.rows:,} rows, {each.columns} columns, in {each.path}", f"  digest {each.digest}"
        )
        if not each.known:
            terminal.say(
                "  Nobody has told us this digest. Compare it with somebody else's: from now on it must not change."
            )
    for name, problem in found.missing.items():
        terminal.say(f"{name} is missing: {problem}")
