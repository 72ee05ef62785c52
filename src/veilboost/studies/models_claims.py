"""What the paper says of its models, and what we say of TightMap, as sentences that the figures can refute."""

from collections.abc import Iterator

from veilboost.studies.claims import never_worse
from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import ADJS, GLOBAL, LOCAL, PIECEWISE, TIGHT

RAW, CODED = "no protection, raw", "no protection, codes"
_HALF, _TURN = 0.64, 2.56


def claims(found: Outcome, *, ratio: bool) -> list[Claim]:
    """Return every claim that the figures of a study decide."""
    return list(_ratios(found) if ratio else _curves(found))


def _of(found: Outcome, line: str) -> list[Cell]:
    return [cell for cell in found.cells if cell.line == line]


def _curves(found: Outcome) -> Iterator[Claim]:
    more = not _falls(found)
    yield _above_piecewise(found, more)
    rivals = [GLOBAL, *_adjs(found)]
    below = Outcome(cells=[cell for cell in found.cells if isinstance(cell.at, float) and cell.at < _TURN])
    says = f"Below ε = {_TURN:g} Local-map does better than Global-map and Adj-map."
    yield never_worse(below, {LOCAL: rivals}, says, more_is_better=more)
    yield from _undone(found)


def _falls(found: Outcome) -> bool:
    """Whether less of the measure is better: the model without protection has the least of it."""
    return _of(found, CODED)[0].mean < _of(found, GLOBAL)[0].mean


def _adjs(found: Outcome) -> list[str]:
    return [line for line in found.lines if line.startswith(ADJS)]


def _above_piecewise(found: Outcome, more: bool) -> Claim:
    says = "All order-preserving mechanisms do at least as well as Piecewise."
    return never_worse(
        found, {line: [PIECEWISE] for line in (LOCAL, GLOBAL, TIGHT, *_adjs(found))}, says, more_is_better=more
    )


def _undone(found: Outcome) -> Iterator[Claim]:
    """Of the loss between no protection and Global-map, how much TightMap with sharpening undoes from ε = 0.64 on."""
    shares = []
    for cell in _of(found, f"{TIGHT}, sharpened"):
        plain = found.cell(cell.panel, CODED, cell.where)
        rival = found.cell(cell.panel, GLOBAL, cell.where)
        if plain is None or rival is None or not isinstance(cell.at, float) or cell.at < _HALF:
            continue
        if abs(rival.mean - plain.mean) > 2 * rival.error:
            shares.append((cell.mean - rival.mean) / (plain.mean - rival.mean))
    if shares:
        yield Claim(
            says="From ε = 0.64 on, TightMap with sharpening undoes half of the loss between no protection (codes) and "
            "Global-map, wherever Global-map loses more than two standard errors.",
            holds=min(shares) >= 0.5,
            found=f"{min(shares):.2f} to {max(shares):.2f} of it, in {len(shares)} places",
        )


def _ratios(found: Outcome) -> Iterator[Claim]:
    local = [cell for cell in _of(found, LOCAL) if cell.at != "Reg."]
    worst = min(local, key=lambda cell: cell.mean)
    yield Claim(
        says="For classes, models by Local-map come within a tenth of those without protection.",
        holds=worst.mean > 0.9,
        found=f"at worst {worst.mean:.3f}, {worst.panel}, {worst.where}",
    )
    yield _above_piecewise(found, more=True)
