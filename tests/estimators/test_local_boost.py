"""The classifier over owners: scikit-learn's battery, owners as groups, nominal columns, and a model folder."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from veilboost import LocalBoostClassifier
from veilboost.errors import DataError, EvidenceError, FileError, SettingError
from veilboost.estimators.local import load_local
from veilboost.estimators.local_inputs import inputs_of, matrix_of
from veilboost.local import LocalClassifier, LocalSample, Round
from veilboost.privacy import LDP, Neighbours
from veilboost.release import Ledger

NOT_HERE = ("pandas is not installed", "SCIPY_ARRAY_API is not set")
TWICE_THE_SAME = {"check_supervised_y_2d", "check_fit_idempotent"}
"""They ask for the same predictions from two fits, and fresh noise does not give them."""


def table(rows: int = 6000, **settings: Any) -> tuple[Any, Any]:
    settings = {"n_features": 5, "n_informative": 5, "n_redundant": 0, "random_state": 1, "class_sep": 1.5, **settings}
    X, y = make_classification(rows, **settings)
    return X, y


def outcome(estimator: Any) -> tuple[set[str], set[str]]:
    """Return the names of the checks that failed and the reasons of those that were skipped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 50
    failed = {each["check_name"] for each in results if each["status"] == "failed"}
    return failed, {str(each["exception"]) for each in results if each["status"] == "skipped"}


def seeded(**settings: Any) -> LocalBoostClassifier:
    """What is asserted of a model's quality is asserted of the same noise every time."""
    return LocalBoostClassifier(**{"simulation_seed": 1, "random_state": 1, **settings})


@pytest.mark.parametrize("share", ["sample", "statistic", "classifier"])
@pytest.mark.parametrize("printed", [False, True])
def test_every_check_passes(share: str, printed: bool) -> None:
    failed, skipped = outcome(LocalBoostClassifier(share=share, as_printed=printed, simulation_seed=1))
    assert failed == set()
    assert all(reason.startswith(NOT_HERE) for reason in skipped)


def test_with_fresh_noise_only_sameness_is_missing() -> None:
    failed, skipped = outcome(LocalBoostClassifier())
    assert failed <= TWICE_THE_SAME
    assert all(reason.startswith((*NOT_HERE, "LocalBoostClassifier is non deterministic")) for reason in skipped)


