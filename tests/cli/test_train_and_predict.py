"""From files to a model folder and from there to predictions, as the README has it, and what is refused on the way."""

import json
import re
import shlex
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import xgboost

from party import Party, people, run
from veilboost.vertical import samples
from veilboost.vertical.folder import load

ROOT = Path(__file__).parents[2]
TRAIN = ["train", "lead.csv", "model", "--label", "failed", "--key", "id", "--with", "out.parquet", "--trees", "5"]


def test_the_commands_in_the_readme_run_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"```sh\n(veilboost init example.*?)```", readme, re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    for line in commands.splitlines():
        for words in (each.split() for each in line.partition("#")[0].split("&&")):
            if words[0] == "cd":
                monkeypatch.chdir(words[1])
            else:
                assert run(shlex.split(" ".join(words))[1:], monkeypatch) == 0, capsys.readouterr().err
    booster = xgboost.Booster(model_file="model/model.json")
    bank, beside = pa.csv.read_csv("bank.csv"), pq.read_table("leaving.parquet")
    beside = beside.take(np.argsort(beside["id"].cast("int64")))  # ids of a CSV file are carried as they are: text
    columns = {name: table[name].to_numpy() for table in (beside, bank) for name in table.column_names}
    towns = {f"town={town}": columns["town"] == town for town in set(columns["town"])}
    rows = np.column_stack([(columns | towns)[name] for name in booster.feature_names or []]).astype(np.float32)
    predicted = pa.csv.read_csv("predictions.csv")
    assert predicted["id"].to_pylist() == bank["id"].to_pylist()
    assert np.allclose(predicted["probability of 1"], booster.inplace_predict(rows), rtol=1e-6, atol=0)
    page = Path("model/report.html").read_text(encoding="utf-8")
    assert "a model for default risk" in page
    assert "bank trained 80 trees on 16,000 rows" in page


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Party:
    """Return a partner that has released two columns beside the lead's table, whose rows stand in another order."""
    party, table = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"\ncarry = ["id"]'), people(300)
    monkeypatch.chdir(tmp_path)
    party.release(table)
    ids = np.random.default_rng(0).permutation(table["id"].to_numpy())
    lead = pa.table({"id": ids, "used": ids % 17, "failed": np.where((ids * 37) % 120 < 60, "no", "yes")})
    party.write(lead, "lead.csv")
    party.write(lead.append_column("prediction", lead["used"]), "kept.csv")
    party.write(lead.join(table.drop_columns(["town"]), "id").sort_by("id"), "raw.csv")
    return party


def predictions(name: str) -> pa.Table:
    return pq.read_table(name) if name.endswith(".parquet") else pa.csv.read_csv(name)


