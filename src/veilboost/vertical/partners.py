"""The partners that a lead waits for: each asked for its columns, over as many lines as it takes, and then let go.

Each partner is met by a thread of its own, in whatever order they come, and is free to go as soon as its columns are
here (with thresholds up-front). What came is kept at once; a lead that was stopped goes on from there.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.errors import FileError, LineError, PeerError, RefusalError
from veilboost.release import Statement
from veilboost.vertical import opboost
from veilboost.vertical.alignment import Ids, already_aligned
from veilboost.vertical.job import Answer
from veilboost.vertical.meeting import MESSAGES, STEPS, Offer, Standing, Step, excused, lower
from veilboost.vertical.opboost import Ask, Done, Ranks, Wanted
from veilboost.vertical.plans import Meeting
from veilboost.vertical.sent import Sent
from veilboost.vertical.steps import Steps
from veilboost.wire import Array, Listener, PartyKeys, TlsChannel, Traffic, kind_of, parse_address
from veilboost.wire.telling import INTERRUPTED

Tell = Callable[[str], None]
Cuts = dict[str, Array]
_PARTING = 30.0


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a job: from nothing to what it is for."""

    name: str
    job: str


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A partner's columns as they came, and the bytes of the line over which they did."""

    statement: Statement
    columns: list[Sent]
    sent: dict[str, int]
    received: dict[str, int]


def run_of(steps: Steps, job: str) -> str:
    """Return the name of the run that goes on, or of a new one; a job that was changed meanwhile is refused."""
    known = steps.load("run", Run)
    if known is None:
        known = Run(name=secrets.token_hex(16), job=job)
        steps.save("run", known)
    if known.job != job:
        rule = "another job, or another table, was begun: finish it as it was"
        raise FileError(steps.folder, f"{rule}, or remove this folder to begin anew")
    return known.name


@contextmanager
def waiting(
    plan: Meeting, keys: PartyKeys, asks: Mapping[str, Ask], ids: Ids, steps: Steps, run: str, tell: Tell
) -> Iterator["Partners"]:
    """Listen for the partners that are asked for something, until all that was to be done with them is done."""
    with Listener(keys, parse_address(plan.listen), list(asks), MESSAGES, refused=tell) as listener:
        tell(f"waiting at {listener.address[0]}:{listener.address[1]} for {', '.join(asks)}")
        met = Partners(plan, keys.name, asks, ids, steps, run, listener, tell)
        try:
            yield met
            met.part()
        finally:
            met.abandon()


