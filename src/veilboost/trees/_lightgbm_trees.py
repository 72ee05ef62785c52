"""The trees inside LightGBM's text: where they split, and the same trees with raw thresholds.

A node sends x left if x <= threshold, in float64, so a threshold t lies after the rank floor(t), and the raw threshold
is the cut itself. Where the training rows lacked no value, LightGBM would read a missing one as 0 and send it left, as
ranks start at 1; with raw thresholds that has to be written down.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veilboost.errors import UsageError
from veilboost.trees.library import Floats
from veilboost.trees.rows import Feature
from veilboost.trees.settings import Task

_TASKS: dict[str, Task] = {"binary": "binary", "multiclass": "multiclass", "regression": "regression"}
_CATEGORY, _DEFAULT_LEFT, _NAN = 1, 2, 8
_ANY = "[-1.7976931348623157e+308:1.7976931348623157e+308]"

Tree = dict[str, list[str]]


def _parts(model: bytes) -> tuple[str, list[str], str]:
    """Return what stands before the trees, the trees, and what stands after them."""
    head, first, rest = model.decode().partition("\nTree=0\n")
    if not first:
        head, first, rest = model.decode().partition("\nend of trees\n")
        return head + "\n", [], first[1:] + rest
    trees, end, tail = (first[1:] + rest).partition("end of trees\n")
    return head + "\n", re.split(r"(?m)^(?=Tree=\d+$)", trees)[1:], end + tail


def _fields(tree: str) -> Tree:
    return {name: values.split() for name, _, values in (line.partition("=") for line in tree.splitlines()) if name}


def _ordered_splits(tree: Tree) -> list[int]:
    """Return the nodes that compare with a threshold."""
    return [node for node, kind in enumerate(tree.get("decision_type", [])) if not int(kind) & _CATEGORY]


def places(model: bytes, features: Sequence[Feature]) -> list[NDArray[np.int64]]:
    """Return for each feature the ranks that are the last ones to go left at some split."""
    found: list[set[int]] = [set() for _ in features]
    for tree in map(_fields, _parts(model)[1]):
        for node in _ordered_splits(tree):
            feature = int(tree["split_feature"][node])
            found[feature].add(_place(tree["threshold"][node], features[feature].ranks))
    limits = [feature.ranks for feature in features]
    return [
        np.array(sorted(place for place in each if 0 < place < limit), dtype=np.int64)
        for each, limit in zip(found, limits, strict=True)
    ]


def _place(threshold: str, ranks: int) -> int:
    return math.floor(max(0.0, min(float(threshold), float(ranks))))


def restore(model: bytes, features: Sequence[Feature], cuts: Sequence[Floats | None]) -> bytes:
    """Return the model with raw thresholds; leaves, categories and directions of missing values stay."""
    head, trees, tail = _parts(model)
    infos = next(line for line in head.splitlines() if line.startswith("feature_infos="))
    head = head.replace(infos, f"feature_infos={_infos(infos, features)}")
    return _whole(head, [_restored(tree, features, cuts) for tree in trees], tail)


def _whole(head: str, trees: Sequence[str], tail: str) -> bytes:
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    return (re.sub(r"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}", head) + "".join(trees) + tail).encode()


def _infos(line: str, features: Sequence[Feature]) -> str:
    """Return what the file says about the values of each feature: of ranks, only that they are now any number."""
    given = line.partition("=")[2].split()
    pairs = zip(features, given, strict=True)
    return " ".join(_ANY if feature.ranks and info != "none" else info for feature, info in pairs)


def _restored(tree: str, features: Sequence[Feature], cuts: Sequence[Floats | None]) -> str:
    fields = _fields(tree)
    for node in _ordered_splits(fields):
        _restore_split(fields, node, features, cuts)
    lines = tree.splitlines(keepends=True)
    changed = ("threshold", "decision_type", "left_child", "right_child")
    return "".join(
        f"{name}={' '.join(fields[name])}\n" if (name := line.partition("=")[0]) in changed else line for line in lines
    )


def _restore_split(tree: Tree, node: int, features: Sequence[Feature], cuts: Sequence[Floats | None]) -> None:
    column, kind = int(tree["split_feature"][node]), int(tree["decision_type"][node])
    place, given = _place(tree["threshold"][node], features[column].ranks), cuts[column]
    if not kind & _NAN:
        kind |= _NAN | _DEFAULT_LEFT
    if place == 0:  # no number goes left; no threshold says so, but all go left where the children change places
        left, right = tree["left_child"], tree["right_child"]
        left[node], right[node] = right[node], left[node]
        kind ^= _DEFAULT_LEFT
    inner = given is not None and 0 < place < features[column].ranks
    tree["threshold"][node] = repr(float(given[place - 1])) if given is not None and inner else "inf"
    tree["decision_type"][node] = str(kind)


def combine(parts: Sequence[tuple[bytes, float]]) -> bytes:
    """Return one model with the trees of all parts, leaves times their weight; the first holds where it begins."""
    head, _, tail = _parts(parts[0][0])
    joined: list[str] = []
    for model, weight in parts:
        joined += [_weighted(tree, weight) for tree in _parts(model)[1]]
    numbered = [re.sub(r"\ATree=\d+", f"Tree={place}", tree) for place, tree in enumerate(joined)]
    return _whole(head, numbered, tail)


def _weighted(tree: str, weight: float) -> str:
    def times(line: re.Match[str]) -> str:
        return line[1] + " ".join(repr(float(value) * weight) for value in line[2].split())

    return re.sub(r"(?m)^((?:leaf|internal)_value=)(.*)$", times, tree)


def inspect(model: bytes) -> tuple[Task, tuple[str, ...]]:
    """Return task and feature names, after a look at everything that LightGBM's reader would trust."""
    try:
        head, trees, tail = _parts(model)
        fields = _fields(head)
        names, objective = tuple(fields["feature_names"]), fields["objective"][0]
        for tree in trees:
            _check_tree(_fields(tree), len(names))
    except (UnicodeDecodeError, KeyError, IndexError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError("is no whole model of LightGBM") from error
    if not tail.startswith("end of trees\n") or len(trees) != len(fields.get("tree_sizes", [])):
        raise UsageError("is no whole model of LightGBM")
    if objective not in _TASKS:
        raise UsageError(f"predicts {objective!r}, not one of {', '.join(_TASKS)}")
    return _TASKS[objective], names


def _check_tree(tree: Tree, features: int) -> None:
    leaves = int(tree["num_leaves"][0])
    splits = max(leaves - 1, 0)
    if len(tree["leaf_value"]) != leaves or any(
        len(tree.get(name, [])) != splits
        for name in ("split_feature", "threshold", "decision_type", "left_child", "right_child")
    ):
        raise UsageError("has a tree whose parts do not fit")
    for node in range(splits):
        children = [int(tree[side][node]) for side in ("left_child", "right_child")]
        if any(not (node < child < splits or -leaves <= child < 0) for child in children):
            raise UsageError("has a tree whose nodes do not fit")
        if not 0 <= int(tree["split_feature"][node]) < features:
            raise UsageError("has a tree that splits a feature that is not there")
