"""Digests and draws as they were: noise that is to be permanent must not move with a release of the program."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from battery import column, example, permanent

from veilboost.mechanisms import MECHANISMS
from veilboost.randomness import ReplayableBits

STORED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "draws.json").read_text(encoding="utf-8"))
CODES = np.arange(20) % 10 + 1


def answers(name: str) -> dict[str, Any]:
    mechanism = example(name)
    return {
        "digest": mechanism.digest.hex(),
        "permanent": mechanism.draw(column(name, CODES), bits=permanent(20)).tolist(),
        "replayable": mechanism.draw(column(name, CODES), bits=ReplayableBits(seed=7)).tolist(),
    }


@pytest.mark.parametrize("name", MECHANISMS)
def test_known_answers(name: str) -> None:
    assert answers(name) == STORED[name]
