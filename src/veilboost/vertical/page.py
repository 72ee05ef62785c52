"""A model's report: what was protected, how good the model is, what it looks at, and who saw what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from veilboost.mechanisms import TableMechanism
from veilboost.release.statement import NOISES, ColumnStatement, Statement
from veilboost.report import page
from veilboost.report.pictures import Axis, Bars, Chart, ranking
from veilboost.report.terminal import number
from veilboost.vertical.promises import remade
from veilboost.vertical.statement import ModelStatement

PROTECTED = ("column", "mechanism", "nominal\N{NO-BREAK SPACE}ε", "neighbours", "whole range", "promised", "domain")
_MOST_PICTURES, _MOST_BARS, _MOST_NAMES = 24, 20, 8
_LEGEND = (
    "Nominal is what was asked for. Neighbours and whole range are the exact loss of the worst two neighbouring codes, "
    "and of the worst two codes of all, computed from the integers that were sampled and rounded up; – where no "
    "table gives it. Promised is what the definition states for neighbours."
)
_NO_SCORES = (
    "No rows were set aside to measure it, or nobody may see the raw columns next to the label: how much the noise "
    "costs can be measured only where one party holds everything, as in a simulation."
)


@dataclass(frozen=True)
class Scores:
    """How good some models are, each said in words, by each of ``measures``; and on which rows."""

    measures: Sequence[str]
    values: Mapping[str, Sequence[float]]
    where: str


def score_rows(scores: Scores) -> Iterator[tuple[str, ...]]:
    """Yield one row of the table of scores."""
    for name, values in scores.values.items():
        yield name, *(f"{value:.4f}" for value in values)


def protected(said: Statement) -> Iterator[tuple[str, ...]]:
    """Yield one row of the table of columns that a party protected."""
    for each in said.columns:
        worst = None if each.exact_gaps is None else max(each.exact_gaps)
        losses = (each.nominal_epsilon, worst, each.exact_whole_range, each.promised_neighbours)
        yield each.column, _name(each), *map(number, losses), each.domain


def _name(column: ColumnStatement) -> str:
    return str(column.settings["mechanism"])


def model_page(statement: ModelStatement, importance: Mapping[str, float], scores: Scores | None = None) -> str:
    """Return the report of a model as one HTML page."""
    blocks = [
        page.paragraph(_intro(statement)),
        *_protection(statement),
        *_quality(scores),
        *_importance(statement, importance),
        *_noise(statement),
        *_seen(statement),
    ]
    versions = ", ".join(f"{name} {number}" for name, number in statement.versions.items())
    return page.page(f"{statement.job}: a model for {statement.purpose}", blocks, f"Made with {versions}.")


def _intro(statement: ModelStatement) -> str:
    task = str(statement.boosting["task"])
    kind = {"binary": "two classes", "multiclass": f"{len(statement.classes or ())} classes", "regression": "a number"}
    own = len({each.column for each in statement.features if each.party == statement.lead})
    theirs = [f"{len(each.columns)} desensitised columns of {each.party}" for each in statement.released]
    return (
        f"{statement.lead} trained {statement.trees} trees on {statement.rows:,} rows, for {kind[task]}, "
        f"from {', '.join([f'{own} columns of its own', *theirs])}. The model file is an ordinary "
        f"{statement.backend} model on raw features; {_LIBRARY[statement.backend]} opens it without this program."
        f"{_sharpened(statement)}"
    )


def _sharpened(statement: ModelStatement) -> str:
    if statement.sharpened is None:
        return ""
    return (
        f" It is sharpened by a share of {statement.sharpened.share:.2f}: moved from the model of the noisy columns "
        "away from what more noise does to it, for samples without noise. That costs no privacy; for samples that are "
        "noisy themselves the model without it is better."
    )


_LIBRARY = {"xgboost": "xgboost.Booster", "lightgbm": "lightgbm.Booster"}


def _protection(statement: ModelStatement) -> Iterator[str]:
    yield page.heading("What was protected")
    if not statement.released:
        yield page.paragraph(statement.one_column)
        return
    for noise in dict.fromkeys(each.noise for each in statement.released):
        parties = ", ".join(dict.fromkeys(each.party for each in statement.released if each.noise == noise))
        yield page.paragraph(f"{parties}: {NOISES[noise]}")
    yield page.paragraph(f"One column changed. {statement.one_column}")
    yield page.paragraph(f"The whole row changed, at all parties. {statement.whole_row}")
    for said in statement.released:
        yield page.subheading(f"{len(said.columns)} columns of {said.party}")
        yield page.table(PROTECTED, protected(said))
    yield page.paragraph(_LEGEND)


def _quality(scores: Scores | None) -> Iterator[str]:
    yield page.heading("How good the model is")
    if scores is None:
        yield page.paragraph(_NO_SCORES)
        return
    yield page.table(("model", *scores.measures), list(score_rows(scores)))
    yield page.paragraph(scores.where)


def _importance(statement: ModelStatement, importance: Mapping[str, float]) -> Iterator[str]:
    yield page.heading("What the model looks at")
    used = sorted(((gain, name) for name, gain in importance.items() if gain > 0), reverse=True)
    if not used:
        yield page.paragraph("At nothing: no split was worth making.")
        return
    total = sum(gain for gain, _ in used)
    shares = {name: gain / total for gain, name in used[:_MOST_BARS]}
    rest = f", the first {_MOST_BARS}" if len(used) > _MOST_BARS else ""
    chart = ranking(shares, across="share of the gain of all splits")
    yield page.figure(chart, f"{len(used)} of {len(statement.features)} features are used{rest}.")


def _noise(statement: ModelStatement) -> Iterator[str]:
    """Yield a picture for each mechanism, with the columns that it served."""
    pictures = list(_pictures(statement.released))
    if not pictures:
        return
    yield page.heading("What the noise does to a value")
    yield page.paragraph("How likely each code is to leave for the middle code of the columns that are named below it.")
    yield page.gallery(pictures[:_MOST_PICTURES])
    if len(pictures) > _MOST_PICTURES:
        yield page.paragraph(f"{len(pictures) - _MOST_PICTURES} more mechanisms are in the statement.")


def _pictures(released: Sequence[Statement]) -> Iterator[tuple[Chart, str]]:
    served = sorted(
        ((each.mechanism, each.table_digest, said.party, each) for said in released for each in said.columns),
        key=lambda entry: entry[:2],
    )
    for _, group in groupby(served, key=lambda entry: entry[:2]):
        entries = [(each, party) for _, _, party, each in group]
        first, party = entries[0]
        made = remade(party, first)
        if not isinstance(made, TableMechanism):
            continue
        middle = (made.size + 1) // 2
        chances = made.probabilities()[middle - 1]
        likely = np.flatnonzero(chances > chances.max() / 1000)
        codes = np.arange(likely[0], likely[-1] + 1)
        bars = Bars(name="", at=(codes + 1).tolist(), length=chances[codes].tolist())
        chart = Chart(
            marks=[bars], across=Axis(label="code that leaves", whole=True), up=Axis(label="probability", zero=True)
        )
        columns = ", ".join(each.column for each, _ in entries[:_MOST_NAMES])
        more = f" and {len(entries) - _MOST_NAMES} more" if len(entries) > _MOST_NAMES else ""
        yield (
            chart,
            f"{_name(first)}, ε {number(first.nominal_epsilon)}, code {middle} of {made.size}: {columns}{more}.",
        )


def _seen(statement: ModelStatement) -> Iterator[str]:
    yield page.heading("Who sees what")
    yield page.table(("what", "who sees it", "what protects it"), list(_cells(statement)))
    for party, learns in statement.partners_learn.items():
        yield page.paragraph(f"{party} learned {learns}.")
    if statement.traffic:
        yield page.heading("Bytes on the line")
        rows = [
            (party, way, kind.partition("/")[0], f"{count:,}")
            for party, ways in statement.traffic.items()
            for way, kinds in ways.items()
            for kind, count in kinds.items()
        ]
        yield page.table(("partner", f"{statement.lead} has", "message", "bytes"), rows)


def _cells(statement: ModelStatement) -> Iterator[tuple[str, str, str]]:
    lead = statement.lead
    yield f"labels, weights and columns of {lead}", lead, "never leave it, but for what the model shows"
    for said in statement.released:
        yield f"raw columns of {said.party}", said.party, "never leave it"
        yield f"noisy codes of {said.party}", f"{said.party}, {lead}", "each column's mechanism, once"
        if said.carried_as_they_are:
            carried = ", ".join(said.carried_as_they_are)
            yield f"{carried} of {said.party}", f"{said.party}, {lead}", "nothing: released exactly"
        public = f"names, bounds and categories of {said.party}'s columns"
        yield public, f"{said.party}, {lead}", "nothing: they are public, and not taken from rows"
    yield "number of rows", "all parties", "nothing"
    if any(statement.traffic) and statement.thresholds == "on-request":
        yield "which ranks became thresholds", "their partner", "nothing; the rest of the model is not shown"
    yield (
        "the model",
        f"{lead}, and whom it gives it to",
        f"nothing for labels and columns of {lead}: leaves and thresholds come from them; for other parties' columns, "
        "that it was made from noisy codes",
    )
