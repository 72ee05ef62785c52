"""What a release does, and each time a second route to it: the noise drawn anew from the key, the charges by hand."""

import resource
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from pyarrow import ipc

from party import AGE, COLOUR, Party, people
from veilboost.errors import FileError, RefusalError
from veilboost.randomness import PermanentBits
from veilboost.release import Ledger, load_policy, new_key, rotate_key, staging, verify

CARRIED = 'key = "id"\ntype = "integer"\ncarry = ["id"]'


def drawn_again(party: Party, table: pa.Table, name: str, policy: str = "policy.toml") -> dict[Any, int]:
    """Return what every row of ``table`` must leave with, by its id, from the key and the mechanism alone."""
    column, keys = load_policy(party.folder / policy).columns[name], table["id"].to_pylist()
    codes = column.domain.encode(table[name].to_pylist()).codes
    secret = party.key.secret
    bits = PermanentBits(
        secret=secret, source=f"bank/{name}", version=party.key.version, row_keys=keys, domain=column.domain
    )
    return dict(zip(keys, column.mechanism.draw(codes, bits=bits).tolist(), strict=True))


def left(party: Party, name: str, out: str = "out.parquet") -> dict[Any, Any]:
    table = party.out(out)
    return dict(zip(table["id"].to_pylist(), table[name].to_pylist(), strict=True))


@pytest.mark.slow
def test_what_leaves_is_the_mechanism_under_the_key(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows=CARRIED), people(3000)
    party.release(table, as_codes=True)
    assert left(party, "age") == drawn_again(party, table, "age")
    assert left(party, "colour") == drawn_again(party, table, "colour")
    true = load_policy(tmp_path / "policy.toml").columns["age"].domain.encode(table["age"].to_pylist()).codes
    assert 0.1 < np.mean([left(party, "age")[i + 1] == code for i, code in enumerate(true)]) < 0.9


def test_raw_values_are_those_of_the_codes(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows=CARRIED), people(500)
    party.release(table)
    domain = load_policy(tmp_path / "policy.toml").columns["age"].domain
    expected = {key: domain.decode([code])[0] for key, code in drawn_again(party, table, "age").items()}
    assert left(party, "age") == expected
    listed = ["red", "green", "blue", None]
    assert left(party, "colour") == {k: listed[c - 1] for k, c in drawn_again(party, table, "colour").items()}


def test_the_same_table_shuffled_and_longer_leaves_with_the_old_cells_and_costs_the_new_rows(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows=CARRIED), people(1200)
    party.release(table.slice(0, 1000))
    before = left(party, "age"), left(party, "colour")
    party.release(table.slice(0, 1000).take(np.random.default_rng(1).permutation(1000)))
    assert (left(party, "age"), left(party, "colour")) == before
    party.release(table.take(np.random.default_rng(2).permutation(1200)))
    after = left(party, "age"), left(party, "colour")
    assert all({key: new[key] for key in old} == old for old, new in zip(before, after, strict=True))
    assert party.charges() == [{"age": 1000, "colour": 1000}, {"age": 0, "colour": 0}, {"age": 200, "colour": 200}]
    assert party.left_over() == {f"out.parquet{end}" for end in ("", ".privacy.json", ".privacy.txt")} | {
        "table.parquet"
    }


def changed(table: pa.Table, ids: set[int], age: int) -> pa.Table:
    ages = [age if i in ids else a for i, a in zip(table["id"].to_pylist(), table["age"].to_pylist(), strict=True)]
    return table.set_column(1, "age", pa.array(ages, pa.int32()))


