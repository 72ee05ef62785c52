"""The privacy statement that goes with a desensitised file: for programs as JSON, for people as text.

Its reader is the receiver. It says what was promised and what the integers give, and holds nothing that was
computed from rows: no counts of clipped values, and not what single rows have spent.
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal

import msgspec

from veilboost.mechanisms import Mechanism, TableMechanism, settings_of
from veilboost.privacy import ApproximateDP, Composition, DistanceLDP, compose
from veilboost.privacy.budget import loss_of, neighbour_loss
from veilboost.privacy.rounding import shown
from veilboost.release.ledger import Receipt
from veilboost.release.policy import Column

FORMAT = 1

Noise = Literal["permanent", "fresh", "simulated"]

PERMANENT = (
    "Noise is permanent: the same value of the same row leaves with the same noise, job after job, so asking again "
    "does not average it away. That is computational (AES-256); it shows that a value has changed, though not from "
    "what to what; and whoever learns the noise key unmasks every release made with it."
)
FRESH = "Noise is fresh: every release draws anew, and several releases of the same rows add up."
SIMULATED = (
    "A SIMULATION: the noise was drawn outside policy and ledger, perhaps from a known seed. Nothing is protected."
)
NOISES: dict[Noise, str] = {"permanent": PERMANENT, "fresh": FRESH, "simulated": SIMULATED}


class ColumnStatement(msgspec.Struct, frozen=True, kw_only=True):
    """What is promised about one column; lists begin at the gap between the first two codes.

    From ``settings`` the mechanism can be made again, and its digest and exact figures compared with those stated.
    """

    column: str
    source: str
    domain: str
    domain_digest: str
    mechanism: str
    settings: dict[str, Any]
    table_digest: str
    guarantee: str
    nominal_epsilon: float
    promised_neighbours: float
    exact_gaps: list[float] | None
    exact_whole_range: float
    cap: float


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What is promised about one desensitised file."""

    format: int
    veilboost: str
    party: str
    to: str
    purpose: str
    job: str
    sha256: str
    noise: Noise
    key_version: int | None
    carried_as_they_are: list[str]
    columns: list[ColumnStatement]
    one_column: str
    whole_row: str
    receipt: Receipt | None


def state(
    columns: Sequence[Column],
    *,
    party: str,
    to: str,
    purpose: str,
    job: str,
    noise: Noise,
    key_version: int | None,
    carried: Sequence[str],
    digest: str,
    receipt: Receipt | None,
) -> Statement:
    """Return the statement of a release whose bytes have the SHA-256 ``digest``."""
    both = composed({column.name: column.mechanism for column in columns})
    return Statement(
        format=FORMAT,
        veilboost=version("veilboost"),
        party=party,
        to=to,
        purpose=purpose,
        job=job,
        sha256=digest,
        noise=noise,
        key_version=key_version,
        carried_as_they_are=list(carried),
        columns=[_column(column) for column in columns],
        one_column=str(both.one_column),
        whole_row=str(both.whole_row),
        receipt=receipt,
    )


def composed(columns: Mapping[str, Mechanism]) -> Composition:
    """Return what one release of ``columns`` promises: where definitions differ, read as losses between neighbours."""
    definitions = {name: mechanism.definition for name, mechanism in columns.items()}
    alike = len({type(each) for each in definitions.values()}) == 1
    thetas = {getattr(each, "theta", None) for each in definitions.values()}
    if not alike or len(thetas) > 1:
        definitions = {name: DistanceLDP(neighbour_loss(each)) for name, each in definitions.items()}
    return compose({name: [each] for name, each in definitions.items()})


def nominal(mechanism: Mechanism) -> float:
    """Return the ε that was asked for; where every gap has a budget of its own, the largest."""
    asked: float | None = getattr(mechanism, "epsilon", None)
    return neighbour_loss(mechanism.definition) if asked is None else asked


def exact(mechanism: Mechanism, size: int) -> tuple[list[float] | None, float]:
    """Return the exact loss of every gap, if there is a table, and that of the whole range, or a bound for it."""
    if isinstance(mechanism, TableMechanism):
        profile = mechanism.profile()
        return list(profile.gaps), profile.worst
    at = getattr(mechanism, "epsilon_at", None)
    definition = mechanism.definition
    if at is not None:
        return None, float(at(size - 1))
    return None, float("inf") if isinstance(definition, ApproximateDP) else definition.loss(size - 1)


def _column(column: Column) -> ColumnStatement:
    return ColumnStatement(
        column=column.name,
        source=column.source,
        domain=column.domain.describe(),
        domain_digest=column.domain.digest().hex(),
        cap=loss_of(column.cap),
        **of_mechanism(column.mechanism, column.domain.size),
    )


def of_mechanism(mechanism: Mechanism, size: int) -> dict[str, Any]:
    """Return all that a statement about a column says and that follows from its mechanism alone."""
    gaps, worst = exact(mechanism, size)
    return {
        "mechanism": repr(mechanism),
        "settings": settings_of(mechanism),
        "table_digest": mechanism.digest.hex(),
        "guarantee": str(mechanism.guarantee),
        "nominal_epsilon": nominal(mechanism),
        "promised_neighbours": neighbour_loss(mechanism.definition),
        "exact_gaps": gaps,
        "exact_whole_range": worst,
    }


def text(statement: Statement) -> str:
    """Return the statement in words."""
    lines = [
        f"Privacy statement of {statement.party} for {statement.to}",
        f"Purpose: {statement.purpose}. Job: {statement.job}.",
        f"What left: SHA-256 {statement.sha256}",
        "",
        *(line for column in statement.columns for line in _words(column)),
        f"One column changed. {statement.one_column}",
        f"The whole row changed. {statement.whole_row}",
        "",
        _carried(statement.carried_as_they_are),
        NOISES[statement.noise],
        "The number of rows, the names of the columns and the time of the release are visible. Rows stand in an order "
        "that follows from keyed hashes, not from how they are stored. What nobody can count: several rows of one "
        "person, renamed or derived columns, and the same attribute at another partner.",
        _receipt(statement.receipt),
        f"veilboost {statement.veilboost}",
    ]
    return "\n".join(lines) + "\n"


def _words(column: ColumnStatement) -> list[str]:
    worst = shown(column.exact_whole_range)
    gaps = "" if column.exact_gaps is None else f"neighbours at worst {shown(max(column.exact_gaps))}, "
    return [
        f"{column.column}: {column.domain}",
        f"  {column.mechanism}",
        f"  Nominal ε {shown(column.nominal_epsilon)}. Promised for neighbours: {shown(column.promised_neighbours)}. "
        f"Exact loss: {gaps}whole range {worst}. Cap for one row's value: {shown(column.cap)}.",
        *(f"  {line}" for line in column.guarantee.splitlines()),
        "",
    ]


def _receipt(receipt: Receipt | None) -> str:
    if receipt is None:
        return "No ledger, and so no receipt."
    return f"Receipt: ledger {receipt.ledger}, {receipt.lines} lines, head {receipt.head}."


def _carried(columns: Sequence[str]) -> str:
    if not columns:
        return "No column leaves as it is."
    return f"Released exactly as they are, without any protection: {', '.join(columns)}."
