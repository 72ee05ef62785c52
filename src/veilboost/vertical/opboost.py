"""OpBoost: partners desensitise each column once, and the lead trains on noisy ranks as if they were its own.

What the paper calls its training process, in running order; the lead's side, then the partner's:

1. *Ask*: the lead says which columns it wants, for which job and purpose.
2. *Pre-process and desensitise*: the partner turns values into public codes and draws noisy ones, through policy and
   ledger; this is the only step that spends privacy.
3. *Rank*: noisy codes become ordinal numbers, dense, from 1. A tree only ever compares, so nothing is lost.
4. *Send*: ranks, and with them the raw values between which they lie ("up-front"). In the paper the partner keeps
   these, and the lead asks for those that became thresholds ("on-request").
5. *Train*: the lead boosts trees on ranks, with an ordinary library.
6. *Put the thresholds back*: the model now compares raw values, and is a stock model.
7. *Sharpen*, where it is wanted: `veilboost.vertical.sharpening`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, PeerError, SettingError
from veilboost.release import Door, Statement
from veilboost.trees import BoostingSettings, RankModel, Rows, StockModel, restore, train
from veilboost.vertical.columns import Input, ModelColumn, Nominal, Own, Packed, expand, in_order, own, pack
from veilboost.vertical.promises import checked, remade
from veilboost.vertical.ranks import Between
from veilboost.vertical.sent import Opened, Sent, opened, rising
from veilboost.vertical.sharpening import Extrapolation, Fit, noised_again, seed_of, sharpen
from veilboost.wire import Array, Channel, Message, Traffic, telling

Thresholds = Literal["up-front", "on-request"]
Progress = Callable[[str, float], None]


class Ask(Message, frozen=True, kw_only=True):
    """The lead asks for columns (none named: for all that may leave)."""

    job: str
    purpose: str
    columns: list[str] | None
    rows: int
    thresholds: Thresholds
    between: Between


class Ranks(Message, frozen=True, kw_only=True):
    """A partner's columns, and what it promises about them."""

    VERSION = 2
    LARGEST = 1 << 32

    columns: list[Sent]
    statement: Statement


class Wanted(Message, frozen=True, kw_only=True):
    """The lead asks what lies behind some ranks: for each column the last rank below each threshold."""

    LARGEST = 1 << 28

    ranks: dict[str, Array]


class Cuts(Message, frozen=True, kw_only=True):
    """The raw values that were asked for."""

    LARGEST = 1 << 28

    cuts: dict[str, Array]


class Done(Message, frozen=True, kw_only=True):
    """The lead needs nothing more."""


MESSAGES: tuple[type[Message], ...] = (Ask, Ranks, Wanted, Cuts, Done)
"""What the parties agree upon, by name and version, before they begin."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be trained, and how the parties go about it; ``columns`` names what each partner is asked for."""

    lead: str
    name: str
    purpose: str
    boosting: BoostingSettings
    thresholds: Thresholds = "up-front"
    nominal: Nominal = "one-hot"
    bins: int = 1024
    sharpen: bool = False
    columns: Mapping[str, Sequence[str]] | None = None

    @property
    def between(self) -> Between:
        """Where the library puts a split between two values that it has seen."""
        return "next" if self.boosting.backend == "xgboost" else "middle"


@dataclass(frozen=True, kw_only=True)
class LeadTable:
    """What the lead holds: the label, and perhaps columns, weights, and which rows decide when to stop."""

    target: NDArray[np.float64]
    columns: Sequence[Own] = ()
    weight: NDArray[np.float64] | None = None
    held_out: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Answer:
    """A partner's columns, unpacked and as they were agreed, and what it promises about them."""

    columns: Sequence[Opened]
    statement: Statement


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What the lead ends up with; ``extrapolation`` says how the model was sharpened, if it was."""

    model: StockModel
    as_it_comes: StockModel
    extrapolation: Extrapolation | None
    ranks: RankModel
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    traffic: Mapping[str, Traffic]

    @property
    def gains(self) -> dict[str, float]:
        """What the splits of each feature gained in all, feature by feature; the library may write names otherwise."""
        gains = self.as_it_comes.importance("total_gain")
        names = zip(self.inputs, self.as_it_comes.features, strict=True)
        return {each.feature: gains.get(name, 0.0) for each, name in names}


def lead(
    channels: Sequence[Channel],
    table: LeadTable,
    job: Job,
    *,
    order: Sequence[str] | None = None,
    progress: Progress = lambda _step, _share: None,
) -> Trained:
    """Train over ``channels``, one to each partner; features stand in the ``order`` of columns, or the lead's first."""
    with telling(channels):
        _check(channels, job)
        own_columns = [each for column in table.columns for each in _own(column, job, len(table.target))]
        for channel in channels:
            channel.send(_ask(channel, table, job))
        answers = {channel.peer: _receive(channel, len(table.target), job) for channel in channels}
        gathered = _Gathered(own_columns, answers, job, order)
        columns = gathered.columns()
        ranks = _train(columns, table, job, progress)
        columns = _ask_for_cuts(channels, columns, ranks, job)
        model = as_it_comes = restore(ranks, [each.cuts for each in columns])
        extrapolation = None
        if job.sharpen and any(answer.columns for answer in answers.values()):

            def again(draw: int, times: int) -> Fit:
                made = _train(gathered.noised(draw, times).columns(), table, job, lambda _step, _share: None)
                margins = partial(made.margins, [each.values for each in columns])
                return Fit(restore(made, [each.cuts for each in columns]), margins)

            model, extrapolation = sharpen(as_it_comes, again, job.boosting.task, table.target, table.weight, progress)
        for channel in channels:
            channel.send(Done())
    return Trained(
        model=model,
        as_it_comes=as_it_comes,
        extrapolation=extrapolation,
        ranks=ranks,
        inputs=tuple(each.input for each in columns),
        statements=tuple(answer.statement for answer in answers.values()),
        traffic={channel.peer: channel.traffic for channel in channels},
    )


