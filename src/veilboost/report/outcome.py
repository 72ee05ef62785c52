"""What a release did or would do, for the eyes of its owner."""

from typing import Any

from veilboost.privacy.budget import loss_of
from veilboost.privacy.rounding import shown
from veilboost.release.desensitise import Outcome
from veilboost.release.statement import composed, exact, nominal
from veilboost.report.terminal import number, say, table


def values(found: Outcome) -> dict[str, Any]:
    """Return the outcome as plain values."""
    return {
        "to": found.request.who,
        "purpose": found.request.purpose,
        "job": found.request.job,
        "rows": found.rows,
        "columns": [_column(found, i) for i in range(len(found.request.columns))],
        "row_spent": loss_of(found.bill.row_spent),
        "row_cap": loss_of(found.bill.row_cap),
        "written": [str(path) for path in found.written],
    }


def _column(found: Outcome, i: int) -> dict[str, Any]:
    column, charge = found.request.columns[i], found.bill.columns[i]
    gaps, worst = exact(column.mechanism, column.domain.size)
    counts = found.counts[column.name]
    return {
        "column": column.name,
        "domain": column.domain.describe(),
        "mechanism": repr(column.mechanism),
        "nominal_epsilon": nominal(column.mechanism),
        "each_costs": loss_of(charge.budget),
        "exact_neighbours": None if gaps is None else max(gaps),
        "exact_whole_range": worst,
        "new_values": charge.new_values,
        "spent": loss_of(charge.spent),
        "cap": loss_of(charge.cap),
        "clipped": counts.clipped_low + counts.clipped_high,
        "missing": counts.missing,
    }


_HEADERS = (
    "column",
    "nominal ε",
    "exact",
    "whole range",
    "each costs",
    "new values",
    "spent",
    "cap",
    "clipped",
    "missing",
)
_LEGEND = (
    "Exact: the worst loss between neighbouring codes, from the integers. Each costs: what the definition promises for "
    "neighbours, charged for every new value; values that were charged before leave with the noise they have. Spent: "
    "by the row that has spent most, this release included. New, spent, clipped and missing are computed from the "
    "rows: they are for your eyes."
)


def show(found: Outcome) -> None:
    """Print the outcome."""
    request = found.request
    verb = "would leave" if found.dry_run else "left"
    say(f"{found.rows:,} rows {verb} for {request.who}, purpose: {request.purpose}, job: {request.job}.", "")
    table(_HEADERS, [_row(_column(found, i)) for i in range(len(request.columns))])
    both = composed({column.name: column.mechanism for column in request.columns})
    say("", _LEGEND, "", f"One column changed. {both.one_column}", f"The whole row changed. {both.whole_row}")
    spent, cap = shown(loss_of(found.bill.row_spent)), shown(loss_of(found.bill.row_cap))
    say("", f"Over all columns and all releases the row that has spent most has spent {spent} of {cap}.")
    if found.dry_run:
        say("Dry run: nothing was drawn, charged or written.")
    for path in found.written:
        say(f"  {path}")


def _row(column: dict[str, Any]) -> tuple[str, ...]:
    losses = (column[name] for name in ("nominal_epsilon", "exact_neighbours", "exact_whole_range", "each_costs"))
    return (
        column["column"],
        *map(number, losses),
        f"{column['new_values']:,}",
        number(column["spent"]),
        number(column["cap"]),
        f"{column['clipped']:,}",
        f"{column['missing']:,}",
    )
