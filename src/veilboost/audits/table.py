"""Audit a mechanism from outside: draw from it, and try to refute the privacy loss that it states."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veilboost.audits.agreement import Agreement, agreement
from veilboost.audits.distinguish import Evidence, tell_apart
from veilboost.audits.sample import Sample, split
from veilboost.errors import SettingError
from veilboost.privacy import ApproximateDP, Definition
from veilboost.privacy.rounding import shown
from veilboost.randomness import Bits
from veilboost.settings import whole

Pairs = Sequence[tuple[int, int]]
Loss = Callable[[int, int], float]

_FEWEST_SAMPLES = 1000
_MOST_SAMPLES = 10**9
_LARGEST_VALUE = 2**31 - 1
_ALL_NEIGHBOURS = 16
_SPREAD = 12
_LINES = 6
_WIDTH = 60


@runtime_checkable
class Audited(Protocol):
    """What an audit asks of a mechanism; it calls ``draw`` and reads what is claimed, nothing else.

    Where there are a ``size``, a ``profile()``, ``probabilities()`` or an ``epsilon_at``, it reads those too.
    """

    @property
    def definition(self) -> Definition: ...

    def draw(self, codes: ArrayLike, *, bits: Bits | None = None) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Finding:
    """What one pair of inputs gave away, against what the mechanism says that it may."""

    evidence: Evidence
    claimed: float
    """By the stated definition."""
    computed: float
    """By the profile of the mechanism's table, else by its `epsilon_at` where that is less than ``claimed``."""

    @property
    def epsilon_lower(self) -> float:
        """The pair's loss is at least this, up to the audit's level."""
        return self.evidence.epsilon_lower

    @property
    def excess(self) -> float:
        """How far the bound lies above the smaller claim; -inf where nothing is claimed."""
        return self.epsilon_lower - min(self.claimed, self.computed)

    @property
    def refuted(self) -> bool:
        """Whether a claim about this pair is refuted."""
        return self.excess > 0

    def values(self) -> dict[str, object]:
        """Return the finding as plain values."""
        losses = {"loss_at_least": self.epsilon_lower, "claimed": self.claimed, "computed": self.computed}
        return {"likelier": self.evidence.likelier, "rarer": self.evidence.rarer, **losses, "refuted": self.refuted}


@dataclass(frozen=True)
class TableAudit:
    """The findings of one audit; see `audit_table` for what they mean."""

    mechanism: str
    samples: int
    level: float
    findings: tuple[Finding, ...]
    agreement: Agreement | None
    """Whether outputs come as often as stated; nothing where the mechanism states no probabilities."""

    @property
    def worst(self) -> Finding:
        """The finding that exceeds its claim most, or comes closest to it."""
        return _worst_first(self.findings)[0]

    @property
    def loss_refuted(self) -> bool:
        """Whether a pair loses more than is claimed."""
        return self.worst.refuted

    @property
    def agreement_refuted(self) -> bool:
        """Whether outputs do not come as often as stated."""
        return self.agreement is not None and self.agreement.p_value < self.level / 2

    @property
    def refuted(self) -> bool:
        """Whether anything that the mechanism states is refuted."""
        return self.loss_refuted or self.agreement_refuted

    def values(self) -> dict[str, object]:
        """Return the audit as plain values."""
        return {
            "mechanism": self.mechanism,
            "samples": self.samples,
            "level": self.level,
            "refuted": self.refuted,
            "pairs": [finding.values() for finding in self.findings],
            "agreement_p_value": None if self.agreement is None else self.agreement.p_value,
        }

    def __str__(self) -> str:
        shown = _worst_first(self.findings)[:_LINES]
        name = self.mechanism if len(self.mechanism) <= _WIDTH else f"{self.mechanism[: _WIDTH - 1]}…"
        lines = [
            f"{name}: {len(self.findings)} pairs of inputs, {self.samples:,} outputs for each input",
            f"{'pair':<32}{'loss at least':>13}{'claimed':>12}{'computed':>12}",
            *(_line(finding) for finding in shown),
            f"({len(shown)} of {len(self.findings)} pairs, the most telling ones first)",
            _agreement_line(self.agreement),
            _conclusion(self),
        ]
        return "\n".join(lines)


