"""The exception tree: as drawn, one line each, and whole again after a trip to another process."""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest

from veilboost import errors
from veilboost.errors import (
    DataError,
    EvidenceError,
    FileError,
    GuaranteeError,
    LineError,
    PeerError,
    RefusalError,
    SettingError,
    UsageError,
    VeilboostError,
    blaming,
)

EXAMPLES: list[VeilboostError] = [
    SettingError("epsilon", "must be a number above 0", -1),
    DataError("age", "must not be missing", "NaN at row 3"),
    FileError("policy.toml", "there is no such file"),
    RefusalError("the cap of 'age' would be exceeded"),
    PeerError("shop", "sent Done where Ranks was expected"),
    LineError("shop", "sent no Ranks within 60 seconds"),
    EvidenceError("line 3 of the ledger was altered"),
    GuaranteeError("a row does not sum to one"),
]


def test_the_tree_is_the_one_drawn_at_the_top_of_the_file() -> None:
    drawn = re.findall(r"^([│├└─ ]*)(\w+Error)\b", inspect.getdoc(errors) or "", flags=re.MULTILINE)
    parents: list[tuple[int, str]] = []
    found = {}
    for indent, name in drawn:
        while parents and parents[-1][0] >= len(indent):
            parents.pop()
        found[name] = parents[-1][1] if parents else "Exception"
        parents.append((len(indent), name))
    defined = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert found == {kind.__name__: kind.__bases__[0].__name__ for kind in defined}


def test_ours_and_the_callers_are_told_apart() -> None:
    assert [isinstance(error, UsageError) for error in EXAMPLES] == [True] * 3 + [False] * 5


def test_an_error_carries_what_it_says() -> None:
    setting, data = SettingError("size", "must be whole", 2.5), DataError("age", "must be whole", "2.5")
    assert (setting.name, setting.rule, setting.value) == ("size", "must be whole", 2.5)
    assert (data.column, data.rule, data.found) == ("age", "must be whole", "2.5")
    assert [str(setting), str(data)] == ["size must be whole; got 2.5", "column 'age' must be whole; found 2.5"]


@pytest.mark.parametrize("value", ["x" * 1000, list(range(1000)), np.zeros((30, 30)), "two\nlines", {"a": np.eye(3)}])
def test_a_message_is_one_short_line(value: object) -> None:
    text = str(SettingError("name", "must be otherwise", value))
    assert "\n" not in text
    assert text.startswith("name must be otherwise; got ")
    assert len(text) <= len("name must be otherwise; got ") + 80


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_being_copied_and_sent(error: VeilboostError) -> None:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_a_mistake_in_a_file_names_the_file_once() -> None:
    with (
        pytest.raises(FileError, match=r"^a\.csv: column 'age' must be whole; found 2\.5$"),
        blaming("b.toml"),
        blaming("a.csv"),
    ):
        raise DataError("age", "must be whole", "2.5")
    with pytest.raises(FileError, match=r"^a\.csv: No such file or directory$"), blaming("a.csv"):
        raise FileNotFoundError(2, "No such file or directory", "a.csv")
    with pytest.raises(GuaranteeError, match=r"^ours$"), blaming("a.csv"):
        raise GuaranteeError("ours")
