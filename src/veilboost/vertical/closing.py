"""What each side of a job has done and learned, when it closes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from veilboost.release import Statement
from veilboost.report import outcome
from veilboost.report.terminal import say, table
from veilboost.vertical.joining import JoinReport
from veilboost.vertical.leading import LeadReport
from veilboost.vertical.page import PROTECTED, protected
from veilboost.vertical.sent import Along

_LEARNED: Mapping[Along, str] = {
    "cuts": "and nothing else: you were not asked again.",
    "nothing": "and which of your ranks became thresholds; nothing else.",
    "raw": "and which of your columns its model reads; nothing else.",
}


def show_lead(found: LeadReport) -> None:
    """Print what a lead ended up with."""
    said = found.statement
    say(f"{found.trees} trees on {said.rows:,} rows and {len(said.features)} features.")
    if said.sharpened is not None:
        say(f"Sharpened by a share of {said.sharpened.share:.2f}: for samples without noise.")
    _show_released(said.released, said.one_column, said.whole_row)
    say("", *(f"{party} learned {_rows(said.rows)}, and {learned}." for party, learned in said.partners_learn.items()))
    say("", f"Model, statement and report: {found.model}")


def show_predicted(rows: int, released: Sequence[Statement], one_column: str, whole_row: str) -> None:
    """Print what a lead and its partners learned from a prediction."""
    _show_released(released, one_column, whole_row)
    learned = "which of its columns your model reads; nothing about your columns or the predictions"
    say("", *(f"{each.party} learned {_rows(rows)}, and {learned}." for each in released), "")


def _show_released(statements: Sequence[Statement], one_column: str, whole_row: str) -> None:
    for released in statements:
        say(
            "",
            f"You learned noisy codes of {released.party}, and of its rows nothing else but that their ids are yours:",
        )
        table(PROTECTED, protected(released))
    say("", f"One column changed. {one_column}", f"The whole row changed. {whole_row}")


def _rows(rows: int) -> str:
    return f"that both hold the same {rows:,} ids"


def values(found: JoinReport) -> dict[str, Any]:
    """Return what a partner did as plain values."""
    return {
        "lead": found.lead,
        "asked": msgspec.to_builtins(found.asked),
        "outcome": None if found.outcome is None else outcome.values(found.outcome),
        "statement": None if found.statement is None else msgspec.to_builtins(found.statement),
    }


def show_partner(found: JoinReport) -> None:
    """Print what a partner did."""
    if found.outcome is not None:
        outcome.show(found.outcome)
    elif found.statement is not None:
        names = ", ".join(each.column for each in found.statement.columns)
        say(f"{names} had left for {found.lead} before, with the same noise: nothing was drawn or charged.")
        say("", f"One column changed. {found.statement.one_column}")
        say(f"The whole row changed. {found.statement.whole_row}")
    else:
        say(f"{found.lead} had all that it needs: nothing left.")
    if found.statement is not None:
        same = f"that both hold the same {found.asked.rows:,} ids"
        say("", f"{found.lead} learned these noisy codes, and {same}; it needs nothing more.")
        say(f"You learned {same}, {_LEARNED[found.asked.along]}")
