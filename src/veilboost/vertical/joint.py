"""Joint prediction: a lead predicts for new samples with columns that partners desensitise on the way.

The partner's side is that of training, `veilboost.vertical.opboost.partner`, and so are the first four steps. The lead:

1. *Ask*: each partner for those of its columns that some tree compares, in the domains that the model knows.
2. to 4. *Desensitise, rank, send*: as in training; the same value of the same row leaves with the same noise.
5. *Decode*: beside the lead's own columns stand the raw values of noisy codes, as desensitised files would hold them.
6. *Predict*: with the stock model as it came from training; a sharpened one is for samples without noise.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from veilboost.errors import DataError, EvidenceError, PeerError, SettingError
from veilboost.vertical.columns import Input
from veilboost.vertical.folder import STATEMENT, Saved
from veilboost.vertical.job import Answer
from veilboost.vertical.noisy_samples import as_in_a_file
from veilboost.vertical.opboost import Ask, Done, Prediction, collected
from veilboost.vertical.samples import samples
from veilboost.wire import Channel, telling


def lead(channels: Sequence[Channel], saved: Saved, table: pa.Table, *, job: str, purpose: str) -> NDArray[Any]:
    """Predict for the samples in ``table`` over ``channels``, one to each partner whose columns the model reads."""
    with telling(channels):
        check(saved, table)
        asks = asked(saved, table.num_rows, job=job, purpose=purpose)
        if sorted(asks) != sorted(channel.peer for channel in channels):
            rule = f"must lead to those whose columns the model reads: {', '.join(asks)}"
            raise SettingError("channels", rule, [channel.peer for channel in channels])
        answers = collected(channels, asks, saved.statement.lead)
        for channel in channels:
            channel.send(Done())
    return saved.for_noise.predict(samples(saved.statement.features, beside(saved, table, answers)))


def asked(saved: Saved, rows: int, *, job: str, purpose: str) -> dict[str, Ask]:
    """Return what each partner is asked for; one without a column that the model reads is not asked at all."""
    read: dict[str, dict[str, str]] = {}
    for each in _read(saved):
        if each.party != saved.statement.lead:
            read.setdefault(each.party, {})[each.column] = _domain(saved, each)
    return {
        party: Ask(job=job, purpose=purpose, columns=list(domains), rows=rows, use=Prediction(domains=domains))
        for party, domains in read.items()
    }


def check(saved: Saved, table: pa.Table) -> None:
    """Refuse samples that lack a column of the lead's own, hold one in which it cannot be, or one of a partner's."""
    features, names = saved.statement.features, table.column_names
    for each in features:
        if each.party != saved.statement.lead and (name := _there(each, names)) is not None:
            raise DataError(name, f"must not be in the table: {each.party} holds it, and is asked for it", "it there")
    samples([each for each in features if each.party == saved.statement.lead], table)


def beside(saved: Saved, table: pa.Table, answers: Mapping[str, Answer]) -> pa.Table:
    """Return the lead's samples with the columns of partners; a column that no tree compares stands empty."""
    for answer in answers.values():
        for column in answer.columns:
            for name, values in as_in_a_file(column).items():
                table = table.append_column(name, values)
    read = {each.feature for each in _read(saved)}
    for each in saved.statement.features:
        if _there(each, table.column_names) is None:
            if each.feature in read:
                rule = f"sent column {each.column!r} in another form than the model was trained on"
                raise PeerError(each.party, rule)
            table = table.append_column(each.column, pa.nulls(table.num_rows))
    return table


def _there(each: Input, names: Sequence[str]) -> str | None:
    """Return the column of a table from which a feature is read, if it is there."""
    return next((name for name in (each.column, each.feature) if name in names), None)


def _read(saved: Saved) -> Iterator[Input]:
    """Yield the features that some tree compares."""
    splits = saved.for_noise.importance("weight")
    for each, name in zip(saved.statement.features, saved.for_noise.features, strict=True):
        if splits[name]:
            yield each


def _domain(saved: Saved, each: Input) -> str:
    """Return the digest of the domain in which a column was trained on."""
    for said in saved.statement.released:
        for column in said.columns:
            if (said.party, column.column) == (each.party, each.column):
                return column.domain_digest
    raise EvidenceError(f"{saved.folder / STATEMENT} does not say what {each.party} released as {each.column!r}")
