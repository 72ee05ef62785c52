"""A lead's side of a prediction over a network: wait for the partners whose columns the model reads, put these beside.

What came is kept until the predictions are written; a lead that was stopped goes on from there.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from veilboost.data import Source, read_whole
from veilboost.errors import SettingError, blaming
from veilboost.vertical import joint
from veilboost.vertical.alignment import Ids
from veilboost.vertical.folder import Saved
from veilboost.vertical.joined import Joined
from veilboost.vertical.opboost import Ask
from veilboost.vertical.partners import Tell, run_of, waiting
from veilboost.vertical.plans import PredictPlan
from veilboost.vertical.steps import Steps
from veilboost.wire import load_party


@contextmanager
def joined_by_partners(plan: PredictPlan, saved: Saved, source: Source, tell: Tell) -> Iterator[Joined]:
    """Yield the samples in ``source`` with the columns of partners; leave once the predictions are written."""
    keys = load_party(Path(plan.keys))
    if keys.name != saved.statement.lead:
        raise SettingError("keys", f"must be those of {saved.statement.lead!r}, who leads this model", keys.name)
    table = read_whole(source)
    with blaming(source.name):
        ids = Ids.of(table, plan.id)
        joint.check(saved, table)
    asks = joint.asked(saved, len(ids), job=plan.name, purpose=plan.purpose)
    if not asks:
        raise SettingError(
            "--partners", "is for a model that reads columns of partners; this one reads none", plan.name
        )
    for party in {each.party for each in saved.statement.features} - {*asks, keys.name}:
        tell(f"no tree compares a column of {party}: it is not asked for any")
    with Steps(Path(plan.state)) as steps:
        with waiting(plan, keys, asks, ids, steps, run_of(steps, _digest(asks, ids)), tell) as met:
            answers = met.answers()
            yield Joined(joint.beside(saved, table, answers), tuple(each.statement for each in answers.values()))
        steps.finish()


def _digest(asks: Mapping[str, Ask], ids: Ids) -> str:
    """Return the identity of what partners are asked for, and of which rows."""
    found = hashlib.sha256(msgspec.msgpack.encode(asks))
    found.update(ids.digest(b"", "", in_order=True))
    return found.hexdigest()