def partner(channel: Channel, door: Door) -> Statement:
    """Answer one lead with what ``door`` lets out, and return what was promised."""
    with telling([channel]):
        ask = channel.receive(Ask)
        if len(set(ask.columns or ())) < len(ask.columns or ()):
            raise PeerError(channel.peer, "asked for a column twice")
        released = door.release(who=channel.peer, purpose=ask.purpose, job=ask.job, columns=ask.columns, rows=ask.rows)
        up_front = ask.thresholds == "up-front"
        packed = {
            column.name: pack(column, released.codes[column.name], ask.between, with_cuts=up_front)
            for column in released.columns
        }
        channel.send(Ranks(columns=[each.sent for each in packed.values()], statement=released.statement))
        if not up_front:
            channel.send(Cuts(cuts=_asked(channel, channel.receive(Wanted), packed)))
        channel.receive(Done)
    return released.statement


def _check(channels: Sequence[Channel], job: Job) -> None:
    if len({job.lead, *(channel.peer for channel in channels)}) <= len(channels):
        raise SettingError("channels", "must lead to partners of different names", [each.peer for each in channels])
    if job.sharpen and job.thresholds != "up-front":
        raise SettingError("sharpen", "needs thresholds up-front: ranks alone cannot be noised again", job.thresholds)


def _ask(channel: Channel, table: LeadTable, job: Job) -> Ask:
    wanted = None if job.columns is None else job.columns.get(channel.peer)
    return Ask(
        job=job.name,
        purpose=job.purpose,
        columns=None if wanted is None else list(wanted),
        rows=len(table.target),
        thresholds=job.thresholds,
        between=job.between,
    )


def _own(column: Own, job: Job, rows: int) -> Iterator[ModelColumn]:
    if len(column.values) != rows:
        raise DataError(column.name, f"must have a value for each of the {rows} labels", len(column.values))
    if column.categories is None and np.isinf(column.values).any():
        raise DataError(column.name, "must not be infinite", f"infinity at row {int(np.isinf(column.values).argmax())}")
    return own(column, job.lead, backend=job.boosting.backend, bins=job.bins, nominal=job.nominal)


def _receive(channel: Channel, rows: int, job: Job) -> Answer:
    """Return a partner's columns, which must be as they were agreed, under a statement that was worked out again."""
    answer = channel.receive(Ranks)
    said = answer.statement
    if (said.party, said.to, said.job, said.purpose) != (channel.peer, job.lead, job.name, job.purpose):
        raise PeerError(channel.peer, "sent a statement of another party, or about another job")
    names = [sent.name for sent in answer.columns]
    if sorted(names) != sorted(each.column for each in said.columns) or len(set(names)) < len(names):
        raise PeerError(channel.peer, f"sent the columns {names} with a statement about others")
    wanted = None if job.columns is None else job.columns.get(channel.peer)
    if wanted is not None and sorted(names) != sorted(wanted):
        raise PeerError(channel.peer, f"sent the columns {names} where {list(wanted)} were asked for")
    columns = [_opened(channel, sent, rows, job) for sent in answer.columns]
    return Answer(columns, checked(said))


def _opened(channel: Channel, sent: Sent, rows: int, job: Job) -> Opened:
    try:
        return opened(sent, rows, with_cuts=job.thresholds == "up-front")
    except ValueError as error:
        raise PeerError(channel.peer, f"sent column {sent.name!r}, which {error}") from None


