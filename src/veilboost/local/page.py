"""A model's report: what owners were promised, how the rounds went, how good the model is, and who saw what."""

from collections.abc import Iterator

from veilboost.local.model import LocalModel
from veilboost.local.statement import LocalStatement
from veilboost.report import page
from veilboost.report.pictures import Axis, Chart, Line
from veilboost.report.terminal import number
from veilboost.vertical.page import Scores, score_rows

_ROUNDS = ("round", "owners", "error", "α", "end", "conditions")
_NO_SCORES = (
    "No rows were set aside to measure it, but for the data user's own, which chose the weights of the learners."
)
_LEGEND = (
    "Error is that of the round's learner on the data user's own rows, with their weights. Conditions of convergence "
    "compare the noise that is to be expected, in closed form, with what it must not drown."
)


def local_page(statement: LocalStatement, model: LocalModel, scores: Scores | None = None) -> str:
    """Return the report of a model as one HTML page."""
    blocks = [
        page.paragraph(_intro(statement, model)),
        *_promises(statement),
        *_quality(scores),
        *_rounds(statement),
        page.heading("Who sees what"),
        page.table(("what", "who sees it", "what protects it"), list(_seen(statement))),
    ]
    versions = ", ".join(f"{name} {found}" for name, found in statement.versions.items())
    return page.page(f"{statement.job}: boosted over owners who answered once", blocks, f"Made with {versions}.")


def _intro(statement: LocalStatement, model: LocalModel) -> str:
    return (
        f"A classifier for {len(statement.classes)} classes from {len(model.inputs)} numbers of a sample, boosted over "
        f"{statement.owners_asked:,} owners in {len(statement.rounds)} rounds of {statement.owners_per_round:,}. Each "
        f"was asked once, for its local {statement.share['name']}; {statement.end}. {statement.noise}"
    )


def _promises(statement: LocalStatement) -> Iterator[str]:
    yield page.heading("What owners were promised")
    for each in statement.promised:
        yield page.paragraph(f"{each.owners:,} owners who spend ε {number(each.epsilon)}. {each.guarantee}")
        yield page.paragraph(f"In the clear: {'; '.join(each.in_the_clear)}.")
        if not each.covers_everything:
            yield page.paragraph("NOT COVERED: what is in the clear, and what follows from it about the values.")
    yield page.paragraph(statement.data_user)
    if statement.ledger is not None:
        kept = statement.ledger
        yield page.paragraph(f"Who was asked is in ledger {kept.ledger}, {kept.lines} lines, head {kept.head}.")


def _quality(scores: Scores | None) -> Iterator[str]:
    yield page.heading("How good the model is")
    if scores is None:
        yield page.paragraph(_NO_SCORES)
        return
    yield page.table(("model", *scores.measures), list(score_rows(scores)))
    yield page.paragraph(scores.where)


def _rounds(statement: LocalStatement) -> Iterator[str]:
    yield page.heading("How the rounds went")
    if not statement.rounds:
        yield page.paragraph("There was none: too few owners came.")
        return
    at = [float(place) for place, _ in enumerate(statement.rounds, 1)]
    lines = [
        Line(name="error", x=at, y=[each.error for each in statement.rounds]),
        Line(name="α", x=at, y=[each.alpha for each in statement.rounds]),
    ]
    chart = Chart(marks=lines, across=Axis(label="round asked", whole=True), up=Axis(label="error and α", zero=True))
    yield page.figure(chart, "A round whose α is not above 0 is thrown away, and its owners are used up.")
    rows = [
        (
            str(each.number),
            f"{each.owners:,}",
            f"{each.error:.4f}",
            f"{each.alpha:.4f}",
            "kept" if each.kept else "thrown away",
            "; ".join(each.conditions),
        )
        for each in statement.rounds
    ]
    yield page.table(_ROUNDS, rows)
    yield page.paragraph(_LEGEND)
    dearest = max(each.cost_of_hiding for each in statement.rounds)
    if dearest > 1:
        yield page.paragraph(f"Hiding labels and weights made errors up to about {dearest:.3g} times as large.")


def _seen(statement: LocalStatement) -> Iterator[tuple[str, str, str]]:
    everyone = "the data user, and all owners of later rounds"
    yield "an owner's rows", "the owner", "never leave it"
    yield "an owner's answer", "the data user", "its mechanism, once"
    for each in dict.fromkeys(text for said in statement.promised for text in said.in_the_clear):
        yield each, "the data user", "nothing"
    yield "bounds, classes, settings, budgets", "everyone", "nothing: they are public"
    yield "the data user's own rows", "the data user", "never leave him, but for what thresholds, α and the model show"
    yield "learners and their α", everyone, "made of answers, which costs nothing more, and of the data user's own rows"
