"""From files to a model folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data import Dialect, open_source, read_whole
from veilboost.errors import SettingError, blaming
from veilboost.estimators.compare import scores
from veilboost.estimators.opboost import OpBoostClassifier, OpBoostRegressor, quiet
from veilboost.release import Statement
from veilboost.report.terminal import say
from veilboost.report.terminal import table as print_table
from veilboost.vertical.folder import check_place
from veilboost.vertical.joined import Joined, join
from veilboost.vertical.own_table import label_of, task_of, values_of, weight_of
from veilboost.vertical.page import PROTECTED, Scores, protected
from veilboost.vertical.statement import ModelStatement

Progress = Callable[[str, float], None]


class TrainReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `veilboost train` did."""

    model: str
    rows: int
    trees: int
    measured_on: int
    measures: list[str]
    scores: dict[str, list[float]]
    statement: ModelStatement


def train(
    table: str,
    model: Path,
    *,
    label: str,
    files: Sequence[Path] = (),
    key: str | None = None,
    weight: str | None = None,
    task: str = "auto",
    test_share: float = 0.2,
    dialect: Dialect | None = None,
    settings: Mapping[str, Any],
    progress: Progress = quiet,
) -> TrainReport:
    """Train on ``table`` and desensitised ``files`` beside it, write the folder ``model``, and say how good it is.

    The share ``test_share`` of the rows, chosen at random, is not trained on but measured with.
    """
    check_place(model)
    if isinstance(test_share, bool) or not 0 <= test_share <= 0.9:
        raise SettingError("test_share", "must be a number from 0 to 0.9", test_share)
    lead = read_whole(open_source(table, dialect))
    with blaming(table):
        column, w = label_of(lead, label), None if weight is None else weight_of(lead, weight)
        classes = task_of(task, label, column) == "classification"
        joined = join(lead, key, files)
    given = [name for name in (label, weight, key) if name is not None]
    X = joined.table.drop_columns(given)
    y = values_of(column)
    tested = _tested(len(y), test_share, settings.get("random_state"))
    kind = OpBoostClassifier if classes else OpBoostRegressor
    made = kind(**_agreed(joined.statements), **settings)
    made.fit(X.filter(pa.array(~tested)), y[~tested], None if w is None else w[~tested], progress=progress)
    found = _measured(made, X, y, w, tested, own=lead.drop_columns(given).column_names, joined=joined)
    said = made.save(model, scores=found, released=joined.statements)
    return TrainReport(
        model=str(model),
        rows=said.rows,
        trees=said.trees,
        measured_on=int(tested.sum()),
        measures=[] if found is None else list(found.measures),
        scores={} if found is None else {name: list(values) for name, values in found.values.items()},
        statement=said,
    )


def _agreed(statements: Sequence[Statement]) -> dict[str, Any]:
    """Return to whom and what for the columns of partners were released, where all of them say the same."""
    said = {"lead": {each.to for each in statements}, "purpose": {each.purpose for each in statements}}
    return {option: names.pop() for option, names in said.items() if len(names) == 1}


def _measured(
    made: Any,
    X: pa.Table,
    y: NDArray[Any],
    weight: NDArray[np.float64] | None,
    tested: NDArray[np.bool_],
    *,
    own: Sequence[str],
    joined: Joined,
) -> Scores | None:
    """Return how good the model is on rows it has not seen, and, if it has other columns, how good without them."""
    if not tested.any():
        return None
    test = X.filter(pa.array(tested))
    models = {"this model": (made, test)}
    if own and joined.statements:
        before = X.filter(pa.array(~tested)).select(own)
        kept = None if weight is None else weight[~tested]
        alone = type(made)(**made.get_params()).fit(before, y[~tested], kept)
        models["without the partners' columns"] = (alone, test.select(own))
    where = f"Measured on {test.num_rows:,} rows, chosen at random, that no model was trained on."
    return scores(models, y[tested], where)


def _tested(rows: int, share: float, seed: int | None) -> NDArray[np.bool_]:
    tested = np.zeros(rows, dtype=bool)
    tested[np.random.default_rng(seed).permutation(rows)[: round(rows * share)]] = True
    return tested


def show(found: TrainReport) -> None:
    """Print what was trained."""
    said = found.statement
    say(f"{found.trees} trees on {found.rows:,} rows and {len(said.features)} features.")
    for released in said.released:
        say("", f"{released.party}:")
        print_table(PROTECTED, protected(released))
    if said.released:
        say("", f"One column changed. {said.one_column}", f"The whole row changed. {said.whole_row}")
    if found.scores:
        say("", f"On {found.measured_on:,} rows that were not trained on:")
        print_table(
            ("model", *found.measures),
            [(name, *(f"{value:.4f}" for value in values)) for name, values in found.scores.items()],
        )
    say("", f"Model, statement and report: {found.model}")
