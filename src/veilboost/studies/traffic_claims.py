"""What is said about the bytes of OpBoost, and whether it holds."""

from collections.abc import Iterator, Mapping, Sequence

from veilboost.studies.outcome import Cell, Claim, Outcome

LEAD, PARTNER, WIDE = "bytes of party A", "bytes of party B", "bytes of party B, at four bytes a value"
REQUESTS, SPLITS = "different thresholds asked for, {}", "splits on columns of party B, {}"
PARTNERS, MEASURED, FORMULA = "bytes of all parties", "measured, thresholds {}", "formula of Theorem 5.4"


def claims(found: Outcome, tasks: Mapping[str, bool], epsilons: Sequence[float]) -> Iterator[Claim]:
    """Yield the paper's sentence on requests, and how bytes compare; ``tasks`` say whether the lead has columns too."""
    yield _of_splits(found, list(tasks), epsilons, "As ε decreases, so does the number of split points to request.")
    shared = [name for name, own in tasks.items() if own]
    if shared:
        says = f"It does where party A has columns of its own ({', '.join(shared)})."
        yield _of_splits(found, shared, epsilons, says)
    yield from _of_partners(found.of(PARTNERS))


def _of_splits(found: Outcome, tasks: Sequence[str], epsilons: Sequence[float], says: str) -> Claim:
    least, most = f"{min(epsilons):g}", f"{max(epsilons):g}"
    falls = {
        f"{small.line} on {name}": large.mean - small.mean
        for name in tasks
        for small in found.of(SPLITS.format(name))
        if small.where == least and (large := found.cell(small.panel, small.line, most)) is not None
    }
    rising = [where for where, fall in falls.items() if fall < 0]
    told = f"from ε = {most} to {least} it changes by {-max(falls.values()):+.0f} to {-min(falls.values()):+.0f}"
    grown = f"; it grows for {', '.join(rising)}" if rising else ""
    return Claim(says=says, holds=not rising, found=told + grown)


def _of_partners(cells: Sequence[Cell]) -> Iterator[Claim]:
    by = {(cell.line, float(cell.at)): cell.mean for cell in cells}
    formula = {at: mean for (line, at), mean in by.items() if line == FORMULA}
    measured = {key: mean for key, mean in by.items() if key[0] != FORMULA}
    shares = [mean / formula[at] for (_, at), mean in measured.items()]
    yield Claim(
        says="What is sent stays below the formula of Theorem 5.4.",
        holds=max(shares) < 1,
        found=f"{min(shares):.2f} to {max(shares):.2f} times as many bytes",
    )
    grown = [mean / (at - 1) for (_, at), mean in measured.items()]
    yield Claim(
        says="Each further partner with as many columns adds as many bytes.",
        holds=max(grown) < 1.1 * min(grown),
        found=f"{min(grown):.0f} to {max(grown):.0f} bytes for each partner",
    )
