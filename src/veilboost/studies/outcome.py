"""What an experiment finds: figures with their repeats, and sentences of the paper that held or did not."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

At = float | str


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a study, once for each repeat: the same repeat of two cells saw the same rows.

    >>> cell = Cell(panel="Adult", line="TightMap", at=0.64, values=[0.5, 0.7])
    >>> round(cell.mean, 3), round(cell.error, 3), cell.where
    (0.6, 0.1, '0.64')
    """

    panel: str
    line: str
    at: At
    values: list[float]

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return math.fsum(self.values) / len(self.values)

    @property
    def error(self) -> float:
        """The standard error of the mean; 0 where nothing was repeated."""
        count = len(self.values)
        return statistics.stdev(self.values) / math.sqrt(count) if count > 1 else 0.0

    @property
    def where(self) -> str:
        """Its place across, as text."""
        return self.at if isinstance(self.at, str) else f"{self.at:g}"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence that the figures can refute; ``found`` are the figures that decide."""

    says: str
    holds: bool
    found: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that one run of an experiment found."""

    cells: list[Cell]
    claims: list[Claim] = []

    def cell(self, panel: str, line: str, where: str) -> Cell | None:
        """Return one figure, if it was run."""
        return self._places.get((panel, line, where))

    @cached_property
    def _places(self) -> dict[tuple[str, str, str], Cell]:
        return {(cell.panel, cell.line, cell.where): cell for cell in self.cells}

    @property
    def lines(self) -> list[str]:
        """The lines of all panels, in running order."""
        return list(dict.fromkeys(cell.line for cell in self.cells))

    @property
    def panels(self) -> list[str]:
        """The panels, in running order."""
        return list(dict.fromkeys(cell.panel for cell in self.cells))

    def of(self, panel: str) -> list[Cell]:
        """Return the figures of one panel."""
        return [cell for cell in self.cells if cell.panel == panel]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How much better ``ours`` is than ``rival`` in one place, paired over the repeats: above 0 is better."""

    panel: str
    at: str
    ours: str
    rival: str
    mean: float
    error: float

    @property
    def worse(self) -> bool:
        """Whether ours is worse by more than two standard errors, and by more than rounding."""
        return self.mean < -max(2 * self.error, 1e-15)


def differences(outcome: Outcome, pairs: Mapping[str, Sequence[str]], *, more_is_better: bool) -> Iterator[Difference]:
    """Yield for each line of ``pairs`` how much better it is than each of its rivals, place by place.

    >>> a = Cell(panel="p", line="TightMap", at=1.0, values=[3.0, 5.0])
    >>> b = Cell(panel="p", line="GRR", at=1.0, values=[2.0, 3.0])
    >>> [(d.mean, d.error) for d in differences(Outcome(cells=[a, b]), {"TightMap": ["GRR"]}, more_is_better=True)]
    [(1.5, 0.5)]
    """
    for ours, rivals in pairs.items():
        for cell in outcome.cells:
            if cell.line != ours:
                continue
            for rival in rivals:
                other = outcome.cell(cell.panel, rival, cell.where)
                if other is None or len(other.values) != len(cell.values):
                    continue
                signed = [
                    (mine - theirs) * (1 if more_is_better else -1)
                    for mine, theirs in zip(cell.values, other.values, strict=True)
                ]
                paired = Cell(panel="", line="", at="", values=signed)
                yield Difference(
                    panel=cell.panel, at=cell.where, ours=ours, rival=rival, mean=paired.mean, error=paired.error
                )