def test_a_changed_value_is_charged_and_nothing_else(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows=CARRIED), people(400)
    party.release(table)
    before = left(party, "age")
    domain = load_policy(tmp_path / "policy.toml").columns["age"].domain
    old = dict(enumerate(domain.encode(table["age"].to_pylist()).codes.tolist(), 1))
    ids = {3, 77, 200, 201, 399}
    codes = {i for i in ids if old[i] != domain.encode([41]).codes[0]}
    moved = changed(table, ids, 41)
    found = party.release(moved)
    assert party.charges()[1] == {"age": len(codes), "colour": 0}
    assert len(codes) >= 3
    assert {k: v for k, v in left(party, "age").items() if k not in ids} == {
        k: v for k, v in before.items() if k not in ids
    }
    assert found.bill.columns[0].spent == 1_000_000_000_000
    party.release(table)  # back to the old values: paid for already, and the same noise again
    assert party.charges()[2] == {"age": 0, "colour": 0}
    assert left(party, "age") == before


def test_a_value_in_the_same_code_is_no_change(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows=CARRIED), people(50)
    party.release(changed(table, {7}, 40))
    first = left(party, "age")
    party.release(changed(table, {7}, 41))
    assert party.charges()[1]["age"] == 0
    assert left(party, "age") == first


def snapshot(party: Party) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in party.folder.rglob("*") if path.is_file()}


REFUSALS: list[tuple[str, dict[str, Any], int, str]] = [
    ("a column's cap", {"columns": {"age": AGE | {"cap": 0.9}, "colour": COLOUR}}, 50, "column 'age'"),
    ("the row's cap", {"caps": "row = 1.9"}, 50, "caps.row"),
    ("releases", {"caps": "releases = 1"}, 50, "caps.releases"),
    ("rows", {"caps": "rows = 50"}, 51, "caps.rows"),
]


@pytest.mark.parametrize(("policy", "rows", "words"), [r[1:] for r in REFUSALS], ids=[r[0] for r in REFUSALS])
def test_a_cap_refuses_and_leaves_nothing_behind(policy: dict[str, Any], rows: int, words: str, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, **policy)
    party.release(people(50), "first.parquet")
    path = party.write(changed(people(rows), {3}, 41))
    before = snapshot(party)
    for dry_run in (True, False):
        with pytest.raises(RefusalError, match=words):
            party.release(path, dry_run=dry_run)
        assert snapshot(party) == before


def test_a_cap_is_kept_to_the_last_trillionth(tmp_path: Path) -> None:
    columns = {"age": AGE | {"cap": 0.3, "epsilon": 0.1}}
    party = Party.settled(tmp_path, columns=columns, caps="row = 0.3")
    for age in (1, 31, 61):
        party.release(changed(people(5), {2}, age))
    with pytest.raises(RefusalError, match=r"'age'.*to 0\.4, above the policy's cap of 0\.3"):
        party.release(changed(people(5), {2}, 91))


def test_enormous_budgets_do_not_wrap_around_a_cap(tmp_path: Path) -> None:
    huge = {"domain": 'kind = "booleans"', "name": "tight", "epsilon": 1000000, "cap": 1000000}
    party = Party.settled(
        tmp_path, columns={f"b{i}": huge for i in range(10)}, rows='key = "id"\ntype = "integer"', caps="row = 5"
    )
    table = pa.table({"id": [1, 2]} | {f"b{i}": [True, False] for i in range(10)})
    with pytest.raises(RefusalError, match=r"caps\.row"):
        party.release(table)


def test_many_fresh_releases_do_not_wrap_around_a_cap(tmp_path: Path) -> None:
    huge = {"domain": 'kind = "booleans"', "name": "tight", "epsilon": 1000000, "cap": "inf"}
    open_: dict[str, Any] = {"columns": {f"b{i}": huge for i in range(5)}, "rows": 'of = "p"\nnoise = "fresh"'}
    party = Party.settled(tmp_path, **open_)
    table = pa.table({f"b{i}": [True, False] for i in range(5)})
    party.release(table)
    party.release(table)
    party.rule(**open_, caps="row = 5")
    with pytest.raises(RefusalError, match=r"caps\.row"):
        party.release(table)
    party.rule(**(open_ | {"columns": {"b0": huge | {"cap": 1000000}}}))
    with pytest.raises(RefusalError, match="column 'b0'"):
        party.release(table)


