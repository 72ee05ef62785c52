"""OpBoost: partners desensitise each column once, and the lead trains on noisy ranks as if they were its own.

What the paper calls its training process, in running order; the lead's side, then the partner's:

1. *Ask*: the lead says which columns it wants, for which job and purpose.
2. *Pre-process and desensitise*: the partner turns values into public codes and draws noisy ones, through policy and
   ledger; this is the only step that spends privacy.
3. *Rank*: noisy codes become ordinal numbers, dense, from 1. A tree only ever compares, so nothing is lost.
4. *Send*: the statement, then column by column ranks, and with them the raw values between which they lie ("up-front").
   In the paper the partner keeps these, and the lead asks for those that became thresholds ("on-request").
5. *Train*: the lead boosts trees on ranks, with an ordinary library.
6. *Put the thresholds back*: the model now compares raw values, and is a stock model.
7. *Sharpen*, where it is wanted: `veilboost.vertical.sharpening`.

For new samples the first four steps are the same; the rest is in `veilboost.vertical.joint`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.domain import Domain
from veilboost.errors import PeerError, RefusalError, SettingError
from veilboost.release import Column, Door, Outcome, Statement
from veilboost.trees import RankModel
from veilboost.vertical.columns import ModelColumn, Packed, pack
from veilboost.vertical.fitting import Fitted, Gathered, Progress, finish, grow, own_features
from veilboost.vertical.job import Answer, Job, LeadTable, Thresholds, Trained
from veilboost.vertical.noisy_samples import pack_samples
from veilboost.vertical.promises import checked
from veilboost.vertical.ranks import Between
from veilboost.vertical.sent import Along, Opened, Sent, opened, rising
from veilboost.wire import TIMEOUT, Array, Channel, Message, Traffic, telling


class Training(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="training"):
    """A model is to be trained: when raw values between ranks are sent, and where between two of them."""

    thresholds: Thresholds
    between: Between


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="prediction"):
    """A model is to predict for these rows: the digest of the domain in which it knows each column that it reads."""

    domains: dict[str, str]


class Ask(Message, frozen=True, kw_only=True):
    """The lead asks for columns (none named: for all that may leave), and says what for."""

    VERSION = 2

    job: str
    purpose: str
    columns: list[str] | None
    rows: int
    use: Training | Prediction

    @property
    def along(self) -> Along:
        """What travels with the ranks."""
        if isinstance(self.use, Prediction):
            return "raw"
        return "cuts" if self.use.thresholds == "up-front" else "nothing"

    @property
    def in_two_steps(self) -> bool:
        """Whether the lead will ask again, for raw values."""
        return self.along == "nothing"


class Ranks(Message, frozen=True, kw_only=True):
    """What a partner promises about its columns, which follow in this order, each in a message of its own (`Sent`)."""

    VERSION = 4
    LARGEST = 1 << 28

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


MESSAGES: tuple[type[Message], ...] = (Ask, Ranks, Sent, Wanted, Cuts, Done)
"""What the parties agree upon, by name and version, before they begin."""


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
        check([channel.peer for channel in channels], job)
        own_columns = own_features(table, job)
        asks = {channel.peer: ask(channel.peer, len(table.target), job) for channel in channels}
        gathered = Gathered(own_columns, collected(channels, asks, job.lead), job, order)
        columns = gathered.columns()
        ranks = grow(columns, table, job, progress)
        if job.thresholds == "on-request":
            asked = wanted(columns, ranks)
            for channel in channels:
                channel.send(Wanted(ranks=asked.get(channel.peer, {})))
            found = {channel.peer: receive_cuts(channel, asked.get(channel.peer, {})) for channel in channels}
            columns = filled(columns, ranks, found)
        fitted = finish(gathered, columns, ranks, table, progress)
        for channel in channels:
            channel.send(Done())
    return ended(gathered, ranks, fitted, {channel.peer: channel.traffic for channel in channels})


def collected(channels: Sequence[Channel], asks: Mapping[str, Ask], lead: str) -> dict[str, Answer]:
    """Ask all partners, then hear all of them."""
    for channel in channels:
        channel.send(asks[channel.peer])
    return {each.peer: receive_answer(lead, each, asks[each.peer]) for each in channels}


def ended(gathered: Gathered, ranks: RankModel, fitted: Fitted, traffic: Mapping[str, Traffic]) -> Trained:
    """Return all that the lead ends up with."""
    return Trained(
        model=fitted.model,
        as_it_comes=fitted.as_it_comes,
        extrapolation=fitted.extrapolation,
        ranks=ranks,
        inputs=tuple(each.input for each in gathered.columns()),
        statements=tuple(answer.statement for answer in gathered.answers.values()),
        traffic=traffic,
    )


def partner(channel: Channel, door: Door) -> Statement:
    """Answer one lead with what ``door`` lets out, and return what was promised."""
    with telling([channel]):
        asked = channel.receive(Ask)
        cuts = {}
        with released(channel.peer, asked, door) as (ranks, columns, _):
            channel.send(ranks)
            for each in columns:
                channel.send(each.sent)
                cuts[each.sent.name] = each.cuts
        if asked.in_two_steps:
            answer_cuts(channel, cuts)
        channel.receive(Done)
    return ranks.statement


@contextmanager
def released(lead: str, asked: Ask, door: Door) -> Iterator[tuple[Ranks, Iterator[Packed], Outcome | None]]:
    """Let out what the ``lead`` asked for, column by column, as ``door`` allows; its owner may know of the outcome.

    This is the only step that spends privacy.
    """
    agree(lead, asked, door.domains)
    options: dict[str, Any] = {"purpose": asked.purpose, "job": asked.job, "columns": asked.columns, "rows": asked.rows}
    with door.release(who=lead, **options) as out:
        packed = (_packed(column, out.codes(column.name), asked) for column in out.columns)
        yield Ranks(statement=out.statement), packed, out.outcome


def agree(lead: str, asked: Ask, domains: Mapping[str, Domain]) -> None:
    """Refuse what makes no sense, or samples for a model that knows a column in another domain."""
    if len(set(asked.columns or ())) < len(asked.columns or ()):
        raise PeerError(lead, "asked for a column twice")
    if not isinstance(asked.use, Prediction):
        return
    if not asked.columns or sorted(asked.columns) != sorted(asked.use.domains):
        raise PeerError(lead, "asked for other columns than its model reads")
    for name, digest in asked.use.domains.items():
        if name in domains and domains[name].digest().hex() != digest:
            now = domains[name].describe()
            raise RefusalError(f"column {name!r} is {now} here, which is not the domain that the model was trained on")


def _packed(column: Column, noisy: NDArray[Any], asked: Ask) -> Packed:
    if isinstance(asked.use, Prediction):
        return Packed(pack_samples(column, noisy), None)
    return pack(column, noisy, asked.use.between, with_cuts=not asked.in_two_steps)


def answer_cuts(channel: Channel, cuts: Mapping[str, NDArray[np.float64] | None], timeout: float = TIMEOUT) -> None:
    """Answer which raw values lie behind the ranks that became thresholds."""
    asked = channel.receive(Wanted, timeout)
    channel.send(Cuts(cuts={name: _asked(channel, name, places, cuts) for name, places in asked.ranks.items()}))


def check(parties: Sequence[str], job: Job) -> None:
    """Refuse partners of one name, and a job that no protocol can do."""
    if len({job.lead, *parties}) <= len(parties):
        raise SettingError("channels", "must lead to partners of different names", list(parties))
    if job.sharpen and job.thresholds != "up-front":
        raise SettingError("sharpen", "needs thresholds up-front: ranks alone cannot be noised again", job.thresholds)


def ask(party: str, rows: int, job: Job) -> Ask:
    """Return what a partner is asked for."""
    named = None if job.columns is None else job.columns.get(party)
    return Ask(
        job=job.name,
        purpose=job.purpose,
        columns=None if named is None else list(named),
        rows=rows,
        use=Training(thresholds=job.thresholds, between=job.between),
    )


def receive_answer(lead: str, channel: Channel, asked: Ask, timeout: float = TIMEOUT) -> Answer:
    """Return a partner's columns; it is heard no longer than it keeps to what was agreed."""
    said = channel.receive(Ranks, timeout).statement
    columns = (channel.receive(Sent, timeout) for _ in said.columns)
    return opened_answer(lead, channel.peer, asked, said, columns)


