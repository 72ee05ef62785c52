"""A partner's side of a job over a network: dial, see what is asked, let out what the policy allows, leave."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import msgspec
import numpy as np
import pyarrow as pa

from veilboost.data import NumberedSource, Source, open_source, read_whole
from veilboost.errors import LineError, RefusalError, SettingError, blaming
from veilboost.release import Outcome, Policy, PolicyDoor, Statement, load_policy
from veilboost.release.statement import exact
from veilboost.vertical import opboost
from veilboost.vertical.alignment import Ids, already_aligned
from veilboost.vertical.fitting import Progress
from veilboost.vertical.meeting import MESSAGES, STEPS, Offer, Standing, Step, excused, lower
from veilboost.vertical.opboost import Ask, Done, Prediction, Ranks
from veilboost.vertical.plans import PartnerPlan
from veilboost.vertical.sent import Sent
from veilboost.vertical.steps import Steps
from veilboost.wire import Array, Channel, PartyKeys, dial, load_party, parse_address
from veilboost.wire.values import get_ready

Tell = Callable[[str], None]
_PLACE = "(order of rows)"
_PAUSE = 2.0


class Aligned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which run, with which table and policy, the rows were found to be the same."""

    run: str
    made_from: str


class Left(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What left, or is about to: kept, so that the very same is sent again. ``cuts`` are there to be asked for.

    Each column is kept in a file of its own before this is.
    """

    run: str
    made_from: str
    asked: Ask
    ranks: Ranks
    cuts: dict[str, Array]


@dataclass(frozen=True, kw_only=True)
class JoinReport:
    """What a partner did in a job; without a statement nothing left, without an outcome what left had left before."""

    lead: str
    asked: Ask
    statement: Statement | None
    outcome: Outcome | None


def join(
    plan: PartnerPlan,
    *,
    dry_run: bool = False,
    progress: Progress = lambda _step, _share: None,
    tell: Tell = lambda _line: None,
) -> JoinReport:
    """Take part in the job of the lead that ``plan`` names; a dry run hears what is asked, and lets nothing out."""
    partner = _Partner.of(plan, progress, tell)
    get_ready()
    if dry_run:
        return partner.attend(None)
    _get_ready(partner.policy)
    with Steps(Path(plan.state)) as steps:
        return partner.attend(steps)


def _get_ready(policy: Policy) -> None:
    """Load and work out what a release needs while the lead is not waiting; what is drawn, of code 1, goes nowhere."""
    for column in policy.columns.values():
        exact(column.mechanism, column.domain.size)
        column.mechanism.draw(np.ones(1, dtype=np.min_scalar_type(column.domain.size)))


@dataclass
class _Partner:
    plan: PartnerPlan
    keys: PartyKeys
    policy: Policy
    source: Source
    ids: Ids
    progress: Progress
    tell: Tell

    @classmethod
    def of(cls, plan: PartnerPlan, progress: Progress, tell: Tell) -> "_Partner":
        keys, policy = load_party(Path(plan.keys)), load_policy(plan.policy)
        if policy.party != keys.name:
            raise SettingError("party", f"must be {keys.name!r} in {plan.policy}, as in the certificate", policy.party)
        source = open_source(plan.table, policy.dialect)
        with blaming(plan.table):
            ids = Ids.of(read_whole(source, [plan.id]), plan.id)
        pa.default_memory_pool().release_unused()  # what the batches took is not kept beside the ids
        return cls(plan, keys, policy, source, ids, progress, tell)

    def attend(self, steps: Steps | None) -> JoinReport:
        """Dial, and dial again where the line breaks, until all is done or the lead was away for too long."""
        gone, pause = time.monotonic(), Event()
        while True:
            try:
                with self._dialled(max(0.0, gone + self.plan.wait - time.monotonic())) as channel:
                    gone = time.monotonic()
                    with excused(channel):
                        return self._talk(channel, steps)
            except LineError as error:
                if time.monotonic() - gone >= self.plan.wait:
                    raise LineError(error.party, f"{error.problem}; to go on, start the same command again") from None
                self.tell(f"{error}; dialling again")
            pause.wait(_PAUSE)

    def _dialled(self, patience: float) -> Channel:
        lead, address = self.plan.lead, parse_address(self.plan.address)
        self.tell(f"dialling {lead} at {self.plan.address}, for up to {patience:.0f} seconds")
        return dial(self.keys, lead, address, MESSAGES, patience=patience, known_as=self.plan.known_as)

    def _talk(self, channel: Channel, steps: Steps | None) -> JoinReport:
        offer = channel.receive(Offer, self.plan.wait)
        if steps is None:
            return self._look(channel, offer.ask)
        self._show(offer.ask)
        mine = self._step(steps, offer)
        channel.send(Standing(step=mine))
        if offer.step == "finished":
            channel.receive(Done, self.plan.wait)
            left = steps.load("released", Left)
            steps.finish()
            return JoinReport(
                lead=channel.peer,
                asked=offer.ask,
                statement=None if left is None else left.ranks.statement,
                outcome=None,
            )
        return self._release(channel, steps, offer, lower(offer.step, mine))

    def _release(self, channel: Channel, steps: Steps, offer: Offer, common: int) -> JoinReport:
        if common < STEPS.index("aligned"):
            already_aligned(channel, self.ids, "partner", offer.ask.job, timeout=self.plan.wait)
            steps.save("aligned", Aligned(run=offer.run, made_from=self._made_from))
            self.tell(f"{channel.peer} holds the same {len(self.ids):,} ids in the same order")
        left, outcome = self._left(channel.peer, steps, offer)
        if common < STEPS.index("released"):
            self._send(channel, steps, left.ranks)
        if offer.ask.in_two_steps:
            self.tell(f"waiting until {channel.peer} has trained, to tell it which values its thresholds are")
            opboost.answer_cuts(channel, {name: each.read() for name, each in left.cuts.items()}, self.plan.wait)
        channel.receive(Done, self.plan.wait)
        steps.finish()
        return JoinReport(lead=channel.peer, asked=offer.ask, statement=left.ranks.statement, outcome=outcome)

    def _send(self, channel: Channel, steps: Steps, ranks: Ranks) -> None:
        channel.send(ranks, self.plan.wait)
        for number, _ in enumerate(ranks.statement.columns):
            channel.send(steps.fetch(_column(number), Sent), self.plan.wait)

    def _left(self, lead: str, steps: Steps, offer: Offer) -> tuple[Left, Outcome | None]:
        """Return what leaves: what is kept from an earlier try, or what the policy lets out now."""
        kept = steps.load("released", Left)
        if kept is not None:
            self.policy.permit(lead, offer.ask.purpose, offer.ask.job, offer.ask.columns)
            self.tell("what was drawn before is sent again: that costs nothing")
            return kept, None
        door = PolicyDoor(self.policy, NumberedSource(self.source, _PLACE), order=_PLACE, progress=self.progress)
        cuts = {}
        with opboost.released(lead, offer.ask, door) as (ranks, columns, outcome):
            for number, each in enumerate(columns):
                steps.save(_column(number), each.sent)
                if each.cuts is not None:
                    cuts[each.sent.name] = Array.of(each.cuts)
        left = Left(run=offer.run, made_from=self._made_from, asked=offer.ask, ranks=ranks, cuts=cuts)
        steps.save("released", left)
        return left, outcome

    def _look(self, channel: Channel, asked: Ask) -> JoinReport:
        """Work out what would leave, and say that nothing does."""
        channel.refuse("it only looks at what is asked for (a dry run)", again=True)
        self._show(asked)
        door = PolicyDoor(self.policy, NumberedSource(self.source, _PLACE), order=_PLACE, progress=self.progress)
        found = door.look(
            who=channel.peer, purpose=asked.purpose, job=asked.job, columns=asked.columns, rows=asked.rows
        )
        return JoinReport(lead=channel.peer, asked=asked, statement=None, outcome=found)

    def _show(self, asked: Ask) -> None:
        """Say what the lead asks for, and refuse a job that was not agreed."""
        if self.plan.jobs is not None and asked.job not in self.plan.jobs:
            raise RefusalError(
                f"{self.keys.name!r} takes part in the jobs {', '.join(self.plan.jobs)}, not {asked.job!r}"
            )
        request = self.policy.permit(self.plan.lead, asked.purpose, asked.job, asked.columns)
        opboost.agree(self.plan.lead, asked, {each.name: each.domain for each in request.columns})
        names = ", ".join(each.name for each in request.columns)
        use = "to predict for them" if isinstance(asked.use, Prediction) else "to train on them"
        what = f"{names} of {asked.rows:,} rows, {use}"
        self.tell(f"{self.plan.lead} asks for {what}; job: {asked.job}, purpose: {asked.purpose}")

    def _step(self, steps: Steps, offer: Offer) -> Step:
        """Return how far this party is in this run; what belongs to another, or to other columns, is forgotten."""
        aligned, left = steps.load("aligned", Aligned), steps.load("released", Left)
        if left is not None and (left.run, left.made_from, left.asked) != (offer.run, self._made_from, offer.ask):
            steps.forget("released", "column-*")
            left = None
        if aligned is not None and (aligned.run, aligned.made_from) != (offer.run, self._made_from):
            steps.forget("aligned", "released", "column-*")
            return "nothing"
        return "nothing" if aligned is None else "aligned" if left is None else "released"

    @property
    def _made_from(self) -> str:
        """The identity of policy and table, as far as it can be told without reading the whole table again."""
        path = Path(self.plan.table)
        found = [self.policy.digest, self.ids.digest(b"", "", in_order=True).hex()]
        if path.is_file():
            found += [str(path.stat().st_size), str(path.stat().st_mtime_ns)]
        return hashlib.sha256(" ".join(found).encode()).hexdigest()


def _column(number: int) -> str:
    return f"column-{number + 1}"