def test_another_key_version_charges_anew(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows=CARRIED), people(300)
    party.release(table)
    before = left(party, "age")
    rotate_key(tmp_path / "noise.key")
    found = party.release(table)
    assert party.charges()[1] == {"age": 300, "colour": 300}
    assert found.bill.columns[0].spent == 1_000_000_000_000
    assert left(party, "age") != before
    party.release(table, as_codes=True)
    assert left(party, "age") == drawn_again(party, table, "age")


def test_another_key_of_the_same_version_charges_anew(tmp_path: Path) -> None:
    """Noise under another secret is other noise, whatever the version says."""
    party, table = Party.settled(tmp_path, rows=CARRIED), people(300)
    party.release(table)
    before = left(party, "age")
    (tmp_path / "noise.key").unlink()
    new_key(tmp_path / "noise.key")
    party.release(table)
    assert left(party, "age") != before
    assert party.charges()[1] == {"age": 300, "colour": 300}


def test_fresh_noise_charges_everybody_in_full(tmp_path: Path) -> None:
    rows = 'noise = "fresh"\ncarry = ["id"]'
    party, table = Party.settled(tmp_path, rows=rows), people(300)
    outs = []
    for _ in range(2):
        found = party.release(table)
        outs.append(left(party, "age"))
    assert outs[0] != outs[1]
    assert party.charges() == [{"age": 300, "colour": 300}] * 2
    assert [found.bill.columns[i].spent for i in (0, 1)] == [10**12, 2 * 10**12]
    assert found.bill.row_spent == 3 * 10**12
    with pytest.raises(RefusalError, match="column 'colour'"):
        party.release(table)


def test_fresh_noise_without_anything_carried(tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows='noise = "fresh"')
    party.release(people(3))
    assert (party.out().num_rows, party.out().column_names) == (3, ["age", "colour"])


def test_fresh_noise_counts_for_rows_of_the_same_kind(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, rows='noise = "fresh"\nof = "people"'), people(30)
    party.release(table)
    party.rule(rows='key = "id"\ntype = "integer"\nof = "people"')
    found = party.release(table)
    assert [column.spent for column in found.bill.columns] == [10**12, 2 * 10**12]


KEYED, FRESH = 'key = "id"\ntype = "integer"', 'noise = "fresh"'
OF = '\nof = "people"'


@pytest.mark.slow
@pytest.mark.parametrize("fresh_first", [False, True])
@pytest.mark.parametrize(("keyed", "fresh"), [(KEYED + OF, FRESH + OF), (KEYED, FRESH), (KEYED + OF, FRESH)])
def test_fresh_and_permanent_noise_add_up(keyed: str, fresh: str, fresh_first: bool, tmp_path: Path) -> None:
    """Rows without a key may be the ones that have spent most; where nobody says what they are, of any table."""
    party = Party.settled(tmp_path, rows=fresh if fresh_first else keyed)
    party.release(people(30))
    party.rule(rows=keyed if fresh_first else fresh)
    found = party.release(people(3))
    assert [column.spent for column in found.bill.columns] == [10**12, 2 * 10**12]
    assert found.bill.row_spent == 3 * 10**12
    party.rule(rows=fresh)
    with pytest.raises(RefusalError, match="column 'colour'"):
        party.release(people(3))
    party.rule(rows=fresh.replace(OF, "") + '\nof = "others"', top='format = 1\nparty = "branch"')
    assert party.release(people(3)).bill.row_spent == (15 + 15 * (OF not in fresh)) * 10**11