@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
def test_raw_and_desensitised_samples_are_predicted_by_the_stock_model(
    backend: str, files: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run([*TRAIN, "--backend", backend], monkeypatch) == 0
    saved = load(Path("model"))
    assert run(["predict", "model", "raw.csv", "raw.parquet", "--keep", "id,failed"], monkeypatch) == 0
    expected = saved.model.predict(samples(saved.statement.features, pa.csv.read_csv("raw.csv")))
    assert predictions("raw.parquet").column_names == ["id", "failed", "prediction", "probability of no",
                                                       "probability of yes"]  # fmt: skip
    assert np.array_equal(predictions("raw.parquet")["probability of yes"], expected)
    beside = ["predict", "model", "lead.csv", "noisy.csv", "--key", "id", "--with", "out.parquet", "--keep", "id"]
    assert run(beside, monkeypatch) == 0
    lead = pa.csv.read_csv("lead.csv")
    places = np.argsort(files.out()["id"].to_numpy())[lead["id"].to_numpy() - 1]
    joined = lead.append_column("age", files.out()["age"].take(places))
    joined = joined.append_column("colour", files.out()["colour"].take(places))
    noisy = predictions("noisy.csv")
    assert noisy["id"].to_pylist() == lead["id"].to_pylist()
    found = saved.model.predict(samples(saved.statement.features, joined))
    assert np.allclose(noisy["probability of yes"], found, rtol=1e-15, atol=0)
    assert not np.allclose(np.sort(found), np.sort(expected))


def test_the_statement_names_the_lead_purpose_and_trees_as_they_are(
    files: Party, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopping = ["--early-stopping", "1", "--trees", "500", "--learning-rate", "1", "--json"]
    assert run([*TRAIN[:-2], *stopping], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    stored = json.loads(Path("model/statement.json").read_bytes())
    assert found["statement"] == stored
    assert (stored["lead"], stored["purpose"]) == ("shop", "churn")
    assert {each["column"]: each["party"] for each in stored["features"]} == {
        "used": "shop", "age": "bank", "colour": "bank"
    }  # fmt: skip
    rounds = xgboost.Booster(model_file="model/model.json").num_boosted_rounds()
    assert found["trees"] == stored["trees"] == rounds < 500
    assert f"shop trained {rounds} trees" in Path("model/report.html").read_text(encoding="utf-8")


MISTAKES: list[tuple[str, list[str], str]] = [
    ("no label", [*TRAIN[:3], "--label", "nothing"], "lead.csv: column 'nothing' must be in the table"),
    ("no key", [*TRAIN[:5], *TRAIN[7:]], "column 'key' must be named"),
    ("another key", [*TRAIN[:6], "used", *TRAIN[7:]], "lead.csv: column 'used' must name each row once"),
    ("no file", [*TRAIN, "--with", "nowhere.parquet"], "nowhere.parquet: there is no such file"),
    ("no statement", [*TRAIN, "--with", "raw.csv"], "raw.csv: has no privacy statement beside it"),
    ("the same twice", [*TRAIN, "--with", "out.parquet"], "must be a name in one table only"),
    ("an unknown backend", [*TRAIN, "--backend", "forest"], "backend must be one of xgboost, lightgbm"),
    ("no trees", [*TRAIN[:-1], "0"], "n_trees must be a whole number from 1"),
    ("an unknown parameter", [*TRAIN, "--set", "leaves=3"], "parameters.leaves must be one of alpha"),
    ("no parameter", [*TRAIN, "--set", "leaves"], "--set must be NAME=VALUE"),
    ("a share of all", [*TRAIN, "--test-share", "1"], "test_share must be a number from 0 to 0.9"),
    ("a model in a folder of mine", [*TRAIN[:2], ".", *TRAIN[3:]], "is no model folder alone"),
    ("no model", ["predict", "nowhere", "lead.csv", "p.csv"], "is no model folder: it has no SHA256SUMS"),
    ("another ending", ["predict", "model", "lead.csv", "p.txt"], "p.txt: must end with .parquet or .csv"),
    ("a column that is not there", ["predict", "model", "lead.csv", "p.csv"], "column 'age' must be in the table"),
    ("no such column to keep", ["predict", "model", "raw.csv", "p.csv", "--keep", "x"], "column 'x' must be in"),
    ("the table itself", ["predict", "model", "raw.csv", "raw.csv"], "is a file that is read; name another"),
    ("a file that is read", ["predict", "model", "lead.csv", "out.parquet", "--key", "id", "--with", "out.parquet"],
        "is a file that is read; name another"),
    ("a name that is taken", ["predict", "model", "kept.csv", "p.csv", "--keep", "prediction"],
        "kept.csv: column 'prediction' must have another name to be kept"),
    ("a file without a key", ["predict", "model", "lead.csv", "p.csv", "--with", "out.parquet"], "'key' must be named"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), [each[1:] for each in MISTAKES], ids=[each[0] for each in MISTAKES])
def test_a_mistake_is_one_line_and_writes_nothing(
    arguments: list[str], says: str, files: Party, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[:2] == ["predict", "model"]:
        assert run(TRAIN, monkeypatch) == 0
    before = {path.name for path in files.folder.iterdir()}
    capsys.readouterr()
    assert run(arguments, monkeypatch) == 2
    said: Any = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.count("\n") == 1
    assert {path.name for path in files.folder.iterdir()} == before


LABELS: list[tuple[str, Any, list[str], str]] = [
    ("infinite", [1.0, float("inf"), 2.0], [], "column 'y' must be finite: it is the label; found inf at row 1"),
    ("missing", ["a", None, "b"], [], "column 'y' must not be missing: it is the label"),
    ("of dates", [date(2020, 1, 1)] * 3, [], "column 'y' must hold numbers, truth values or text"),
    (
        "of text for regression",
        ["a", "b", "a"],
        ["--task", "regression"],
        "column 'y' must hold numbers for regression",
    ),
    ("of fractions as classes", [0.5, 1.0, 2.0], ["--task", "classification"], "column 'y' must hold whole numbers or"),
    ("of one class", ["a", "a", "a"], [], "column 'y' must have two classes or more; found 1 class"),
    ("of a few whole numbers", [1, 2, 3], [], "task must be given: the label has 3 whole numbers"),
    ("beyond float32", [1e300, 0.0, 1.0], [], "column 'target' must be finite and within"),
    ("with a missing weight", [0.5, 1.5, 2.5], ["--weight", "gaps"], "column 'gaps' must be finite: it is the weight"),
    ("with a negative weight", [0.5, 1.5, 2.5], ["--weight", "below"], "column 'below' must not be negative"),
    ("with no weight", [0.5, 1.5, 2.5], ["--weight", "none"], "column 'none' must not be negative, nor 0 in every row"),
    ("with a weight of text", [0.5, 1.5, 2.5], ["--weight", "text"], "column 'text' must hold numbers: it is the weig"),
]


@pytest.mark.parametrize(("values", "options", "says"), [each[1:] for each in LABELS], ids=[e[0] for e in LABELS])
def test_a_label_or_weight_that_cannot_be_one_is_refused_in_one_line(
    values: Any,
    options: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    weights = {"gaps": [1.0, None, 1.0], "below": [1.0, -1.0, 1.0], "none": [0.0, 0.0, 0.0], "text": ["a", "b", "c"]}
    pq.write_table(pa.table({"y": values, "x": [1.0, 2.0, 3.0], **weights}), "t.parquet")
    assert run(["train", "t.parquet", "model", "--label", "y", "--test-share", "0", *options], monkeypatch) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (pa.array(["a", "b", "a"]).dictionary_encode(), "binary"),
        (pa.array(["a", "b", "c"], pa.large_string()), "multiclass"),
        (pa.array([True, False, True]), "binary"),
        (pa.array([0.0, 1.0, 1.0]), "binary"),
        (pa.array([0.5, 1.0, 1.5], pa.float32()), "regression"),
        (pa.array(range(3), pa.uint8()), "regression"),
    ],
)
def test_a_label_of_any_type_is_trained_on(
    values: Any, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"y": values, "x": [1.0, 2.0, 3.0]}), "t.parquet")
    chosen = ["--task", "regression"] if task == "regression" else []
    assert run(["train", "t.parquet", "model", "--label", "y", "--test-share", "0", *chosen], monkeypatch) == 0
    assert load(Path("model")).model.task == task
    assert run(["predict", "model", "t.parquet", "p.parquet"], monkeypatch) == 0
    assert predictions("p.parquet").num_rows == 3


def test_an_altered_file_or_model_is_refused_as_a_record(
    files: Party, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(TRAIN, monkeypatch) == 0
    model, out = Path("model/model.json"), files.folder / "out.parquet"
    model.write_bytes(model.read_bytes().replace(b"e-", b"E-", 1))
    assert run(["predict", "model", "raw.csv", "p.csv"], monkeypatch) == 1
    assert "model.json is not what was saved" in capsys.readouterr().err
    out.write_bytes(out.read_bytes() + b"0")
    assert run(TRAIN, monkeypatch) == 1
    assert "out.parquet is not the file that" in capsys.readouterr().err
