"""The only door out: policy, ledger, permanent noise, desensitised files."""

from veilboost.release.desensitise import Outcome, desensitise
from veilboost.release.door import Door, PolicyDoor, Released, SimulationDoor
from veilboost.release.draft import draft
from veilboost.release.keys import NoiseKey, load_key, new_key, rotate_key
from veilboost.release.ledger import Ledger, Line, Receipt
from veilboost.release.policy import Column, Policy, Request, load_policy
from veilboost.release.statement import Statement
from veilboost.release.verify import verify

__all__ = [
    "Column",
    "Door",
    "Ledger",
    "Line",
    "NoiseKey",
    "Outcome",
    "Policy",
    "PolicyDoor",
    "Receipt",
    "Released",
    "Request",
    "SimulationDoor",
    "Statement",
    "desensitise",
    "draft",
    "load_key",
    "load_policy",
    "new_key",
    "rotate_key",
    "verify",
]
