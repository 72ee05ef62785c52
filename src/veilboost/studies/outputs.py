"""What a mechanism makes of one value: the exact probability of every output, and how alike mechanisms are."""

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.mechanisms import AdjMap, GlobalMap, TableMechanism, TightMap
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import GLOBAL, TIGHT, adj
from veilboost.studies.study import Progress

Floats = NDArray[np.float64]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The domain from ``lower`` on, in partitions of ``theta``, and the values that are desensitised."""

    epsilon: float
    size: int
    lower: int
    theta: int
    alphas: list[float]
    values: list[int]


def run(settings: Settings, progress: Progress) -> Outcome:
    """Read the probabilities off the tables that are sampled; nothing is drawn."""
    made = _mechanisms(settings)
    rows = {
        value: {line: each.probabilities()[value - settings.lower] for line, each in made.items()}
        for value in settings.values
    }
    cells = [
        Cell(panel=f"value {value}", line=line, at=float(settings.lower + place), values=[float(chance)])
        for value, lines in rows.items()
        for line, chances in lines.items()
        for place, chance in enumerate(chances)
    ]
    progress("computing", 1.0)
    claims = [claim for value, lines in rows.items() for claim in _claims(settings, value, lines)]
    return Outcome(cells=cells, claims=[*claims, _losses(settings, made)])


def _mechanisms(settings: Settings) -> dict[str, TableMechanism]:
    size, theta, epsilon = settings.size, settings.theta, settings.epsilon
    return {
        **{adj(alpha): AdjMap(epsilon=epsilon, size=size, theta=theta, alpha=alpha) for alpha in settings.alphas},
        GLOBAL: GlobalMap(epsilon=epsilon, size=size),
        TIGHT: TightMap(epsilon=epsilon, size=size),
    }


def _claims(settings: Settings, value: int, lines: dict[str, Floats]) -> Iterator[Claim]:
    first = (value - settings.lower) // settings.theta * settings.theta
    own = slice(first, first + settings.theta)
    of = {alpha: lines[adj(alpha)] for alpha in sorted(settings.alphas)}
    apart = {alpha: float(np.abs(row - lines[GLOBAL]).sum() / 2) for alpha, row in of.items()}
    stays = [float(row[own].sum()) for row in of.values()]
    steep = [float(row[own].max() / row[own].min()) for row in of.values()]
    yield Claim(
        says=f"From {value} Adj-map with α = 1 and Global-map almost coincide.",
        holds=apart[1.0] < 0.05,
        found=f"they share {1 - apart[1.0]:.3f} of their probability; α from {min(of):g} to {max(of):g}: "
        f"{', '.join(f'{1 - distance:.3f}' for distance in apart.values())}",
    )
    yield Claim(
        says=f"From {value} a larger α keeps a value in its partition more often.",
        holds=stays == sorted(stays),
        found=f"from {stays[0]:.3f} to {stays[-1]:.3f} of the time",
    )
    yield Claim(
        says=f"From {value} a larger α makes the output more even inside the partition.",
        holds=steep == sorted(steep, reverse=True),
        found=f"the likeliest output there is {steep[0]:.2f} to {steep[-1]:.2f} times as likely as the least likely",
    )


def _losses(settings: Settings, made: dict[str, TableMechanism]) -> Claim:
    """Return whether Adj-map really loses what its nominal ε says, beside the others."""
    worst = {line: max(made[line].profile().gaps) for line in (GLOBAL, adj(1.0), TIGHT)}
    return Claim(
        says="With α = 1 Adj-map lets no neighbours be told apart by more than the nominal ε.",
        holds=worst[adj(1.0)] <= settings.epsilon,
        found="; ".join(f"worst neighbours of {line}: {loss:.4f}" for line, loss in worst.items()),
    )
