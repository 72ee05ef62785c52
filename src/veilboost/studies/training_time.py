"""How much longer training takes when noise is redrawn until it fits, rather than sampled from a table."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import (
    AdjLaplace,
    AdjMap,
    BoundedLaplace,
    GlobalMap,
    LocalLaplace,
    LocalMap,
    Mechanism,
    TableMechanism,
)
from veilboost.studies.clock import seconds
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.redrawing import redrawn
from veilboost.studies.rivals import GLOBAL, LOCAL, adj
from veilboost.studies.study import Progress
from veilboost.studies.tasks import Training, training
from veilboost.trees import Feature, Rows, restore, train

Codes = NDArray[Any]
Draw = Callable[[Codes], Codes]
BOOSTED = {"GBDT": True, "XGBoost": False}
"""Whether second derivatives are left out."""
PLAIN, SHUT, SHARE = (
    "whole training, codes redrawn, over that with a table",
    "whole training, codes redrawn in equal time, over that with a table",
    "share of the whole training that sampling from a table takes",
)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is trained, on how many trees; without ``rows`` on all of them."""

    tasks: list[str]
    size: int
    epsilon: float
    theta: int
    alphas: list[float]
    trees: int
    repeats: int
    rows: int | None = None


def run(settings: Settings, progress: Progress) -> Outcome:
    """Train in all ways in turn, ``repeats`` times, on one core."""
    tasks = {name: training(name, settings.size, settings.rows) for name in settings.tasks}
    places = [(f"{boosted}, {name}", tasks[name], first) for name in tasks for boosted, first in BOOSTED.items()]
    ways = {line: _ways(table, exact) for line, (table, exact) in _mechanisms(settings).items()}
    _warm_up(ways)
    found: dict[tuple[str, str, str], list[float]] = {}
    for done in range(settings.repeats):
        for place, (where, task, first) in enumerate(places):
            for line, draws in ways.items():
                for panel, figure in _measured(task, draws, first_order=first, trees=settings.trees).items():
                    found.setdefault((panel, line, where), []).append(figure)
            progress("training", (done + (place + 1) / len(places)) / settings.repeats)
    return _outcome(settings, found)


def _mechanisms(settings: Settings) -> Mapping[str, tuple[TableMechanism, Mechanism]]:
    """Return each table with what draws the same without one."""
    epsilon, size, theta = settings.epsilon, settings.size, settings.theta
    return {
        LOCAL: (
            LocalMap(epsilon=epsilon, size=size, theta=theta),
            LocalLaplace(epsilon=epsilon, size=size, theta=theta),
        ),
        GLOBAL: (GlobalMap(epsilon=epsilon, size=size), BoundedLaplace(epsilon=epsilon, size=size)),
        **{
            adj(alpha): (
                AdjMap(epsilon=epsilon, size=size, theta=theta, alpha=alpha),
                AdjLaplace(epsilon=epsilon, size=size, theta=theta, alpha=alpha),
            )
            for alpha in settings.alphas
        },
    }


def _ways(table: TableMechanism, exact: Mechanism) -> Mapping[str, Draw]:
    return {
        SHARE: lambda codes: table.draw(codes, threads=1),
        PLAIN: lambda codes: redrawn(table, codes, seed=1),
        SHUT: lambda codes: exact.draw(codes, threads=1),
    }


def _warm_up(ways: Mapping[str, Mapping[str, Draw]]) -> None:
    """Draw a little, so that nothing is compiled while we measure."""
    for draws in ways.values():
        for draw in draws.values():
            draw(np.array([1, 2], dtype=np.uint16))


def _measured(task: Training, draws: Mapping[str, Draw], *, first_order: bool, trees: int) -> Mapping[str, float]:
    """Return the ratios of whole trainings to the one with a table, and the share that its sampling takes.

    Training is timed once for all ways: what they draw has one distribution.
    """
    noisy = [draws[SHARE](codes) for codes in task.private.values()]
    rest = seconds(partial(_train, task, noisy, first_order, trees))
    drawing = {way: seconds(partial(_draw_all, task, draw)) for way, draw in draws.items()}
    whole = {way: rest + time for way, time in drawing.items()}
    found = {way: time / whole[SHARE] for way, time in whole.items()}
    return found | {SHARE: drawing[SHARE] / whole[SHARE]}


def _draw_all(task: Training, draw: Draw) -> None:
    for codes in task.private.values():
        draw(codes)


def _train(task: Training, noisy: list[Codes], first_order: bool, trees: int) -> None:
    """Train on what came out, and put thresholds back: between one code and the next."""
    columns = [*noisy, *task.own.values()]
    features = [*(Feature(name, ranks=task.size) for name in task.private), *task.own]
    cuts = [np.arange(1, feature.ranks, dtype=np.float64) if feature.ranks else None for feature in features]
    boosting = task.boosting(first_order=first_order, trees=trees)
    restore(train(boosting, features, Rows(columns, task.target)), cuts)


def _outcome(settings: Settings, found: Mapping[tuple[str, str, str], list[float]]) -> Outcome:
    cells = [Cell(panel=panel, line=line, at=where, values=values) for (panel, line, where), values in found.items()]
    order = [PLAIN, SHUT, SHARE]
    made = Outcome(cells=sorted(cells, key=lambda cell: order.index(cell.panel)))
    return Outcome(cells=made.cells, claims=list(_claims(settings, made)))


def _claims(settings: Settings, found: Outcome) -> Iterator[Claim]:
    slowest, ratios = adj(max(settings.alphas)), {(c.line, c.at): c.mean for c in found.of(PLAIN)}
    places = list(dict.fromkeys(at for _, at in ratios))
    rest = [max(ratio for (line, at), ratio in ratios.items() if at == place and line != slowest) for place in places]
    margins = [ratios[slowest, place] / most for place, most in zip(places, rest, strict=True)]
    yield Claim(
        says=f"{slowest} takes longest by far when it is redrawn: its noise inside a partition is the widest.",
        holds=min(margins) > 1,
        found=f"whole trainings take {min(margins):.2f} to {max(margins):.2f} times as long as those of any other",
    )
    order = [GLOBAL, LOCAL, *(adj(alpha) for alpha in sorted(settings.alphas))]
    rising = [
        [ratios[line, place] for line in order] == sorted(ratios[line, place] for line in order) for place in places
    ]
    yield Claim(
        says="Redrawing adds least to Global-map, then to Local-map, then to Adj-map, the more the larger α is.",
        holds=all(rising),
        found=f"so it is in {sum(rising)} of {len(rising)} places; in print in all but XGBoost, Pen-digits",
    )
    shares = [cell.mean for cell in found.of(SHARE)]
    yield Claim(
        says="Sampling from a table takes less than a tenth of the training.",
        holds=max(shares) < 0.1,
        found=f"{min(shares):.2%} to {max(shares):.2%}",
    )