@dataclass(frozen=True)
class _Gathered:
    """The lead's own features and every partner's answer, from which the columns of a model are made."""

    own: Sequence[ModelColumn]
    answers: Mapping[str, Answer]
    job: Job
    order: Sequence[str] | None

    def columns(self) -> list[ModelColumn]:
        """Return all features, in order."""
        theirs = [
            each
            for party, answer in self.answers.items()
            for column in answer.columns
            for each in expand(column, party, self.job.nominal)
        ]
        columns = in_order([*self.own, *theirs], self.order)
        if not columns:
            raise SettingError("columns", "must be at least one, of the lead or of a partner", [])
        return columns

    def noised(self, draw: int, times: int) -> "_Gathered":
        """Return the same with every partner's column noised so many ``times`` more."""
        answers = dict(self.answers)
        for step in range(times):
            answers = {party: self._again(party, answer, (draw, step)) for party, answer in answers.items()}
        return replace(self, answers=answers)

    def _again(self, party: str, answer: Answer, when: tuple[int, int]) -> Answer:
        mechanisms = {each.column: remade(party, each) for each in answer.statement.columns}
        columns = [
            noised_again(
                column,
                mechanisms[column.sent.name],
                self.job.between,
                seed_of(self.job.boosting.seed, party, column.sent.name, when),
            )
            for column in answer.columns
        ]
        return Answer(columns, answer.statement)


def _train(columns: Sequence[ModelColumn], table: LeadTable, job: Job, progress: Progress) -> RankModel:
    def rows(chosen: NDArray[np.bool_] | None) -> Rows:
        if chosen is None:
            return Rows([each.values for each in columns], table.target, table.weight)
        weight = None if table.weight is None else table.weight[chosen]
        return Rows([each.values[chosen] for each in columns], table.target[chosen], weight)

    out = table.held_out
    return train(
        job.boosting,
        [each.feature for each in columns],
        rows(None if out is None else ~out),
        evaluation=None if out is None else rows(out),
        progress=lambda done, of: progress("training", done / of),
    )


def _ask_for_cuts(
    channels: Sequence[Channel], columns: list[ModelColumn], ranks: RankModel, job: Job
) -> list[ModelColumn]:
    """Ask each partner for the raw values behind its thresholds, and for nothing else, unless they are here already."""
    if job.thresholds == "up-front":
        return columns
    needed = ranks.needed()
    wanted: dict[str, dict[str, NDArray[np.int64]]] = {channel.peer: {} for channel in channels}
    for each, places in zip(columns, needed, strict=True):
        if each.asked:
            wanted[each.input.party][each.input.column] = places
    for channel in channels:
        channel.send(Wanted(ranks={name: Array.of(places) for name, places in wanted[channel.peer].items()}))
    found = {channel.peer: _receive_cuts(channel, wanted[channel.peer]) for channel in channels}
    return [_filled(each, places, found) for each, places in zip(columns, needed, strict=True)]


def _receive_cuts(channel: Channel, wanted: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.float64]]:
    answer = channel.receive(Cuts)
    cuts = {name: array.read() for name, array in answer.cuts.items()}
    if set(cuts) != set(wanted):
        raise PeerError(channel.peer, f"sent cuts of the columns {sorted(cuts)} where {sorted(wanted)} were asked for")
    for name, places in wanted.items():
        found = cuts[name]
        if found.dtype != np.float64 or len(found) != len(places):
            raise PeerError(channel.peer, f"sent no cut for each threshold of column {name!r}")
        if not rising(found):
            raise PeerError(channel.peer, f"sent cuts of column {name!r} that do not rise")
    return cuts


def _filled(
    column: ModelColumn, places: NDArray[np.int64], found: Mapping[str, Mapping[str, NDArray[np.float64]]]
) -> ModelColumn:
    if not column.asked or column.cuts is None:
        return column
    cuts = column.cuts.copy()
    cuts[places - 1] = found[column.input.party][column.input.column]
    return replace(column, cuts=cuts)


def _asked(channel: Channel, wanted: Wanted, packed: Mapping[str, Packed]) -> dict[str, Array]:
    """Return the cuts that the lead wants to know; only those that exist."""
    answer = {}
    for name, array in wanted.ranks.items():
        cuts = packed[name].cuts if name in packed else None
        places = array.read()
        if (
            cuts is None
            or places.dtype.kind not in "iu"
            or (len(places) and not 1 <= places.min() <= places.max() <= len(cuts))
        ):
            raise PeerError(channel.peer, f"asked for cuts of column {name!r} that do not exist")
        answer[name] = Array.of(cuts[places - 1])
    return answer
