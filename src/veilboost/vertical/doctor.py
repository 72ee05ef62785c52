"""See whether a job could be done, before it is: keys, clock, versions, table, disk, policy, ledger, and the line.

Nothing is released, drawn or written. Whether every value fits its column is left to `veilboost join --dry-run`, which
reads them all as the job would.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from veilboost.data import open_source, read_whole
from veilboost.errors import FileError, PeerError, RefusalError, SettingError, blaming
from veilboost.release import Ledger, Policy, Request, load_key, load_policy, verify
from veilboost.release.desensitise import check_schema
from veilboost.settings import read_toml
from veilboost.vertical import machine, opboost
from veilboost.vertical.alignment import Ids
from veilboost.vertical.findings import Finding, Findings
from veilboost.vertical.fitting import own_features
from veilboost.vertical.folder import check_place
from veilboost.vertical.lead_table import prepared
from veilboost.vertical.meeting import MESSAGES
from veilboost.vertical.plans import LeadPlan, Meeting, PartnerPlan, PredictPlan, load_plan
from veilboost.wire import PartyKeys, knock, parse_address
from veilboost.wire.listener import bound

_PATIENCE = 5.0
_COLUMNS = 32
"""How many columns a partner is taken to send where the job file does not say."""
_ROW, _VALUE, _SENT = 128, 8, 20
"""Bytes of spool and history for a row with its key and for each value of it; of a step for each value: its rank, and
where nearly all values differ, a cut and a code. A million rows of five columns, keys of 32 letters, took 95 and 6 MB.
"""
Written = list[tuple[str, datetime]]


def examined(file: Path, tell: Callable[[Finding], None] = lambda _finding: None) -> Findings:
    """Return what is found of a lead's file, for a job or for predictions, or of a partner's; each is told at once."""
    with blaming(file):
        _, raw = read_toml(file)
    found = Findings(tell)
    if "lead" in raw:
        _partner(load_plan(file, PartnerPlan), found)
    elif "table" in raw or "label" in raw:
        _lead(load_plan(file, LeadPlan), found)
    else:
        plan = load_plan(file, PredictPlan)
        _port(plan, _meeting(plan, None, found), found)
    return found


def _meeting(plan: Meeting, backend: str | None, found: Findings) -> PartyKeys | None:
    """Look at what anyone needs who waits for partners, and return the keys."""
    keys = machine.keys(found, Path(plan.keys), PartyKeys.check_lead)
    machine.clock(found, Path(plan.keys), machine.modified(*Path(plan.state).glob("*.step")))
    machine.versions(found, backend)
    return keys


def _lead(plan: LeadPlan, found: Findings) -> None:
    keys = _meeting(plan, plan.boosting.backend, found)
    rows = _lead_table(plan, keys, found)
    columns = sum(_COLUMNS if each.columns is None else len(each.columns) for each in plan.partners.values())
    machine.room(found, "state", Path(plan.state), _SENT * rows * columns)
    _model(plan, found)
    _port(plan, keys, found)


def _lead_table(plan: LeadPlan, keys: PartyKeys | None, found: Findings) -> int:
    """Read the table as the job would, and return how many rows it has."""
    rows = 0
    with found.looking("table"):
        held = prepared(plan, "(the lead)" if keys is None else keys.name)
        opboost.check(list(plan.partners), held.job)
        own, rows = len(own_features(held.table, held.job)), len(held.ids)
        found.say("table", f"{plan.table}: {rows:,} rows, {own} features, label {plan.label!r}")
    return rows


def _model(plan: LeadPlan, found: Findings) -> None:
    with found.looking("model"):
        check_place(Path(plan.model))
        machine.room(found, "model", Path(plan.model), 0)


def _port(plan: Meeting, keys: PartyKeys | None, found: Findings) -> None:
    with found.looking("port"):
        if machine.busy(Path(plan.state)):
            found.say("port", f"{plan.listen}: not tried, another process works on this job and may listen there")
            return
        bound(parse_address(plan.listen)).close()
        names = "" if keys is None else f"; the certificate is for {', '.join(keys.reached_at)}"
        found.say("port", f"{plan.listen} is free{names}")


def _partner(plan: PartnerPlan, found: Findings) -> None:
    keys, policy, written, rows = machine.keys(found, Path(plan.keys), PartyKeys.check_partner), None, Written(), 0
    with found.looking("policy"):
        policy = load_policy(plan.policy)
        _granted(plan, policy, keys, found)
    if policy is not None:
        _noise_key(policy, found)
        written, rows = _ledger(policy, found), _partner_table(plan, policy, found)
        spool = policy.ledger.with_name(f"{policy.ledger.name}.rows")
        machine.room(found, "ledger and spool", spool, rows * (_ROW + _VALUE * len(policy.columns)))
        machine.room(found, "state", Path(plan.state), _SENT * rows * len(policy.columns))
    doubt = _reached(plan, keys, found)
    machine.clock(found, Path(plan.keys), written, doubt)
    machine.versions(found, None)


def _granted(plan: PartnerPlan, policy: Policy, keys: PartyKeys | None, found: Findings) -> None:
    """Say what the lead may ask for; the policy must be this party's."""
    if keys is not None and policy.party != keys.name:
        raise SettingError("party", f"must be {keys.name!r} in {plan.policy}, as in the certificate", policy.party)
    purposes = sorted({each for grant in policy.grants if grant.who == plan.lead for each in grant.purposes})
    if not purposes:
        raise RefusalError(f"the policy of {policy.party!r} grants nothing to {plan.lead!r}")
    asked = [policy.permit(plan.lead, each, "(none)", None) for each in purposes]
    may = "; ".join(f"{', '.join(column.name for column in each.columns)} for {each.purpose!r}" for each in asked)
    found.say("policy", f"{plan.policy}: {plan.lead!r} may ask for {may}")


