"""What is promised follows from the options, and every option's promise names what is in the clear."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables import SHARES, job

from veilboost.local import Ensemble, LocalSample, Question, Stump, Weighting, promise
from veilboost.local.owner import answer
from veilboost.privacy import LDP, Neighbours

LEARNT = Ensemble().joined_by(Stump(column=0, threshold=0.0, below=0, otherwise=1), 0.9)
ALL = "the values, labels and weights of all rows of an owner"


def asked(labels: Any, how: Any, *, first: bool = False) -> Question:
    found = job(LocalSample(), labels=labels, weighting=Weighting(how=how)).first()
    return found if first else replace(found, ensemble=LEARNT)


@pytest.mark.parametrize("share", ["statistic", "classifier"])
@pytest.mark.parametrize("how", ["bounded", "none", "printed"])
def test_a_share_of_the_whole_owner_covers_everything(share: str, how: Any) -> None:
    question = job(SHARES[share], weighting=Weighting(how=how)).first()
    found = promise(replace(question, ensemble=LEARNT), 2.0)
    assert found.whole
    assert found.guarantee.definition == LDP(2.0, neighbours=Neighbours.ONE_OWNER)
    assert found.guarantee.protects == ALL
    assert len(found.in_the_clear) == 2


@pytest.mark.parametrize(
    ("labels", "how", "whole", "clear"),
    [
        ("randomised", "bounded", True, ()),
        ("randomised", "none", True, ()),
        ("clear", "none", False, ("label",)),
        ("clear", "bounded", False, ("label",)),
        ("randomised", "printed", False, ("weight",)),
        ("clear", "printed", False, ("label", "weight")),
    ],
)
def test_a_share_of_rows_covers_what_the_options_close(
    labels: str, how: str, whole: bool, clear: tuple[str, ...]
) -> None:
    found = promise(asked(labels, how), 2.0)
    assert found.whole is whole
    assert ("NOT COVERED" in str(found)) is not whole
    assert (found.guarantee.protects == ALL) is whole
    for word in ("label", "weight"):
        assert any(f"the {word} of each row" in each for each in found.in_the_clear) is (word in clear)
    assert "how many rows it has" in found.in_the_clear


def test_weights_as_printed_say_nothing_in_the_first_round() -> None:
    assert promise(asked("randomised", "printed", first=True), 1.0).whole


@pytest.mark.parametrize("labels", ["randomised", "clear"])
@pytest.mark.parametrize("how", ["bounded", "none", "printed"])
def test_an_answer_holds_what_the_promise_names_and_no_more(labels: str, how: str) -> None:
    question, truth = asked(labels, how), np.array([0, 1] * 500)
    answers = answer(question, np.zeros((1000, 4)), truth, epsilon=1000.0 if labels == "clear" else 2.0)
    assert answers.labels is not None
    assert (answers.labels - 1 == truth).all() == (labels == "clear")
    assert (answers.weights is None) == (how != "printed")
    assert answers.drawn.dtype.kind == "i"


@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("rows", [1, 3, 7])
def test_the_parts_of_a_rows_budget_never_exceed_it(rows: int, classes: int) -> None:
    for epsilon in (0.1, 1.0, 2.3, 9.7):
        for share in (None, 0.3):
            question = job(LocalSample(), classes=classes, label_share=share).first()
            values, labels = question.budgets(epsilon, rows)
            assert labels is not None
            assert 0.999 * epsilon / rows < values + labels
            assert rows * (Fraction(values) + Fraction(labels)) <= Fraction(epsilon)
            assert question.noise(epsilon, rows).epsilon == values
            response = question.response(epsilon, rows)
            assert response is not None
            assert response.epsilon == labels
