"""Categories at partners: what a model sees of them, what they cost, and categories that it has never seen."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from talking import DOMAINS, HELD, NO_NOISE, job, label, people, train, trained

from veilboost.data import MemorySource
from veilboost.domain import Domain
from veilboost.errors import DataError
from veilboost.estimators import OpBoostClassifier
from veilboost.files import as_json
from veilboost.mechanisms import RandomizedResponse, TightMap, UnaryEncoding
from veilboost.randomness import ReplayableBits
from veilboost.release import Column, SimulationDoor
from veilboost.vertical import Input, samples
from veilboost.vertical.columns import expand
from veilboost.vertical.promises import checked
from veilboost.vertical.sent import Sent, opened
from veilboost.wire import Values

ONE_HOT = ["colour=blue", "colour=green", "colour=red"]


def at(inputs: Any, table: pa.Table, feature: str) -> list[float]:
    place = [each.feature for each in inputs].index(feature)
    return [None if np.isnan(v) else v for v in samples(inputs, table)[:, place].tolist()]  # type: ignore[misc]


def test_a_noisy_category_becomes_one_column_each_and_a_missing_one_none_of_them() -> None:
    found = train(job(["shop"]), epsilon=NO_NOISE)
    inputs = trained(found).inputs
    assert [each.feature for each in inputs if each.column == "colour"] == ONE_HOT
    colours = pa.array(["red", None, "blue", "purple", ""])
    raw = pa.table({"own": np.zeros(5), "colour": colours, "since": people(rows=5)["since"]})
    assert at(inputs, raw, "colour=red") == [1, 0, 0, 0, 0]
    assert at(inputs, raw, "colour=blue") == [0, 0, 1, 0, 0]


def test_a_native_category_is_its_place_and_an_unseen_one_is_missing() -> None:
    inputs = trained(train(job(["shop"], nominal="native"), epsilon=NO_NOISE)).inputs
    colours = pa.array(["red", None, "blue", "purple"])
    raw = pa.table({"own": np.zeros(4), "colour": colours, "since": people(rows=4)["since"]})
    assert at(inputs, raw, "colour") == [2, None, 0, None]


@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("nominal", ["one-hot", "native"])
def test_an_unseen_category_is_predicted_as_a_missing_one(nominal: Any, backend: str) -> None:
    made = trained(train(job(["shop"], nominal=nominal, backend=backend)))
    table = people()
    unseen, missing = (
        table.set_column(table.column_names.index("colour"), "colour", pa.array([value] * table.num_rows, pa.string()))
        for value in ("purple", None)
    )
    predicted = [made.model.predict(samples(made.inputs, each)) for each in (unseen, missing, table)]
    assert (predicted[0] == predicted[1]).all()
    assert (predicted[0] != predicted[2]).any()


def test_bits_of_a_category_may_stand_in_the_place_of_the_column() -> None:
    inputs = trained(train(job(["town"]))).inputs
    bits = pa.table({"own": [0.0, 0.0], "member=False": [1, 1], "member=True": pa.array([0, 1], pa.uint8())})
    raw = pa.table({"own": [0.0, 0.0, 0.0], "member": [True, False, None]})
    assert at(inputs, bits, "member=True") == [0, 1]
    assert at(inputs, bits, "member=False") == [1, 1]
    assert at(inputs, raw, "member=True") == [1, 0, 0]
    assert at(inputs, raw, "member=False") == [0, 1, 0]


def test_a_bit_for_missing_values_is_one_where_a_value_is_missing() -> None:
    table = people()
    model = OpBoostClassifier(
        private=["colour"],
        domains={"colour": DOMAINS["colour"]},
        nominal_mechanism="unary",
        epsilon=NO_NOISE,
        n_estimators=5,
    ).fit(table.select(["colour", "own"]), label(table))
    inputs = model._trained.inputs
    assert [each.feature for each in inputs] == [*ONE_HOT, "colour=missing", "own"]
    raw = pa.table({"colour": ["red", None, "purple"], "own": np.zeros(3)})
    assert at(inputs, raw, "colour=missing") == [0, 1, 0]
    assert at(inputs, raw, "colour=red") == [1, 0, 0]


def test_categories_have_a_budget_and_a_mechanism_of_their_own() -> None:
    table = people()
    given: dict[str, Any] = {
        "private": ["spend", "colour"],
        "domains": {name: DOMAINS[name] for name in ("spend", "colour")},
        "epsilon": 0.5,
        "nominal_epsilon": 3.0,
        "n_estimators": 2,
    }
    for name, kind in (("unary", UnaryEncoding(epsilon=3.0, size=4)), ("grr", RandomizedResponse(epsilon=3.0, size=4))):
        model = OpBoostClassifier(nominal_mechanism=name, **given).fit(table.select(["spend", "colour"]), label(table))
        (said,) = model.statements_
        stated = {each.column: each for each in said.columns}
        assert (stated["spend"].nominal_epsilon, stated["colour"].nominal_epsilon) == (0.5, 3.0)
        assert stated["colour"].table_digest == kind.digest.hex()


@pytest.mark.parametrize(("values", "raw", "other"), [(["1", "2"], "2", "1"), ([1, 2], 2, 1), ([7, -3], -3, 7)])
def test_categories_of_text_and_of_whole_numbers(values: list[Any], raw: Any, other: Any) -> None:
    chance = np.random.default_rng(0)
    column = np.array(values)[chance.integers(0, 2, 200)]
    X = pa.table({"c": pa.array(column.tolist()), "z": chance.normal(0, 1, 200)})
    model = OpBoostClassifier(private=["c"], domains={"c": Domain.unordered(values)}, epsilon=NO_NOISE, n_estimators=3)
    inputs = model.fit(X, column == values[1])._trained.inputs
    found = samples(inputs, pa.table({"c": pa.array([raw, other]), "z": [0.0, 0.0]}))
    assert found[:, [each.feature for each in inputs].index(f"c={raw}")].tolist() == [1, 0]


def test_more_categories_than_columns_can_be_are_refused_unless_they_are_native() -> None:
    names: list[Any] = [f"town {n}" for n in range(1025)]
    places = np.arange(1, 1026).astype(np.uint16)
    sent = Sent(name="town", form="categories", count=1025, values=Values.of(places), categories=names)
    column = opened(sent, 1025, "cuts")
    with pytest.raises(DataError, match="column 'town' must have at most 1024 categories for one column each"):
        list(expand(column, "shop", "one-hot"))
    (native,) = expand(column, "shop", "native")
    assert native.feature.categories == 1025


def test_gaps_that_separate_groups_may_be_stated() -> None:
    """An infinite gap is a text in JSON; the mechanism that is made from it again is the same."""
    tight = TightMap(gaps=[0.5, float("inf"), 0.25])
    domain = Domain.integers(0, 3, column="score")
    source = MemorySource(pa.table({"score": people()["score"].to_numpy() % 4}))
    door = SimulationDoor(
        "clinic", [Column("score", "clinic/score", domain, tight, None)], source, ReplayableBits(seed=1)
    )
    found = train(job(["clinic"], columns={"clinic": ["score"]}), doors={"clinic": door})
    (said,) = trained(found).statements
    assert said.columns[0].exact_gaps == [0.5, float("inf"), 0.25]
    assert checked(msgspec.json.decode(as_json(said), type=type(said), strict=False)) == said


def test_two_columns_that_lead_to_one_feature_are_refused() -> None:
    table = people().append_column("colour=red", pa.array(np.zeros(300)))
    with pytest.raises(DataError, match="column 'colour=red' must be one feature of the model"):
        OpBoostClassifier(private=["colour"], domains={"colour": DOMAINS["colour"]}).fit(
            table.select(["colour", "colour=red"]), label(table)
        )


def test_a_table_for_prediction_that_lacks_a_column_or_holds_another_type_is_refused() -> None:
    inputs = trained(train(job(["shop", "clinic"]))).inputs
    table = people().select(["own", *HELD["shop"], *HELD["clinic"]])
    with pytest.raises(DataError, match="column 'since' must be in the table: the model reads it"):
        samples(inputs, table.drop_columns(["since"]))
    with pytest.raises(DataError, match=r"column 'since' must be date32\[day\].* 'soon' at row 0"):
        samples(inputs, table.set_column(2, "since", pa.array(["soon"] * 300)))
    with pytest.raises(DataError, match="column 'score' must be double"):
        samples(inputs, table.set_column(table.column_names.index("score"), "score", pa.array([[1]] * 300)))


def test_an_input_reads_every_form_of_its_values() -> None:
    day = Input(feature="d", column="d", party="p", kind="days")
    for values in (
        pa.array(["1970-01-03", None]),
        pa.array([2, None], pa.date32()),
        pa.array([2 * 86400_000, None], pa.date64()),
    ):
        assert at([day], pa.table({"d": values}), "d") == [2, None]
    number = Input(feature="n", column="n", party="p", kind="number", impute=7.0)
    for values in (pa.array([" 3", None]), pa.array([3, None]), pa.array([3.0, float("nan")])):
        assert at([number], pa.table({"n": values}), "n") == [3, 7]
