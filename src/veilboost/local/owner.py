"""An owner's side: one question, one answer, and nothing kept of either.

The same function serves one owner, and, where owners are simulated, many with equal budgets at once.
"""

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import DataError, SettingError
from veilboost.local.learners import Classes, Floats
from veilboost.local.noise import encode
from veilboost.local.question import VERSION, Answers, Question
from veilboost.local.share import Rows
from veilboost.randomness import Bits, FreshBits
from veilboost.settings import positive

Starts = NDArray[np.int64]


def answer(
    question: Question,
    values: Floats,
    truth: Classes,
    *,
    epsilon: float,
    starts: Starts | None = None,
    bits: Bits | None = None,
    threads: int | None = None,
) -> Answers:
    """Return what leaves for raw ``values`` (row by row) and their classes, numbered from 0.

    **Guarantee**: what `promise` says of the question, with ε = ``epsilon``, which is the owner's own choice. It is for
    the owner to answer once.

    ``starts`` says where each owner's rows begin, and where the last ones end; without it they are one owner's. Where
    each row leaves by itself all these owners have the same number of rows.
    """
    first = np.array([0, len(values)]) if starts is None else starts
    _check(question, values, truth, first)
    scaled = question.columns.scaled(values)
    rows = Rows(
        values=scaled,
        truth=truth,
        factors=question.weighting.factors(question.ensemble, scaled, truth),
        starts=first,
    )
    count = len(values) // (len(first) - 1) if question.share.of_rows else 0
    spent = positive("epsilon", epsilon)
    source = FreshBits() if bits is None else bits
    codes = encode(question.share.vectors(rows, question), question.size, question.share.rest(question))
    printed = question.share.of_rows and question.weighting.how == "printed"
    return Answers(
        epsilon=spent,
        rows=count,
        owners=len(first) - 1,
        drawn=question.noise(spent, count).draw(codes, bits=source, threads=threads),
        labels=_labels(question, truth, spent, count, source) if question.share.of_rows else None,
        weights=rows.weights if printed else None,
    )


def _labels(question: Question, truth: Classes, epsilon: float, rows: int, bits: Bits) -> Classes:
    response = question.response(epsilon, rows)
    return truth + 1 if response is None else response.draw(truth + 1, bits=bits)


def _check(question: Question, values: Floats, truth: Classes, starts: Starts) -> None:
    if question.version != VERSION:
        raise SettingError("version of the question", f"must be {VERSION}", question.version)
    if values.ndim != 2 or values.shape[1] != question.columns.count or not len(values):
        raise DataError("values", f"must be rows of {question.columns.count} numbers", f"shape {values.shape}")
    if truth.shape != values.shape[:1] or not 0 <= truth.min() <= truth.max() < question.classes:
        raise DataError(
            "classes", f"must be a number from 0 to {question.classes - 1} for each row", f"shape {truth.shape}"
        )
    sizes = np.diff(starts)
    if starts.ndim != 1 or len(starts) < 2 or starts[0] != 0 or starts[-1] != len(values) or sizes.min() < 1:
        raise DataError("starts", f"must rise from 0 to {len(values)}", starts)
    if question.share.of_rows and (sizes != sizes[0]).any():
        raise DataError("starts", "must be as far apart for all owners, whose rows share the budget", "unequal owners")
