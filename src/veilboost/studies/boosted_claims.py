"""What is said of local boosting, and whether it holds."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from veilboost.studies.outcome import Cell, Claim, Outcome

PLAIN, PRINTED = "no noise", "as printed"
_POINTS = 0.04


class _Sizes(Protocol):
    @property
    def epsilons(self) -> list[float]: ...

    @property
    def printed(self) -> list[tuple[float, float]]: ...


def claims(found: Outcome, tables: Mapping[str, _Sizes]) -> Iterator[Claim]:
    """Yield the paper's sentences, and what we have to reach."""
    for name, size in tables.items():
        told = []
        for epsilon, (_, print_) in zip(size.epsilons, size.printed, strict=True):
            _, last = _ends(found, name, f"{PRINTED}, ε = {epsilon:g}")
            told.append((epsilon, last.mean, print_))
        yield Claim(
            says=f"{name}: the boosted error is no worse than print plus 4 points.",
            holds=all(ours <= print_ + _POINTS for _, ours, print_ in told),
            found="; ".join(f"ε = {at:g}: {100 * ours:.1f} %, print {100 * print_:.0f} %" for at, ours, print_ in told),
        )
    ends = {name: _ends(found, name, f"{PRINTED}, ε = {size.epsilons[-1]:g}") for name, size in tables.items()}
    told_ = ", ".join(f"{name} {100 * a.mean:.1f} % to {100 * b.mean:.1f} %" for name, (a, b) in ends.items())
    yield Claim(
        says="Boosting makes errors fewer, as printed and at the largest ε, for every table.",
        holds=all(b.mean < a.mean - 2 * b.error for a, b in ends.values()),
        found=told_,
    )


def _ends(found: Outcome, name: str, line: str) -> tuple[Cell, Cell]:
    """Return the error of the first learner and that of the whole ensemble."""
    cells = [cell for cell in found.of(f"{name}: ensemble") if cell.line == line]
    return cells[0], cells[-1]
