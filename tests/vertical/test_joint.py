"""Joint prediction: the same numbers as from desensitised files, and nothing on the line but what was agreed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from talking import Change, Talk, same, talk

from party import Party
from veilboost.data import MemorySource, NumberedSource
from veilboost.errors import DataError, EvidenceError, FileError, PeerError, RefusalError, SettingError
from veilboost.estimators.predictions import predict
from veilboost.release import PolicyDoor, load_policy
from veilboost.trees import BoostingSettings
from veilboost.vertical import Job, LeadTable, Own, Trained, joint, opboost, samples, together
from veilboost.vertical.folder import Saved, load, save
from veilboost.vertical.opboost import Ask, Prediction, Ranks
from veilboost.vertical.sent import Sent
from veilboost.vertical.sharpening import Extrapolation
from veilboost.vertical.statement import state
from veilboost.wire import Array, Channel, Values, decode, encode

ROWS = 300
KINDS: Mapping[str, tuple[str, str, float]] = {
    "spend": ('kind = "numbers", lower = 0, upper = 100, size = 25', "tight", 1.0),
    "age": ('kind = "integers", lower = 0, upper = 99, size = 20, missing = "code"', "global", 1.0),
    "score": ('kind = "integers", lower = 0, upper = 9', "duchi", 2.0),
    "height": ('kind = "numbers", lower = 0.1, upper = 2.3, size = 50', "piecewise", 2.0),
    "far": ('kind = "integers", lower = 0, upper = 100000000, size = 100000', "clamped-laplace", 0.01),
    "gap": ('kind = "numbers", lower = 0, upper = 7, size = 15, missing = "impute", impute = 3.5', "tight", 1.0),
    "since": ('kind = "dates", first = "2020-01-01", last = "2022-12-31", size = 40', "tight", 1.0),
    "seen": ('kind = "timestamps", first = "2020-01-01T00:00Z", last = "2020-03-01T00:00Z", size = 60', "tight", 1.0),
    "price": ('kind = "decimals", lower = "0.01", upper = "9.99", places = 2, size = 30', "bounded-laplace", 1.0),
    "size": ('kind = "ordered", categories = ["small", "middle", "large"]', "tight", 1.0),
    "floor": ('kind = "ordered", categories = [3, 1, 2], missing = "code"', "tight", 1.0),
    "colour": ('kind = "unordered", categories = ["red", "green", "blue"], missing = "code"', "grr", 2.0),
    "member": ('kind = "booleans", missing = "code"', "unary", 3.0),
    "paid": ('kind = "booleans"', "grr", 2.0),
}
POLICY = {
    name: {"domain": domain, "name": mechanism, "epsilon": epsilon, "cap": "inf"}
    for name, (domain, mechanism, epsilon) in KINDS.items()
}


def people(ids: NDArray[np.int64]) -> pa.Table:
    """Return what a shop and a bank know about these people; it follows from their number."""
    chance = [np.random.default_rng(int(n)) for n in ids]
    gaps = pa.array([bool(each.random() < 0.1) for each in chance])

    def of(draw: Callable[[np.random.Generator], Any], kind: Any = None, *, holes: bool = False) -> pa.Array:
        values = [None if gap and holes else draw(each) for each, gap in zip(chance, gaps.to_pylist(), strict=True)]
        return pa.array(values, kind)

    start = datetime(2020, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "id": pa.array(ids),
            "own": of(lambda c: float(c.normal())),
            "spend": of(lambda c: float(c.normal(50, 25))),
            "age": of(lambda c: int(c.integers(0, 99)), holes=True),
            "score": of(lambda c: int(c.integers(0, 10))),
            "height": of(lambda c: float(c.random() * 2.2 + 0.1)),
            "far": of(lambda c: int(c.integers(0, 10**8))),
            "gap": of(lambda c: float(c.random() * 7), holes=True),
            "since": of(lambda c: date(2020, 1, 1) + timedelta(days=int(c.integers(0, 1000)))),
            "seen": of(lambda c: start + timedelta(seconds=int(c.integers(0, 5 * 10**6))), pa.timestamp("us", "UTC")),
            "price": of(lambda c: Decimal(int(c.integers(1, 999))).scaleb(-2), pa.decimal128(5, 2)),
            "size": of(lambda c: ["small", "middle", "large"][c.integers(0, 3)]),
            "floor": of(lambda c: int(c.integers(1, 4)), holes=True),
            "colour": of(lambda c: ["red", "green", "blue"][c.integers(0, 3)], holes=True),
            "member": of(lambda c: bool(c.random() < 0.5), holes=True),
            "paid": of(lambda c: bool(c.random() < 0.5)),
        }
    )


TABLE = people(np.arange(ROWS))
NEW = people(np.random.default_rng(0).permutation(np.arange(ROWS - 100, ROWS + 150)))
DAYS = TABLE["since"].cast(pa.int32()).to_numpy()
LABEL = (
    TABLE["spend"].to_numpy() / 25
    + TABLE["age"].fill_null(50).to_numpy() / 25
    + TABLE["gap"].fill_null(3.5).to_numpy() / 2
    + (DAYS - DAYS.min()) / 250
    + 3.0 * (np.array(TABLE["size"].to_pylist()) == "large")
    + 3.0 * (np.array(TABLE["colour"].to_pylist()) == "red")
)
"""It follows from columns of every kind, so that trees compare them."""


def job(task: Any, **settings: Any) -> Job:
    boosting = settings.pop("boosting", {"n_trees": 25, "max_depth": 4})
    columns = {"bank": settings.pop("columns", list(KINDS))}
    made = BoostingSettings(task=task, threads=1, backend=settings.pop("backend", "xgboost"), **boosting)
    lead = settings.pop("lead", "shop")
    return Job(lead=lead, name="train", purpose="churn", boosting=made, columns=columns, **settings)


def door(party: Party, table: pa.Table) -> PolicyDoor:
    source = NumberedSource(MemorySource(table.drop_columns(["own"])), "(place)")
    return PolicyDoor(load_policy(party.folder / "policy.toml"), source, order="(place)")


def model(party: Party, made: Job) -> Trained:
    """Train between a shop that leads and a bank."""
    target = LABEL if made.boosting.task == "regression" else (np.median(LABEL) < LABEL).astype(float)
    held = LeadTable(target=target, columns=[Own("own", TABLE["own"].to_numpy())])
    return together(
        made.lead,
        lambda lines: opboost.lead(lines, held, made),
        {"bank": lambda line: opboost.partner(line, door(party, TABLE))},
    )


def kept(party: Party, found: Trained, made: Job) -> Saved:
    """Return a model as it is read from its folder."""
    classes = None if made.boosting.task == "regression" else ["no", "yes"]
    save(party.folder / "model", found, state(found, made, rows=ROWS, classes=classes), "a report")
    return load(party.folder / "model")


def trained(party: Party, made: Job) -> Saved:
    return kept(party, model(party, made), made)


@pytest.fixture
def bank(tmp_path: Path) -> Party:
    return Party.settled(tmp_path, rows='key = "id"\ntype = "integer"\ncarry = ["id"]', columns=POLICY)


def asked(party: Party, saved: Saved, table: pa.Table = NEW) -> Any:
    """Predict in one process, over lines in memory."""
    own = table.select(["id", "own"])
    return together(
        "shop",
        lambda lines: joint.lead(lines, saved, own, job="predict", purpose="churn"),
        {"bank": lambda line: opboost.partner(line, door(party, table))},
    )


def from_file(party: Party, **options: Any) -> NDArray[np.float64]:
    """Predict as it is done from a desensitised file."""
    party.release(NEW.drop_columns(["own"]))
    own = party.write(NEW.select(["id", "own"]), "own.parquet")
    files = [party.folder / "out.parquet"]
    predict(party.folder / "model", str(own), party.folder / "p.parquet", files=files, key="id", **options)
    found: NDArray[np.float64] = pq.read_table(party.folder / "p.parquet").columns[-1].to_numpy()
    return found


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("binary", {}),
        ("binary", {"nominal": "native"}),
        ("binary", {"backend": "lightgbm"}),
        ("regression", {"thresholds": "on-request"}),
    ],
    ids=["one-hot", "native", "lightgbm", "on request"],
)
def test_over_lines_as_from_a_file_to_the_last_bit(task: str, settings: dict[str, Any], bank: Party) -> None:
    saved = trained(bank, job(task, **settings))
    columns = {each.column for each in saved.statement.features} - {"own"}
    assert columns == set(KINDS)
    found = asked(bank, saved)
    assert len(set(found.tolist())) > 150
    assert np.array_equal(found, from_file(bank))


def test_what_left_before_costs_nothing_and_has_the_same_noise(bank: Party) -> None:
    saved = trained(bank, job("binary"))
    first, again = asked(bank, saved), asked(bank, saved)
    assert np.array_equal(first, again)
    new = [sum(each.values()) / len(each) for each in bank.charges()]
    assert new[0] == ROWS  # trained on
    assert new[1] == 150  # 100 of 250 samples were trained on
    assert new[2] == 0


def test_only_columns_that_some_tree_compares_are_asked_for(bank: Party) -> None:
    saved = trained(bank, job("regression", boosting={"n_trees": 1, "max_depth": 1}, columns=["spend", "paid"]))
    (ask,) = joint.asked(saved, 10, job="predict", purpose="churn").values()
    assert ask.columns == ["spend"]
    found = asked(bank, saved)
    assert set(bank.charges()[-1]) == {"spend"}
    assert set(found.tolist()) == set(from_file(bank).tolist())


def test_a_sharpened_model_is_for_clear_samples_and_what_it_was_before_for_noisy_ones(bank: Party) -> None:
    made = job("regression", columns=["spend", "size"])
    fewer_trees = job("regression", columns=["spend", "size"], boosting={"n_trees": 5, "max_depth": 4})
    before, other = model(bank, made), model(bank, fewer_trees)
    found = Extrapolation(share=0.5, stretch=1.0, centre=0.0)
    saved = kept(bank, replace(before, model=other.model, extrapolation=found), made)
    assert (saved.model, saved.as_it_comes) == (other.model, before.model)
    told: list[str] = []
    out, clear = bank.folder / "p.parquet", bank.write(NEW, "clear.parquet")
    predict(bank.folder / "model", str(clear), out, tell=told.append)
    raw = samples(saved.statement.features, NEW)
    assert np.array_equal(pq.read_table(out)["prediction"].to_numpy(), other.model.predict(raw))
    assert told == []
    noisy = asked(bank, saved)
    assert np.array_equal(noisy, from_file(bank, tell=told.append))
    assert told == ["the model was sharpened for samples without noise: for these it is taken as it came"]
    kept(bank, before, made)
    assert np.array_equal(noisy, from_file(bank))
    with pytest.raises(FileError, match="holds a sharpened model alone, which is for samples without noise"):
        _ = Saved(saved.folder, saved.model, saved.statement, None).for_noise


def spoken(party: Party, saved: Saved, change: Change = same, table: pa.Table = NEW) -> Talk:
    """Predict over recorded lines; the partner's messages may be changed."""
    own = table.select(["id", "own"])
    return talk(
        lambda lines: joint.lead(lines, saved, own, job="predict", purpose="churn"),
        {"bank": lambda line: opboost.partner(line, door(party, table))},
        {"bank": change},
    )


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Party, Saved]:
    """Return a bank that grants all to the lead of `talk`, and a model of a few of its columns."""
    party = Party.settled(
        tmp_path_factory.mktemp("once"),
        rows='key = "id"\ntype = "integer"',
        columns=POLICY,
        grants='who = "lead"\npurposes = ["churn"]',
    )
    return party, trained(
        party, job("regression", lead="lead", columns=["spend", "age", "gap", "since", "size", "colour"])
    )


