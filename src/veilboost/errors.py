"""Every exception that veilboost raises.

VeilboostError
├── UsageError            the caller's mistake: fix the call; the command line exits with 2
│   ├── SettingError      a setting breaks its rule: carries name, rule and value
│   ├── DataError         a column's values break its contract: carries column, rule and what was found
│   └── FileError         a file cannot be used as it is: carries the file and the problem
├── RefusalError          the policy or a budget does not allow what was asked for; the command line exits with 4
├── PeerError             the other party sent what was not agreed; carries party and message
│   └── LineError         the line to it broke, or nothing came in time: the same two may go on over another line
├── EvidenceError         a ledger, a receipt or a statement was altered: carries what does not fit; exits with 1
└── GuaranteeError        our mistake: a check on our own numbers failed; nothing was released
"""

from collections.abc import Iterator
from contextlib import contextmanager


class VeilboostError(Exception):
    """Whatever veilboost raises on purpose."""


class UsageError(VeilboostError, ValueError):
    """The caller asked for something that cannot be done as asked."""


class SettingError(UsageError):
    """A setting breaks its rule.

    >>> raise SettingError("epsilon", "must be a number above 0", -1)
    Traceback (most recent call last):
    veilboost.errors.SettingError: epsilon must be a number above 0; got -1
    """

    def __init__(self, name: str, rule: str, value: object) -> None:
        self.name, self.rule, self.value = name, rule, value
        super().__init__(f"{name} {rule}; got {_short(value)}")

    def __reduce__(self) -> tuple[type["SettingError"], tuple[str, str, object]]:
        return type(self), (self.name, self.rule, self.value)


class DataError(UsageError):
    """The values of a column break its public contract.

    >>> raise DataError("age", "must not be missing", "NaN at row 3")
    Traceback (most recent call last):
    veilboost.errors.DataError: column 'age' must not be missing; found NaN at row 3
    """

    def __init__(self, column: str, rule: str, found: object) -> None:
        self.column, self.rule, self.found = column, rule, found
        super().__init__(f"column {column!r} {rule}; found {found}")

    def __reduce__(self) -> tuple[type["DataError"], tuple[str, str, object]]:
        return type(self), (self.column, self.rule, self.found)


class FileError(UsageError):
    """A file cannot be used as it is.

    >>> raise FileError("policy.toml", "there is no such file")
    Traceback (most recent call last):
    veilboost.errors.FileError: policy.toml: there is no such file
    """

    def __init__(self, file: object, problem: str) -> None:
        self.file, self.problem = str(file), problem
        super().__init__(f"{file}: {problem}")

    def __reduce__(self) -> tuple[type["FileError"], tuple[str, str]]:
        return type(self), (self.file, self.problem)


class RefusalError(VeilboostError):
    """The policy or a budget does not allow what was asked for; ``told`` is what the one who asked may know of it."""

    def __init__(self, problem: str, told: str | None = None) -> None:
        self.problem, self.told = problem, told or problem
        super().__init__(problem)

    def __reduce__(self) -> tuple[type["RefusalError"], tuple[str, str]]:
        return type(self), (self.problem, self.told)


class PeerError(VeilboostError):
    """The other party did not keep to the protocol.

    >>> raise PeerError("shop", "sent Done where Ranks was expected")
    Traceback (most recent call last):
    veilboost.errors.PeerError: party 'shop' sent Done where Ranks was expected
    """

    def __init__(self, party: str, problem: str) -> None:
        self.party, self.problem = party, problem
        super().__init__(f"party {party!r} {problem}")

    def __reduce__(self) -> tuple[type["PeerError"], tuple[str, str]]:
        return type(self), (self.party, self.problem)


class LineError(PeerError):
    """The line to the other party is not there, broke, or stayed silent for too long; nobody broke the protocol."""


class EvidenceError(VeilboostError):
    """A record that must not change has changed."""


class GuaranteeError(VeilboostError):
    """A figure that we computed about ourselves is not what it must be."""


@contextmanager
def blaming(file: object, *, disk: bool = True) -> Iterator[None]:
    """Name ``file`` in every mistake that is found in it, and, unless another is to blame, where ``disk`` fails.

    >>> with blaming("table.csv"):
    ...     raise DataError("age", "must not be missing", "NaN at row 3")
    Traceback (most recent call last):
    veilboost.errors.FileError: table.csv: column 'age' must not be missing; found NaN at row 3
    """
    try:
        yield
    except FileError:
        raise
    except UsageError as error:
        raise FileError(file, str(error)) from error
    except OSError as error:
        if not disk:
            raise
        raise FileError(file, error.strerror or str(error) or type(error).__name__) from error


def _short(value: object, limit: int = 80) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number with more digits than Python prints
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
