"""The notebook runs from top to bottom, and shows what its file says it shows."""

from pathlib import Path

import pytest

from notebook import run, stored

NOTEBOOK = Path(__file__).parents[1] / "docs" / "choosing-a-mechanism.ipynb"


@pytest.mark.slow
def test_the_notebook_shows_what_it_says() -> None:
    ran, said = run(NOTEBOOK), stored(NOTEBOOK)
    assert len(ran) > 5
    for (source, outputs), (_, expected) in zip(ran, said, strict=True):
        assert outputs == expected, source