def column(name: str, **changed: Any) -> Change:
    """Change one column that is sent; a value may be a function of the column."""

    def change(message: Any) -> Any:
        if not isinstance(message, Sent) or message.name != name:
            return message
        new = {key: value(message) if callable(value) else value for key, value in changed.items()}
        return msgspec.structs.replace(message, **new)

    return change


def raw(name: str, spoil: Callable[[Any], Any]) -> Change:
    return column(name, raw=lambda each: Array.of(spoil(each.raw.read().copy())))


def values(name: str, place: int, value: int) -> Change:
    def spoil(each: Any) -> Values:
        held = each.values.read(NEW.num_rows).copy()
        held[place] = value
        return Values.of(held)

    return column(name, values=spoil)


def put(place: int, value: float) -> Callable[[Any], Any]:
    def spoil(held: Any) -> Any:
        held[place] = value
        return held

    return spoil


def fewer(message: Any) -> Any:
    if not isinstance(message, Ranks):
        return message
    said = msgspec.structs.replace(message.statement, columns=message.statement.columns[1:])
    return msgspec.structs.replace(message, statement=said)


def in_another_domain(message: Any) -> Any:
    if not isinstance(message, Ranks):
        return message
    first, *rest = message.statement.columns
    said = msgspec.structs.replace(first, domain_digest="00" * 32)
    return msgspec.structs.replace(message, statement=msgspec.structs.replace(message.statement, columns=[said, *rest]))


