"""What another party states about its columns, made again here from nothing but the settings of its mechanisms."""

import msgspec

from veilboost.errors import PeerError, SettingError, UsageError
from veilboost.mechanisms import Mechanism, from_settings
from veilboost.release.statement import FORMAT, ColumnStatement, Statement, composed, of_mechanism
from veilboost.settings import MechanismSettings

_FIGURES = ("nominal_epsilon", "promised_neighbours", "exact_gaps", "exact_whole_range")


def checked(said: Statement) -> Statement:
    """Return a statement in our own words, or refuse one with a figure that does not follow from its integers."""
    if said.format != FORMAT:
        raise PeerError(said.party, f"sent a statement of format {said.format}; this version reads format {FORMAT}")
    made = {each.column: remade(said.party, each) for each in said.columns}
    both = composed(made)
    return msgspec.structs.replace(
        said,
        columns=[_checked(said.party, each, made[each.column]) for each in said.columns],
        one_column=str(both.one_column),
        whole_row=str(both.whole_row),
    )


def _checked(party: str, column: ColumnStatement, made: Mechanism) -> ColumnStatement:
    found = msgspec.structs.replace(column, **of_mechanism(made, getattr(made, "size", 0)))
    for name in _FIGURES:
        if getattr(found, name) != getattr(column, name):
            figure = name.replace("_", " ")
            raise PeerError(party, f"stated another {figure} for column {column.column!r} than its mechanism has")
    return found


def remade(party: str, column: ColumnStatement) -> Mechanism:
    """Return the mechanism that a statement describes; its digest must be the one that is stated."""
    try:
        # JSON has no infinity but a text
        made = from_settings(msgspec.convert(column.settings, MechanismSettings, strict=False))
    except (SettingError, UsageError, msgspec.ValidationError, TypeError) as error:
        raise PeerError(party, f"stated settings of no mechanism for column {column.column!r}: {error}") from None
    if made.digest.hex() != column.table_digest:
        raise PeerError(party, f"stated a table for column {column.column!r} that does not follow from its settings")
    return made
