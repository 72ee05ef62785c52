"""Every bad table is one line that names file, column and rule; nothing is made or changed."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spoiling import ARROW, PARQUET, RELEASE, Spoil, both, check, column, gone, lines, nothing, policy, text, truncated

from party import Party, run

TABLES: list[tuple[str, Spoil, list[str], str]] = [
    ("no file", gone("table.csv"), RELEASE, "table.csv: there is no such file"),
    ("empty", text("table.csv", ""), RELEASE, "table.csv: is empty"),
    ("blank lines", text("table.csv", "\n\n"), RELEASE, "table.csv: has no header line"),
    ("a header alone", lines(), RELEASE, "must not be empty"),
    ("a column too few", text("table.csv", "id,colour,town\n1,red,x\n"), RELEASE, "table.csv: column 'age' must be in"),
    ("no key column", text("table.csv", "age,colour,town\n1,red,x\n"), RELEASE, "column 'id' must be in the table"),
    ("nothing to carry", text("table.csv", "id,age,colour\n1,1,red\n"), RELEASE, "column 'town' must be in the table"),
    ("a column twice", text("table.csv", "id,age,age,town\n1,1,1,x\n"), RELEASE, "column names must differ; 'age'"),
    ("a line too short", lines("1,30,red,x", "2,31,red"), RELEASE, "table.csv: line 3 must have 4 fields; it has 3"),
    ("a line too long", lines("1,30,red,x", "2,31,red,x,y"), RELEASE, "table.csv: line 3 must have 4 fields; it has 5"),
    ("another encoding", text("table.csv", b"id,age,colour,town\n1,30,red,\xff\n"), RELEASE, "is not encoded in utf-8"),
    (
        "text for a number",
        lines("1,30,red,x", "2,old,red,x"),
        RELEASE,
        "table.csv: column 'age' must hold a whole number in every row; found 'old' at row 2",
    ),
    ("a broken number", lines("1,30.5,red,x"), RELEASE, "column 'age' must hold a whole number in every row"),
    ("an unknown category", lines("1,30,pink,x"), RELEASE, "column 'colour' must hold one of the 3 categories"),
    (
        "a missing value",
        lines("1,30,red,x", "2,,red,x"),
        RELEASE,
        "column 'age' must not hold missing values; found one at row 2",
    ),
    (
        "no row key",
        lines("1,30,red,x", ",31,red,x"),
        RELEASE,
        "column 'id' must hold a row key in every row; found none at row 2",
    ),
    ("a repeated row key", lines("1,30,red,x", "1,31,red,x"), RELEASE, "column 'id' must name each row once"),
    (
        "a text row key",
        lines("1,30,red,x", "a1,31,red,x"),
        RELEASE,
        "column 'id' must be whole numbers of 64 bits in every row; found none at row 2",
    ),
    (
        "a row key too large",
        lines("1,30,red,x", "2,1,red,x", "9223372036854775808,31,red,x"),
        RELEASE,
        "must be whole numbers of 64 bits in every row; found none at row 3",
    ),
    (
        "a long line in another encoding",
        text("table.csv", b"id,age,colour,town\n1,30,red,K\xf6ln,x\n"),
        RELEASE,
        "table.csv: line 2 must have 4 fields; it has 5",
    ),
    (
        "a name that would steer a terminal",
        text("table.csv", "id,\x1b[31mage,colour,town\n1,30,red,x\n"),
        RELEASE,
        "found only id, ?[31mage, colour, town",
    ),
    (
        "a row key too long",
        both(policy('"integer"', '"text"'), lines("k" * 5000 + ",30,red,x")),
        RELEASE,
        "column 'id' must be at most 4095 bytes long; found one of 5000 bytes",
    ),
    ("another ending", nothing, ["desensitise", "table.xls", *RELEASE[2:]], "table.xls: must end with .csv"),
    ("another ending out", nothing, [*RELEASE[:2], "out.xlsx", *RELEASE[3:]], "out.xlsx: must end with"),
    ("onto itself", nothing, [*RELEASE[:2], "sub/../table.csv", *RELEASE[3:]], "is the table itself"),
    ("into a file", nothing, [*RELEASE[:2], "table.csv/out.csv", *RELEASE[3:]], "out must be a folder"),
    ("no policy", nothing, [*RELEASE[:4], "none.toml"], "none.toml: No such file or directory"),
    ("no Parquet", text("table.parquet", "PAR1 not really"), PARQUET, "table.parquet: is no Parquet file"),
    ("a cut Parquet", truncated("table.parquet", 900), PARQUET, "table.parquet: is no Parquet file, or a damaged one"),
    ("no Arrow", text("table.arrow", "ARROW1 not really"), ARROW, "table.arrow: is no Arrow file, or a damaged one"),
    ("an empty Arrow", text("table.arrow", ""), ARROW, "table.arrow: is no Arrow file, or a damaged one"),
    (
        "text for numbers",
        column("age", ["30", "31"]),
        PARQUET,
        "column 'age' must hold integers (a whole number in every row); found a column of type string",
    ),
    ("dates for numbers", column("age", pa.array([1, 2], pa.date32())), PARQUET, "found a column of type date32"),
    ("lists for categories", column("colour", [["red"]]), PARQUET, "column 'colour' must hold unordered categories"),
    ("nothing but nothing", column("age", pa.nulls(2)), PARQUET, "found a column of type null"),
    (
        "half numbers",
        column("age", [30.5, 31.0]),
        PARQUET,
        "column 'age' must hold a whole number in every row; found 30.5 at row 1",
    ),
    ("infinite numbers", column("age", [31.0, float("inf")]), PARQUET, "found inf at row 2"),
    ("no number", column("age", [31.0, float("nan")]), PARQUET, "must not hold missing values; found one at row 2"),
    (
        "float row keys",
        column("id", [1.0, 2.0]),
        PARQUET,
        "column 'id' must be whole numbers, as rows.type says; found double",
    ),
    (
        "row keys without a sign",
        column("id", pa.array([1, 2**63], pa.uint64())),
        PARQUET,
        "in every row; found none at row 2",
    ),
    ("a gap in row keys", column("id", [1, None]), PARQUET, "must hold a row key in every row; found none at row 2"),
    ("no rows", column("age", pa.array([], pa.int32())), PARQUET, "must not be empty"),
    (
        "lists into CSV",
        column("town", [["x"], ["y"]]),
        [*PARQUET[:2], "out.csv", *PARQUET[3:]],
        "column 'town' must be of a type that a .csv file can hold",
    ),
    (
        "bytes into CSV",
        column("town", [b"x", b"\xff"]),
        [*PARQUET[:2], "out.csv", *PARQUET[3:]],
        "column 'town' must be of a type that a .csv file can hold; found binary",
    ),
    (
        "a category astray",
        column("colour", pa.DictionaryArray.from_arrays([0, 7], ["red", "green"], safe=False), "arrow"),
        ARROW,
        "table.arrow: is damaged after row 0",
    ),
    (
        "a carried category astray",
        column("town", pa.DictionaryArray.from_arrays([0, -7], ["x", "y"], safe=False), "arrow"),
        ARROW,
        "table.arrow: is damaged after row 0",
    ),
    (
        "a database without a table",
        nothing,
        ["desensitise", "postgresql://host/base", *RELEASE[2:]],
        "must name a table behind #",
    ),
    (
        "a table with too many dots",
        nothing,
        ["desensitise", "postgresql://h/b#a.b.c", *RELEASE[2:]],
        "must name a table behind #",
    ),
    (
        "an address that is none",
        nothing,
        ["desensitise", "postgresql://[::1/b#t", *RELEASE[2:]],
        "postgresql://",
    ),
]


def test_the_mistakes_are_distinct() -> None:
    assert len({case[0] for case in TABLES}) == len(TABLES) >= 40


@pytest.mark.parametrize(
    ("spoil", "arguments", "words"), [case[1:] for case in TABLES], ids=[str(case[0]) for case in TABLES]
)
def test_a_mistake_is_one_line_and_nothing_changes(
    spoil: Spoil,
    arguments: list[str],
    words: str,
    party: Party,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(spoil, arguments, 2, words, party, monkeypatch, capsys)


def test_a_good_party_is_not_refused(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (RELEASE, PARQUET, ARROW, ["ledger", "verify"]):
        assert run(arguments, monkeypatch) == 0
    assert pq.read_table("out.parquet").num_rows == 20
