"""The only door out: policy, ledger, permanent noise, desensitised files."""

from veilboost.release.desensitise import Outcome, desensitise
from veilboost.release.draft import draft
from veilboost.release.keys import NoiseKey, load_key, new_key, rotate_key
from veilboost.release.ledger import Ledger, Line, Receipt
from veilboost.release.policy import Policy, Request, load_policy
from veilboost.release.verify import verify

__all__ = [
    "Ledger",
    "Line",
    "NoiseKey",
    "Outcome",
    "Policy",
    "Receipt",
    "Request",
    "desensitise",
    "draft",
    "load_key",
    "load_policy",
    "new_key",
    "rotate_key",
    "verify",
]
