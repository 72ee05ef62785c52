"""Every bad policy is one line that names file, place and rule; nothing is made or changed."""

import pytest
from spoiling import RELEASE, Spoil, a_folder, both, check, policy, text

from party import Party

POLICIES: list[tuple[str, Spoil, str]] = [
    ("no TOML", text("policy.toml", "format = = 1"), "policy.toml: is not TOML"),
    ("no UTF-8", text("policy.toml", b"party = '\xff'"), "policy.toml: is not TOML"),
    ("nested without end", text("policy.toml", "a = " + "[" * 9999), "policy.toml: is not TOML: it is nested"),
    ("a number without end", text("policy.toml", "format = " + "9" * 5000), "policy.toml: is not TOML"),
    ("a hexadecimal without end", policy("size = 20", "size = 0x" + "f" * 5000), "size must be a whole number"),
    ("empty", text("policy.toml", ""), "policy.toml: Object missing required field"),
    ("another format", policy("format = 1", "format = 2"), "format must be 1"),
    ("format as text", policy("format = 1", 'format = "1"'), "format: Expected `int`"),
    ("an unknown key", policy("format = 1", "format = 1\nextra = 1"), "unknown field `extra`"),
    ("an unknown section", policy("[caps]", "[cap]\n[caps]"), "unknown field `cap`"),
    ("an unknown key of rows", policy("[rows]", "[rows]\nkeys = 1"), "rows: Object contains unknown field `keys`"),
    ("an unknown key of caps", policy("[caps]", "[caps]\ncolumn = 1"), "caps: Object contains unknown field"),
    ("an unknown key of a grant", policy("who =", "whom = 1\nwho ="), "grants[0]: Object contains unknown field"),
    ("an unknown key of a column", policy("cap = 2.0", "cap = 2.0\ncaps = 1"), "columns.age: Object contains unknown"),
    ("an unknown key of a domain", policy("size = 20", "size = 20, width = 5"), "columns.age.domain: Object contains"),
    ("an unknown key of a mechanism", policy("epsilon = 0.5", "epsilon = 0.5, e = 1"), "columns.age.mechanism: Object"),
    ("an unknown key of csv", policy("[caps]", "[csv]\nquote = 1\n[caps]"), "csv: Object contains unknown field"),
    ("no party", policy('party = "bank"', ""), "missing required field `party`"),
    ("party as a number", policy('party = "bank"', "party = 3"), "party: Expected `str`"),
    ("an unprintable party", policy('party = "bank"', 'party = "b\\u0007"'), "party must be printable"),
    (
        "a party of two lines",
        both(policy("cap = 2.0", 'cap = 2.0\nsource = "a"'), policy('"bank"', '"bank\\nPurpose: none"')),
        "party must be printable text",
    ),
    (
        "a key's name with a hole",
        policy("[rows]", 'noise_key = "a\\u0000"\n[rows]'),
        "noise_key must be printable text",
    ),
    (
        "a purpose of two lines",
        policy('"churn"', '"churn\\nJob: x"'),
        "grants: who and purposes must be printable text",
    ),
    ("rows as a list", policy("[rows]\n", "[[rows]]\n"), "rows: Expected `object`"),
    ("no row key", policy('key = "id"', ""), "rows.key must name"),
    ("no type of row key", policy('type = "integer"', ""), "rows.key must name"),
    ("an unknown type of key", policy('type = "integer"', 'type = "uuid"'), "rows.type: Invalid enum value"),
    ("fresh noise with a key", policy("[rows]", '[rows]\nnoise = "fresh"'), "rows.key must be left out"),
    ("noise of another kind", policy("[rows]", '[rows]\nnoise = "none"'), "rows.noise: Invalid enum value"),
    ("carried twice", policy('carry = ["town"]', 'carry = ["town", "town"]'), "rows.carry must name each column once"),
    ("carried in the clear", policy('carry = ["town"]', 'carry = ["age"]'), "rows.carry must not name a column"),
    ("no releases", policy("[caps]", "[caps]\nreleases = 0"), "caps.releases must be at least 1"),
    ("half a row", policy("[caps]", "[caps]\nrows = 0.5"), "caps.rows: Expected `int"),
    ("a row cap that is no number", policy("[caps]", "[caps]\nrow = nan"), "caps.row must be a number above 0"),
    ("a row cap beyond all bounds", policy("[caps]", "[caps]\nrow = 1e9"), "caps.row must lie from"),
    ("no grants", policy('[[grants]]\nwho = "shop"\npurposes = ["churn"]', ""), "missing required field `grants`"),
    ("a grant to nobody", policy('who = "shop"', 'who = ""'), "who and purposes must be printable"),
    ("a grant for nothing", policy('["churn"]', "[]"), "grants must each be for at least one"),
    (
        "a grant of a column that is not there",
        policy('["churn"]', '["churn"]\ncolumns = ["wage"]'),
        "must name columns of",
    ),
    ("a cap below the budget", policy("cap = 2.0", "cap = 0.4"), "columns.age: cap must be at least 0.5"),
    ("a negative cap", policy("cap = 2.0", "cap = -1"), "columns.age: cap must be a number above 0"),
    ("a cap as text", policy("cap = 2.0", 'cap = "2"'), "columns.age.cap: Expected `float`"),
    ("no cap", policy("cap = 2.0", ""), "columns.age: Object missing required field `cap`"),
    ("an unknown kind", policy('"integers"', '"ages"'), "columns.age: kind must be one of"),
    ("bounds in the wrong order", policy("lower = 0", "lower = 100"), "columns.age: lower must be below"),
    ("a bound as text", policy("lower = 0", 'lower = "0"'), "columns.age: lower must be a whole number"),
    ("a bound as a list", policy("lower = 0", "lower = [0]"), "columns.age: lower must be"),
    ("a size for categories", policy('missing = "code"', "size = 3"), "columns.colour: size is no setting"),
    ("one category", policy('["red", "green", "blue"]', '["red"]'), "categories must be at least 2"),
    ("mixed categories", policy('["red", "green", "blue"]', '["red", 2]'), "categories must be at least 2"),
    ("an unknown answer to missing", policy('"code"', '"drop"'), "missing must be one of"),
    ("an unknown mechanism", policy('"tight"', '"exact"'), "columns.age: mechanism.name must be one of"),
    ("a mechanism that is a list", policy('"tight"', "[]"), "columns.age: mechanism.name must be one of"),
    (
        "a mechanism by another key",
        policy('"tight"', '"tight", mechanism = "discrete-laplace"'),
        "mechanism.name alone",
    ),
    ("a mechanism without bounds", policy('"tight"', '"discrete-laplace"'), "mechanism.name must be one of"),
    ("an ordered mechanism without order", policy('"grr"', '"tight"'), "columns.colour:"),
    ("a mechanism of another size", policy("epsilon = 0.5", "epsilon = 0.5, size = 9"), "columns.age:"),
    ("no epsilon", policy(", epsilon = 0.5", ""), "columns.age: epsilon"),
    (
        "two kinds of epsilon",
        policy("epsilon = 0.5", "epsilon = 0.5, epsilon_per_unit = 0.01"),
        "columns.age: mechanism.epsilon_per_unit must be given without other settings",
    ),
    ("an infinite epsilon", policy("epsilon = 0.5", "epsilon = inf"), "columns.age: epsilon"),
    ("two sources alike", policy("cap = 2.0", 'cap = 2.0\nsource = "bank/colour"'), "must each have a source"),
    ("a delimiter of two", policy("[caps]", '[csv]\ndelimiter = ";;"\n[caps]'), "delimiter must be one ASCII"),
    (
        "an encoding for bytes",
        policy("[caps]", '[csv]\nencoding = "base64"\n[caps]'),
        "encoding must be a text encoding",
    ),
    ("an encoding of names", policy("[caps]", '[csv]\nencoding = "punycode"\n[caps]'), "encoding must be a text"),
    ("an encoding with a hole", policy("[caps]", '[csv]\nencoding = "a\\u0000"\n[caps]'), "encoding must be a text"),
    ("two commas", policy("[caps]", '[csv]\ndecimal = ","\n[caps]'), "decimal must be '.' or ','"),
    ("a blank of the draft", policy('"bank"', '"<your name>"'), "party must be filled in"),
    (
        "a folder",
        a_folder("policy.toml"),
        "policy.toml: Is a directory",
    ),
]


def test_the_mistakes_are_distinct() -> None:
    assert len({case[0] for case in POLICIES}) == len(POLICIES) >= 40


@pytest.mark.parametrize(("spoil", "words"), [case[1:] for case in POLICIES], ids=[str(case[0]) for case in POLICIES])
def test_a_mistake_is_one_line_and_nothing_changes(
    spoil: Spoil,
    words: str,
    party: Party,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(spoil, RELEASE, 2, words, party, monkeypatch, capsys)
