"""Every exception that veilboost raises.

VeilboostError
├── UsageError            the caller's mistake: fix the call; the command line exits with 2
│   ├── SettingError      a setting breaks its rule: carries name, rule and value
│   └── DataError         a column's values break its contract: carries column, rule and what was found
└── GuaranteeError        our mistake: a check on our own numbers failed; nothing was released
"""


class VeilboostError(Exception):
    """Whatever veilboost raises on purpose."""


class UsageError(VeilboostError):
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


class GuaranteeError(VeilboostError):
    """A figure that we computed about ourselves is not what it must be."""


def _short(value: object, limit: int = 80) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
