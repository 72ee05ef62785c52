"""The trees inside XGBoost's JSON: where they split, and the same trees with raw thresholds.

A node sends x left if float32(x) < threshold. Ranks are counted from 0 in there, so a threshold t lies after the rank
ceil(t) counted from 1. The raw threshold is the smallest float32 above the cut. Where every number goes left, no
threshold would do for the largest float32; so the two children change places and every number goes right.
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.errors import UsageError
from veilboost.trees.library import Floats
from veilboost.trees.rows import Feature
from veilboost.trees.settings import Task

_TASKS: dict[str, Task] = {
    "binary:logistic": "binary",
    "multi:softprob": "multiclass",
    "reg:squarederror": "regression",
}
_NOTHING_LEFT = float(str(np.finfo(np.float32).min))
_LEFT, _RIGHT, _SPLIT = "left_children", "right_children", "split_conditions"

Tree = dict[str, Any]


def _trees(document: Any) -> list[Tree]:
    trees: list[Tree] = document["learner"]["gradient_booster"]["model"]["trees"]
    return trees


def _ordered_splits(tree: Tree) -> list[int]:
    """Return the nodes that compare with a threshold."""
    pairs = zip(tree[_LEFT], tree["split_type"], strict=True)
    return [node for node, (left, category) in enumerate(pairs) if left != -1 and not category]


def places(model: bytes, features: Sequence[Feature]) -> list[NDArray[np.int64]]:
    """Return for each feature the ranks that are the last ones to go left at some split."""
    found: list[set[int]] = [set() for _ in features]
    for tree in _trees(msgspec.json.decode(model)):
        for node in _ordered_splits(tree):
            found[tree["split_indices"][node]].add(math.ceil(tree[_SPLIT][node]))
    limits = [feature.ranks for feature in features]
    return [
        np.array(sorted(place for place in each if 0 < place < limit), dtype=np.int64)
        for each, limit in zip(found, limits, strict=True)
    ]


def restore(model: bytes, features: Sequence[Feature], cuts: Sequence[Floats | None]) -> bytes:
    """Return the model with raw thresholds; leaves, categories and directions of missing values stay."""
    document = msgspec.json.decode(model)
    for tree in _trees(document):
        for node in reversed(_ordered_splits(tree)):  # children first, as they may change places with all below them
            column = tree["split_indices"][node]
            threshold = _threshold(math.ceil(tree[_SPLIT][node]), features[column].ranks, cuts[column])
            if threshold == math.inf:
                _exchange_children(tree, node)
                threshold = _NOTHING_LEFT
            tree[_SPLIT][node] = threshold
    return msgspec.json.encode(document)


def _threshold(place: int, ranks: int, cuts: Floats | None) -> float:
    if place <= 0:
        return _NOTHING_LEFT
    if place >= ranks or cuts is None:
        return math.inf
    return above(float(cuts[place - 1]))


def above(cut: float) -> float:
    """Return the smallest float32 above ``cut``, written with the digits that XGBoost's reader takes.

    >>> above(0.1), above(-1e300), above(3.5e38)
    (0.1, -3.4028235e+38, inf)
    """
    with np.errstate(over="ignore"):
        rounded = np.float32(cut)
        if float(rounded) <= cut:
            rounded = np.nextafter(rounded, np.float32(np.inf))
    return float(str(rounded))


def _exchange_children(tree: Tree, node: int) -> None:
    """Swap what lies left and right of ``node``; the contents move, as XGBoost looks for right beside left."""
    left, right = tree[_LEFT][node], tree[_RIGHT][node]
    for name, values in tree.items():
        if isinstance(values, list) and not name.startswith("categories") and len(values) == len(tree[_LEFT]):
            values[left], values[right] = values[right], values[left]
    for parent in (left, right):
        for child in (tree[_LEFT][parent], tree[_RIGHT][parent]):
            if child != -1:
                tree["parents"][child] = parent
    tree["default_left"][node] = 1 - tree["default_left"][node]
    _exchange_categories(tree, {left: right, right: left})


def _exchange_categories(tree: Tree, moved: dict[int, int]) -> None:
    names = ("categories_nodes", "categories_segments", "categories_sizes")
    rows = zip(*(tree[name] for name in names), strict=True)
    ordered = sorted((moved.get(node, node), segment, size) for node, segment, size in rows)
    for place, name in enumerate(names):
        tree[name] = [row[place] for row in ordered]


def combine(parts: Sequence[tuple[bytes, float]]) -> bytes:
    """Return one model with the trees of all parts, leaves times their weight; where they begin must be the same."""
    documents = [(msgspec.json.decode(model), weight) for model, weight in parts]
    first = documents[0][0]
    start = first["learner"]["learner_model_param"]["base_score"]
    joined: list[Tree] = []
    info: list[int] = []
    indptr = [0]
    for document, weight in documents:
        if document["learner"]["learner_model_param"]["base_score"] != start:
            raise UsageError("begins with another score than the other parts")
        held = document["learner"]["gradient_booster"]["model"]
        indptr += [len(joined) + end for end in held["iteration_indptr"][1:]]
        info += held["tree_info"]
        joined += [_weighted(tree, weight) for tree in held["trees"]]
    for place, tree in enumerate(joined):
        tree["id"] = place
    held = first["learner"]["gradient_booster"]["model"]
    held |= {"trees": joined, "tree_info": info, "iteration_indptr": indptr}
    held["gbtree_model_param"]["num_trees"] = str(len(joined))
    return msgspec.json.encode(first)


def _weighted(tree: Tree, weight: float) -> Tree:
    leaves = [left == -1 for left in tree[_LEFT]]
    scores = zip(tree[_SPLIT], leaves, strict=True)
    return tree | {
        "base_weights": [score * weight for score in tree["base_weights"]],
        _SPLIT: [score * weight if leaf else score for score, leaf in scores],
    }


def inspect(model: bytes) -> tuple[Task, tuple[str, ...]]:
    """Return task and feature names, after a look at everything that XGBoost's reader would trust."""
    try:
        learner = msgspec.json.decode(model)["learner"]
        task = _TASKS.get(learner["objective"]["name"])
        names = tuple(learner["feature_names"])
        if learner["gradient_booster"]["name"] != "gbtree":
            raise UsageError("is no model of plain trees")
        for tree in _trees({"learner": learner}):
            _check_tree(tree, len(names))
    except (msgspec.DecodeError, KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError("is no whole model of XGBoost") from error
    if task is None:
        raise UsageError(f"predicts {learner['objective']['name']!r}, not one of {', '.join(_TASKS)}")
    if not names:
        raise UsageError("names no features")
    return task, names


def _check_tree(tree: Tree, features: int) -> None:
    nodes = len(tree[_LEFT])
    if not nodes or any(
        len(tree[name]) != nodes for name in (_RIGHT, _SPLIT, "split_indices", "split_type", "parents")
    ):
        raise UsageError("has a tree whose parts do not fit")
    for node, (left, right) in enumerate(zip(tree[_LEFT], tree[_RIGHT], strict=True)):
        if (left == -1) != (right == -1) or (left != -1 and not (node < left < nodes and node < right < nodes)):
            raise UsageError("has a tree whose nodes do not fit")
        if not 0 <= tree["split_indices"][node] < features:
            raise UsageError("has a tree that splits a feature that is not there")
