"""Local boosting in studies: where its rows come from, and figures by a second route."""

import math
import sys
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest

from public_data import FOLDER, needs_data
from veilboost.errors import UsageError
from veilboost.local import Ensemble, Round, Stump, Totals, answer
from veilboost.studies import boosted, first_round, pools, visual_words
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.study import names, study

LOCAL = [name for name in names() if name.startswith("local-")]


def silent(step: str, share: float) -> None:
    assert 0 <= share <= 1


def short(name: str, **changes: Any) -> Any:
    """The settings of a study, on little of the synthetic set alone."""
    return msgspec.structs.replace(study(name).checked(quick=True), part=0.02, **changes)


def test_images_side_by_side_are_described_as_each_by_itself() -> None:
    hog: Any = pytest.importorskip("skimage.feature", reason="needs the extra 'studies'").hog
    images = np.random.default_rng(1).integers(0, 256, (3, 28, 28)).astype(np.uint8)
    images[:, [0, 1, -2, -1]] = images[:, :, [0, 1, -2, -1]] = 0  # beyond a border there is no gradient, or another
    found = visual_words.described(images)
    assert found.shape == (3, 36, 36)
    for image, descriptors in zip(images, found, strict=True):
        alone = hog(image / 1.0, pixels_per_cell=(4, 4), cells_per_block=(2, 2)).reshape(36, 36)
        assert descriptors == pytest.approx(alone, abs=1e-9)


def test_a_histogram_counts_every_block_once() -> None:
    pytest.importorskip("skimage.feature", reason="needs the extra 'studies'")
    images = np.random.default_rng(2).integers(0, 256, (20, 28, 28)).astype(np.uint8)
    found = visual_words.histograms(images, visual_words.words(images, 8))
    assert found.shape == (20, 8)
    assert found.sum(axis=1) == pytest.approx(np.ones(20))


def test_copies_are_moved_a_little_and_originals_are_not() -> None:
    image = np.zeros((1, 28, 28), dtype=np.uint8)
    image[0, 10:18, 12:16] = 200
    found = visual_words.enlarged(image, 30, seed=3)
    assert (found[0] == image[0]).all()
    place = np.indices((28, 28)).reshape(2, -1)
    for copy in found[1:]:
        moved = (place * copy.reshape(-1)).sum(axis=1) / copy.sum() - [13.5, 13.5]
        assert not (copy == image[0]).all()
        assert np.abs(moved).max() < 2.5
        assert copy.sum() == pytest.approx(image.sum(dtype=np.int64), rel=0.1)


def test_no_image_is_in_two_places_and_no_copy_tests() -> None:
    label = np.repeat([4, 9], 8000)
    train = np.arange(16_000) % 8000 < 6000
    for place, parts in enumerate(pools.set_apart(label, train, 1.0)):
        own, held, test = map(set, parts)
        assert (len(own), len(held), len(test)) == (500, 5500, 1000)
        assert not own & held | own & test | held & test
        assert {int(label[each]) for each in own | held | test} == {(4, 9)[place]}


def test_without_the_extra_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.feature", None)
    with pytest.raises(UsageError, match=r"^features of images need the extra 'studies': pip install [^\n]*$"):
        visual_words.described(np.zeros((1, 28, 28), dtype=np.uint8))


def test_the_stand_in_for_brazil_is_the_same_again_and_other_owners_have_other_rows() -> None:
    brazil = pools.pool("Brazil", 0.01)
    (first, truth), (again, _), (other, _) = (brazil.owners(repeat, 5000) for repeat in (0, 0, 1))
    assert first.shape == (5000, 67)
    assert first.dtype == np.float32
    assert (first == again).all()
    assert not (first == other).all()
    assert 0.1 < truth.mean() < 0.5
    edges = np.cumsum([1, *(each - 1 for each in (2, 2, 3, 4, 6, 10, 20, 27))])
    for a, b in pairwise(edges.tolist()):
        assert set(np.unique(first[:, a:b].sum(axis=1))) <= {0.0, 1.0}