def _noise_key(policy: Policy, found: Findings) -> None:
    with found.looking("noise key"):
        if policy.rows.noise == "fresh":
            found.say("noise key", "not needed: the policy asks for fresh noise")
            return
        key = load_key(policy.noise_key)
        found.say("noise key", f"{policy.noise_key}: version {key.version}, fingerprint {key.fingerprint}")


def _ledger(policy: Policy, found: Findings) -> Written:
    """Check the ledger with its history, and return when it was written."""
    written = Written()
    with found.looking("ledger"), Ledger(policy.ledger, patience=_PATIENCE) as ledger:
        count = verify(ledger)
        written += [
            (f"line {line.number} of the ledger", datetime.fromisoformat(line.at)) for line in ledger.lines()[-1:]
        ]
        written += machine.modified(ledger.file, *ledger.folder.glob("*.history"))
        shown = [each for each in (ledger.file, ledger.folder) if each.stat().st_mode & 0o077]
        if shown:
            rule = "others can read it, and it is as confidential as the table: chmod go-rwx it"
            found.say("ledger", f"{shown[0]}: {rule}", "warning")
        else:
            found.say("ledger", f"{policy.ledger}: whole, {count} lines")
    return written


def _partner_table(plan: PartnerPlan, policy: Policy, found: Findings) -> int:
    """Read the ids as the job would, and see whether the policy's columns are there; return how many rows there are."""
    rows = 0
    with found.looking("table"):
        source = open_source(plan.table, policy.dialect)
        check_schema(source, policy, Request(plan.lead, "", "", tuple(policy.columns.values())))
        with blaming(plan.table):
            rows = len(Ids.of(read_whole(source, [plan.id]), plan.id))
        found.say("table", f"{plan.table}: {rows:,} rows with {len(policy.columns)} columns of the policy")
    return rows


def _reached(plan: PartnerPlan, keys: PartyKeys | None, found: Findings) -> str | None:
    """Dial the lead, shake hands and leave; return what speaks against the clock here or there."""
    if keys is None:
        found.say("lead", "not dialled, because of the keys", "warning")
        return None
    try:
        theirs = knock(keys, plan.lead, parse_address(plan.address), MESSAGES, known_as=plan.known_as)
    except (PeerError, RefusalError, FileError) as error:
        found.say("lead", str(error), "problem")
        return str(error) if "clock" in str(error) else None
    found.say("lead", f"{plan.lead!r} at {plan.address} would let this party in; it runs veilboost {theirs.program}")
    return None
