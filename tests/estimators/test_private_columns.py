"""Columns of partners: who holds what, what each costs, and what may never be trained on in the clear."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from party import Party, people
from veilboost import Domain, OpBoostClassifier, OpBoostRegressor
from veilboost.errors import FileError, RefusalError, SettingError
from veilboost.estimators.private import split_budget
from veilboost.randomness import ReplayableBits
from veilboost.trees import as_compared

pytestmark = pytest.mark.slow

CHANCE = np.random.default_rng(5)
ROWS = 400
Z = CHANCE.normal(size=(ROWS, 4))
Y = (Z @ [1.0, -1.0, 0.5, 0.0] > 0).astype(int)
TOWNS = ["Rome", "Oslo", "Lima"]
X = pa.table(
    {name: Z[:, place] for place, name in enumerate("abcd")}
    | {"town": [TOWNS[place] for place in (np.arange(ROWS) % 3).tolist()]}
)
SHARED: dict[str, Any] = {
    "bounds": (-3, 3),
    "size": 20,
    "domains": {"town": Domain.unordered(TOWNS)},
    "n_estimators": 10,
    "n_jobs": 1,
    "simulation_seed": 7,
}


def fitted(**settings: Any) -> OpBoostClassifier:
    return OpBoostClassifier(**SHARED | settings).fit(X, Y)


def asked_for(model: OpBoostClassifier) -> dict[str, dict[str, float]]:
    """Return the nominal ε of each column, by party."""
    return {said.party: {each.column: each.nominal_epsilon for each in said.columns} for said in model.statements_}


def used(model: OpBoostClassifier) -> set[str]:
    names = model.feature_names_in_
    return {str(name) for name, share in zip(names, model.feature_importances_, strict=True) if share > 0}


def test_several_partners_hold_columns_by_name_or_place() -> None:
    named = fitted(partners={"shop": ["a", "b"], "clinic": ["town"]})
    assert asked_for(named) == {"shop": {"a": 1.0, "b": 1.0}, "clinic": {"town": 1.0}}
    placed = fitted(partners={"shop": [0, 1], "clinic": [4]}, private=["b", "town", "a"])
    assert placed.model_.model == named.model_.model
    assert asked_for(fitted(private="all")) == {"partner": dict.fromkeys([*"abcd", "town"], 1.0)}


def test_each_partner_draws_noise_of_its_own() -> None:
    twins = pa.table({"a": np.zeros(ROWS), "b": np.zeros(ROWS)})
    model = OpBoostClassifier(**SHARED, partners={"shop": ["a"], "clinic": ["b"]}).fit(twins, Y)
    one, other = (said.sha256 for said in model.statements_)
    assert one != other


def test_a_simulation_is_drawn_from_the_mechanism_on_the_public_codes() -> None:
    """The other route: encode, draw and hash by hand."""
    model = fitted(private=["a"], epsilon=0.7)
    (said,) = model.statements_
    (column,) = said.columns
    domain = Domain.numbers(-3, 3, size=20, missing="code")
    assert (column.domain_digest, column.source) == (domain.digest().hex(), "partner/a")
    from veilboost import TightMap

    mechanism = TightMap(epsilon=0.7, size=20)
    seed = int.from_bytes(hashlib.sha256(b"7 partner").digest()[:8])
    codes = domain.encode(as_compared(Z[:, 0], "xgboost")).codes
    noisy = mechanism.draw(codes, bits=ReplayableBits(seed=seed))
    assert said.sha256 == hashlib.sha256(noisy.data).hexdigest()
    assert column.exact_gaps == list(mechanism.profile().gaps)


def test_the_same_seed_replays_and_no_seed_does_not() -> None:
    models = [fitted(private="all", simulation_seed=seed) for seed in (3, 3, 4, None, None)]
    digests = [model.statements_[0].sha256 for model in models]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
    assert models[0].model_.model == models[1].model_.model


@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
def test_thresholds_on_request_make_the_same_model(backend: Any) -> None:
    settings: dict[str, Any] = {"private": "all", "backend": backend}
    models = [fitted(**settings, thresholds=way) for way in ("up-front", "on-request")]
    assert np.array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[1].traffic_["partner"]["received"].keys() > models[0].traffic_["partner"]["received"].keys()


# Budgets over several features


def test_the_budget_of_a_row_is_split_evenly_over_all_partners() -> None:
    model = fitted(row_epsilon=1.0, partners={"shop": ["a", "b", "c"], "clinic": ["town"]})
    assert asked_for(model) == {"shop": dict.fromkeys("abc", 0.25), "clinic": {"town": 0.25}}


def test_the_budget_of_a_row_is_split_by_weights() -> None:
    model = fitted(row_epsilon=2.0, split={"a": 3, "town": 1}, partners={"shop": ["a"], "clinic": ["town"]})
    assert asked_for(model) == {"shop": {"a": 1.5}, "clinic": {"town": 0.5}}


def test_the_budget_of_a_row_is_spent_on_some_columns_and_the_others_stay_away() -> None:
    seen = set()
    for seed in range(8):
        model = fitted(row_epsilon=3.0, split={"sample": 2}, private=list("abc"), random_state=seed)
        (party,) = asked_for(model).values()
        assert set(party.values()) == {1.5}
        assert len(party) == 2
        assert used(model) <= {*party, "d", "town"}
        assert {each.column for each in model._trained.inputs} == {*party, "d", "town"}
        seen.add(tuple(party))
    assert len(seen) == 3  # every pair, with these eight seeds


def test_a_partner_whose_columns_are_not_drawn_is_not_asked_and_nothing_of_it_is_used() -> None:
    for seed in range(4):
        model = fitted(
            row_epsilon=1.0, split={"sample": 1}, partners={"shop": ["a"], "clinic": ["b"]}, random_state=seed
        )
        ((column,),) = (list(party) for party in asked_for(model).values())
        assert {each.column for each in model._trained.inputs} == {column, "c", "d", "town"}


@pytest.mark.parametrize("split", ["even", {"a": 3, "b": 1, "c": 0.1}, {"sample": 2}])
def test_the_parts_of_a_budget_do_not_add_up_to_more(split: Any) -> None:
    for budget in (0.1, 0.7, 1.0, 3.0):
        parts = split_budget(list("abc"), budget, split, np.random.default_rng(0))
        assert budget - 1e-9 < math.fsum(parts.values()) <= budget


def test_a_row_budget_shows_in_the_statement() -> None:
    model = fitted(row_epsilon=1.0, private=list("abc"))
    assert "exp(t * 1) times" in model.statements_[0].whole_row
    assert "exp(t * 0.333334) times" in model.statements_[0].one_column


# Nominal categories


@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
@pytest.mark.parametrize(("mechanism", "nominal"), [("grr", "one-hot"), ("grr", "native"), ("unary", "one-hot")])
def test_nominal_categories_have_a_mechanism_and_budget_of_their_own(
    mechanism: str, nominal: Any, backend: Any
) -> None:
    truth = (np.arange(ROWS) % 3 == 0).astype(int)
    settings = SHARED | {"nominal_mechanism": mechanism, "nominal": nominal, "backend": backend, "n_estimators": 40}
    model = OpBoostClassifier(**settings, private=["a", "town"], nominal_epsilon=6.0).fit(X, truth)
    assert asked_for(model) == {"partner": {"a": 1.0, "town": 6.0}}
    assert model.statements_[0].columns[1].settings["mechanism"] == mechanism
    assert model.score(X, truth) > 0.95
    features = [each.feature for each in model._trained.inputs if each.column == "town"]
    assert features == (["town"] if nominal == "native" else ["town=Rome", "town=Oslo", "town=Lima"])


def test_settings_of_mechanisms_by_column() -> None:
    model = fitted(
        private=["a", "b", "town"],
        mechanism={"a": {"mechanism": "adj", "theta": 5, "alpha": 0.4}, "b": "piecewise"},
        nominal_mechanism={"mechanism": "unary", "optimised": True},
        epsilon={"a": 0.5, "b": 2.0, "town": 1.0},
        size={"a": 10, "b": 30},
    )
    found = {each.column: each.settings for each in model.statements_[0].columns}
    assert found == {
        "a": {"mechanism": "adj", "size": 10, "epsilon": 0.5, "theta": 5, "alpha": 0.4},
        "b": {"mechanism": "piecewise", "epsilon": 2.0, "size": 30},
        "town": {"mechanism": "unary", "epsilon": 1.0, "size": 3, "optimised": True},
    }


def test_budgets_may_be_given_gap_by_gap() -> None:
    gaps = [0.1, 0.1, 2.0, 0.1]
    model = fitted(private=["a"], size=5, mechanism={"mechanism": "tight", "gaps": gaps})
    assert model.statements_[0].columns[0].settings == {"mechanism": "tight", "gaps": gaps}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"private": "a"}, "private must be 'all' or a list of columns; got 'a'"),
        ({"private": 3}, "private must be 'all' or a list of columns; got 3"),
        ({"private": ["z"]}, "private must name columns of X: a, b, c, d, town; got 'z'"),
        ({"private": [5]}, "private must be a whole number from 0 to 4; got 5"),
        ({"private": [True]}, "private must be a whole number from 0 to 4; got True"),
        ({"private": ["a", 0]}, "private must name each column once"),
        (
            {"private": ["a"], "bounds": None},
            "bounds must give the public lowest and highest value of each private column.*nothing for 'a'",
        ),
        ({"private": ["a"], "bounds": {"b": (0, 1)}}, "bounds must give .*nothing for 'a'"),
        ({"private": ["a"], "bounds": (3, -3)}, "lower of column 'a' must be below upper"),
        ({"private": ["a"], "bounds": (0, np.nan)}, "upper of column 'a' must be"),
        ({"private": ["a"], "bounds": 3}, "bounds must be a pair of numbers for column 'a'; got 3"),
        ({"private": ["a"], "domains": {"a": (0, 1)}}, "domains\\['a'\\] must be a Domain"),
        ({"private": ["a"], "size": 1}, "size of column 'a' must be"),
        ({"private": ["a"], "size": {"b": 4}}, "size must be given for every private column"),
        ({"private": ["a"], "epsilon": 0}, "epsilon must be a finite number above 0; got 0"),
        ({"private": ["a"], "epsilon": {"b": 1}}, "epsilon must be given for every private column; .* 'a'"),
        ({"private": ["a"], "mechanism": "laplace"}, "mechanism must be one of global, adj, .* got 'laplace'"),
        ({"private": ["a"], "mechanism": {"mechanism": "adj"}}, "theta of column 'a' must be given"),
        ({"private": ["a"], "mechanism": {"mechanism": "tight", "size": 4}}, "mechanism must have settings of a mech"),
        ({"private": ["a"], "mechanism": {"mechanism": "tight", "wrong": 4}}, "mechanism must have settings of a mech"),
        ({"private": ["a"], "mechanism": {"b": "tight"}}, "mechanism must be given for every private column"),
        ({"private": ["town"], "nominal_mechanism": "tight"}, "nominal_mechanism must be one of grr, unary"),
        ({"private": ["town"], "nominal_epsilon": -1}, "nominal_epsilon must be a finite number above 0"),
        ({"private": ["a"], "row_epsilon": 0}, "row_epsilon must be a finite number above 0"),
        ({"private": ["a"], "row_epsilon": 1, "nominal_epsilon": 1}, "nominal_epsilon must be left out with row_eps"),
        ({"private": ["a"], "row_epsilon": 1, "epsilon": {"a": 1}}, "epsilon must be left out with row_epsilon"),
        ({"private": ["a"], "row_epsilon": 1, "split": "odd"}, "split must be 'even', .* or a weight"),
        ({"private": ["a"], "row_epsilon": 1, "split": {"b": 1}}, "split must be 'even', .* or a weight"),
        ({"private": ["a"], "row_epsilon": 1, "split": {"sample": 2}}, "split: sample must be a whole number"),
        ({"private": ["a"], "row_epsilon": 1, "split": {"a": 0}}, "split: a must be a finite number above 0"),
        ({"partners": ["a"]}, "partners must be the columns of each partner"),
        ({"partners": {"shop": ["a"]}, "private": ["b"]}, "partners must give each private column to one partner"),
        ({"partners": {"shop": ["a"], "clinic": ["a"]}}, "private must name each column once"),
        ({"partners": {"shop": ["a"], "clinic": [0]}, "private": ["a"]}, "partners must give each private column to"),
        ({"partners": {"shop": "a"}, "private": ["a"]}, "partners\\['shop'\\] must be 'all' or a list"),
        ({"partners": {"lead": ["a"]}}, "partners must not name the lead"),
        ({"simulation_seed": -1, "private": ["a"]}, "simulation_seed must be a whole number"),
        ({"row_key": "id"}, "row_key must name a column of X"),
        ({"thresholds": "never"}, "thresholds must be one of up-front, on-request; got 'never'"),
        ({"nominal": "never"}, "nominal must be one of one-hot, native; got 'never'"),
        ({"backend": "never"}, "backend must be one of xgboost, lightgbm; got 'never'"),
        ({"bins": 1}, "bins must be a whole number from 2"),
        ({"n_jobs": 0}, "threads must be a whole number"),
        ({"early_stopping": 5, "validation_fraction": 1.0}, "validation_fraction must be a number between 0 and 1"),
        ({"policies": {"bank": "nowhere.toml"}}, "nowhere.toml: there is no such file|No such file"),
        ({"policies": ["nowhere.toml"]}, "policies must be the policy file of each partner, by its name"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(settings: dict[str, Any], says: str) -> None:
    with pytest.raises((SettingError, FileError), match=says) as caught:
        fitted(**settings)
    assert "\n" not in str(caught.value)


# Policies and ledgers

JOB: dict[str, Any] = {"lead": "shop", "purpose": "churn", "job": "job 1", "row_key": "id", "n_estimators": 5}
ROWS_AT_BANK = 'key = "id"\ntype = "integer"'


def bank(tmp_path: Path, **policy: Any) -> Party:
    return Party.settled(tmp_path, rows=ROWS_AT_BANK, **policy)


def at_bank(party: Party, **settings: Any) -> OpBoostRegressor:
    return OpBoostRegressor(**JOB | {"policies": {"bank": party.folder / "policy.toml"}} | settings)


def test_columns_under_a_policy_leave_through_policy_and_ledger_once(tmp_path: Path) -> None:
    party, table = bank(tmp_path), people(60)
    target = np.arange(60.0)
    model = at_bank(party).fit(table, target)
    (said,) = model.statements_
    assert (said.noise, said.party, said.to, said.job) == ("permanent", "bank", "shop", "job 1")
    assert said.receipt is not None
    assert said.receipt.head == party.lines()[-1].head
    assert party.charges() == [{"age": 60, "colour": 60}]
    again = at_bank(party).fit(table, target)
    assert again.statements_[0].sha256 == said.sha256  # the same noise
    assert set(party.charges()[-1].values()) == {0}  # for nothing
    assert np.array_equal(model.predict(table), again.predict(table))


def test_permanent_noise_goes_with_the_row_wherever_it_stands(tmp_path: Path) -> None:
    party, table = bank(tmp_path), people(60)
    order = np.random.default_rng(0).permutation(60)
    one = at_bank(party, sharpen=False).fit(table, np.arange(60.0))
    other = at_bank(party, sharpen=False).fit(table.take(order), np.arange(60.0)[order])
    assert one.predict(table) == pytest.approx(other.predict(table), rel=1e-5)
    assert set(party.charges()[-1].values()) == {0}


def test_a_policy_and_a_simulation_stand_side_by_side(tmp_path: Path) -> None:
    table = people(60).append_column("spend", [np.arange(60.0)])
    model = at_bank(bank(tmp_path), partners={"kiosk": ["spend"]}, bounds=(0, 60), size=10).fit(table, np.arange(60.0))
    assert {said.party: said.noise for said in model.statements_} == {"bank": "permanent", "kiosk": "simulated"}
    assert {each.column: each.party for each in model._trained.inputs}["town"] == "shop"


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"purpose": "fun"}, RefusalError, "fun"),
        ({"lead": "kiosk"}, RefusalError, "kiosk"),
        ({"row_key": None}, FileError, "'id'"),
        ({"policies": {"kiosk": "policy.toml"}}, SettingError, "policies must be given under the party's own name"),
        ({"partners": {"bank": ["town"]}}, SettingError, "partners must not name a party that has a policy"),
    ],
)
def test_what_a_policy_does_not_allow_is_refused_and_costs_nothing(
    settings: dict[str, Any], error: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    party = bank(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=says):
        at_bank(party, **settings).fit(people(60), np.arange(60.0))
    assert party.charges() == []


def test_a_policy_may_know_columns_that_are_not_there(tmp_path: Path) -> None:
    table = people(60).drop_columns(["colour"])
    model = at_bank(bank(tmp_path), sharpen=False).fit(table, np.arange(60.0))
    assert [each.column for each in model.statements_[0].columns] == ["age"]
    found = model.compare(table, np.arange(60.0), table, np.arange(60.0))
    assert len(found.values) == 3


def test_a_budget_that_is_spent_refuses_the_next_fit(tmp_path: Path) -> None:
    from party import AGE

    party = bank(tmp_path, columns={"age": AGE | {"cap": 0.5}})
    table = people(60).drop_columns(["colour"])
    at_bank(party).fit(table, np.arange(60.0))
    changed = table.set_column(1, "age", pa.array((np.arange(60) * 7) % 99))
    with pytest.raises(RefusalError):
        at_bank(party).fit(changed, np.arange(60.0))


def test_the_statement_of_a_fit_is_json(tmp_path: Path) -> None:
    model = fitted(private="all")
    said = model.save(tmp_path / "model")
    stored = json.loads((tmp_path / "model" / "statement.json").read_text(encoding="utf-8"))
    assert [each["column"] for each in stored["released"][0]["columns"]] == [*"abcd", "town"]
    assert stored["whole_row"] == said.whole_row
