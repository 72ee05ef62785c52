"""What is said of one round of local boosting, and whether it holds."""

from collections.abc import Iterator

from veilboost.studies.claims import never_worse
from veilboost.studies.outcome import Claim, Outcome

PLAIN, HIDDEN, PIECEWISE = "no noise", "Piecewise, labels hidden", "Piecewise"
_CLOSE, _SAME = 0.05, 0.03


def claims(found: Outcome, close: tuple[str, float] | None) -> Iterator[Claim]:
    """Yield the paper's sentences, and ours; ``close`` is the table and ε from which noise hardly matters in print."""
    ratios = [cell for panel in found.panels if panel.endswith(": closed form") for cell in found.of(panel)]
    worst = max(ratios, key=lambda cell: abs(cell.mean - 1))
    yield Claim(
        says="Every mechanism's error lies within 5 % of its own closed form, in every cell.",
        holds=abs(worst.mean - 1) <= _CLOSE,
        found=f"{min(cell.mean for cell in ratios):.3f} to {max(cell.mean for cell in ratios):.3f} times it; the worst "
        f"at {worst.panel}, {worst.line}, {worst.where}",
    )
    errors = Outcome(cells=[cell for panel in found.panels if panel.endswith(": error") for cell in found.of(panel)])
    rivals = [line for line in errors.lines if line not in (PIECEWISE, HIDDEN)]
    yield never_worse(errors, {PIECEWISE: rivals}, "Piecewise has the least error everywhere.", more_is_better=False)
    if close is not None:
        yield _close(found, *close)


def _close(found: Outcome, table: str, least: float) -> Claim:
    """Where there are many owners, Piecewise is to be as good as no noise, within some points."""
    lost = {
        cell.where: without.mean - cell.mean
        for cell in found.of(f"{table}: accuracy")
        if cell.line == PIECEWISE and isinstance(cell.at, float) and cell.at >= least
        for without in [found.cell(cell.panel, PLAIN, cell.where)]
        if without is not None
    }
    told = ", ".join(f"{100 * points:.1f} at ε = {at}" for at, points in lost.items())
    return Claim(
        says=f"{table}: from ε = {least:g} on, one round by Piecewise is within {100 * _SAME:.0f} points of no noise.",
        holds=max(lost.values(), default=0.0) <= _SAME,
        found=f"less often right by {told} (points)",
    )
