"""Whatever stands in a table: right, or refused in one clear line, with both libraries."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veilboost import Domain, OpBoostClassifier, OpBoostRegressor

pytestmark = pytest.mark.slow

ROWS = 60
HALF = np.arange(ROWS) % 2
TOWNS = ["Rome", "Oslo"] * (ROWS // 2)
EVERY: Sequence[Any] = ("xgboost", "lightgbm")
SMALL: dict[str, Any] = {"n_estimators": 20, "max_depth": 2, "n_jobs": 1}
ALL: dict[str, Any] = {"private": "all", "bounds": (-5, 5), "size": 10}

backends = pytest.mark.parametrize("backend", EVERY)


def model(backend: Any, **settings: Any) -> Any:
    parameters = {"min_data_in_leaf": 1} if backend == "lightgbm" else {"min_child_weight": 0}
    return OpBoostClassifier(backend=backend, parameters=parameters, **SMALL | settings)


def learned(X: Any, backend: Any, **settings: Any) -> float:
    """Return the share of rows that are predicted rightly, where X tells odd rows from even ones."""
    return float(model(backend, **settings).fit(X, HALF).score(X, HALF))


def constant(X: Any, backend: Any, **settings: Any) -> bool:
    """Return whether the prediction is the same for every row."""
    found = model(backend, **settings).fit(X, HALF).predict_proba(X)
    return bool(np.isfinite(found).all() and (found == found[0]).all())


def alternating(even: Any, odd: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"a": pa.array([even, odd] * (ROWS // 2), kind)})


TELLING: Mapping[str, Any] = {
    "int64 extremes": alternating(-(2**63), 2**63 - 1, pa.int64()),
    "uint64 extremes": alternating(0, 2**64 - 1, pa.uint64()),
    "float16": alternating(1.0, 2.0, pa.float32()).cast(pa.schema({"a": pa.float16()})),
    "booleans": alternating(False, True),
    "booleans and nothing": alternating(None, True),
    "a missing number": alternating(None, 1.5),
    "not a number": np.array([[np.nan], [1.0]] * (ROWS // 2)),
    "nullable whole numbers": alternating(None, 3, pa.int64()),
    "decimals": alternating(Decimal("1.5"), Decimal("1.25")),
    "days": alternating(dt.date(2020, 1, 1), dt.date(2021, 1, 1)),
    "times": alternating(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)),
    "times with a zone": alternating(dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1, tzinfo=dt.UTC)),
    "times in nanoseconds": alternating(1, 2**60 + 1, pa.int64()).cast(pa.schema({"a": pa.timestamp("ns")})),
    "times of numpy": np.array([["2020-01-01"], ["2021-01-01"]] * (ROWS // 2), dtype="M8[s]"),
    "text": pa.table({"a": TOWNS}),
    "text in a dictionary": pa.table({"a": pa.array(TOWNS).dictionary_encode()}),
    "large text": pa.table({"a": pa.array(TOWNS, pa.large_string())}),
    "text of numpy": np.array(TOWNS)[:, None],
    "objects that are numbers": np.array([[1], [2.5]] * (ROWS // 2), dtype=object),
    "objects that are text or nothing": np.array([["x"], [None]] * (ROWS // 2), dtype=object),
    "text beside numbers in a list": [["Rome", 1], ["Oslo", 1]] * (ROWS // 2),
    "a record batch": pa.RecordBatch.from_pydict({"a": TOWNS}),
}


@backends
@pytest.mark.parametrize("X", TELLING.values(), ids=TELLING)
def test_what_tells_the_classes_apart_is_learned(X: Any, backend: Any) -> None:
    assert learned(X, backend) == 1.0


SAME: Mapping[str, Any] = {
    "constant": np.ones((ROWS, 2)),
    "all missing": np.full((ROWS, 2), np.nan),
    "nothing at all": pa.table({"a": pa.nulls(ROWS), "b": pa.nulls(ROWS)}),
    "minus zero": np.array([[0.0], [-0.0]] * (ROWS // 2)),
    "minus zero as text would tell": pa.table({"a": [0.0, -0.0] * (ROWS // 2)}),
    "one category": pa.table({"a": ["Rome"] * ROWS}),
}


@backends
@pytest.mark.parametrize("X", SAME.values(), ids=SAME)
def test_what_tells_nothing_predicts_one_value(X: Any, backend: Any) -> None:
    assert constant(X, backend)


@backends
@pytest.mark.parametrize("tiny", [5e-324, 1e-310])
def test_a_subnormal_is_zero_to_the_libraries(tiny: float, backend: Any) -> None:
    assert constant(np.array([[tiny], [-tiny]] * (ROWS // 2)), backend)


def test_float32_is_what_xgboost_compares() -> None:
    near = alternating(2**53, 2**53 + 1)
    assert constant(near, "xgboost")
    small = alternating(1.0, 1.0 + 2.0**-40)
    assert constant(small, "xgboost")
    assert learned(small, "lightgbm") == 1.0


PRIVATE: Mapping[str, tuple[Any, Domain | None]] = {
    "constant": (np.ones((ROWS, 1)), None),
    "all missing": (np.full((ROWS, 1), np.nan), None),
    "nothing at all": (pa.table({"x0": pa.nulls(ROWS)}), None),
    "subnormals": (np.array([[5e-324], [-1e-310]] * (ROWS // 2)), None),
    "minus zero": (np.array([[0.0], [-0.0]] * (ROWS // 2)), None),
    "beyond the bounds": (np.array([[-1e30], [1e30]] * (ROWS // 2)), None),
    "int64 extremes": (
        pa.table({"x0": pa.array([-(2**63), 2**63 - 1] * (ROWS // 2))}),
        Domain.integers(-(2**63), 2**63 - 1, size=10),
    ),
    "booleans": (np.array([[True], [False]] * (ROWS // 2)), Domain.booleans()),
    "days": (
        pa.table({"x0": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * (ROWS // 2)}),
        Domain.dates("2020-01-01", "2021-01-01", size=10),
    ),
    "times": (
        pa.table({"x0": [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)] * (ROWS // 2)}),
        Domain.timestamps("2020-01-01", "2021-01-01", size=10),
    ),
    "times with a zone": (
        pa.table({"x0": pa.array([0, 10**15] * (ROWS // 2)).cast(pa.timestamp("us", "Europe/Rome"))}),
        Domain.timestamps("1970-01-01T00:00Z", "2010-01-01T00:00Z", size=10),
    ),
    "text": (pa.table({"x0": TOWNS}), Domain.unordered(["Rome", "Oslo"])),
    "ordered text": (pa.table({"x0": TOWNS}), Domain.ordered(["Oslo", "Rome"])),
    "whole categories": (np.array([[3], [1]] * (ROWS // 2)), Domain.unordered([1, 3])),
}


@backends
@pytest.mark.parametrize(("X", "domain"), PRIVATE.values(), ids=PRIVATE)
def test_private_columns_of_every_kind_are_trained_on(X: Any, domain: Domain | None, backend: Any) -> None:
    domains = {} if domain is None else {"x0": domain}
    made = model(backend, **ALL, domains=domains, epsilon=30.0).fit(X, HALF)
    found = made.predict_proba(X)
    assert found.shape == (ROWS, 2)
    assert np.allclose(found.sum(axis=1), 1)
    assert made.statements_[0].columns[0].column == "x0"
    told = domain is not None or (isinstance(X, np.ndarray) and abs(X.astype(float)).max() == 1e30)
    assert (made.score(X, HALF) == 1.0) == told


@backends
def test_one_row_trains_a_regressor(backend: Any) -> None:
    for settings in (SMALL, SMALL | ALL):
        made = OpBoostRegressor(backend=backend, **settings).fit([[1.0]], [2.0])
        assert made.predict([[1.0], [3.0]]) == pytest.approx([2.0, 2.0], rel=1e-6)


@backends
def test_two_thousand_columns(backend: Any) -> None:
    X = np.random.default_rng(0).normal(size=(ROWS, 2000))
    X[:, 1999] = HALF
    assert learned(X, backend) == 1.0
    made = model(backend, **ALL, epsilon=30.0).fit(X, HALF)
    assert made.score(X, HALF) == 1.0
    assert len(made.statements_[0].columns) == made.n_features_in_ == 2000


def test_a_hundred_thousand_categories() -> None:
    names = [f"c{place}" for place in range(100_000)]
    X, y = pa.table({"c": names}), np.arange(100_000) % 2
    for backend in EVERY:
        found = OpBoostClassifier(backend=backend, nominal="native", **SMALL).fit(X, y).predict_proba(X.slice(0, 9))
        assert np.isfinite(found).all()


Refusal = tuple[Any, dict[str, Any], str]


def frame(**columns: Any) -> pa.Table:
    return pa.table(columns)


CATEGORIES = [f"c{place}" for place in range(2049)]
REFUSED: Mapping[str, Refusal] = {
    "one class": (np.zeros((ROWS, 1)), {"y": np.zeros(ROWS)}, "column 'y' must have two classes or more"),
    "one row of a class": (np.zeros((1, 1)), {"y": np.ones(1)}, "column 'y' must have two classes or more"),
    "no rows": (pa.table({"a": pa.array([], pa.float64())}), {"y": np.zeros(0)}, "two classes or more; found 0"),
    "no columns": (np.empty((ROWS, 0)), {}, "0 feature"),
    "no columns in a frame": (frame(a=TOWNS).select([]), {}, "must have rows and columns; found 60 rows, 0 columns"),
    "infinity": (np.array([[1.0], [np.inf]] * 30), {}, "column 'x0' must not be infinite; found infinity|inf at row 1"),
    "infinity in a frame": (alternating(1.0, -np.inf), {}, "column 'a' must not be infinite; found -inf at row 1"),
    "private infinity": (alternating(1.0, np.inf), ALL, "columns of 'partner': column 'a' .* found inf at row 1"),
    "too many categories": (frame(a=CATEGORIES), {"y": np.arange(2049) % 2}, "column 'a' must have at most 1024"),
    "too many private categories": (
        frame(a=CATEGORIES),
        {"y": np.arange(2049) % 2, "private": "all", "domains": {"a": Domain.unordered(CATEGORIES)}},
        "size of column 'a' must be at most 2048",
    ),
    "twice the same name": (pa.table([HALF, HALF], names=["a", "a"]), {}, "columns of different names"),
    "a column like an indicator": (
        pa.table({"town": TOWNS, "town=Rome": HALF}),
        {},
        "column 'town=Rome' must be one feature of the model",
    ),
    "a private column like an indicator": (
        pa.table({"town": TOWNS, "town=Rome": HALF}),
        {"private": ["town"], "domains": {"town": Domain.unordered(["Rome", "Oslo"])}},
        "column 'town=Rome' must be one feature of the model",
    ),
    "no name": (pa.table({"": HALF}), {}, "name of a feature must be text"),
    "objects of two kinds": (np.array([[1], ["a"]] * 30, dtype=object), {}, "column 'x0' must hold values of one kind"),
    "objects that are no values": (np.array([[{}]] * 60, dtype=object), {}, "column 'x0' must hold numbers, dates"),
    "whole numbers of any size": (np.array([[2**80]] * 60, dtype=object), {}, "column 'x0' must hold values of one"),
    "durations": (alternating(dt.timedelta(1), dt.timedelta(2)), {}, "column 'a' must hold numbers, dates, times or"),
    "bytes": (alternating(b"1", b"2"), {}, "column 'a' must hold numbers, dates, times or text"),
    "lists": (alternating([1], [2]), {}, "column 'a' must hold numbers, dates, times or text"),
    "times beyond": (
        alternating(1, 2**62, pa.int64()).cast(pa.schema({"a": pa.timestamp("s")})),
        {},
        "column 'a' must hold times that count in microseconds",
    ),
    "complex numbers": (np.ones((ROWS, 1)) * 1j, {}, "must hold real numbers"),
    "a dictionary": ({"a": HALF}, {}, "X must be an array, or a frame of Arrow, pandas or polars; got dict"),
    "text alone": ("x", {}, "X must be an array, or a frame"),
    "one dimension": (np.ones(ROWS), {}, "Expected 2D array"),
    "labels that are missing": (np.ones((ROWS, 1)), {"y": np.where(HALF, np.nan, 1)}, "Input y contains NaN"),
    "fewer labels": (frame(a=TOWNS), {"y": HALF[:5]}, "column 'y' must have a value for each of the 60 rows"),
    "a zone where none is meant": (
        pa.table({"a": pa.array([0, 1] * 30).cast(pa.timestamp("us", "UTC"))}),
        {"private": "all", "domains": {"a": Domain.timestamps("1970-01-01", "1970-01-02", size=5)}},
        "column 'a' must hold .* in every row",
    ),
    "text where numbers are meant": (frame(a=TOWNS), ALL, "column 'a' must hold a finite number in every row"),
    "a value that is no category": (
        frame(a=TOWNS),
        {"private": "all", "domains": {"a": Domain.unordered(["Rome", "Lima"])}},
        "column 'a' must hold .* found 'Oslo' at row 1",
    ),
}


@backends
@pytest.mark.parametrize(("X", "settings", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(X: Any, settings: dict[str, Any], says: str, backend: Any) -> None:
    chosen = {name: value for name, value in settings.items() if name != "y"}
    with pytest.raises(ValueError, match=says) as caught:
        model(backend, **chosen).fit(X, settings.get("y", HALF))
    assert "\n" not in str(caught.value) or says == "Expected 2D array"  # two lines of scikit-learn's own


def test_a_number_beyond_float32_is_refused_by_xgboost_alone() -> None:
    X = alternating(1.0, 1e300)
    assert learned(X, "lightgbm") == 1.0
    with pytest.raises(
        ValueError, match="column 'a' must be finite as float32, which XGBoost compares; found 1e\\+300"
    ):
        model("xgboost").fit(X, HALF)


@backends
@pytest.mark.parametrize("private", [False, True])
def test_an_infinite_sample_is_refused(private: bool, backend: Any) -> None:
    made = model(backend, **(ALL if private else {})).fit(HALF[:, None], HALF)
    with pytest.raises(ValueError, match="column 'x0' must not be infinite; found infinity at row 1"):
        made.predict([[0.0], [np.inf]])


@pytest.mark.parametrize(
    ("names", "backend", "says"),
    [
        (["a b", "a_b"], "lightgbm", "column 'a_b' must have a name of its own"),
        (["a[b", "c"], "xgboost", "column 'a\\[b' must have no"),
        (['a"b', "c"], "lightgbm", "column 'a\"b' must have none of"),
    ],
)
def test_names_that_a_library_cannot_keep(names: Sequence[str], backend: Any, says: str) -> None:
    X = pa.table([HALF, HALF], names=names)
    with pytest.raises(ValueError, match=says):
        model(backend).fit(X, HALF)


@backends
@pytest.mark.parametrize("name", ["größe", "a\nb", "a\0b", "a=b", " ", "x1"])
def test_odd_names_that_a_library_can_keep(name: str, backend: Any) -> None:
    made = model(backend).fit(pa.table([HALF, HALF], names=["first", name]), HALF)
    assert made.feature_names_in_.tolist() == ["first", name]
    assert made.feature_importances_.sum() == pytest.approx(1)
