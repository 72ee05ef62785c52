"""What each side of a job has done and learned, when it closes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from veilboost.report import outcome
from veilboost.report.terminal import say, table
from veilboost.vertical.job import Thresholds
from veilboost.vertical.joining import JoinReport
from veilboost.vertical.leading import LeadReport
from veilboost.vertical.page import PROTECTED, protected
from veilboost.vertical.statement import ModelStatement

_LEARNED: Mapping[Thresholds, str] = {
    "up-front": "and nothing else: you were not asked again.",
    "on-request": "and which of your ranks became thresholds; nothing else.",
}


def show_lead(found: LeadReport) -> None:
    """Print what a lead ended up with."""
    said = found.statement
    say(f"{found.trees} trees on {said.rows:,} rows and {len(said.features)} features.")
    if said.sharpened is not None:
        say(f"Sharpened by a share of {said.sharpened.share:.2f}: for samples without noise.")
    for released in said.released:
        say(
            "",
            f"You learned noisy codes of {released.party}, and of its rows nothing else but that their ids are yours:",
        )
        table(PROTECTED, protected(released))
    say("", f"One column changed. {said.one_column}", f"The whole row changed. {said.whole_row}")
    say("", *(f"{party} learned {_rows(said)}, and {learned}." for party, learned in said.partners_learn.items()))
    say("", f"Model, statement and report: {found.model}")


def _rows(said: ModelStatement) -> str:
    return f"that both hold the same {said.rows:,} ids"


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
        say(f"You learned {same}, {_LEARNED[found.asked.thresholds]}")
