"""From a model folder and samples to a file of predictions: on raw columns, desensitised ones, or with partners."""

import tempfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data import Dialect, MemorySource, Source, open_sink, open_source, read_whole
from veilboost.data.sink import check_ending
from veilboost.errors import DataError, FileError, UsageError, blaming
from veilboost.estimators.opboost import quiet
from veilboost.files import as_json, check_writable, move_together
from veilboost.release import Statement
from veilboost.trees import StockModel
from veilboost.vertical import needed, samples
from veilboost.vertical.folder import Saved, load
from veilboost.vertical.joined import Joined, join
from veilboost.vertical.partners import Tell
from veilboost.vertical.plans import PredictPlan
from veilboost.vertical.predicting import joined_by_partners
from veilboost.vertical.statement import ModelStatement, across

FORMAT = 1
Progress = Callable[[str, float], None]


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """How many samples were predicted for, and what was promised about the columns of partners behind them."""

    format: int
    rows: int
    released: list[Statement]
    one_column: str
    whole_row: str


def predict(
    model: Path,
    data: str,
    out: Path,
    *,
    files: Sequence[Path] = (),
    key: str | None = None,
    partners: PredictPlan | None = None,
    keep: Sequence[str] = (),
    dialect: Dialect | None = None,
    progress: Progress = quiet,
    tell: Tell = lambda _line: None,
) -> Predicted:
    """Write the predictions for the samples in ``data``, raw or desensitised, to ``out``, and return what was learned.

    Desensitised ``files`` stand beside ``data`` as in `train`, or ``partners`` are asked for their columns, and beside
    ``out`` lies what they promised. The columns ``keep`` go before the predictions, as they are. Predictions are in the
    order of the samples.
    """
    if partners is not None and (files or key is not None):
        raise UsageError("--partners sends for columns; --with and --key are for columns that are here already")
    written = [out] if partners is None else [out, out.with_name(f"{out.name}.privacy.json")]
    check_ending(out)
    check_writable(*written)
    _refuse_to_write_over(written, [Path(data), *files])
    saved, source = load(model), open_source(data, dialect)
    stock = saved.model if not files and partners is None else saved.for_noise
    if stock != saved.model:
        tell("the model was sharpened for samples without noise: for these it is taken as it came")
    with blaming(source.name):
        _refuse_to_hide(keep, saved.statement)
        source.check(keep if partners is not None else ())
    if partners is None:
        joined = join(read_whole(source), key, files) if files else None
        return _written(saved, stock, source, joined, written, out.absolute().parent, keep, progress)
    with joined_by_partners(partners, saved, source, tell) as joined:
        return _written(saved, stock, source, joined, written, Path(partners.state), keep, progress)


def _written(
    saved: Saved,
    stock: StockModel,
    source: Source,
    joined: Joined | None,
    written: Sequence[Path],
    aside: Path,
    keep: Sequence[str],
    progress: Progress,
) -> Predicted:
    """Predict a piece at a time, ``aside``; what was promised goes with it, if there is a place for it."""
    features, out, rows = saved.statement.features, written[0], 0
    if joined is not None:
        source = MemorySource(joined.table, name=source.name)
    with blaming(source.name):
        source.check(keep)
        names = list(dict.fromkeys([*keep, *needed(features, source.schema.names)]))
    with tempfile.TemporaryDirectory(dir=aside, prefix=f".{out.name}.") as folder:
        made = [Path(folder) / f"out{out.suffix}", Path(folder) / "privacy.json"][: len(written)]
        with open_sink(made[0], out.suffix, _schema(saved.statement, source.schema, keep)) as sink:
            for batch, share in source.batches(names):
                with blaming(source.name):
                    table = pa.Table.from_batches([batch])
                    values = stock.predict(samples(features, table))
                sink.write(_predictions(saved.statement, values, table.select(list(keep))))
                rows += batch.num_rows
                progress("predicting", 0.0 if share is None else share)
        released = () if joined is None else joined.statements
        one, whole = across(released)
        said = Predicted(format=FORMAT, rows=rows, released=list(released), one_column=one, whole_row=whole)
        for file in made[1:]:
            file.write_bytes(msgspec.json.format(as_json(said)) + b"\n")
        move_together(zip(reversed(made), reversed(written), strict=True))
    return said


def _refuse_to_write_over(written: Sequence[Path], read: Sequence[Path]) -> None:
    for out, file in product(written, read):
        if out.exists() and file.exists() and out.samefile(file):
            raise FileError(out, "is a file that is read; name another for the predictions")


def _refuse_to_hide(keep: Sequence[str], statement: ModelStatement) -> None:
    """Refuse to keep a column whose name a column of predictions has."""
    made = {"prediction", *(f"probability of {name}" for name in statement.classes or [])}
    for name in keep:
        if name in made:
            raise DataError(name, "must have another name to be kept: a column of predictions has it", "both")


def _schema(statement: ModelStatement, source: pa.Schema, keep: Sequence[str]) -> pa.Schema:
    empty = pa.schema([(name, source.field(name).type) for name in keep]).empty_table()
    classes = statement.classes
    none = np.empty((0, len(classes))) if classes is not None and len(classes) > 2 else np.empty(0)
    return _predictions(statement, none, empty).schema


def _predictions(statement: ModelStatement, values: NDArray[Any], kept: pa.Table) -> pa.Table:
    """Return predictions as columns: the value, or the most probable class and the probability of each."""
    found = {name: kept[name] for name in kept.column_names}
    if statement.classes is None:
        return pa.table(found | {"prediction": pa.array(values, pa.float64())})
    chances = values if values.ndim == 2 else np.column_stack([1 - values, values])
    classes = pa.array(statement.classes)
    found["prediction"] = classes.take(pa.array(chances.argmax(axis=1)))
    for place, name in enumerate(statement.classes):
        found[f"probability of {name}"] = pa.array(chances[:, place], pa.float64())
    return pa.table(found)
