"""The audit has power against sabotage, and raises no alarm about honest mechanisms; draws are not seeded."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from veilboost.audits import TableAudit, audit_table
from veilboost.audits.distinguish import tell_apart
from veilboost.audits.sabotage import BiasedBits, Sabotaged, half_noise, naively_rounded
from veilboost.errors import SettingError
from veilboost.mechanisms import (
    CODE_MECHANISMS,
    VALUE_MECHANISMS,
    AdjLaplace,
    AdjMap,
    BoundedLaplace,
    ClampedLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Duchi,
    DuchiVector,
    GlobalMap,
    LocalLaplace,
    LocalMap,
    Mechanism,
    Piecewise,
    RandomizedResponse,
    RangeLaplace,
    SampledVector,
    TableMechanism,
    TightMap,
    UnaryEncoding,
)
from veilboost.randomness import ReplayableBits

SAMPLES = 200_000

TABLES: list[TableMechanism] = [
    GlobalMap(epsilon=2.0, size=8),
    GlobalMap(epsilon=0.3, size=40),
    AdjMap(epsilon=1.0, size=10, theta=4, alpha=0.4),
    AdjMap(epsilon=1.0, size=30, theta=7),
    LocalMap(epsilon=2.0, size=10, theta=4),
    TightMap(epsilon=0.5, size=10),
    TightMap(epsilon=2.0, size=50),
    TightMap(gaps=(0.1, 0.7, 2.0, math.inf, 0.5, 1.0)),
    RandomizedResponse(epsilon=2.0, size=6),
]
UNTABLED: list[Mechanism] = [
    BoundedLaplace(epsilon=2.0, size=6),
    ClampedLaplace(epsilon=2.0, size=6),
    ClampedLaplace(epsilon=1e-3, size=10**9),
    AdjLaplace(epsilon=1.0, size=6, theta=4),
    LocalLaplace(epsilon=1.0, size=9, theta=4),
    DiscreteLaplace(epsilon=2.0),
    Piecewise(epsilon=2.0, size=6),
    Duchi(epsilon=2.0, size=6),
    RangeLaplace(epsilon=2.0, size=6),
]
MODERATE: list[Mechanism] = [
    GlobalMap(epsilon=1.0, size=10),
    TightMap(epsilon=1.0, size=10),
    RandomizedResponse(epsilon=1.0, size=10),
    ClampedLaplace(epsilon=1.0, size=10),
    BoundedLaplace(epsilon=1.0, size=10),
]


def audit(mechanism: Any, **settings: Any) -> TableAudit:
    return audit_table(mechanism, **{"samples": SAMPLES} | settings)


class InOneNumber:
    """A mechanism for whole rows, given rows of one code, or for bits: each row of outputs as one number."""

    def __init__(self, mechanism: Any, width: int = 0) -> None:
        self._mechanism, self._width = mechanism, width
        self.definition, self.size = mechanism.definition, mechanism.size

    def draw(self, codes: Any, *, bits: Any = None) -> Any:
        rows = np.repeat(np.asarray(codes)[:, None], self._width, axis=1) if self._width else codes
        drawn = self._mechanism.draw(rows, bits=bits) > 0
        return drawn @ (1 << np.arange(drawn.shape[1]))


def in_one_number(epsilon: float) -> list[InOneNumber]:
    return [
        InOneNumber(UnaryEncoding(epsilon=epsilon, size=4)),
        InOneNumber(UnaryEncoding(epsilon=epsilon, size=4, optimised=True)),
        *(InOneNumber(DuchiVector(epsilon=epsilon, size=4, d=d), d) for d in (2, 3, 4)),
        InOneNumber(SampledVector(epsilon=epsilon, size=4, d=3, k=2), 3),
    ]


def half_the_noise(name: str) -> Any:
    settings = {"adj": {"theta": 4}, "local": {"theta": 5}}.get(name.partition("-")[0], {})
    return half_noise(name, epsilon=1.0, **settings, **({} if name == "discrete-laplace" else {"size": 10}))


@pytest.mark.parametrize("mechanism", TABLES, ids=repr)
def test_stays_under_the_exact_profile(mechanism: TableMechanism) -> None:
    found = audit(mechanism)
    profile = mechanism.profile()
    for finding in found.findings:
        exact = profile.pair(finding.evidence.likelier, finding.evidence.rarer)
        assert finding.epsilon_lower <= exact == finding.computed <= finding.claimed
    assert found.agreement is not None
    assert not found.refuted


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", UNTABLED, ids=repr)
def test_stays_under_what_is_stated_without_a_table(mechanism: Mechanism) -> None:
    found = audit(mechanism)
    assert all(finding.epsilon_lower <= finding.computed <= finding.claimed for finding in found.findings)
    assert found.agreement is None
    assert not found.refuted


@pytest.mark.parametrize(
    "mechanism",
    [*TABLES[:1], TightMap(epsilon=2.0, size=10), RandomizedResponse(epsilon=2.0, size=6), UNTABLED[1], UNTABLED[5]],
    ids=repr,
)
def test_sees_most_of_a_loud_loss(mechanism: Mechanism) -> None:
    neighbours = [f for f in audit(mechanism).findings if abs(f.evidence.likelier - f.evidence.rarer) == 1]
    assert all(finding.epsilon_lower > 0.4 * finding.computed for finding in neighbours)
    assert max(finding.epsilon_lower / finding.computed for finding in neighbours) > 0.9


@pytest.mark.parametrize("size", [20, 100])
def test_refutes_naive_rounding(size: int) -> None:
    """Zeros next to ones: an infinite loss, of which so many samples show e^2.4."""
    found = audit(naively_rounded(GlobalMap(epsilon=1.0, size=size)))
    assert any(finding.epsilon_lower > 1.5 * finding.claimed for finding in found.findings)
    assert found.refuted


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if "laplace" in name else name
        for name in sorted((CODE_MECHANISMS | VALUE_MECHANISMS).keys() - {"discrete-gaussian"})
    ],
)
def test_refutes_epsilon_stated_for_half_of_it(name: str) -> None:
    found = audit(half_the_noise(name))
    assert any(finding.epsilon_lower > 1.05 * finding.claimed for finding in found.findings)
    assert found.refuted


@pytest.mark.parametrize("case", range(6))
def test_attacks_rows_and_bits_as_numbers(case: int) -> None:
    honest, loud = in_one_number(1.0)[case], in_one_number(2.0)[case]
    assert not audit(honest).refuted
    found = audit(Sabotaged(draws_as=loud, claims_as=honest))
    assert found.worst.epsilon_lower > 1.05
    assert found.refuted


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MODERATE, ids=repr)
@pytest.mark.parametrize(("bit", "share"), [(31, 1.0), (30, 1.0), (31, 0.5)])
def test_refutes_a_biased_generator(mechanism: Mechanism, bit: int, share: float) -> None:
    found = audit(mechanism, bits=BiasedBits(bit=bit, share=share))
    assert any(finding.epsilon_lower > 1.1 * finding.claimed for finding in found.findings)
    assert found.refuted


def test_agreement_sees_what_the_loss_does_not() -> None:
    found = audit(RandomizedResponse(epsilon=1.0, size=10), bits=BiasedBits(share=0.03))
    assert not found.loss_refuted
    assert found.agreement_refuted
    assert "do not come as often" in str(found)


def test_agreement_sees_too_much_noise() -> None:
    found = audit(Sabotaged(draws_as=GlobalMap(epsilon=0.9, size=10), claims_as=GlobalMap(epsilon=1.0, size=10)))
    assert not found.loss_refuted
    assert found.agreement_refuted


def test_finds_the_one_bad_gap_of_a_large_table() -> None:
    gaps = [1.0] * 99
    gaps[37] = 2.0
    twin = Sabotaged(draws_as=TightMap(gaps=tuple(gaps)), claims_as=TightMap(epsilon=1.0, size=100))
    found = audit(twin, pairs=[(38, 39), (70, 71)])
    assert [finding.refuted for finding in found.findings] == [True, False]
    assert found.worst is found.findings[0]


def test_certain_separation_is_no_refutation_where_it_is_stated() -> None:
    with warnings.catch_warnings(action="error"):
        found = audit(LocalMap(epsilon=1.0, size=6, theta=3), pairs=[(3, 4), (1, 6)])
        assert "Nothing to refute" in str(found)
    assert found.worst.claimed == math.inf
    assert found.worst.epsilon_lower > 7
    assert not found.refuted


def test_default_pairs_are_public_and_cover_neighbours_ends_and_extreme_gaps() -> None:
    def pairs(mechanism: Mechanism) -> set[tuple[int, ...]]:
        found = audit_table(mechanism, samples=1000).findings
        return {tuple(sorted((f.evidence.likelier, f.evidence.rarer))) for f in found}

    assert {(x, x + 1) for x in range(1, 16)} | {(1, 16)} <= pairs(GlobalMap(epsilon=1.0, size=16))
    assert pairs(GlobalMap(epsilon=1.0, size=2)) == {(1, 2)}
    uneven = TightMap(gaps=(1.0,) * 20 + (0.1,) + (1.0,) * 30 + (3.0, math.inf) + (1.0,) * 40)
    assert {(1, 2), (93, 94), (21, 22), (52, 53), (1, 94)} <= pairs(uneven)


def test_the_attack_can_be_replayed_and_tells_its_progress() -> None:
    done: list[float] = []

    def once() -> TableAudit:
        return audit(
            TABLES[0],
            samples=5000,
            bits=ReplayableBits(seed=3),
            pairs=[(4, 1), (1, 2)],
            progress=done.append,
        )

    assert once() == once()
    assert done == [1 / 3, 2 / 3, 1.0] * 2


@pytest.mark.parametrize("mechanism", [TABLES[1], UNTABLED[2], naively_rounded(TABLES[1])], ids=repr)
def test_prints_as_a_short_table(mechanism: Any) -> None:
    found = audit(mechanism)
    lines = str(found).splitlines()
    assert len(lines) <= 12
    assert ("REFUTED" in lines[-1]) == found.refuted
    assert found.refuted or "does not prove" in lines[-1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 999}, "samples must be a whole number from 1000 to 1000000000; got 999"),
        ({"level": 0.0}, "level must be a number between 0 and 0.5; got 0.0"),
        ({"level": 0.5}, "level must be a number between 0 and 0.5; got 0.5"),
        ({"level": float("nan")}, "level must be a number between 0 and 0.5; got nan"),
        ({"pairs": []}, r"pairs must name at least one pair; got \[\]"),
        ({"pairs": [(1, 9)]}, "pairs must be a whole number from 1 to 8; got 9"),
        ({"pairs": [(0, 1)]}, "pairs must be a whole number from 1 to 8; got 0"),
        ({"pairs": [(2, 2)]}, r"pairs must each be of two different codes; got \(2, 2\)"),
    ],
)
def test_refuses_malformed_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=f"^{message}$"):
        audit(TABLES[0], **settings)


@pytest.mark.parametrize("count", [1, 20])
def test_the_pairs_share_half_of_the_level(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def watched(x: int, y: int, drawn: Any, level: float) -> Any:
        given.append(level)
        return tell_apart(x, y, drawn, level)

    monkeypatch.setattr("veilboost.audits.table.tell_apart", watched)
    pairs = [(code, code + 1) for code in range(1, count + 1)]
    audit_table(TightMap(epsilon=1.0, size=30), samples=1000, level=1e-3, pairs=pairs)
    assert given == [pytest.approx(1e-3 / 2 / count)] * count


@pytest.mark.parametrize(
    ("mechanism", "rule"),
    [
        (DiscreteGaussian(epsilon=1.0, delta=1e-6), "must claim a loss without a failure probability"),
        (UnaryEncoding(epsilon=1.0, size=2**14), "must draw one number for each code"),
        (DuchiVector(epsilon=1.0, size=9, d=3), "must draw one number for each code"),
    ],
    ids=repr,
)
def test_refuses_what_it_cannot_attack(mechanism: Any, rule: str) -> None:
    with pytest.raises(SettingError, match=f"^mechanism {rule}; got "):
        audit(mechanism)


def test_sabotage_is_not_public() -> None:
    import veilboost
    from veilboost import audits

    assert "sabotage" not in audits.__all__
    assert not hasattr(veilboost, "BiasedBits")


@pytest.mark.slow
def test_hardly_ever_raises_a_false_alarm() -> None:
    """At level 0.4 an honest mechanism may be refuted in 40 % of the audits; the bounds are far from it."""
    mechanism = TightMap(epsilon=0.5, size=3)
    alarms = sum(audit_table(mechanism, samples=2000, level=0.4).refuted for _ in range(100))
    assert alarms < 70  # binomial(100, 0.4) exceeds it with probability 1e-9


def test_reads_what_is_drawn_and_no_table() -> None:
    """A mechanism that always says 1 tells nothing apart."""

    class Silent:
        definition = TABLES[0].definition

        def draw(self, codes: Any, *, bits: Any = None) -> Any:
            return np.ones(len(codes), dtype=np.int64)

    assert {finding.epsilon_lower for finding in audit(Silent(), pairs=[(1, 2)]).findings} == {0.0}