@pytest.mark.parametrize("share", ["sample", "statistic", "classifier"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_learns(share: str, classes: int) -> None:
    X, y = table(8000, n_classes=classes, n_clusters_per_class=1)
    groups = np.repeat(np.arange(1600), 5)
    model = seeded(share=share, epsilon=100.0, n_estimators=5)
    model.fit(X[:6000], y[:6000], groups[:6000])
    assert model.score(X[6000:], y[6000:]) > 1 / classes + 0.2
    chances = model.predict_proba(X[:50])
    assert np.allclose(chances.sum(axis=1), 1)
    assert model.classes_[chances.argmax(axis=1)].tolist() == model.predict(X[:50]).tolist()


def test_groups_are_owners_and_the_data_user_is_some_of_them() -> None:
    X, y = table(1000)
    names = np.array([f"clinic {row % 50:02}" for row in range(1000)])
    model = seeded(n_estimators=3, epsilon=20.0, user_fraction=0.2, random_state=0).fit(X, y, names)
    assert model.statement_.data_user_rows == 200
    assert model.statement_.promised[0].owners == 40
    assert model.statement_.owners_per_round == 13
    assert model.boosted_.asked in (26, 39)


def test_the_data_users_rows_may_be_given() -> None:
    X, y = table(1000)
    model = seeded(n_estimators=2, epsilon=50.0).fit(X[:900], y[:900], X_user=X[900:], y_user=y[900:])
    assert model.statement_.data_user_rows == 100
    assert model.statement_.promised[0].owners == 900
    with pytest.raises(SettingError, match="given together"):
        model.fit(X, y, X_user=X)


def test_bounds_come_from_the_data_user_alone_or_are_given() -> None:
    X, y = table(1000)
    X[0] *= 100  # an owner's outlier moves nothing
    model = seeded(n_estimators=2, epsilon=50.0).fit(X[:900], y[:900], X_user=X[900:], y_user=y[900:])
    assert [each.upper for each in model.model_.inputs] == X[900:].max(axis=0).tolist()
    given = clone(model).set_params(bounds=(-3, 3)).fit(X, y)
    assert {(each.lower, each.upper) for each in given.model_.inputs} == {(-3.0, 3.0)}
    one = clone(model).set_params(bounds={"x1": (-5, 5)}).fit(X, y)
    assert (one.model_.inputs[1].lower, one.model_.inputs[1].upper) == (-5.0, 5.0)


def test_owners_have_budgets_of_their_own() -> None:
    X, y = table(600)
    groups = np.arange(600) // 2
    epsilon = {owner: 1.0 + owner % 3 for owner in range(300)}
    model = seeded(n_estimators=2, epsilon=epsilon, share="statistic").fit(X, y, groups)
    assert [each.epsilon for each in model.statement_.promised] == [1.0, 2.0, 3.0]
    assert model.promise_.guarantee.definition == LDP(3.0, neighbours=Neighbours.ONE_OWNER)
    del epsilon[7]
    with pytest.raises(SettingError, match="must be given for every owner; got 'nothing for 7'"):
        model.fit(X, y, groups, X_user=X, y_user=y)


def test_nominal_columns_become_one_column_less_than_categories() -> None:
    own = pa.table({"town": ["Rome", "Oslo", "Lima"], "age": [3, 1, 9], "member": [True, False, True]})
    inputs = inputs_of(own, None, None)
    assert [(each.column, each.category, each.lower, each.upper) for each in inputs] == [
        ("town", "Oslo", 0.0, 1.0),
        ("town", "Rome", 0.0, 1.0),
        ("age", None, 1.0, 9.0),
        ("member", None, 0.0, 1.0),
    ]
    others = pa.table({"town": ["Paris", "Rome"], "age": [5, 6], "member": [False, True]})
    assert matrix_of(others, inputs).tolist() == [[0, 0, 5, 0], [0, 1, 6, 1]]
    listed = inputs_of(own, {"age": (0, 100)}, {"town": ["Bern", "Paris"]})
    assert [(each.category, each.upper) for each in listed] == [("Paris", 1.0), (None, 100.0), (None, 1.0)]


def test_a_frame_with_text_is_learned_from() -> None:
    random = np.random.default_rng(3)
    town, age = random.choice(["Lima", "Oslo", "Rome"], 4000), random.uniform(0, 90, 4000)
    y = np.where((town == "Oslo") | (age > 70), "yes", "no")
    frame = pa.table({"town": town, "age": age})
    model = seeded(share="statistic", epsilon=200.0, n_estimators=6, random_state=1)
    assert model.fit(frame, y, np.arange(4000) // 10).score(frame, y) > 0.8
    bad: list[tuple[dict[str, Any], str]] = [
        ({"town": [None, "Rome"], "age": [1.0, 2.0]}, "'town' must not be missing"),
        ({"town": [1, 2], "age": [1.0, 2.0]}, "'town' must hold text"),
        ({"town": ["Rome", "Rome"], "age": ["1", "2"]}, "'age' must hold numbers"),
    ]
    for columns, words in bad:
        with pytest.raises(DataError, match=words):
            model.predict(pa.table(columns))


def test_every_round_is_heard_of() -> None:
    X, y = table()
    heard: list[Round] = []
    model = seeded(n_estimators=3, epsilon=10.0).fit(X, y, watch=heard.append)
    assert tuple(heard) == model.rounds_
    assert "error of a centroid" in str(heard[0])


def test_a_ledger_remembers_owners_from_fit_to_fit(tmp_path: Path) -> None:
    X, y = table(1000)
    Ledger.create(tmp_path / "owners.db").close()
    settings: dict[str, Any] = {"n_estimators": 2, "epsilon": 50.0, "ledger": tmp_path / "owners.db"}
    groups = np.arange(1000) // 2
    first = seeded(owners_per_round=100, **settings).fit(X, y, groups)
    second = seeded(**settings)
    with pytest.warns(ConvergenceWarning, match="owners ran out"):
        second.set_params(n_estimators=2, owners_per_round=300).fit(X, y, groups)
    assert first.boosted_.asked >= 200
    assert second.boosted_.asked == 0
    assert first.statement_.ledger is not None
    with Ledger(tmp_path / "owners.db") as ledger:
        ledger.check(first.statement_.ledger)
    with pytest.raises(SettingError, match="groups must name the owners where a ledger remembers them"):
        second.fit(X, y)


def test_where_nothing_is_learned_it_says_so_and_answers_the_most_frequent_class() -> None:
    X, y = table(60, weights=[0.8])
    model = seeded(owners_per_round=100)
    with pytest.warns(ConvergenceWarning, match="no round did better than chance: owners ran out"):
        model.fit(X, y)
    assert set(model.predict(X).tolist()) == {0}


def test_as_printed_and_its_promise() -> None:
    X, y = table(2000)
    printed = seeded(as_printed=True, epsilon=20.0, n_estimators=2).fit(X, y)
    assert not printed.promise_.whole
    assert (printed.statement_.labels, printed.statement_.weights) == ("clear", "printed")
    closed = seeded(epsilon=20.0, n_estimators=2).fit(X, y)
    assert closed.promise_.whole
    assert closed.rounds_[0].cost > 1 == printed.rounds_[0].cost
    regression = seeded(share="classifier", as_printed=True, n_estimators=1, epsilon=20.0)
    assert regression.fit(X, y, np.arange(2000) // 20).statement_.share["intercept"] is False
    with pytest.raises(SettingError, match="clip must be left out"):
        printed.set_params(clip=3.0).fit(X, y)


def test_a_model_folder_holds_model_statement_and_report(tmp_path: Path) -> None:
    X, y = table(4000)
    labels = np.array(["no", "yes"])[y]
    model = seeded(share="statistic", epsilon=40.0, n_estimators=4).fit(X[:3000], labels[:3000])
    found = model.compare(X[:3000], labels[:3000], X[3000:], labels[3000:])
    assert next(iter(found.values)) == "this model, ε 40"
    statement = model.save(tmp_path / "model", scores=found)
    loaded = load_local(tmp_path / "model")
    assert loaded.statement == statement
    assert loaded.predict(pa.table(dict(zip(["x0", "x1", "x2", "x3", "x4"], X[3000:].T, strict=True)))).tolist() == (
        model.predict(X[3000:]).tolist()
    )
    page = (tmp_path / "model" / "report.html").read_text(encoding="utf-8")
    for words in ("What owners were promised", "all rows of one owner change", "In the clear", "A simulation", "round"):
        assert words in page
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    said = json.loads((tmp_path / "model" / "statement.json").read_text(encoding="utf-8"))
    assert said["promised"][0]["covers_everything"] is True
    assert len(said["rounds"]) == len(model.rounds_)
    model.save(tmp_path / "model")  # only a model folder is replaced


def test_a_folder_that_was_altered_or_is_none_is_refused(tmp_path: Path) -> None:
    X, y = table(400)
    model = seeded(epsilon=40.0, n_estimators=1).fit(X, y)
    for name in ("model.json", "statement.json", "report.html"):
        model.save(tmp_path / name)
        file = tmp_path / name / name
        file.write_bytes(file.read_bytes().replace(b"0", b"1", 1))
        with pytest.raises(EvidenceError, match="is not what was saved"):
            load_local(tmp_path / name)
        file.unlink()
        with pytest.raises(EvidenceError, match="is missing"):
            load_local(tmp_path / name)
    with pytest.raises(FileError, match="is no model folder"):
        load_local(tmp_path)
    with pytest.raises(FileError, match="is there already"):
        model.save(tmp_path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_serves_a_grid_search() -> None:
    X, y = table(900)
    search = GridSearchCV(seeded(n_estimators=2, simulation_seed=1, random_state=1), {"epsilon": [0.5, 100.0]}, cv=2)
    assert search.fit(X, y).best_params_ == {"epsilon": 100.0}


def test_simulated_noise_is_named_so() -> None:
    X, y = table(3000)
    fresh, replayed = (LocalBoostClassifier(epsilon=40.0, simulation_seed=seed).fit(X, y) for seed in (None, 1))
    assert "INSECURE" not in fresh.statement_.noise
    assert "INSECURE" in replayed.statement_.noise


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"share": "rows"}, "share must be one of sample, statistic, classifier"),
        ({"n_estimators": 0}, "n_estimators must be a whole number"),
        ({"user_fraction": 1.5}, "user_fraction must be a number between 0 and 1"),
        ({"bounds": {"y": (0, 1)}}, "bounds must name columns of X"),
        ({"bounds": (1,)}, "bounds must be a pair of numbers"),
        ({"bounds": (2, 1)}, "bounds must be a lowest and a highest number"),
        ({"epsilon": -1.0}, "epsilon must be a finite number above 0"),
        ({"as_printed": 1}, "as_printed must be True or False"),
        ({"weights": "heavy"}, "weights must be one of"),
    ],
)
def test_a_bad_setting_is_refused_in_one_line(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        seeded(**settings).fit(*table(60))


def test_bad_groups_are_refused() -> None:
    X, y = table(60)
    bad: list[Any] = [np.arange(59), np.zeros((60, 1)), np.linspace(0, 1, 60), [None] * 60]
    for groups in bad:
        with pytest.raises(DataError, match="groups"):
            seeded().fit(X, y, groups)


def test_a_share_of_ones_own_may_be_passed() -> None:
    X, y = table(2000)
    model = seeded(share=LocalClassifier(box=1.0), epsilon=50.0, n_estimators=1)
    assert model.fit(X, y, np.arange(2000) // 20).statement_.share["box"] == 1.0

    class Strange:
        def __init__(self, learner: Any) -> None:
            self.learner = learner

        def predict(self, values: Any) -> Any:
            return self.learner.predict(values)

    class Odd(LocalSample):
        def learner(self, totals: Any) -> Any:
            return Strange(super().learner(totals))

    with pytest.raises(SettingError, match="known kind"):
        seeded(share=Odd(), epsilon=1e4, n_estimators=1).fit(X, y)
