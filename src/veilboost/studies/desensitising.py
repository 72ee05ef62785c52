"""How long it takes to desensitise a column: as multiples, also of order-preserving encryption."""

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
    TightMap,
)
from veilboost.studies.clock import seconds
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.redrawing import redrawn
from veilboost.studies.rivals import GLOBAL, LOCAL, TIGHT, adj
from veilboost.studies.study import Progress

Codes = NDArray[Any]
SAMPLED, BUILT, SHUT, PLAIN = "sampled from a table", "table built, then sampled", "redrawn in equal time", "redrawn"
OVER = "OPE's time over that of codes {}"
_TIMES = {SAMPLED: 50}
"""How often a way is gone in one measurement: what is over in less than a millisecond cannot be timed alone."""
AT = "ε = "
SAVED = "time of codes redrawn over that of codes sampled from a table"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``count`` uniform codes; of these ``encrypted`` are encrypted, and the time is scaled up."""

    size: int
    count: int
    encrypted: int
    epsilons: list[float]
    thetas: list[int]
    alphas: list[float]
    repeats: int
    seed: int


def run(settings: Settings, progress: Progress) -> Outcome:
    """Measure all of them in turn, ``repeats`` times, on one core."""
    codes = np.random.default_rng(settings.seed).integers(1, settings.size + 1, settings.count, dtype=np.uint8)
    encrypt = _cipher(settings, codes)
    works = {
        (epsilon, line): _ways(table, exact, codes, settings.seed)
        for epsilon in settings.epsilons
        for line, (table, exact) in _lines(settings, epsilon).items()
    }
    taken: dict[tuple[str, str, float], list[float]] = {}
    for done in range(settings.repeats):
        cipher = None if encrypt is None else seconds(encrypt) * settings.count / settings.encrypted
        for place, ((epsilon, line), ways) in enumerate(works.items()):
            times = {way: seconds(work) / _TIMES.get(way, 1) for way, work in ways.items()}
            for panel, ratio in _ratios(times, cipher).items():
                taken.setdefault((panel, line, epsilon), []).append(ratio)
            progress("measuring", (done + (place + 1) / len(works)) / settings.repeats)
    return _outcome(taken)


def _cipher(settings: Settings, codes: Codes) -> Callable[[], object] | None:
    """Return what encrypts some codes, or nothing where the library is not installed."""
    try:
        from pyope.ope import OPE, ValueRange
    except ImportError:
        return None
    cipher = OPE(OPE.generate_key(), in_range=ValueRange(1, settings.size), out_range=ValueRange(1, 2**31))
    some = codes[: settings.encrypted].tolist()
    return lambda: [cipher.encrypt(code) for code in some]


def _lines(settings: Settings, epsilon: float) -> Mapping[str, tuple[Callable[[], TableMechanism], Mechanism | None]]:
    """Return each line as what makes its table, and what draws the same without one in equal time."""
    size = settings.size
    found: dict[str, tuple[Callable[[], TableMechanism], Mechanism | None]] = {
        TIGHT: (lambda: TightMap(epsilon=epsilon, size=size), None),
        GLOBAL: (lambda: GlobalMap(epsilon=epsilon, size=size), BoundedLaplace(epsilon=epsilon, size=size)),
    }
    for theta in settings.thetas:
        local = partial(LocalMap, epsilon=epsilon, size=size, theta=theta)
        found[f"{LOCAL}, θ = {theta}"] = local, LocalLaplace(epsilon=epsilon, size=size, theta=theta)
    for theta in settings.thetas:
        for alpha in settings.alphas:
            near = partial(AdjMap, epsilon=epsilon, size=size, theta=theta, alpha=alpha)
            exact = AdjLaplace(epsilon=epsilon, size=size, theta=theta, alpha=alpha)
            found[f"{adj(alpha)}, θ = {theta}"] = near, exact
    return found


def _ways(
    make: Callable[[], TableMechanism], exact: Mechanism | None, codes: Codes, seed: int
) -> Mapping[str, Callable[[], object]]:
    """Return the ways to draw ``codes``, tried once on a few of them so that nothing is compiled while we measure."""
    table = make()
    ways: dict[str, Callable[[Codes], object]] = {
        SAMPLED: lambda some: table.draw(some, threads=1),
        BUILT: lambda some: make().draw(some, threads=1),
    }
    if exact is not None:
        ways[SHUT] = lambda some: exact.draw(some, threads=1)
        ways[PLAIN] = lambda some: redrawn(table, some, seed)
    for work in ways.values():
        work(codes[:100])
    return {way: partial(_again, work, codes, _TIMES.get(way, 1)) for way, work in ways.items()}


def _again(work: Callable[[Codes], object], codes: Codes, times: int) -> None:
    for _ in range(times):
        work(codes)


def _ratios(taken: Mapping[str, float], cipher: float | None) -> Mapping[str, float]:
    found = {} if cipher is None else {OVER.format(way): cipher / time for way, time in taken.items()}
    return found | ({SAVED: taken[PLAIN] / taken[SAMPLED]} if PLAIN in taken else {})


def _outcome(taken: Mapping[tuple[str, str, float], list[float]]) -> Outcome:
    order = [*(OVER.format(way) for way in (SAMPLED, BUILT, SHUT, PLAIN)), SAVED]
    cells = [
        Cell(panel=panel, line=line, at=f"{AT}{epsilon:g}", values=values)
        for (panel, line, epsilon), values in taken.items()
    ]
    found = Outcome(cells=sorted(cells, key=lambda cell: order.index(cell.panel)))
    return Outcome(cells=found.cells, claims=list(_claims(found)))


def _claims(found: Outcome) -> Iterator[Claim]:
    """Yield the paper's sentence, and ours; without the cipher only what does not need it."""
    for way, least, says in (
        (PLAIN, 40, "Redrawing is at least 40 times as fast as OPE (in print: 40 to 200 times)."),
        (SHUT, 40, "So it is where no value takes longer than another."),
        (SAMPLED, 1000, "Sampling from a table is at least 1,000 times as fast as OPE."),
    ):
        ratios = [cell.mean for cell in found.of(OVER.format(way))]
        if ratios:
            yield Claim(says=says, holds=min(ratios) >= least, found=f"{min(ratios):.0f} to {max(ratios):.0f} times")
    small = min(found.of(SAVED), key=lambda cell: float(cell.where.removeprefix(AT)))
    saved = [cell.mean for cell in found.of(SAVED) if cell.at == small.at]
    yield Claim(
        says=f"At {small.at} redrawing takes longer than sampling from a table, whatever the mechanism.",
        holds=min(saved) > 1,
        found=f"{min(saved):.1f} to {max(saved):.0f} times as long",
    )
