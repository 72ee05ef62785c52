"""The codes that the papers make of the columns of public tables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def codes_of(values: NDArray[Any], size: int) -> NDArray[np.uint16]:
    """Return ``values`` as codes from 1 to ``size``, by the papers' formula: from their least to their greatest.

    >>> codes_of(np.array([0.0, 0.1, 5.0, 10.0]), 11).tolist()
    [1, 2, 6, 11]
    """
    held = values.astype(np.float64)
    low, high = held.min(), held.max()
    codes: NDArray[np.uint16] = np.ceil(1 + (held - low) / (high - low) * (size - 1)).astype(np.uint16)
    return codes
