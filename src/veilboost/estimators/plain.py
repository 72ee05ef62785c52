"""Settings in Python's own types: a search over settings gives numpy's, which no message and no file takes."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

Made = TypeVar("Made")


def plainly(kind: Callable[..., Made], **settings: Any) -> Made:
    """Return what ``kind`` makes of ``settings`` in Python's own types.

    >>> plainly(dict, epsilon=np.float64(0.5), gaps=np.array([1, 2]), parameters={"max_leaves": np.int64(4)})
    {'epsilon': 0.5, 'gaps': [1, 2], 'parameters': {'max_leaves': 4}}
    """
    return kind(**{name: _plain(value) for name, value in settings.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return tuple(_plain(each) for each in value) if type(value) is tuple else value
