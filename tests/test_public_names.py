"""Public names come from the package alone; the README speaks only of names that exist."""

import re
from pathlib import Path
from typing import Any

import pytest

import veilboost

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


def test_the_python_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert len(names["leaving"]) == 3
    assert "The whole row changed." in capsys.readouterr().out


def test_the_package_takes_its_errors_and_stubs_along() -> None:
    assert (ROOT / "src" / "veilboost" / "py.typed").exists()
