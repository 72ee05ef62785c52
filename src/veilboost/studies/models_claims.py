"""What the paper says of its models, and what we say of TightMap, as sentences that the figures can refute."""

from collections.abc import Iterator

from veilboost.studies.outcome import Cell, Claim, Outcome
from veilboost.studies.rivals import ADJS, GLOBAL, LOCAL, PIECEWISE, TIGHT

_HALF = 0.64


def claims(found: Outcome, *, ratio: bool) -> list[Claim]:
    """Return every claim that the figures of a study decide."""
    return list(_ratios(found) if ratio else _curves(found))


def _of(found: Outcome, line: str) -> list[Cell]:
    return [cell for cell in found.cells if cell.line == line]


def _better(a: float, b: float, less: bool) -> bool:
    return a <= b if less else a >= b


def _curves(found: Outcome) -> Iterator[Claim]:
    less = _falls(found)
    yield _all_above(found, PIECEWISE, "All order-preserving mechanisms do better than Piecewise.", less)
    yield _local(found, less)
    yield from _undone(found)


def _falls(found: Outcome) -> bool:
    """Whether less of the measure is better: the model without protection has the least of it."""
    plain = _of(found, "no protection, codes")[0].mean
    return plain < _of(found, GLOBAL)[0].mean


def _all_above(found: Outcome, rival: str, says: str, less: bool) -> Claim:
    worse = [
        f"{cell.line} at {cell.panel}, {cell.where}"
        for cell in found.cells
        if cell.line in (LOCAL, GLOBAL, TIGHT) or ADJS in cell.line
        if (other := found.cell(cell.panel, rival, cell.where)) is not None and not _better(cell.mean, other.mean, less)
    ]
    return Claim(says=says, holds=not worse, found="; ".join(worse) or "everywhere")


def _local(found: Outcome, less: bool) -> Claim:
    worse = [
        f"{cell.panel}, {cell.where}"
        for cell in _of(found, LOCAL)
        if isinstance(cell.at, float) and cell.at < 2.56
        if any(
            not _better(cell.mean, other.mean, less)
            for other in found.of(cell.panel)
            if other.at == cell.at and (other.line == GLOBAL or ADJS in other.line)
        )
    ]
    return Claim(
        says="Below ε = 2.56 Local-map does better than Global-map and Adj-map.",
        holds=not worse,
        found="; ".join(worse) or "everywhere",
    )


def _undone(found: Outcome) -> Iterator[Claim]:
    """Of the loss between no protection and Global-map, how much TightMap with sharpening undoes from ε = 0.64 on."""
    shares = []
    for cell in _of(found, f"{TIGHT}, sharpened"):
        plain = found.cell(cell.panel, "no protection, codes", cell.where)
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
    local = _of(found, LOCAL)
    worst = min(local, key=lambda cell: cell.mean)
    yield Claim(
        says="Models by Local-map come near those without protection: within a tenth for classes.",
        holds=all(cell.mean > 0.9 for cell in local if cell.at != "Reg."),
        found=f"at worst {worst.mean:.3f}, {worst.panel}, {worst.where}",
    )
    yield _all_above(found, PIECEWISE, "All order-preserving mechanisms do better than Piecewise.", less=False)
