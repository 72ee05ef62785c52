"""Public names come from the package alone; the README speaks only of names that exist."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veilboost
from veilboost.studies.example import bank_and_shop

ROOT = Path(__file__).parents[1]


def test_the_public_names_are_pinned_and_sorted() -> None:
    assert veilboost.__all__ == [
        "AdjLaplace",
        "AdjMap",
        "BoundedLaplace",
        "ClampedLaplace",
        "DataError",
        "DiscreteGaussian",
        "DiscreteLaplace",
        "Domain",
        "Duchi",
        "DuchiVector",
        "FreshBits",
        "GlobalMap",
        "GuaranteeError",
        "LaplaceVector",
        "LocalBoostClassifier",
        "LocalLaplace",
        "LocalMap",
        "OpBoostClassifier",
        "OpBoostRegressor",
        "PermanentBits",
        "Piecewise",
        "RandomizedResponse",
        "RangeLaplace",
        "ReplayableBits",
        "SampledVector",
        "SettingError",
        "TightMap",
        "UnaryEncoding",
        "UsageError",
        "VeilboostError",
        "audit_table",
        "certify",
        "compose",
        "weighted_kendall",
    ]


@pytest.mark.parametrize("name", veilboost.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(veilboost, name).__doc__
    assert name in dir(veilboost)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = veilboost.nothing


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # eight hundred rows are few for noise
def test_the_python_in_the_readme_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    people, rows = bank_and_shop(1000), np.arange(1000)
    parts = {"train": rows[:800], "test": rows[800:]}
    names: dict[str, Any] = {f"X_{part}": people.joined.take(chosen) for part, chosen in parts.items()}
    names |= {f"y_{part}": people.label[chosen] for part, chosen in parts.items()}
    names["X_train"], names["X_test"] = (names[f"X_{part}"].select(["income", "spend", "town"]) for part in parts)
    names["clinic_of_row"] = rows[:800] // 8
    monkeypatch.chdir(tmp_path)
    for example in re.findall(r"```python\n(.*?)```", readme, re.DOTALL):
        exec(compile(example, "README.md", "exec"), names)
    assert len(names["leaving"]) == 3
    printed = capsys.readouterr().out
    assert "The whole row changed." in printed
    assert "if all rows of one owner change" in printed
    assert names["stock"].num_features() == len(names["model"].model_.features)


def test_the_package_takes_its_errors_and_stubs_along() -> None:
    assert (ROOT / "src" / "veilboost" / "py.typed").exists()