@pytest.mark.parametrize("name", ["local-table2", "local-table3"])
def test_the_closed_form_of_a_round_is_that_of_whole_answers(name: str) -> None:
    """Owners answer by the protocol itself here, with fresh noise; the study draws for prepared vectors."""
    size = first_round.Round(owners=[60], rows=4)
    settings = short(name, tables={"Synthetic": size}, draws=1, repeats=1)
    rows = pools.pool("Synthetic", 0.02)
    asked, _ = first_round.ask(settings, rows, 60, 0)
    values, truth = rows.owners(0, 240)
    starts = np.arange(0, 241, 4)
    squares = []
    for _ in range(400):
        totals = Totals(asked.question)
        totals.add(answer(asked.question, values, truth, epsilon=5.0, starts=starts))
        squares.append(float((asked.errors(totals) ** 2).sum()))
    expected = asked.expected(5.0, asked.question)
    assert np.mean(squares) == pytest.approx(expected, abs=6 * float(np.std(squares)) / math.sqrt(400))
    assert np.std(squares) < expected  # so that the line above would see a third more noise


def test_measures_are_those_of_the_tables() -> None:
    """Without noise there is no error, and Table III squares what a column's gain is off by."""
    rows = pools.pool("Synthetic", 0.02)
    for name, most in (("local-table2", 1e-3), ("local-table3", 1e-6)):
        settings = short(name, tables={"Synthetic": first_round.Round(owners=[100], rows=4)})
        asked, _ = first_round.ask(settings, rows, 100, 0)
        assert 0 <= first_round.measure(asked, asked.answers(asked.question, 1e6, 1)) < most
    noisy = asked.answers(asked.question, 2.0, 1)
    true, found = (each.reshape(2, -1) for each in (asked.vectors.mean(axis=0), noisy.mean()))
    wanted = np.mean([(abs(a) + abs(b) - abs(c) - abs(d)) ** 2 for a, b, c, d in zip(*found, *true, strict=True)])
    assert first_round.measure(asked, noisy) == pytest.approx(float(wanted))


def test_rounds_are_told_one_by_one_and_every_way_asks_the_same_owners() -> None:
    size = boosted.Rounds(owners=100, rows=4, epsilons=[50.0], printed=[(0.5, 0.5)])
    found = boosted.run(short("local-fig4", tables={"Synthetic": size}, rounds=3, repeats=2), silent)
    assert found.panels == [f"Synthetic: {panel}" for panel in ("ensemble", "learner", "weight")]
    for line in found.lines:
        cells = [cell for cell in found.of("Synthetic: ensemble") if cell.line == line]
        assert [cell.at for cell in cells] == [1, 2, 3]
        assert all(len(cell.values) == 2 and 0 < cell.mean < 0.6 for cell in cells)
    plain = cell_of(found, "ensemble", "no noise")
    assert plain.mean < cell_of(found, "ensemble", "labels hidden, weights bounded, ε = 50").mean + 0.05
    assert [claim.says[:10] for claim in found.claims] == ["Synthetic:", "Boosting m"]


def cell_of(found: Outcome, panel: str, line: str) -> Cell:
    cell = found.cell(f"Synthetic: {panel}", line, "3")
    assert cell is not None
    return cell


def test_an_ensemble_is_wrong_where_most_of_its_weight_is() -> None:
    values, truth = np.array([[-1.0], [1.0], [2.0], [-2.0]]), np.array([0, 1, 0, 0])
    right, wrong = (Stump(column=0, threshold=0.0, below=below, otherwise=1 - below) for below in (0, 1))
    ensembles = [Ensemble(), Ensemble().joined_by(right, 1.0), Ensemble((right, wrong), (1.0, 3.0))]
    told = [(told_of(alpha), ensemble) for alpha, ensemble in zip((-0.5, 1.0, 3.0), ensembles, strict=True)]
    told.append((told_of(-0.1), ensembles[-1]))
    assert list(boosted.errors_of(told, values, truth, 0.5)) == [0.5, 0.25, 0.75, 0.75]


def told_of(alpha: float) -> Round:
    return Round(number=1, owners=1, error=0.5, alpha=alpha, classes=2, conditions=(), cost=1.0)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", LOCAL)
def test_the_quick_form_of_every_study_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skimage.feature", reason="needs the extra 'studies'")
    monkeypatch.setenv("VEILBOOST_DATA", str(FOLDER))
    chosen = study(name)
    found = chosen.load().run(chosen.checked(quick=True), silent)
    assert found.claims
    assert all(math.isfinite(value) for cell in found.cells for value in cell.values)
