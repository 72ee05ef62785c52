"""A domain as settings declare it, in a policy or on the command line."""

import inspect
from collections.abc import Callable
from typing import Any

from veilboost.domain.domain import Domain
from veilboost.errors import SettingError
from veilboost.settings import DomainSettings, only_taken

KINDS: dict[str, Callable[..., Domain]] = {
    "numbers": Domain.numbers,
    "integers": Domain.integers,
    "dates": Domain.dates,
    "timestamps": Domain.timestamps,
    "decimals": Domain.decimals,
    "booleans": Domain.booleans,
    "ordered": Domain.ordered,
    "unordered": Domain.unordered,
}
_OPTIONS = ("missing", "impute")


def declared(settings: DomainSettings, column: str) -> Domain:
    """Return the domain of ``column`` that ``settings`` declare.

    >>> declared(DomainSettings(kind="integers", lower=0, upper=9), "age")
    Domain(age: integers 0 to 9 in 10 codes)
    >>> declared(DomainSettings(kind="integers", lower=0), "age")
    Traceback (most recent call last):
    veilboost.errors.SettingError: upper must be given for 'integers'; got None
    """
    if settings.kind not in KINDS:
        raise SettingError("kind", f"must be one of {', '.join(KINDS)}", settings.kind)
    make = KINDS[settings.kind]
    parameters = [each for each in inspect.signature(make).parameters.values() if each.kind != each.VAR_KEYWORD]
    needed = [each.name for each in parameters if each.default is each.empty]
    taken = [*(each.name for each in parameters), *_OPTIONS]
    given: dict[str, Any] = only_taken(repr(settings.kind), settings.values(), taken, needed)
    return make(**given, column=column)