def opened_answer(lead: str, party: str, asked: Ask, said: Statement, columns: Iterable[Sent]) -> Answer:
    """Return a partner's columns, which must be as they were agreed, under a statement that was worked out again."""
    if (said.party, said.to, said.job, said.purpose) != (party, lead, asked.job, asked.purpose):
        raise PeerError(party, "sent a statement of another party, or about another job")
    names = [each.column for each in said.columns]
    if len(set(names)) < len(names):
        raise PeerError(party, f"sent a statement about the columns {names}, one of them twice")
    if asked.columns is not None and sorted(names) != sorted(asked.columns):
        raise PeerError(party, f"sent a statement about the columns {names} where {asked.columns} were asked for")
    if isinstance(asked.use, Prediction):
        for each in said.columns:
            if each.domain_digest != asked.use.domains[each.column]:
                raise PeerError(party, f"sent column {each.column!r} in another domain than the model was trained on")
    statement = checked(said)
    return Answer([_opened(party, name, sent, asked) for name, sent in zip(names, columns, strict=True)], statement)


def _opened(party: str, name: str, sent: Sent, asked: Ask) -> Opened:
    if sent.name != name:
        raise PeerError(party, f"sent column {sent.name!r} where its statement has {name!r}")
    try:
        return opened(sent, asked.rows, asked.along)
    except ValueError as error:
        raise PeerError(party, f"sent column {sent.name!r}, which {error}") from None


