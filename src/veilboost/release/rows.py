"""Whose rows they are: a row is one row only where policies call it, and hold its key, by the same name and type."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from veilboost.errors import RefusalError
from veilboost.release.ledger import Line
from veilboost.release.policy import Policy

_TOLD = "the policy does not allow this release"


def row_kind(policy: Policy) -> str:
    """Return what the rows are rows of: the same kind of key names the same rows in every table."""
    return policy.rows.of or policy.rows.key or ""


def check_rows(lines: Sequence[Line], policy: Policy, sources: Set[str]) -> None:
    """Refuse rows that would be counted from zero, or leave with other rows' noise, by a new name or type alone.

    Noise hangs on key and source, and not on what the rows are called: row 7 of the customers and row 7 of the
    suppliers would leave with equal noise where they have equal values, and so tell whether they have.
    """
    for line in lines:
        if line.body["event"] == "charged":
            _check_type(line.body, policy)
            _check_sources(line.body, policy, sources)


def _check_type(body: Mapping[str, Any], policy: Policy) -> None:
    kind, earlier, now = row_kind(policy), body.get("row_type"), policy.rows.type
    if kind == body["row_kind"] and None not in (earlier, now) and earlier != now:
        rule = f"rows of {kind!r} were charged under keys of type {earlier!r}; under {now!r} none would be found again"
        raise RefusalError(f"rows.type: {rule}", told=_TOLD)


def _check_sources(body: Mapping[str, Any], policy: Policy, sources: Set[str]) -> None:
    kind, earlier = row_kind(policy), body["row_kind"]
    shared = sorted(sources & {column["source"] for column in body["columns"]})
    if shared and kind != earlier and "" not in (kind, earlier):
        way_out = f"if they are the same rows, set rows.of = {earlier!r}; if not, give the column another source"
        raise RefusalError(f"source {shared[0]!r} was charged for rows of {earlier!r}; {way_out}", told=_TOLD)