SPOILT: list[tuple[str, Change, str]] = [
    ("no raw values", column("spend", raw=None), "'spend', which must have one raw value for each rank"),
    ("one too few", raw("spend", lambda r: r[:-1]), "'spend', which must have one raw value for each rank"),
    ("of whole numbers", raw("spend", lambda r: r.astype(np.int64)), "'spend', which must have one raw value"),
    ("NaN", raw("spend", put(2, np.nan)), "'spend', which has raw values that do not rise"),
    ("infinity", raw("spend", put(-1, np.inf)), "'spend', which has raw values that do not rise"),
    ("falling", raw("age", lambda r: r[::-1]), "'age', which has raw values that do not rise"),
    ("half a day", raw("since", put(-1, 10.0**6 + 0.5)), "'since', which has raw values in fractions of days"),
    ("a day that never comes", raw("since", put(-1, 1e12)), "'since', which has times that there are not"),
    ("a place that is none", raw("size", put(-1, 3.0)), "'size', which has no such places"),
    ("a place below", raw("size", put(0, -1.0)), "'size', which has no such places"),
    ("rank 0 where none is missing", values("gap", 0, 0), "'gap', which has missing values, and says that it has none"),
    ("a rank above", values("spend", 0, 200), "'spend', which has a value above"),
    ("a rank left out", column("spend", count=lambda s: s.count + 1), "'spend', which leaves out a rank"),
    ("cuts besides", column("spend", cuts=Array.of(np.zeros(1))), "'spend', which has cuts that were not asked for"),
    ("raw categories", column("colour", raw=Array.of(np.zeros(3))), "'colour', which has categories, and says how"),
    ("fewer columns", fewer, "sent a statement about the columns ["),
    ("another domain", in_another_domain, "in another domain than the model was trained on"),
]  # fmt: skip


