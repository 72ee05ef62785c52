"""The rows of the paper on local boosting: those that owners hold, those of the data user, and those that test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from veilboost.data.public import public_table
from veilboost.local import Columns
from veilboost.studies.visual_words import enlarged, histograms, words

Values = NDArray[np.floating]
Classes = NDArray[np.int64]
Rows = tuple[Values, Classes]

_OWN_IMAGES, _TEST_IMAGES = 500, 1000  # of each class
_LEAST = 0.2  # of these, also in a short run
_CLASSES = 20_000  # rows of owners for each class of images
_SYNTHETIC = 1_000_000
_CATEGORIES = (2, 2, 3, 4, 6, 10, 20, 27)
_AGES, _RARE = (1.5, 3.0), 1.0  # the law of ages, and how far the logit of a middling row lies below zero
_BRAZIL = {"own": 100_000, "test": 200_000}
_SEED, _STATE = 7, 3


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows of one kind; ``owners(repeat, count)`` are ``count`` of those that owners hold, others in each repeat."""

    name: str
    owners: Callable[[int, int], Rows]
    own: Rows
    test: Rows

    @property
    def columns(self) -> Columns:
        """The public bounds: the data user's own rows give them."""
        return Columns.of(self.own[0])


@lru_cache(maxsize=4)
def pool(name: str, share: float = 1.0) -> Pool:
    """Return "MNIST", "Fashion-MNIST", "Synthetic" or "Brazil"; ``share`` is how much of it a short run takes."""
    if name == "Brazil":
        return _brazil(share)
    if name == "Synthetic":
        return _synthetic(round(_SYNTHETIC * share))
    source, count = {"MNIST": ("mnist49", 50), "Fashion-MNIST": ("fashion06", 100)}[name]
    return _images(name, source, count, share)


def _images(name: str, source: str, count: int, share: float) -> Pool:
    """Return histograms of visual words, whose dictionary is that of the data user's own images."""
    table = public_table(source)
    pixels = np.column_stack([table[f"p{place}"].to_numpy() for place in range(784)]).reshape(-1, 28, 28)
    train = np.equal(table["split"].to_pylist(), "train")
    own, held, test = [], [], []
    for place, (mine, others, last) in enumerate(set_apart(table["label"].to_numpy(), train, share)):
        own.append(pixels[mine])
        held.append(enlarged(pixels[others], round(_CLASSES * share), seed=place))
        test.append(pixels[last])
    dictionary = words(np.concatenate(own), count)

    def rows(images: list[NDArray[np.uint8]]) -> Rows:
        truth = np.repeat(np.arange(len(images)), [len(each) for each in images])
        return histograms(np.concatenate(images), dictionary), truth

    return Pool(name, _shuffled(rows(held)), rows(own), rows(test))


def set_apart(
    label: NDArray[Any], train: NDArray[np.bool_], share: float
) -> Iterator[tuple[Classes, Classes, Classes]]:
    """Yield for each class the images of the data user, those of owners and those that test: none is two of these.

    That comes before any image is copied, so that a copy of one never tests.
    """
    for place, each in enumerate(np.unique(label)):
        mine = np.random.default_rng(place).permutation(np.flatnonzero(train & (label == each)))
        own = round(_OWN_IMAGES * max(share, _LEAST))
        test = np.flatnonzero(~train & (label == each))
        yield mine[:own], mine[own:], test[: round(_TEST_IMAGES * max(share, _LEAST))]


def _synthetic(count: int) -> Pool:
    """Return the paper's synthetic set: of its rows 75 % are owners', 20 % test, 5 % are the data user's.

    The paper gives no random state. This is the first whose nearest centroid is right in 87 %, to a point, as in print.
    """
    values, truth = make_classification(count, n_features=20, n_informative=10, n_redundant=10, random_state=_STATE)
    first, second = count * 3 // 4, count * 95 // 100
    held, test, own = ((values[a:b], truth[a:b]) for a, b in ((0, first), (first, second), (second, count)))
    return Pool("Synthetic", _shuffled(held), own, test)


def _shuffled(held: Rows) -> Callable[[int, int], Rows]:
    values, truth = held

    def owners(repeat: int, count: int) -> Rows:
        chosen = np.random.default_rng(repeat).permutation(len(values))[:count]
        return values[chosen], truth[chosen]

    return owners


def _brazil(share: float) -> Pool:
    """Return a stand-in for the census of Brazil, whose rows are made when they are asked for and kept nowhere."""
    own, test = (_census(part, round(_BRAZIL[part] * share)) for part in ("own", "test"))
    return Pool("Brazil", lambda repeat, count: _census(f"owners {repeat}", count), own, test)


def _census(part: str, count: int) -> Rows:
    """Return rows of 67 columns: age, and eight attributes as one binary column for each category but the first.

    Whether income is above its mean follows from all of them, by a logistic law, the same for all parts.
    """
    law, random = np.random.default_rng(_SEED), np.random.default_rng([_SEED, *part.encode()])
    values = np.zeros((count, 1 + sum(_CATEGORIES) - len(_CATEGORIES)), dtype=np.float32)
    effects = law.normal(0, 1, values.shape[1])
    values[:, 0] = random.beta(*_AGES, count)
    middle, first = effects[0] * _AGES[0] / sum(_AGES), 1
    for categories in _CATEGORIES:
        often = law.dirichlet(np.full(categories, 2.0))
        chosen = random.choice(categories, count, p=often)
        some = np.flatnonzero(chosen)
        values[some, first + chosen[some] - 1] = 1.0
        middle += often[1:] @ effects[first : first + categories - 1]
        first += categories - 1
    score = values @ effects.astype(np.float32) - middle
    truth = (random.random(count) < 1 / (1 + np.exp(_RARE - score))).astype(np.int64)
    return values, truth