def wanted(columns: Sequence[ModelColumn], ranks: RankModel) -> dict[str, dict[str, Array]]:
    """Return for each partner and column the ranks that became thresholds, which is all that it is asked about."""
    found: dict[str, dict[str, Array]] = {each.input.party: {} for each in columns}
    for each, places in zip(columns, ranks.needed(), strict=True):
        if each.asked:
            found[each.input.party][each.input.column] = Array.of(places)
    return found


def receive_cuts(
    channel: Channel, asked: Mapping[str, Array], timeout: float = TIMEOUT
) -> dict[str, NDArray[np.float64]]:
    """Return the raw values behind a partner's thresholds, one for each, and rising."""
    answer = channel.receive(Cuts, timeout)
    cuts = {name: array.read() for name, array in answer.cuts.items()}
    if set(cuts) != set(asked):
        raise PeerError(channel.peer, f"sent cuts of the columns {sorted(cuts)} where {sorted(asked)} were asked for")
    for name, places in asked.items():
        found = cuts[name]
        if found.dtype != np.float64 or len(found) != len(places.read()):
            raise PeerError(channel.peer, f"sent no cut for each threshold of column {name!r}")
        if not rising(found):
            raise PeerError(channel.peer, f"sent cuts of column {name!r} that do not rise")
    return cuts


def filled(
    columns: Sequence[ModelColumn], ranks: RankModel, found: Mapping[str, Mapping[str, NDArray[np.float64]]]
) -> list[ModelColumn]:
    """Return the columns with the cuts that their partners told."""
    return [_filled(each, places, found) for each, places in zip(columns, ranks.needed(), strict=True)]


def _filled(
    column: ModelColumn, places: NDArray[np.int64], found: Mapping[str, Mapping[str, NDArray[np.float64]]]
) -> ModelColumn:
    if not column.asked or column.cuts is None:
        return column
    cuts = column.cuts.copy()
    cuts[places - 1] = found[column.input.party][column.input.column]
    return replace(column, cuts=cuts)


def _asked(channel: Channel, name: str, wanted: Array, held: Mapping[str, NDArray[np.float64] | None]) -> Array:
    """Return the cuts of a column that the lead wants to know; only those that exist."""
    cuts, places = held.get(name), wanted.read()
    if (
        cuts is None
        or places.dtype.kind not in "iu"
        or (len(places) and not 1 <= places.min() <= places.max() <= len(cuts))
    ):
        raise PeerError(channel.peer, f"asked for cuts of column {name!r} that do not exist")
    return Array.of(cuts[places - 1])
