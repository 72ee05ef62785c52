"""Audits: attacks that try to refute a guarantee, with confidence bounds; the broken twins live in `sabotage`."""

from veilboost.audits.agreement import Agreement
from veilboost.audits.distinguish import Evidence
from veilboost.audits.local import LocalAudit, audit_local
from veilboost.audits.permanence import PermanenceAudit, audit_permanence
from veilboost.audits.table import Audited, Finding, TableAudit, audit_table

__all__ = [
    "Agreement",
    "Audited",
    "Evidence",
    "Finding",
    "LocalAudit",
    "PermanenceAudit",
    "TableAudit",
    "audit_local",
    "audit_permanence",
    "audit_table",
]
