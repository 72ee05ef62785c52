"""What the lead does alone, once it has the partners' answers: features in order, trees, and a sharpened model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.trees import RankModel, Rows, StockModel, restore, train
from veilboost.vertical.columns import ModelColumn, Own, expand, in_order, own
from veilboost.vertical.job import Answer, Job, LeadTable
from veilboost.vertical.promises import remade
from veilboost.vertical.sharpening import Extrapolation, Fit, noised_again, seed_of, sharpen

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Gathered:
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

    def noised(self, draw: int, times: int) -> "Gathered":
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


def own_features(table: LeadTable, job: Job) -> list[ModelColumn]:
    """Return the features of the lead's own columns, or refuse one that does not fit the label."""
    return [each for column in table.columns for each in _own(column, job, len(table.target))]


def _own(column: Own, job: Job, rows: int) -> Iterator[ModelColumn]:
    if len(column.values) != rows:
        raise DataError(column.name, f"must have a value for each of the {rows} labels", len(column.values))
    if column.categories is None and np.isinf(column.values).any():
        raise DataError(column.name, "must not be infinite", f"infinity at row {int(np.isinf(column.values).argmax())}")
    return own(column, job.lead, backend=job.boosting.backend, bins=job.bins, nominal=job.nominal)


def grow(columns: Sequence[ModelColumn], table: LeadTable, job: Job, progress: Progress) -> RankModel:
    """Train trees on ranks."""

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


@dataclass(frozen=True)
class Fitted:
    """A model in raw units, what it was before it was sharpened, and how far it was."""

    model: StockModel
    as_it_comes: StockModel
    extrapolation: Extrapolation | None


def finish(
    gathered: Gathered, columns: Sequence[ModelColumn], ranks: RankModel, table: LeadTable, progress: Progress
) -> Fitted:
    """Put the thresholds back, and sharpen the model where the job says so; ``columns`` have all cuts in use."""
    as_it_comes, job = restore(ranks, [each.cuts for each in columns]), gathered.job
    if not job.sharpen or not any(answer.columns for answer in gathered.answers.values()):
        return Fitted(as_it_comes, as_it_comes, None)

    def again(draw: int, times: int) -> Fit:
        made = grow(gathered.noised(draw, times).columns(), table, job, lambda _step, _share: None)
        margins = partial(made.margins, [each.values for each in columns])
        return Fit(restore(made, [each.cuts for each in columns]), margins)

    model, extrapolation = sharpen(as_it_comes, again, job.boosting.task, table.target, table.weight, progress)
    return Fitted(model, as_it_comes, extrapolation)
