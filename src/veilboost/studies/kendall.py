"""How much order a whole column keeps: the weighted Kendall coefficient, drawn and exactly expected."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from veilboost.data.public import public_table
from veilboost.mechanisms import Mechanism, TableMechanism
from veilboost.privacy import expected_weighted_kendall, weighted_kendall
from veilboost.randomness import ReplayableBits
from veilboost.studies.kendall_claims import claims
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.public import codes_of
from veilboost.studies.repeats import each
from veilboost.studies.rivals import all_of, at_kept
from veilboost.studies.study import Progress


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The column, the mechanisms and how often each of them is drawn; without ``rows`` the whole column."""

    column: Literal["adult age", "uniform"]
    rows: int | None = None
    size: int
    thetas: list[int]
    epsilons: list[float]
    alphas: list[float]
    fair_to: list[str] = []
    repeats: int
    seed: int


PRINTED, LOST, EXPECTED = "by Definition 6.1", "a tie counts as lost", "a tie counts as lost, expected exactly"


class _Work(msgspec.Struct, frozen=True):
    theta: int
    epsilon: float
    line: str
    mechanism: Mechanism
    bits: list[int]
    """A seed for each repeat."""


def run(settings: Settings, progress: Progress) -> Outcome:
    """Draw each mechanism on the column, as often as asked for, and compute what was to be expected."""
    raw = _column(settings)
    counts = np.bincount(raw, minlength=settings.size + 1)[1:].tolist()
    works = list(_works(settings))
    drawn = each(lambda work: _drawn(raw, work), works, lambda done: progress("drawing", done))
    cells = []
    for work, (printed, lost) in zip(works, drawn, strict=True):
        cells += [_cell(work, PRINTED, printed), _cell(work, LOST, lost)]
        if isinstance(work.mechanism, TableMechanism):
            exact = expected_weighted_kendall(work.mechanism.table.weights, counts=counts)
            cells.append(_cell(work, EXPECTED, [exact]))
    found = Outcome(cells=sorted(cells, key=lambda cell: _panels(settings).index(cell.panel)))
    told = claims(found, settings.alphas, lost=LOST, expected=EXPECTED, one_row=most_of_one_row(counts))
    return Outcome(cells=found.cells, claims=list(told))


def most_of_one_row(counts: Sequence[int]) -> float:
    """Return the most that the coefficient can lose by one row: all of its pairs, which then count against.

    >>> most_of_one_row([1, 1]), most_of_one_row([5, 0, 5])
    (2.0, 0.4)
    """
    held = np.asarray(counts)
    rank = np.cumsum(held > 0)
    own = np.abs(rank - rank[:, None]) @ held
    return float(4 * own[held > 0].max() / (held @ own))


def _panels(settings: Settings) -> list[str]:
    return [_panel(theta, way) for theta in settings.thetas for way in (PRINTED, LOST, EXPECTED)]


def _panel(theta: int, way: str) -> str:
    return f"θ = {theta}, {way}"


def _cell(work: _Work, way: str, values: Sequence[float]) -> Cell:
    return Cell(panel=_panel(work.theta, way), line=work.line, at=work.epsilon, values=list(values))


def _column(settings: Settings) -> NDArray[Any]:
    rng = np.random.default_rng(settings.seed)
    if settings.column == "uniform":
        return rng.integers(1, settings.size + 1, settings.rows)
    table = public_table("adult")
    train = np.equal(table["split"].to_pylist(), "train")
    codes = codes_of(table["age"].to_numpy()[train], settings.size)
    return codes if settings.rows is None else rng.permutation(codes)[: settings.rows]


def _works(settings: Settings) -> Iterator[_Work]:
    """Yield every mechanism at every θ and ε, with random bits of its own."""
    for i, theta in enumerate(settings.thetas):
        for j, epsilon in enumerate(settings.epsilons):
            made = all_of(epsilon, size=settings.size, theta=theta, alphas=settings.alphas, fair_to=settings.fair_to)
            made |= at_kept(made)
            for k, (line, mechanism) in enumerate(made.items()):
                seeds = np.random.SeedSequence((settings.seed, i, j, k)).generate_state(settings.repeats, np.uint64)
                yield _Work(theta, epsilon, line, mechanism, seeds.tolist())


def _drawn(raw: NDArray[Any], work: _Work) -> tuple[list[float], list[float]]:
    """Return both coefficients of each repeat."""
    printed, lost = [], []
    for seed in work.bits:
        noisy = work.mechanism.draw(raw, bits=ReplayableBits(seed=seed), threads=1)
        printed.append(weighted_kendall(raw, noisy, norm="both"))
        lost.append(weighted_kendall(raw, noisy))
    return printed, lost
