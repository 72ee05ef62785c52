"""Studies of times: every way is measured, the missing cipher is left out, and no figure is asserted."""

import sys

import numpy as np
import pytest

from public_data import FOLDER, needs_data
from veilboost.studies import desensitising, training_time
from veilboost.studies.outcome import Outcome
from veilboost.studies.tables import ADULT_NUMBERS
from veilboost.studies.tasks import training

DESENSITISING = desensitising.Settings(
    size=20, count=400, encrypted=3, epsilons=[0.5], thetas=[4], alphas=[0.4], repeats=2, seed=1
)


def _desensitised() -> Outcome:
    return desensitising.run(DESENSITISING, lambda _step, _share: None)


def test_every_way_is_set_against_the_cipher() -> None:
    pytest.importorskip("pyope", reason="the extra 'rivals' is not installed")
    found = _desensitised()
    assert len(found.panels) == 5
    assert {len(cell.values) for cell in found.cells} == {2}
    assert {cell.line for cell in found.of(desensitising.SAVED)} == {
        "Global-map",
        "Local-map, θ = 4",
        "Adj-map, α = 0.4, θ = 4",
    }
    assert len(found.claims) == 4


def test_without_the_cipher_its_panels_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyope.ope", None)
    found = _desensitised()
    assert found.panels == [desensitising.SAVED]
    assert len(found.claims) == 1


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEILBOOST_DATA", str(FOLDER))


@pytest.mark.slow
@needs_data
def test_trainings_are_timed_for_each_mechanism_and_task() -> None:
    settings = training_time.Settings(
        tasks=["Adult", "Pen-digits", "CASP"],
        size=10,
        epsilon=0.5,
        theta=4,
        alphas=[0.4, 10.0],
        trees=2,
        repeats=1,
        rows=200,
    )
    found = training_time.run(settings, lambda _step, _share: None)
    assert len(found.cells) == 3 * 4 * 6
    assert all(0 <= cell.mean < 1 for cell in found.of(training_time.SHARE))


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "private", "own"), [("Adult", 32_561, 4, 10), ("Pen-digits", 7494, 16, 0), ("CASP", 36_584, 9, 0)]
)
def test_training_rows_have_the_shape_of_the_paper(name: str, rows: int, private: int, own: int) -> None:
    found = training(name, 10)
    assert (len(found.target), len(found.private), len(found.own)) == (rows, private, own)
    for codes in found.private.values():
        assert codes.min() >= 1
        assert codes.max() == 10
        assert len(codes) == rows
    for feature, codes in found.own.items():
        assert np.array_equal(np.unique(codes), np.arange(1, feature.size + 1))
    assert list(training("Adult", 10, rows=5).private) == list(ADULT_NUMBERS)
