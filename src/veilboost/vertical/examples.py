"""Commented examples of the files of a lead and of a partner: for a bank, a shop and a clinic."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from veilboost.errors import SettingError


@dataclass(frozen=True)
class _Lead:
    name: str
    purpose: str
    label: str
    id: str
    partner: str


_LEADS: Mapping[str, _Lead] = {
    "bank": _Lead("risk", "default risk", "default", "id", "shop"),
    "shop": _Lead("churn", "churn", "left", "customer", "bank"),
    "clinic": _Lead("readmission", "readmission", "readmitted", "patient", "shop"),
}
_JOBS: Mapping[str, str] = {"bank": "churn", "shop": "risk", "clinic": "trial"}
_IDS: Mapping[str, str] = {"bank": "customer", "shop": "id", "clinic": "patient"}
_ASKING: Mapping[str, str] = {"bank": "shop", "shop": "bank", "clinic": "hospital"}

_JOB = """\
# What the lead, {who}, does:  veilboost lead job.toml
# It waits for its partners, trains, and writes the model folder. Stopped or killed, start the same command again:
# it goes on where it was; veilboost doctor FILE says what is missing. Paths are taken from the folder of this file.
format = 1
name = "{name}"                     # partners see it, and their ledgers keep it
purpose = "{purpose}"       # a partner's policy must grant it to you

table = "{who}.csv"               # your own rows: .csv, .parquet, .arrow, or postgresql://host/base#table
label = "{label}"                # the column to predict; it never leaves
id = "{id}"                       # the same ids in the same order at every party; checked without showing them
# weight = "..."                  # a column of row weights
# leave_out = ["..."]             # columns of yours that the model must not use
# task = "regression"             # or "classification"; without it, what the label looks like

model = "model"                   # the folder to write
keys = "{who}"                    # veilboost keys party {who} --address HOST --folder {who}
listen = "0.0.0.0:7340"           # where partners dial you
wait = 3600.0                     # seconds to wait for a partner, each time
# state = "job.state"             # what was done so far, until the model is there

# thresholds = "on-request"       # partners keep raw values back until they are asked for some; they must stay
# sharpen = false                 # undo part of the noise's bias; without it, for numbers on clear samples alone
# samples = "desensitised"        # what you will predict for; "clear": raw columns

[boosting]
backend = "xgboost"               # or "lightgbm"
trees = 80
depth = 3
learning_rate = 0.1
# early_stopping = 10             # stop after so many trees that helped nothing on a tenth of the rows
# seed = 0
# threads = 4
# parameters = {{ reg_lambda = 2.0 }}   # the library's own

[partners.{partner}]                  # one such block for each partner, by the name in its certificate
# columns = ["...", "..."]        # without it: all that its policy lets out for the purpose
"""

_PREDICT = """\
# What the lead, {who}, does to predict for new samples together with its partners:
#   veilboost predict model new.csv predictions.csv --partners predict.toml
# The model says who they are, and which of their columns it reads. Each starts veilboost join, its table now being that
# of the new samples. Stopped or killed, start the same command again. Paths are taken from the folder of this file.
format = 1
name = "{name}: predictions"        # partners see it, and their ledgers keep it
purpose = "{purpose}"       # a partner's policy must grant it to you
id = "{id}"                       # the same ids in the same order at every party; checked without showing them

keys = "{who}"                    # veilboost keys party {who} --address HOST --folder {who}
listen = "0.0.0.0:7340"           # where partners dial you
wait = 3600.0                     # seconds to wait for a partner, each time
# state = "predict.state"         # what came so far, until the predictions are there
"""

_PARTNER = """\
# What a partner, {who}, does:  veilboost join partner.toml --dry-run, and then without --dry-run
# It dials the lead, shows what is asked for, lets out what the policy allows, and leaves. Stopped or killed, start the
# same command again; veilboost doctor partner.toml says what is missing. Paths are taken from the folder of this file.
format = 1
lead = "{lead}"                     # by the name in its certificate
address = "localhost:7340"        # where it listens: host:port
# known_as = "lead.example"       # the host in its certificate, if you dial another, as through a relay
keys = "{who}"                    # veilboost keys party {who} --folder {who}

table = "{who}.csv"               # .csv, .parquet, .arrow, or postgresql://host/base#table
id = "{id}"                       # the ids that both hold, in the same order; checked without showing them
policy = "{who}.toml"             # what may leave, to whom and at what cost; veilboost init policy writes a draft
# jobs = ["{job}"]              # take part in these jobs alone
wait = 3600.0                     # seconds to wait for the lead, each time
# state = "partner.state"         # what was done so far, until the lead needs nothing more
"""


def job_example(who: str) -> str:
    """Return a job file for a ``who`` of the examples that leads.

    >>> job_example("clinic").splitlines()[0]
    '# What the lead, clinic, does:  veilboost lead job.toml'
    """
    lead = _LEADS[_known(who)]
    return _filled(
        _JOB, who=who, name=lead.name, purpose=lead.purpose, label=lead.label, id=lead.id, partner=lead.partner
    )


def predict_example(who: str) -> str:
    """Return a file for predictions for a ``who`` of the examples that leads.

    >>> predict_example("bank").splitlines()[5]
    'name = "risk: predictions"        # partners see it, and their ledgers keep it'
    """
    lead = _LEADS[_known(who)]
    return _filled(_PREDICT, who=who, name=lead.name, purpose=lead.purpose, id=lead.id)


def partner_example(who: str) -> str:
    """Return a partner's file for a ``who`` of the examples.

    >>> partner_example("shop").splitlines()[4]
    'lead = "bank"                     # by the name in its certificate'
    """
    return _filled(_PARTNER, who=_known(who), lead=_ASKING[who], id=_IDS[who], job=_JOBS[who])


def _filled(text: str, **names: str) -> str:
    """Return an example with its names, and the remarks below each other.

    >>> _filled("id = '{id}'    # the same at every party", id="patient")
    "id = 'patient'                    # the same at every party"
    """
    return re.sub(
        r"^((?:# )?\w+ = .*?|\[.*?\]) +# ", lambda found: f"{found[1]:<33} # ", text.format(**names), flags=re.M
    )


def _known(who: str) -> str:
    if who not in _LEADS:
        raise SettingError("who", f"must be one of {', '.join(_LEADS)}", who)
    return who
