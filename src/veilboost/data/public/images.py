"""Two classes of MNIST and of Fashion-MNIST: a column for each pixel."""

import struct
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veilboost.data.public.exact import TEXT
from veilboost.data.public.published import PublicSet, Published
from veilboost.data.public.unpack import plain
from veilboost.errors import FileError

_SIDE = 28
_PARTS = {"train": ("train", 60_000), "test": ("t10k", 10_000)}
_NAMES = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
_COLUMNS = {
    "label": pa.int8(),
    "source_row": pa.int32(),
    "split": TEXT,
    **{f"p{pixel}": pa.uint8() for pixel in range(_SIDE * _SIDE)},
}


def _two_classes(files: Mapping[str, Path], classes: Sequence[int]) -> pa.Table:
    return pa.concat_tables(_part(files, split, prefix, count, classes) for split, (prefix, count) in _PARTS.items())


def _part(files: Mapping[str, Path], split: str, prefix: str, count: int, classes: Sequence[int]) -> pa.Table:
    labels = _idx(files[f"{prefix}-labels-idx1-ubyte.gz"], (count,))
    images = _idx(files[f"{prefix}-images-idx3-ubyte.gz"], (count, _SIDE, _SIDE))
    wanted = np.flatnonzero(np.isin(labels, classes))
    pixels = images[wanted].reshape(len(wanted), -1)
    head = {"label": labels[wanted], "source_row": wanted, "split": [split] * len(wanted)}
    return pa.table(head | {f"p{pixel}": np.ascontiguousarray(pixels[:, pixel]) for pixel in range(pixels.shape[1])})


def _idx(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return the bytes of a packed IDX file, which must have just this shape."""
    head, size = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape), int(np.prod(shape))
    with path.open("rb") as file, plain(file, most=len(head) + size, where=path) as stream:
        found = stream.read()
    if not found.startswith(head) or len(found) != len(head) + size:
        raise FileError(path, f"must be an IDX file of {' by '.join(map(str, shape))} bytes")
    return np.frombuffer(found, np.uint8, offset=len(head)).reshape(shape)


def _files(folders: tuple[str, ...], digests: Sequence[str]) -> tuple[Published, ...]:
    return tuple(
        Published(name, tuple(f"{folder}{name}" for folder in folders), 40 << 20, digest)
        for name, digest in zip(_NAMES, digests, strict=True)
    )


MNIST = PublicSet(
    name="mnist49",
    title="MNIST, the digits 4 and 9",
    publisher="LeCun, Cortes and Burges",
    licence="CC BY-SA 3.0",
    page="http://yann.lecun.com/exdb/mnist/",
    files=_files(
        ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
        (
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    read=partial(_two_classes, classes=(4, 9)),
    columns=_COLUMNS,
    rows=13_782,
    digest="5a58c3936bd32eaad8a76b5fe9f772f25591ae3859a5e01f80a30cd1d6446042",
)

FASHION = PublicSet(
    name="fashion06",
    title="Fashion-MNIST, T-shirts and shirts",
    publisher="Zalando Research",
    licence="MIT",
    page="https://github.com/zalandoresearch/fashion-mnist",
    files=_files(
        ("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",),
        (
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    read=partial(_two_classes, classes=(0, 6)),
    columns=_COLUMNS,
    rows=14_000,
    digest="4b90c032e7a0a1a6e9e2a9d5ecb6005407e0b598da327e4a50c8a9b8ec58fbec",
)