def test_row_keys_are_text_however_arrow_holds_them(tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "text"')
    keys = pa.array([f"k{i}" for i in range(9)])
    for held in (keys, keys.dictionary_encode(), keys.cast(pa.string_view()), keys.cast(pa.large_string())):
        party.release(party.write(people(9).set_column(0, "id", held), "table.arrow"))
    assert [each["age"] for each in party.charges()] == [9, 0, 0, 0]


def test_tables_that_share_row_keys_share_their_history(tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=CARRIED + '\nof = "people"', columns={"age": AGE})
    party.release(people(100))
    rows = CARRIED.replace('"id"', '"number"') + '\nof = "people"'
    party.rule("second.toml", rows=rows, columns={"years": AGE}, more='source = "bank/age"', caps="")
    second = people(150).rename_columns(["number", "years", "colour", "town"])
    found = party.release(second, "second.parquet", policy="second.toml")
    assert party.charges() == [{"age": 100}, {"years": 50}]
    assert found.bill.row_spent == 5 * 10**11
    again = party.out("second.parquet")
    shared = dict(zip(again["number"].to_pylist(), again["years"].to_pylist(), strict=True))
    assert {key: shared[key] for key in range(1, 101)} == left(party, "age")
    party.rule("third.toml", rows=rows.replace("people", "others"), columns={"years": AGE})
    party.release(second, "third.parquet", policy="third.toml")
    assert party.charges()[2] == {"years": 150}
    third = party.out("third.parquet")
    assert third["years"].to_pylist() != again["years"].to_pylist()


def test_a_source_belongs_to_rows_of_one_kind(tmp_path: Path) -> None:
    """Customer 7 and supplier 7 would leave with equal noise, and a renamed key would count from zero."""
    party = Party.settled(tmp_path, columns={"age": AGE})
    party.release(people(100))
    renamed = people(100).rename_columns(["number", "age", "colour", "town"])
    party.rule(rows='key = "number"\ntype = "integer"', columns={"age": AGE})
    with pytest.raises(RefusalError, match=r"'bank/age' was charged for rows of 'id'.*set rows\.of = 'id'"):
        party.release(renamed)
    party.rule(rows='key = "number"\ntype = "integer"\nof = "id"', columns={"age": AGE})
    assert party.release(renamed).bill.columns[0].new_values == 0
    party.rule(rows='key = "number"\ntype = "integer"', columns={"age": AGE}, more='source = "suppliers"')
    assert party.release(renamed).bill.columns[0].new_values == 100


def test_row_keys_of_another_type_do_not_count_from_zero(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, columns={"age": AGE}), people(20)
    party.release(table)
    party.rule(rows='key = "id"\ntype = "text"', columns={"age": AGE})
    with pytest.raises(RefusalError, match=r"rows\.type: .*'id' were charged under keys of type 'integer'"):
        party.release(table.set_column(0, "id", table["id"].cast(pa.string())))


@pytest.mark.parametrize("noise", ['key = "id"\ntype = "integer"', 'noise = "fresh"\nof = "id"'])
def test_what_left_without_a_bound_has_nothing_left_under_a_cap(noise: str, tmp_path: Path) -> None:
    local = AGE | {"name": "local", "epsilon": "0.5, theta = 5", "cap": "inf"}
    party, table = Party.settled(tmp_path, rows=noise, columns={"age": local}), people(20)
    party.release(table)
    party.rule(columns={"age": AGE})
    with pytest.raises(RefusalError, match=r"'age': .* to inf, above the policy's cap of 2"):
        party.release(table)
    party.rule(columns={"age": AGE | {"cap": "inf"}})
    bill = party.release(table).bill
    assert (bill.columns[0].spent, bill.row_spent) == (None, None)


def test_what_left_as_it_is_has_nothing_left_under_a_cap(tmp_path: Path) -> None:
    rows = 'key = "id"\ntype = "integer"'
    party, table = Party.settled(tmp_path, rows=rows + '\ncarry = ["age"]', columns={"colour": COLOUR}), people(20)
    party.release(table)
    party.rule(rows=rows)
    with pytest.raises(RefusalError, match=r"'age': .* to inf, above the policy's cap of 2"):
        party.release(table)
    assert party.release(table, columns=["colour"]).bill.row_spent == 10**12


def test_another_mechanism_or_domain_is_other_noise(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path, columns={"age": AGE}), people(100)
    party.release(table)
    for other in ({"epsilon": 0.25}, {"domain": 'kind = "integers", lower = 0, upper = 98, size = 20'}):
        party.rule(columns={"age": AGE | other})
        party.release(table)
    assert party.charges() == [{"age": 100}] * 3
    assert [line.body["columns"][0]["spent"] for line in party.lines()[::2]] == [5 * 10**11, 75 * 10**10, 125 * 10**10]


KEYS: dict[str, tuple[str, list[Any]]] = {
    "integers": ("integer", list(range(300))),
    "negative and wide": ("integer", [*range(-150, 0), 0, -(2**63), 2**63 - 1, 2**40]),
    "text": ("text", [f"customer {i}" for i in range(300)]),
    "1 to 200 bytes": ("text", ["k" * i for i in range(1, 201)]),
    "not ASCII": ("text", [f"Zoë {'ß' * (i % 30)} 日本 {i} 🦊" for i in range(200)]),
    "digits as text": ("text", [str(i) for i in range(100)] + [f"0{i}" for i in range(10)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table.parquet", "table.csv", "table.arrow"])
@pytest.mark.parametrize(("kind", "keys"), KEYS.values(), ids=KEYS)
def test_any_key_gives_its_noise_from_any_file(kind: str, keys: list[Any], name: str, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=f'key = "id"\ntype = "{kind}"\ncarry = ["id"]')
    table = people(len(keys)).set_column(0, "id", pa.array(keys))
    party.release(party.write(table, name), as_codes=True)
    text = name == "table.csv" and kind == "integer"  # a CSV file carries text as it stands
    for column in ("age", "colour"):
        found = {int(key) if text else key: code for key, code in left(party, column).items()}
        assert found == drawn_again(party, table, column)
    party.release(party.write(table, "again.parquet"))
    assert party.charges()[1] == {"age": 0, "colour": 0}


def test_carried_columns_are_as_they_are(tmp_path: Path) -> None:
    table = people(200)
    extra = {
        "ratio": pa.array([i / 7 if i % 5 else None for i in range(200)]),
        "day": pa.array([i * 100 for i in range(200)], pa.int32()).cast(pa.date32()),
        "coin": pa.array([i % 3 == 0 for i in range(200)]),
        "money": pa.array([Decimal(i) / 4 for i in range(200)], pa.decimal128(12, 2)),
        "kind": pa.array([f"k{i % 4}" for i in range(200)]).dictionary_encode(),
        "when": pa.array(range(200), pa.int64()).cast(pa.timestamp("us", "UTC")),
        "list": pa.array([[i, None] for i in range(200)]),
    }
    for name, column in extra.items():
        table = table.append_column(name, column)
    names = ", ".join(f'"{name}"' for name in ["id", "town", *extra])
    party = Party.settled(tmp_path, rows=f'key = "id"\ntype = "integer"\ncarry = [{names}]')
    party.release(table)
    out = party.out().sort_by("id")
    for name in ("id", "town", *extra):
        assert out[name].to_pylist() == table[name].to_pylist(), name


def test_rows_leave_in_the_order_of_their_keyed_tags(tmp_path: Path) -> None:
    orders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        party = Party.settled(tmp_path / name, rows=CARRIED)
        party.release(people(2000))
        orders.append(party.out()["id"].to_pylist())
        party.release(people(2000).take(np.arange(2000)[::-1]))
        assert party.out()["id"].to_pylist() == orders[-1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(1, 2001))
    assert abs(np.corrcoef(orders[0], range(2000))[0, 1]) < 0.15
    assert abs(np.corrcoef(orders[0], orders[1])[0, 1]) < 0.15


def test_neither_cells_nor_order_nor_charges_hang_on_the_number_of_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    party = Party.settled(tmp_path, rows=CARRIED)
    for count, bucket_rows in enumerate([40, 2000, 5, 300, 40]):
        monkeypatch.setattr(staging, "BUCKET_ROWS", bucket_rows)
        party.release(people(2000 + count))
        party.release(people(2000), f"{count}.parquet")
    assert all(party.out(f"{count}.parquet") == party.out("0.parquet") for count in range(5))
    new = [charges["age"] for charges in party.charges()]
    assert new == [2000, 0, 1, 0, 1, 0, 1, 0, 1, 0]
    files = sorted((tmp_path / "ledger.db.rows").glob("*.history"), key=lambda file: int(file.stem))
    batches = [ipc.open_file(file).num_record_batches for file in files]
    assert batches == [64, 2, 512, 8, 64]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_the_rows_held_at_once_do_not_grow_with_the_table(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "BUCKET_ROWS", 10_000)
    read, most = staging.Staged.bucket, []

    def bucket(staged: staging.Staged, number: int, *, codes_alone: bool = False) -> staging.Bucket:
        found = read(staged, number, codes_alone=codes_alone)
        most.append(len(found.tags))
        return found

    monkeypatch.setattr(staging.Staged, "bucket", bucket)
    party = Party.settled(tmp_path)
    for rows in (10_000, 80_000):
        most.clear()
        party.release(party.write(numbered(rows), f"table.{ending}"))
        assert sum(most) == 2 * rows
        assert max(most) < 11_500


def test_buckets_are_no_more_than_files_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    assert staging.buckets_for(10**9) == 128
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 1024))
    assert staging.buckets_for(10**9) == 256
    assert [staging.buckets_for(rows) for rows in (1, 1 << 17, (1 << 17) + 1, 10**7)] == [1, 1, 2, 128]


def numbered(rows: int) -> pa.Table:
    """Return many people fast."""
    numbers = np.arange(rows)
    towns, colours = np.array(["here", "there"]), np.array(["red", "green", "blue"])
    columns = {"id": numbers, "age": numbers % 120, "colour": colours[numbers % 3], "town": towns[numbers % 2]}
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    party = Party.settled(tmp_path)
    party.release(people(20), columns=["colour"])
    assert party.out().column_names == ["town", "colour"]
    assert party.charges() == [{"colour": 20}]
    party.release(people(20), columns=["age", "colour"])
    assert party.charges()[1] == {"age": 20, "colour": 0}


def test_a_dry_run_says_the_same_and_enters_nothing(tmp_path: Path) -> None:
    party, table = Party.settled(tmp_path), people(80)
    path = party.write(table)
    before = snapshot(party)
    dry = party.release(path, dry_run=True)
    assert snapshot(party) == before
    real = party.release(path)
    assert (dry.bill, dry.rows, dry.counts, dry.written) == (real.bill, real.rows, real.counts, ())


@pytest.mark.parametrize("rows", [1, 2, 63, 65])
def test_small_tables_leave_whole(rows: int, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows=CARRIED)
    for out in ("out.parquet", "out.csv"):
        party.release(people(rows), out)
    assert sorted(party.out()["id"].to_pylist()) == list(range(1, rows + 1))
    assert pyarrow.csv.read_csv(tmp_path / "out.csv")["id"].to_pylist() == party.out()["id"].to_pylist()


@pytest.mark.parametrize("where", [(0, 1), (0, 399_999), (5, 300_000)])
def test_a_repeated_key_is_refused_wherever_it_stands(where: tuple[int, int], tmp_path: Path) -> None:
    ids = np.arange(400_000)
    ids[where[1]] = ids[where[0]]
    table = pa.table({"id": ids, "age": np.zeros(400_000, np.int8)})
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"', columns={"age": AGE})
    with pytest.raises(FileError, match="column 'id' must name each row once"):
        party.release(table)
    assert party.left_over() == {"table.parquet"}


KINDS: dict[str, tuple[str, str, list[Any]]] = {
    "numbers": (
        'kind = "numbers", lower = -1.0, upper = 1, size = 9',
        "tight",
        [i / 100 - 1 for i in range(200)],
    ),
    "integers": ('kind = "integers", lower = -9, upper = 9', "tight", [i % 25 - 12 for i in range(200)]),
    "decimals": (
        'kind = "decimals", lower = "-5.00", upper = "1000.00", size = 10, places = 2',
        "tight",
        ["12.50"] * 200,
    ),
    "dates": ('kind = "dates", first = 2024-01-01, last = 2024-02-01', "tight", ["2024-01-07"] * 200),
    "timestamps": (
        'kind = "timestamps", first = "2024-01-01T00:00", last = "2024-02-01T00:00", size = 9',
        "tight",
        ["2024-01-07T01:02:03"] * 200,
    ),
    "zoned": (
        'kind = "timestamps", first = "2024-01-01T00:00Z", last = "2024-02-01T00:00Z", size = 9',
        "tight",
        ["2024-01-07T01:02:03+02:00"] * 200,
    ),
    "booleans": ('kind = "booleans"', "grr", [i % 2 == 0 for i in range(200)]),
    "ordered": ('kind = "ordered", categories = ["a", "b,\\"c", "ü"]', "tight", ["a", "ü"] * 100),
    "numbers as categories": ('kind = "unordered", categories = [3, -7, 9]', "grr", [3, -7] * 100),
    "wide numbers": (
        'kind = "numbers", lower = 0.0, upper = 1.0, size = 100001',
        "clamped-laplace",
        [0.5, 1.0] * 100,
    ),
    "wide decimals": (
        'kind = "decimals", lower = "0.00", upper = "100000.00", size = 100001, places = 2',
        "clamped-laplace",
        ["0.50", "99999.00"] * 100,
    ),
    "wide integers": (
        'kind = "integers", lower = -1000000, upper = 1000000',
        "clamped-laplace",
        [-1000000, 1000000] * 100,
    ),
    "wide dates": (
        'kind = "dates", first = 1800-01-01, last = 2200-01-01',
        "clamped-laplace",
        ["1801-01-07", "2199-12-31"] * 100,
    ),
    "wide times": (
        'kind = "timestamps", first = "1800-01-01T00:00Z", last = "2200-01-01T00:00Z", size = 100000',
        "clamped-laplace",
        ["1801-01-07T00:00Z"] * 200,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("domain", "mechanism", "values"), KINDS.values(), ids=KINDS)
def test_every_kind_leaves_in_both_formats(
    domain: str, mechanism: str, values: list[Any], missing: bool, tmp_path: Path
) -> None:
    column = {"domain": domain + (', missing = "code"' if missing else ""), "name": mechanism, "epsilon": 0.5, "cap": 1}
    party = Party.settled(tmp_path, rows=CARRIED, columns={"x": column})
    held = [None if missing and i % 3 == 0 else value for i, value in enumerate(values)]
    path = tmp_path / "table.csv"
    pyarrow.csv.write_csv(
        pa.table({"id": range(200), "x": held}), path, pyarrow.csv.WriteOptions(quoting_style="needed")
    )
    party.release(path)
    party.release(path, "out.csv")
    party.release(path, "codes.parquet", as_codes=True)
    codes = party.out("codes.parquet")["x"].to_numpy()
    spec = load_policy(tmp_path / "policy.toml").columns["x"].domain
    decoded: Any = pa.array(spec.decode(codes), mask=codes > spec.value_codes).cast(party.out()["x"].type)
    assert decoded.equals(party.out()["x"].combine_chunks())
    text = pyarrow.csv.read_csv(
        tmp_path / "out.csv",
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={"x": party.out()["x"].type}, strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    assert text["x"].to_pylist() == party.out()["x"].to_pylist()
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert verify(ledger) == 6


def test_nothing_of_the_true_table_decides_the_schema(tmp_path: Path) -> None:
    schemas = []
    for name, colours in (("one", ["red"]), ("two", [None])):
        (tmp_path / name).mkdir()
        party = Party.settled(tmp_path / name, columns={"colour": COLOUR}, rows='key = "id"\ntype = "integer"')
        party.release(pa.table({"id": [1], "colour": pa.array(colours, pa.string())}))
        schemas.append(party.out().schema)
    assert schemas[0] == schemas[1]
