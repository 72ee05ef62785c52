"""OpBoost over recorded lines: the same model by every route, and nothing on the line but what may be there."""

from dataclasses import replace
from typing import Any

import lightgbm
import msgspec
import numpy as np
import pyarrow as pa
import pytest
import xgboost
from numpy.typing import NDArray
from talking import DOMAINS, HELD, NO_NOISE, Talk, columns, job, label, people, train, trained

from unpacking import unpacked
from veilboost.data import coded
from veilboost.mechanisms import UnaryEncoding
from veilboost.trees import as_compared
from veilboost.vertical import samples
from veilboost.vertical.opboost import Ask, Cuts, Done, Ranks, Wanted
from veilboost.wire import decode

PARTIES = tuple(HELD)
TASKS = ["binary", "multiclass", "regression"]
BACKENDS = ["xgboost", "lightgbm"]


def codes_of(name: str, table: pa.Table) -> NDArray[Any]:
    return coded(DOMAINS[name], table[name].combine_chunks(), first_row=0).codes


def own_values(table: pa.Table, backend: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = as_compared(table["own"].to_numpy(), backend)
    if backend == "xgboost":
        return values
    return np.where(np.isnan(values), np.nan, np.searchsorted(np.unique(values), values) + 1)


def plain_features(parties: tuple[str, ...], table: pa.Table, backend: str = "xgboost") -> dict[str, NDArray[Any]]:
    """Return what a model without noise would be trained on, column by column, written down by hand.

    LightGBM adds up zeros and what lies below them in another order, so codes begin at 1, and own values are ranks.
    """
    one, found = float(backend == "lightgbm"), {"own": own_values(table, backend)}
    for name in (name for party in parties for name in HELD[party]):
        codes = codes_of(name, table).astype(np.float64)
        gap = codes > DOMAINS[name].value_codes
        match name:
            case "colour":
                found |= {f"colour={each}": one + (codes == n) for n, each in enumerate(["blue", "green", "red"], 1)}
            case "member":
                found |= {f"member={each}": one + (codes == n) for n, each in enumerate([False, True], 1)}
            case _:
                found[name] = np.where(gap, np.nan, codes)
    return found


def stock(task: str, backend: str, X: NDArray[Any], y: NDArray[Any], *, classes: int = 3, **more: Any) -> Any:
    """Train the library itself, in the plainest way there is."""
    if backend == "xgboost":
        objective = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
        settings = {"objective": objective[task], "tree_method": "hist", "max_bin": 2048, "max_depth": 4, "nthread": 1}
        settings |= {"learning_rate": 0.1, "seed": 0} | ({"num_class": classes} if task == "multiclass" else {})
        matrix = xgboost.DMatrix(X, y, **more)
        return xgboost.train(settings, matrix, 12).predict(matrix)
    params = {"objective": task, "max_depth": 4, "learning_rate": 0.1, "min_data_in_bin": 1, "max_bin": 2048}
    params |= {"verbosity": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True, "enable_bundle": False}
    params |= {"seed": 0} | ({"num_class": classes} if task == "multiclass" else {})
    return lightgbm.train(params, lightgbm.Dataset(X, y, params=params, **more), 12).predict(X)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_without_noise_the_model_is_the_library_s_own_on_pooled_codes(backend: str, task: str, count: int) -> None:
    table, parties = people(), PARTIES[:count]
    made = trained(train(job(parties, task=task, backend=backend), epsilon=NO_NOISE, table=table))
    features = plain_features(parties, table, backend)
    expected = stock(task, backend, np.column_stack(list(features.values())), label(table, task))
    assert [each.feature for each in made.inputs] == list(features)
    assert (made.model.predict(samples(made.inputs, table)) == expected).all()


@pytest.mark.parametrize("nominal", ["one-hot", "native"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("backend", BACKENDS)
def test_thresholds_up_front_and_on_request_give_the_same_model(backend: str, count: int, nominal: Any) -> None:
    made = [
        trained(train(job(PARTIES[:count], backend=backend, thresholds=each, nominal=nominal)))
        for each in ("up-front", "on-request")
    ]
    assert made[0].model == made[1].model
    assert made[0].inputs == made[1].inputs


def test_a_partner_with_categories_alone_is_asked_for_nothing_on_request() -> None:
    found = train(job(["town"], thresholds="on-request"))
    assert trained(found).model == trained(train(job(["town"]))).model
    assert msgspec.msgpack.decode(dict(found.bodies("lead", "town"))["Wanted/1"]) == {"ranks": {}}


@pytest.mark.parametrize("task", TASKS)
def test_weights_and_early_stopping_are_the_library_s_own(task: str) -> None:
    table = people()
    chance = np.random.default_rng(3)
    weight, out = chance.integers(0, 4, table.num_rows).astype(float), chance.random(table.num_rows) < 0.3
    y, made = label(table, task), job(PARTIES[:1], task=task)
    found = trained(train(made, epsilon=NO_NOISE, table=table, weight=weight))
    X = np.column_stack(list(plain_features(PARTIES[:1], table).values()))
    kept = weight > 0  # XGBoost drops rows without weight when it looks for bins
    expected = stock(task, "xgboost", X[kept], y[kept], weight=weight[kept])
    assert (found.model.predict(samples(found.inputs, table))[kept] == expected).all()
    boosting = msgspec.structs.replace(made.boosting, early_stopping=1, n_trees=300, learning_rate=0.9)
    stopped = trained(train(replace(made, boosting=boosting), epsilon=NO_NOISE, table=table, held_out=out))
    assert 0 < len(stopped.model.booster.get_dump()) < 300


@pytest.mark.parametrize("backend", BACKENDS)
def test_with_noise_the_model_follows_from_the_transcript_alone(backend: str) -> None:
    """A second route: read the recorded bytes by hand, and train the library on what they say."""
    table = people()
    found = train(job(PARTIES, backend=backend), epsilon=1.0, table=table)
    one, features = float(backend == "lightgbm"), dict[str, Any](own=own_values(table, backend))
    for party in PARTIES:
        for each in [msgspec.msgpack.decode(body) for kind, body in found.bodies(party, "lead") if kind == "Sent/1"]:
            values = unpacked(each["values"])
            if each["form"] == "ranks":
                features[each["name"]] = np.where(values == 0, np.nan, values)
            elif each["form"] == "categories":
                features |= {f"{each['name']}={c}": one + (values == n) for n, c in enumerate(each["categories"], 1)}
            else:
                bits = np.unpackbits(values).reshape(table.num_rows, each["count"])
                features |= {f"{each['name']}={c}": one + bits[:, n] for n, c in enumerate(each["categories"])}
    X = np.column_stack(list(features.values()))
    made = trained(found)
    ranks = [np.nan_to_num(column).astype(np.int64) for column in X.T]
    ranks[0] = np.nan_to_num(own_values(table, "lightgbm")).astype(np.int64)
    shift = [each.kind == "indicator" and backend == "xgboost" for each in made.inputs]
    codes = [column + by for column, by in zip(ranks, shift, strict=True)]
    assert (made.ranks.predict(codes) == stock("binary", backend, X, label(table))).all()


def test_every_byte_is_counted_for_its_party_and_message() -> None:
    found = train(job(PARTIES, thresholds="on-request"))
    for party in PARTIES:
        traffic = trained(found).traffic[party]
        for way, bodies in (
            (traffic.sent, found.bodies("lead", party)),
            (traffic.received, found.bodies(party, "lead")),
        ):
            assert dict(way) == {each: sum(len(body) for kind, body in bodies if kind == each) for each, _ in bodies}
    assert [kind for kind, _ in found.bodies("lead", "bank")] == ["Ask/2", "Wanted/1", "Done/1"]
    assert [kind for kind, _ in found.bodies("bank", "lead")] == ["Ranks/4", "Sent/1", "Sent/1", "Cuts/1"]


def test_up_front_what_the_lead_says_does_not_depend_on_what_it_holds() -> None:
    """Labels, weights and its own columns change; every byte to every partner stays, and so does the answer."""
    table, chance = people(), np.random.default_rng(9)
    own = pa.array(chance.normal(5, 1, table.num_rows))
    other = table.set_column(table.column_names.index("own"), "own", own)
    first = train(job(PARTIES), table=table)
    second = train(
        job(PARTIES), table=other, target=chance.integers(0, 2, len(own)) * 1.0, weight=chance.random(len(own))
    )
    assert trained(first).model != trained(second).model
    for party in PARTIES:
        assert first.bodies("lead", party) == second.bodies("lead", party)
        assert first.bodies(party, "lead") == second.bodies(party, "lead")


def test_on_request_a_partner_hears_which_of_its_ranks_are_thresholds_and_no_more() -> None:
    table = people()
    first = train(job(PARTIES, thresholds="on-request"), table=table)
    flipped = 1 - label(table)
    second = train(job(PARTIES, thresholds="on-request"), table=table, target=flipped)
    for party in PARTIES:
        said = [dict(each.bodies("lead", party)) for each in (first, second)]
        assert {kind for kind in said[0] if said[0][kind] != said[1][kind]} <= {"Wanted/1"}
        wanted = decode(said[0]["Wanted/1"], Wanted).ranks
        numeric = [name for name in HELD[party] if name not in ("colour", "member")]
        assert sorted(wanted) == sorted(numeric)
    thresholds = {
        each.feature: places.tolist()
        for each, places in zip(trained(first).inputs, trained(first).ranks.needed(), strict=True)
    }
    asked = decode(dict(first.bodies("lead", "bank"))["Wanted/1"], Wanted).ranks
    assert {name: array.read().tolist() for name, array in asked.items()} == {n: thresholds[n] for n in HELD["bank"]}
    assert any(asked["spend"].read())


def test_a_partner_hears_nothing_of_another_partner() -> None:
    table, other = people(), people(seed=8)
    mixed = table.set_column(table.column_names.index("spend"), "spend", other["spend"])
    for thresholds in ("up-front", "on-request"):
        first, second = (
            train(job(PARTIES, thresholds=thresholds), table=each, target=label(table)) for each in (table, mixed)
        )
        assert first.bodies("bank", "lead") != second.bodies("bank", "lead")
        for party in PARTIES[1:]:
            assert [k for k, _ in first.bodies("lead", party)] == [k for k, _ in second.bodies("lead", party)]
            assert first.bodies(party, "lead")[0] == second.bodies(party, "lead")[0]
            assert first.bodies("lead", party)[0] == second.bodies("lead", party)[0]


def packed(values: NDArray[Any]) -> list[bytes]:
    """Return the ways in which a column could be written."""
    return [values.astype(kind).tobytes() for kind in ("<u1", "<u2", "<u4", "<i8", "<f8", "<f4")]


def spoken(found: Talk) -> bytes:
    """Return every byte on the lines, and what packed columns hold in every way it could be written."""
    bodies = [each.body for each in found.said]
    for each in found.said:
        if each.kind == "Sent/1":
            bodies += packed(unpacked(msgspec.msgpack.decode(each.body)["values"]))
    return b"".join(bodies)


def secrets(party: str, table: pa.Table) -> list[bytes]:
    """Return what must not be on the line: codes before noise, their ranks, and raw values one by one."""
    found = []
    for name in HELD[party]:
        codes = codes_of(name, table)
        _, ranks = np.unique(codes, return_inverse=True)
        gaps = np.where(codes > DOMAINS[name].value_codes, 0, codes)
        found += [text for column in (codes, codes - 1, ranks + 1, gaps) for text in packed(column)]
        if name == "member":
            found.append(np.packbits(codes[:, None] == [1, 2]).tobytes())
    if party == "bank":
        found += [value.tobytes() for value in table["spend"].to_numpy()]
    return found


@pytest.mark.parametrize("thresholds", ["up-front", "on-request"])
def test_neither_raw_values_nor_codes_nor_labels_are_on_the_line(thresholds: Any) -> None:
    table = people()
    y = label(table)
    found = train(job(PARTIES, thresholds=thresholds), table=table)
    everything = spoken(found)
    own = [*packed(y), np.packbits(y.astype(bool)).tobytes(), *(v.tobytes() for v in table["own"].to_numpy() if v == v)]
    for secret in [*own, *(secret for party in PARTIES for secret in secrets(party, table))]:
        assert secret not in everything
    silent = spoken(train(job(PARTIES), epsilon=NO_NOISE, table=table))
    for party in PARTIES:  # the search does find codes where there is no noise to hide them
        assert any(secret in silent for secret in secrets(party, table))


def test_messages_are_what_the_plan_says() -> None:
    kinds = {"lead": {"Ask/2", "Done/1"}, "partner": {"Ranks/4", "Sent/1"}}
    found = train(job(PARTIES))
    for party in PARTIES:
        assert {kind for kind, _ in found.bodies("lead", party)} == kinds["lead"]
        assert {kind for kind, _ in found.bodies(party, "lead")} == kinds["partner"]
    assert Ask.__struct_fields__ == ("job", "purpose", "columns", "rows", "use")
    assert [each.__struct_fields__ for each in (Ranks, Wanted, Cuts, Done)] == [
        ("statement",), ("ranks",), ("cuts",), ()
    ]  # fmt: skip


def test_bits_have_a_budget_of_their_own() -> None:
    (member,) = columns("town", 0.7)
    assert isinstance(member.mechanism, UnaryEncoding)
    said = trained(train(job(PARTIES), epsilon=0.7)).statements
    stated = {column.column: column for each in said for column in each.columns}
    assert (stated["member"].nominal_epsilon, stated["spend"].nominal_epsilon) == (1.4, 0.7)
    assert "1.4" in said[PARTIES.index("town")].whole_row
