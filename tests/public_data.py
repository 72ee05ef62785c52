"""Where the public tables lie, for tests that need real ones."""

import os
from pathlib import Path

import pytest

_NAMED = os.environ.get("VEILBOOST_DATA")
FOLDER = Path(_NAMED) if _NAMED else Path(__file__).parents[2] / "shared" / "data"

needs_data = pytest.mark.skipif(
    not FOLDER.is_dir(),
    reason="the public tables are not here: VEILBOOST_DATA names no folder, and ../shared/data is none",
)