def audit_table(
    mechanism: Audited,
    *,
    samples: int = 1_000_000,
    level: float = 1e-9,
    pairs: Pairs | None = None,
    bits: Bits | None = None,
    progress: Callable[[float], None] | None = None,
) -> TableAudit:
    """Draw ``samples`` outputs for every input of ``pairs``, and try to refute what ``mechanism`` claims.

    **Guarantee**: if everything that ``mechanism`` claims is true and the draws for each input are independent,
    the audit refutes something with probability at most ``level``. Half of it goes to the pairs: each gets
    ``level`` / (2 ``len(pairs)``), so that with probability at least 1 - ``level`` / 2 every `Finding.epsilon_lower`
    at once lies below the pair's true loss (see `tell_apart`). The other half goes to `Agreement`. Not refuting
    proves nothing: a pair that was not tried, a rarer output or a smaller excess stays unseen.

    ``pairs`` must not be chosen after looking at outputs; without them, every pair of neighbours of a domain of up to
    16 codes, otherwise neighbours spread over it and at the table's widest and narrowest gap, and some far pairs.
    ``bits`` go to ``draw``, which is called once for each input, after a call for no input at all. ``progress`` is
    called with the share done.

    >>> from veilboost.mechanisms import TightMap
    >>> audit = audit_table(TightMap(epsilon=1.0, size=4), samples=100_000)
    >>> audit.refuted, audit.worst.epsilon_lower > 0.8
    (False, True)
    """
    whole("samples", samples, _FEWEST_SAMPLES, _MOST_SAMPLES)
    if not isinstance(mechanism, Audited):
        raise SettingError("mechanism", "must be a mechanism, with a definition and a draw", mechanism)
    if not (isinstance(level, float) and 0 < level < 0.5):
        raise SettingError("level", "must be a number between 0 and 0.5", level)
    claimed, computed = _claims(mechanism)
    chosen = _default_pairs(mechanism) if pairs is None else _checked(pairs, _last_code(mechanism))
    drawn = _drawn(mechanism, chosen, samples, bits, progress)
    findings = (
        Finding(tell_apart(x, y, drawn, level / 2 / len(chosen)), claimed(x, y), computed(x, y)) for x, y in chosen
    )
    stated = getattr(mechanism, "probabilities", None)
    agrees = None if stated is None else agreement(drawn, stated())
    return TableAudit(repr(mechanism), samples, level, tuple(findings), agrees)


def _claims(mechanism: Audited) -> tuple[Loss, Loss]:
    definition = mechanism.definition
    if isinstance(definition, ApproximateDP):
        raise SettingError("mechanism", "must claim a loss without a failure probability", definition)
    if mechanism.draw(np.empty(0, dtype=np.int64)).ndim != 1:
        raise SettingError("mechanism", "must draw one number for each code", mechanism)
    stated, at = definition.pair_loss, getattr(mechanism, "epsilon_at", None)
    if hasattr(mechanism, "profile"):
        return stated, mechanism.profile().pair
    return stated, stated if at is None else lambda x, y: min(stated(x, y), float(at(abs(x - y))))


def _last_code(mechanism: Audited) -> int:
    """Return the end of the domain; a mechanism without one is audited from code 1 on."""
    return int(getattr(mechanism, "size", _LARGEST_VALUE))


def _checked(pairs: Pairs, last: int) -> Pairs:
    if not pairs:
        raise SettingError("pairs", "must name at least one pair", pairs)
    if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
        raise SettingError("pairs", "must each be two codes", pairs)
    checked = [(whole("pairs", x, 1, last), whole("pairs", y, 1, last)) for x, y in pairs]
    for pair in checked:
        if pair[0] == pair[1]:
            raise SettingError("pairs", "must each be of two different codes", pair)
    return checked


def _default_pairs(mechanism: Audited) -> Pairs:
    last = _last_code(mechanism)
    count = last - 1 if last <= _ALL_NEIGHBOURS else _SPREAD
    starts = {int(code) for code in np.linspace(1, last - 1, count).round()}
    if hasattr(mechanism, "profile"):
        gaps = np.array(mechanism.profile().gaps)
        starts |= {int(np.where(np.isinf(gaps), -1, gaps).argmax()) + 1, int(gaps.argmin()) + 1}
    middle = (1 + last) // 2
    far = {(1, last), (1, middle), (middle, last)}
    return sorted({(x, x + 1) for x in starts} | {(x, y) for x, y in far if x < y})


def _drawn(
    mechanism: Audited, pairs: Pairs, samples: int, bits: Bits | None, progress: Callable[[float], None] | None
) -> dict[int, Sample]:
    codes = sorted({code for pair in pairs for code in pair})
    drawn = {}
    for done, code in enumerate(codes, 1):
        drawn[code] = split(mechanism.draw(np.full(samples, code), bits=bits))
        if progress is not None:
            progress(done / len(codes))
    return drawn


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.excess, finding.epsilon_lower), reverse=True)


def _line(finding: Finding) -> str:
    pair = f"{finding.evidence.likelier} against {finding.evidence.rarer}"
    mark = "  REFUTED" if finding.refuted else ""
    lower = f"{math.floor(finding.epsilon_lower * 1e4) / 1e4:.4f}"
    return f"{pair:<32}{lower:>13}{shown(finding.claimed, 5):>12}{shown(finding.computed, 5):>12}{mark}"


def _agreement_line(found: Agreement | None) -> str:
    if found is None:
        return "agreement with stated probabilities: none are stated"
    return f"agreement with stated probabilities: p <= {found.p_value:.3g}, least for input {found.worst_input}"


def _conclusion(audit: TableAudit) -> str:
    if audit.loss_refuted:
        return f"REFUTED: a pair loses more than is stated (false alarm: at most {audit.level:g})."
    if audit.agreement_refuted:
        return f"REFUTED: outputs do not come as often as stated (false alarm: at most {audit.level:g})."
    if all(math.isinf(finding.excess) for finding in audit.findings):
        return "Nothing to refute: no loss is claimed for these pairs."
    return "Not refuted. That does not prove the claims: it says that this attack with so many outputs found nothing."
