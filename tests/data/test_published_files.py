"""The publishers' own files: made again from tables at hand, they are read into the very same tables."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rebuilt import (
    REBUILT,
    adult_data,
    adult_test,
    bank_full,
    credit_default,
    pendigits_part,
    put,
)

from public_data import FOLDER, needs_data
from veilboost.data.public import PUBLIC_SETS, public_table
from veilboost.data.public.exact import exact

SLOW = {"mnist49", "fashion06"}
PUBLISHED: dict[str, tuple[str, Callable[[pa.Table], bytes], int, str]] = {
    "adult.data": (
        "adult",
        adult_data,
        3_974_305,
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "adult.test": (
        "adult",
        adult_test,
        2_003_153,
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    "pendigits.tra": (
        "pendigits",
        partial(pendigits_part, split="train"),
        502_098,
        "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3",
    ),
    "pendigits.tes": (
        "pendigits",
        partial(pendigits_part, split="test"),
        234_366,
        "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015",
    ),
    "bank-full.csv": (
        "bank",
        bank_full,
        4_610_348,
        "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
    ),
    "data.csv": (
        "credit-default",
        credit_default,
        2_897_080,
        "45bcf4df62ff2e237a74eb155cabfb4bbbc171219a0637daef44fdad07503dd0",
    ),
}


@needs_data
@pytest.mark.parametrize("file", PUBLISHED)
def test_a_rebuilt_file_is_the_publishers_byte_by_byte(file: str) -> None:
    """These digests are not ours: others have published them for what they fetched from UCI."""
    name, make, length, sha256 = PUBLISHED[file]
    content = make(pq.read_table(FOLDER / f"{name}.parquet"))
    assert (len(content), hashlib.sha256(content).hexdigest()) == (length, sha256)


@needs_data
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in REBUILT])
def test_a_rebuilt_file_gives_the_table_at_hand(name: str, tmp_path: Path) -> None:
    wanted = PUBLIC_SETS[name]
    files = put(REBUILT[name](pq.read_table(FOLDER / f"{name}.parquet")), tmp_path)
    assert set(files) == {file.name for file in wanted.files}
    found = exact(wanted.read(files), wanted.columns)
    assert found.equals(public_table(name, folder=FOLDER))


def test_every_table_with_a_digest_is_rebuilt() -> None:
    assert set(REBUILT) == {name for name, each in PUBLIC_SETS.items() if each.digest}