@dataclass
class Partners:
    """The partners of a job, each met by a thread of its own; ``asks`` says what each is asked for."""

    plan: Meeting
    lead: str
    asks: Mapping[str, Ask]
    ids: Ids
    steps: Steps
    run: str
    listener: Listener
    tell: Tell
    _lines: dict[str, TlsChannel] = field(default_factory=dict)
    _wanted: Mapping[str, Cuts] | None = None
    _ending: tuple[str, bool] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answers(self) -> dict[str, Answer]:
        """Return every partner's columns, as they were agreed."""
        self._of_each(self._collect)
        found = {}
        for party, asked in self.asks.items():
            kept = self._kept(party)
            assert kept is not None
            found[party] = opboost.opened_answer(self.lead, party, asked, kept.statement, kept.columns)
        return found

    def cuts(self, wanted: Mapping[str, Cuts]) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Ask each partner for the raw values behind its thresholds."""
        self._wanted = wanted
        self._of_each(self._collect)
        told = {party: self.steps.load(self._file(party, "cuts"), Cuts) or {} for party in self.asks}
        return {party: {name: each.read() for name, each in cuts.items()} for party, cuts in told.items()}

    def traffic(self) -> dict[str, Traffic]:
        """Return the bytes of the line over which each partner's columns came."""
        found = {}
        for party in self.asks:
            kept, traffic = self._kept(party), Traffic()
            if kept is not None:
                traffic.sent.update(kept.sent)
                traffic.received.update(kept.received)
            found[party] = traffic
        return found

    def part(self) -> None:
        """Let go of partners that have not heard that they may: their line broke just then, or they came back."""
        for party in self.asks:
            gone = self.steps.has(self._file(party, "left"))
            with suppress(PeerError, RefusalError):  # nothing more is needed of it
                self._visit(party, self.listener.channel(party, 0.0 if gone else min(_PARTING, self.plan.wait)))

    def abandon(self) -> None:
        """Tell partners that still wait that this party stopped, and can go on."""
        for line in self._lines.values():
            line.refuse(INTERRUPTED, again=True)
            line.close()

    def _of_each(self, work: Callable[[str], None]) -> None:
        """Do the same with every partner at once; where one fails all others hear that the job stops."""
        with ThreadPoolExecutor(len(self.asks)) as pool:
            running = [pool.submit(work, party) for party in self.asks]
            try:
                for each in wait(running, return_when=FIRST_EXCEPTION).done:
                    each.result()
            except BaseException as error:
                self._end(error)
                raise

    def _end(self, error: BaseException) -> None:
        for_good = isinstance(error, RefusalError | PeerError) and not isinstance(error, LineError)
        reason = "another party stopped" if isinstance(error, RefusalError | PeerError) else INTERRUPTED
        with self._lock:
            self._ending = (reason, not for_good)
            lines = list(self._lines.values())
        self.listener.wake()
        for line in lines:
            line.deafen(reason)

    def _collect(self, party: str) -> None:
        """Meet a partner, again where the line breaks, until it has done its part so far."""
        since = time.monotonic()
        while not self._done(party):
            left = round(max(0.0, since + self.plan.wait - time.monotonic()), 1)
            try:
                line = self._lines.get(party) or self.listener.channel(party, left)
                since = time.monotonic()
                self._visit(party, line)
            except LineError as error:
                if self._ending is not None or time.monotonic() - since >= self.plan.wait:
                    raise self._helped(error) from None
                self.tell(f"{error}; waiting until it dials again")

    def _helped(self, error: LineError) -> LineError:
        kept = f"what was done so far is kept in {self.plan.state}"
        return LineError(error.party, f"{error.problem}; {kept}; to go on, start the same command again")

    def _visit(self, party: str, line: TlsChannel) -> None:
        """Bring a partner as far as can be over one line, and keep the line where there will be more to say."""
        more = False
        try:
            with self._excused(line):
                if self._registered(party, line):
                    self._meet(party, line)
                more = not self._serve(party, line)
        finally:
            if not more:
                with self._lock:
                    self._lines.pop(party, None)
                line.close()

    @contextmanager
    def _excused(self, line: TlsChannel) -> Iterator[None]:
        """Tell a partner why the line ends: perhaps for the sake of another."""
        with excused(line):
            try:
                yield
            except LineError:
                if self._ending is not None:
                    reason, again = self._ending
                    line.refuse(reason, again=again)
                raise

    def _registered(self, party: str, line: TlsChannel) -> bool:
        """Return whether a line is new."""
        with self._lock:
            if self._ending is not None:
                raise LineError(party, "is not waited for any more")
            new = self._lines.get(party) is not line
            self._lines[party] = line
        return new

    def _meet(self, party: str, line: TlsChannel) -> None:
        """Hear how far a partner is, check that its rows are ours, and take its columns: what has not been done yet."""
        mine, asked = self._step(party), self.asks[party]
        line.send(Offer(run=self.run, step=mine, rows=self.plan.rows, ask=asked))
        theirs = line.receive(Standing, self.plan.wait).step
        if mine == "finished":
            return
        common = lower(mine, theirs)
        if common < STEPS.index("aligned"):
            already_aligned(line, self.ids, "lead", asked.job, timeout=self.plan.wait)
            self.steps.save(self._file(party, "aligned"), True)
            self.tell(f"{party} holds the same {asked.rows:,} ids in the same order")
        if common < STEPS.index("released"):
            self._keep(party, line, opboost.receive_answer(self.lead, line, asked, self.plan.wait))

    def _keep(self, party: str, line: TlsChannel, answer: Answer) -> None:
        """Keep what came, as it was agreed, so that its partner need not come back."""
        before, traffic, columns = self._kept(party), line.traffic, [each.sent for each in answer.columns]
        came = {"sent": dict(traffic.sent), "received": dict(traffic.received)}
        kept = Kept(statement=answer.statement, columns=columns, **came)
        if before is not None and before.columns != columns:
            others = [self._file(each, "cuts") for each in self.asks]
            self.steps.forget("trained", "restored", *others)
        self.steps.save(self._file(party, "released"), kept)
        if self._wanted is not None and not self.steps.has("trained"):
            rule = "sent other columns than those that were trained on"
            raise PeerError(party, f"{rule}: to train anew, start the same command again")
        size = sum(traffic.received[kind_of(each)] for each in (Ranks, Sent))
        self.tell(f"{party} sent {len(columns)} columns: {size:,} bytes")

    def _serve(self, party: str, line: TlsChannel) -> bool:
        """Ask a partner for its cuts, once it is known which, and let it go; return whether it may go."""
        if not self._over(party):
            if self._wanted is None:
                return False
            asked = self._wanted.get(party, {})
            line.send(Wanted(ranks=asked), self.plan.wait)
            cuts = opboost.receive_cuts(line, asked, self.plan.wait)
            self.steps.save(self._file(party, "cuts"), {name: Array.of(each) for name, each in cuts.items()})
        line.send(Done(), self.plan.wait)
        self.steps.save(self._file(party, "left"), True)
        return True

    def _step(self, party: str) -> Step:
        if self._over(party):
            return "finished"
        done: tuple[Step, ...] = ("released", "aligned")
        return next((step for step in done if self.steps.has(self._file(party, step))), "nothing")

    def _done(self, party: str) -> bool:
        """Whether all is here that can be, before training or after it."""
        return self._over(party) or (self._wanted is None and self._step(party) == "released")

    def _over(self, party: str) -> bool:
        """Whether nothing more is needed of a partner."""
        needed = ["released", "cuts"] if self.asks[party].in_two_steps else ["released"]
        return all(self.steps.has(self._file(party, step)) for step in needed)

    def _kept(self, party: str) -> Kept | None:
        return self.steps.load(self._file(party, "released"), Kept)

    def _file(self, party: str, what: str) -> str:
        return f"{list(self.asks).index(party) + 1}-{what}"
