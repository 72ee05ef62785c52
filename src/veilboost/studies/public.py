"""The public tables of the papers, and the codes that the papers make of their columns."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.errors import FileError, SettingError


def public_table(name: str) -> pa.Table:
    """Return the public table of that name from the folder that VEILBOOST_DATA names."""
    from pyarrow import parquet

    folder = os.environ.get("VEILBOOST_DATA", "")
    if not folder:
        raise SettingError("VEILBOOST_DATA", "must name the folder of the public tables", folder)
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        raise FileError(path, "is not there")
    return parquet.read_table(path)


def codes_of(values: NDArray[Any], size: int) -> NDArray[np.uint16]:
    """Return ``values`` as codes from 1 to ``size``, by the papers' formula: from their least to their greatest.

    >>> codes_of(np.array([0.0, 0.1, 5.0, 10.0]), 11).tolist()
    [1, 2, 6, 11]
    """
    held = values.astype(np.float64)
    low, high = held.min(), held.max()
    codes: NDArray[np.uint16] = np.ceil(1 + (held - low) / (high - low) * (size - 1)).astype(np.uint16)
    return codes