@pytest.fixture(scope="module")
def answer(once: tuple[Party, Saved]) -> tuple[Ranks, list[Sent]]:
    """Return what a partner sends that keeps to what was agreed."""
    found = spoken(*once)
    assert len(found.lead) == NEW.num_rows
    assert [kind for kind, _ in found.bodies("lead", "bank")] == ["Ask/2", "Done/1"]
    (kind, body), *columns = found.bodies("bank", "lead")
    assert (kind, {each for each, _ in columns}) == ("Ranks/4", {"Sent/1"})
    return decode(body, Ranks), found.columns("bank")


@pytest.mark.parametrize(("change", "says"), [each[1:] for each in SPOILT], ids=[each[0] for each in SPOILT])
def test_what_was_not_agreed_is_refused_in_one_line(
    change: Change, says: str, once: tuple[Party, Saved], answer: tuple[Ranks, list[Sent]]
) -> None:
    (ask,) = joint.asked(once[1], NEW.num_rows, job="predict", purpose="churn").values()
    ranks, columns = answer
    opboost.opened_answer("lead", "bank", ask, ranks.statement, columns)
    spoilt = decode(encode(change(ranks)), Ranks), [decode(encode(change(each)), Sent) for each in columns]
    assert spoilt != answer
    with pytest.raises(PeerError) as refused:
        opboost.opened_answer("lead", "bank", ask, spoilt[0].statement, spoilt[1])
    assert str(refused.value).startswith("party 'bank' sent ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_partner_hears_what_was_wrong_with_its_answer(once: tuple[Party, Saved]) -> None:
    found = spoken(*once, SPOILT[0][1])
    assert isinstance(found.lead, PeerError)
    assert str(found.partners["bank"]).startswith("lead: you sent column 'spend', which must have one raw value")


CHANGED = [
    ("spend", 'kind = "numbers", lower = 0, upper = 101, size = 25'),
    ("colour", 'kind = "unordered", categories = ["red", "green", "brown"], missing = "code"'),
]


@pytest.mark.parametrize(("name", "domain"), CHANGED, ids=["bounds", "categories"])
def test_a_domain_that_has_changed_is_refused_before_anything_is_charged(name: str, domain: str, bank: Party) -> None:
    saved, before = trained(bank, job("binary")), bank.lines()
    changed = {**POLICY, name: {**POLICY[name], "domain": domain}}
    bank.rule(rows='key = "id"\ntype = "integer"\ncarry = ["id"]', columns=changed)
    with pytest.raises(RefusalError, match=rf"column '{name}' is .* here, which is not the domain that the model was"):
        asked(bank, saved)
    assert bank.lines() == before


def test_a_lead_that_asks_for_more_than_its_model_reads_is_refused(once: tuple[Party, Saved]) -> None:
    party, _ = once
    before = party.lines()

    def lead(lines: Any) -> None:
        (line,) = lines
        line.send(Ask(job="p", purpose="churn", columns=["spend", "age"], rows=250, use=Prediction(domains={})))
        line.receive(Ranks)

    found = talk(lead, {"bank": lambda line: opboost.partner(line, door(party, NEW))})
    assert str(found.partners["bank"]) == "party 'lead' asked for other columns than its model reads"
    assert party.lines() == before


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        (NEW.select(["id", "own", "spend"]), DataError, "'spend' must not be in the table: bank holds it"),
        (NEW.select(["id"]), DataError, "column 'own' must be in the table: the model reads it"),
        (NEW.select(["id"]).append_column("own", pa.array(["x"] * 250)), DataError, "column 'own' must be double"),
    ],
    ids=["a column of the partner's", "no column of its own", "text for a number"],
)
def test_samples_that_do_not_fit_are_refused_before_anybody_is_asked(
    table: pa.Table, error: type[Exception], says: str, once: tuple[Party, Saved]
) -> None:
    def waiting(line: Channel) -> None:
        line.receive(Ask)

    with pytest.raises(error, match=says):
        together("lead", lambda lines: joint.lead(lines, once[1], table, job="p", purpose="churn"), {"bank": waiting})


def test_lines_to_others_than_the_model_s_partners_are_refused(once: tuple[Party, Saved]) -> None:
    own = NEW.select(["id", "own"])
    with pytest.raises(SettingError, match="channels must lead to those whose columns the model reads: bank"):
        joint.lead([], once[1], own, job="p", purpose="churn")


def test_a_statement_that_says_nothing_of_a_column_is_no_ground_to_ask_for_it(once: tuple[Party, Saved]) -> None:
    saved = once[1]
    silent = msgspec.structs.replace(saved.statement, released=[])
    with pytest.raises(EvidenceError, match=r"statement.json does not say what bank released as"):
        joint.asked(Saved(saved.folder, saved.model, silent, None), 10, job="p", purpose="churn")
