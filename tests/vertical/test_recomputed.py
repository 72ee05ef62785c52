"""A model's statement recomputed by an auditor who has the file, the weights, and nothing of ours that adds up."""

import hashlib
import json
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veilboost import OpBoostClassifier
from veilboost.domain import Domain
from veilboost.mechanisms import TableMechanism, from_settings
from veilboost.settings import MechanismSettings

MECHANISMS: dict[str, Any] = {
    "a": {"mechanism": "tight"},
    "b": {"mechanism": "global"},
    "c": {"mechanism": "adj", "theta": 4, "alpha": 0.4},
    "d": {"mechanism": "tight", "gaps": [0.2, 0.2, 1.5, 0.2]},
}
SIZES = {"a": 12, "b": 10, "c": 10, "d": 5}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return statement.json of a model, read as plain JSON."""
    chance, folder = np.random.default_rng(0), tmp_path_factory.mktemp("audit") / "model"
    X = {name: pa.array(chance.normal(size=200)) for name in MECHANISMS} | {
        "town": pa.array(np.array(["Lima", "Oslo", "Rome"])[chance.integers(0, 3, 200)])
    }
    model = OpBoostClassifier(
        private="all", bounds=(-3, 3), size=SIZES, mechanism=MECHANISMS, epsilon=0.64, nominal_epsilon=2.0,
        domains={"town": Domain.unordered(["Lima", "Oslo", "Rome"])}, n_estimators=3, n_jobs=1,
    )  # fmt: skip
    model.fit(pa.table(X), np.arange(200) % 2).save(folder)
    return json.loads((folder / "statement.json").read_text(encoding="utf-8"))


def weights_of(column: Any) -> list[list[int]]:
    """Return the integers behind a column: whatever its settings make, they must have the digest that is stored."""
    made = from_settings(MechanismSettings(**column["settings"]))
    assert isinstance(made, TableMechanism)
    rows = [[int(weight) for weight in row] for row in made.table.weights]
    content = b"".join(weight.to_bytes(8, "little") for row in rows for weight in row)
    head = f"veilboost table 1 {len(rows)} 63 ".encode()
    assert hashlib.sha256(head + content).hexdigest() == column["table_digest"]
    assert all(sum(row) == 2**63 for row in rows)
    return rows


def loss(one: list[int], other: list[int]) -> Decimal:
    """Return the worst log-ratio of two rows of weights, either way, to forty digits."""
    with localcontext() as context:
        context.prec = 40
        ratios = [max(Fraction(x, y), Fraction(y, x)) for x, y in zip(one, other, strict=True)]
        worst = max(ratios)
        return (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()


def is_rounded_up(stated: float, exact: Decimal) -> bool:
    """Whether a figure is the exact one or above it, by no more than a step of float64."""
    return Decimal(math.nextafter(stated, 0)) <= exact <= Decimal(stated)


def test_every_exact_figure_follows_from_the_integers_under_the_digest(stored: Any) -> None:
    (said,) = stored["released"]
    assert [each["column"] for each in said["columns"]] == [*MECHANISMS, "town"]
    for column in said["columns"]:
        rows = weights_of(column)
        gaps = [loss(one, other) for one, other in pairwise(rows)]
        assert len(column["exact_gaps"]) == len(gaps)
        assert all(is_rounded_up(given, exact) for given, exact in zip(column["exact_gaps"], gaps, strict=True))
        worst = max(loss(one, other) for place, one in enumerate(rows) for other in rows[:place])
        assert is_rounded_up(column["exact_whole_range"], worst)
        assert Decimal(column["promised_neighbours"]) >= max(gaps)


def test_both_statements_of_composition_follow_from_the_columns(stored: Any) -> None:
    """One column: the worst promise; a whole row: their sum; and neither is below what the integers give."""
    (said,) = stored["released"]
    promised = [each["promised_neighbours"] for each in said["columns"]]
    figures = [float(re.findall(r"exp\(t \* ([0-9.]+)\)", stored[kind])[0]) for kind in ("one_column", "whole_row")]
    exact = [max(each["exact_gaps"]) for each in said["columns"]]
    assert figures[0] == pytest.approx(max(promised), abs=1e-6)
    assert figures[1] == pytest.approx(math.fsum(promised), abs=1e-6)
    assert figures[0] >= max(promised) >= max(exact)
    assert figures[1] + 1e-12 >= math.fsum(promised) >= math.fsum(exact)
    assert (stored["one_column"], stored["whole_row"]) == (said["one_column"], said["whole_row"])


def test_everything_that_a_reader_must_know_is_there(stored: Any) -> None:
    assert stored["format"] == 1
    assert {"python", "veilboost", "numpy"} < set(stored["versions"])  # and the library's own
    (said,) = stored["released"]
    assert said["noise"] == "simulated"
    assert [each["nominal_epsilon"] for each in said["columns"]] == [0.64, 0.64, 0.64, 1.5, 2.0]
    assert all(each["guarantee"] and each["domain_digest"] and each["source"] for each in said["columns"])
