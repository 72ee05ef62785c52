"""The lines of a ledger, for people and for auditors."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from veilboost.privacy.budget import loss_of
from veilboost.release.ledger import Ledger, Line
from veilboost.report.terminal import number, say, table

_LOSSES = ("budget", "spent", "cap", "remaining", "row_spent", "row_cap")
_HEADERS = ("column", "source", "new values", "each costs", "spent", "cap", "remaining")


def values(line: Line) -> dict[str, Any]:
    """Return a line as plain values, losses in their usual unit."""
    return {"number": line.number, "at": line.at, "head": line.head, **_in_units(line.body)}


def _in_units(body: Any) -> Any:
    if isinstance(body, dict):
        return {name: loss_of(each) if name in _LOSSES else _in_units(each) for name, each in body.items()}
    return [_in_units(each) for each in body] if isinstance(body, list) else body


def export(ledger: Ledger, lines: Sequence[Line]) -> str:
    """Return the ledger's name, then every line as it was hashed: losses in trillionths."""
    head = json.dumps({"ledger": ledger.name, "lines": len(lines), "losses_in": "trillionths"})
    texts = (
        json.dumps({"number": line.number, "at": line.at, "head": line.head, "body": line.body}, ensure_ascii=False)
        for line in lines
    )
    return "\n".join([head, *texts]) + "\n"


def show(ledger: Ledger, lines: Sequence[Line]) -> None:
    """Print every line."""
    say(f"Ledger {ledger.name}, {len(lines)} lines; the chain of hashes is whole.")
    for line in lines:
        body = line.body
        if body["event"] == "left":
            say("", f"{line.number}. {line.at}  left for {body['to']}: {body['file']}, SHA-256 {body['sha256']}")
            continue
        if body["event"] in _OF_OWNERS:
            say("", f"{line.number}. {line.at}  {_OF_OWNERS[body['event']](body)}")
            continue
        say(
            "",
            f"{line.number}. {line.at}  charged for {body['to']}, purpose: {body['purpose']}, job: {body['job']}, "
            f"{body['rows']:,} rows, {body['noise']} noise"
            + ("" if body["key_version"] is None else f", key version {body['key_version']}"),
        )
        table(_HEADERS, [_row(column) for column in body["columns"]])
        if body["carried"]:
            say(f"   as they are: {', '.join(body['carried'])}")


def _asked(body: Mapping[str, Any]) -> str:
    """Say whom a data user asked: each of them once, for what it spends."""
    spent = ", ".join(f"{each['owners']:,} with ε {number(loss_of(each['budget']))}" for each in body["spent_by"])
    how = f"local {body['share']}, {body['mechanism']}"
    return f"asked {body['owners']:,} owners for job {body['job']}, round {body['round']} ({how}): {spent}"


def _round(body: Mapping[str, Any]) -> str:
    end = "kept" if body["kept"] else "thrown away, its owners are used up"
    return f"round {body['round']} of job {body['job']}, asked in line {body['asked']}: α {body['alpha']:.4f}, {end}"


_OF_OWNERS = {"asked": _asked, "round": _round}


def _row(column: dict[str, Any]) -> tuple[str, ...]:
    losses = (number(loss_of(column[name])) for name in ("budget", "spent", "cap", "remaining"))
    return "   " + column["column"], column["source"], f"{column['new_values']:,}", *losses
