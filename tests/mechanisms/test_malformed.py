"""Every wrong use is one line that names the setting, its rule and what was found."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from veilboost.domain import Domain
from veilboost.errors import DataError, SettingError, UsageError
from veilboost.mechanisms import (
    AdjLaplace,
    AdjMap,
    BoundedLaplace,
    ClampedLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Duchi,
    DuchiVector,
    GlobalMap,
    LaplaceVector,
    LocalLaplace,
    LocalMap,
    Piecewise,
    RandomizedResponse,
    RangeLaplace,
    SampledVector,
    TightMap,
    UnaryEncoding,
    from_settings,
)
from veilboost.randomness import ReplayableBits
from veilboost.settings import MechanismSettings

INF, NAN = math.inf, math.nan
FINITE = "must be a finite number above 0; got "
LOOSE: Any = TightMap  # for calls that break the hints on purpose


def made(**settings: Any) -> Callable[[], object]:
    return lambda: from_settings(MechanismSettings(**settings))


def kind(cls: Any, **settings: Any) -> Callable[[], object]:
    return lambda: cls(**settings)


def grouped(lengths: Any, inside: Any = 1.0, between: Any = 2.0) -> Callable[[], object]:
    return lambda: TightMap.grouped(lengths, inside=inside, between=between)


WHOLE = "must be a whole number from 2 to 2147483648; got "
CASES: list[tuple[Callable[[], object], str]] = [
    (kind(GlobalMap, epsilon=0, size=10), f"epsilon {FINITE}0"),
    (kind(GlobalMap, epsilon=-0.5, size=10), f"epsilon {FINITE}-0.5"),
    (kind(GlobalMap, epsilon=NAN, size=10), f"epsilon {FINITE}nan"),
    (kind(GlobalMap, epsilon=INF, size=10), f"epsilon {FINITE}inf"),
    (kind(GlobalMap, epsilon=True, size=10), f"epsilon {FINITE}True"),
    (kind(GlobalMap, epsilon="0.5", size=10), f"epsilon {FINITE}'0.5'"),
    (kind(GlobalMap, epsilon=None, size=10), f"epsilon {FINITE}None"),
    (kind(GlobalMap, epsilon=1j, size=10), f"epsilon {FINITE}1j"),
    (kind(GlobalMap, epsilon=[0.5], size=10), f"epsilon {FINITE}[0.5]"),
    (kind(GlobalMap, epsilon=np.ones((2, 2)), size=10), f"epsilon {FINITE}array("),
    (kind(GlobalMap, epsilon=10**400, size=10), f"epsilon {FINITE}1000"),
    (kind(GlobalMap, epsilon=Fraction(1, 10**400), size=10), f"epsilon {FINITE}Fraction(1, "),
    (kind(GlobalMap, epsilon=0.5, size=1), f"size {WHOLE}1"),
    (kind(GlobalMap, epsilon=0.5, size=-3), f"size {WHOLE}-3"),
    (kind(GlobalMap, epsilon=0.5, size=10.0), f"size {WHOLE}10.0"),
    (kind(GlobalMap, epsilon=0.5, size="10"), f"size {WHOLE}'10'"),
    (kind(GlobalMap, epsilon=0.5, size=True), f"size {WHOLE}True"),
    (kind(GlobalMap, epsilon=0.5, size=2**31 + 1), f"size {WHOLE}2147483649"),
    (kind(GlobalMap, epsilon=0.5, size=2049), "size must be at most 2048 for an exact table (BoundedLaplace"),
    (kind(RandomizedResponse, epsilon=-1, size=4), f"epsilon {FINITE}-1"),
    (kind(RandomizedResponse, epsilon=1, size=0), f"size {WHOLE}0"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=0), "theta must be a whole number from 1 to 10; got 0"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=11), "theta must be a whole number from 1 to 10; got 11"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=2.5), "theta must be a whole number from 1 to 10; got 2.5"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=4, alpha=0), f"alpha {FINITE}0"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=4, alpha=INF), f"alpha {FINITE}inf"),
    (kind(AdjMap, epsilon=INF, size=10, theta=4), f"epsilon {FINITE}inf"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=3, alpha=1e300), "the smallest loss between neighbouring codes must be"),
    (kind(AdjMap, epsilon=0.5, size=10, theta=3, alpha=1e-300), "the smallest loss between neighbouring codes must be"),
    (kind(LocalMap, epsilon=0.5, size=10, theta=11), "theta must be a whole number from 1 to 10; got 11"),
    (kind(LocalMap, epsilon=0.0, size=10, theta=1), f"epsilon {FINITE}0.0"),
    (kind(TightMap), "epsilon or gaps must be given, and not both; got (None, ())"),
    (kind(TightMap, size=4), "epsilon or gaps must be given, and not both; got"),
    (kind(TightMap, epsilon=0.5, gaps=[0.4], size=2), "epsilon or gaps must be given, and not both; got"),
    (kind(TightMap, epsilon=0.5), f"size {WHOLE}0"),
    (kind(TightMap, gaps=[0.5, 0.0]), "gaps[1] must be a number above 0; got 0.0"),
    (kind(TightMap, gaps=[0.5, -1]), "gaps[1] must be a number above 0; got -1"),
    (kind(TightMap, gaps=[NAN, 1]), "gaps[0] must be a number above 0; got nan"),
    (kind(TightMap, gaps="ab"), "gaps must be a list of numbers; got 'ab'"),
    (kind(TightMap, gaps=b"ab"), "gaps must be a list of numbers; got b'ab'"),
    (kind(TightMap, gaps=np.ones((2, 2))), "gaps must be a list of numbers; got array("),
    (kind(TightMap, gaps=[[0.5, 1], [2]]), "gaps[0] must be a number above 0; got [0.5, 1]"),
    (kind(TightMap, gaps=[True]), "gaps[0] must be a number above 0; got True"),
    (kind(TightMap, gaps=0.5), "gaps must "),
    (kind(TightMap, gaps=[0.5], size=3), "size must be one more than the 1 gaps; got 3"),
    (kind(TightMap, gaps=[0.5, 1e-18]), "the smallest loss between neighbouring codes must be at least"),
    (kind(TightMap, gaps=[0.5] * 2048), "size must be at most 2048 for an exact table (ClampedLaplace goes up to"),
    (grouped([]), "lengths must list at least one group; got []"),
    (grouped([2, 0]), "lengths[1] must be a whole number from 1 to 2147483648; got 0"),
    (grouped([2, 1.5]), "lengths[1] must be a whole number from 1 to 2147483648; got 1.5"),
    (grouped([1]), f"size {WHOLE}1"),
    (grouped([2000, 2000]), "size must be at most 2048 for an exact table"),
    (grouped([2, 2], inside=INF), f"inside {FINITE}inf"),
    (grouped([2, 2], inside=0), f"inside {FINITE}0"),
    (grouped([2, 2], between=-1), "between must be a number above 0; got -1"),
    (lambda: TightMap.per_unit(Domain.numbers(0, 1, size=4), epsilon=-1), f"epsilon {FINITE}-1"),
    (lambda: TightMap.per_unit(Domain.booleans(), epsilon=1), "domain must be one with a raw unit; got Domain("),
    (kind(BoundedLaplace, epsilon=0, size=10), f"epsilon {FINITE}0"),
    (kind(BoundedLaplace, epsilon=1e-13, size=10), "epsilon must be at least 9.09"),
    (kind(BoundedLaplace, epsilon=0.5, size=2**31 + 1), f"size {WHOLE}2147483649"),
    (kind(ClampedLaplace, epsilon=0.5, size=1), f"size {WHOLE}1"),
    (kind(DiscreteLaplace, epsilon=NAN), f"epsilon {FINITE}nan"),
    (kind(LocalLaplace, epsilon=0.5, size=10, theta=0), "theta must be a whole number from 1 to 10; got 0"),
    (kind(AdjLaplace, epsilon=0.5, size=10, theta=4, alpha=-1), f"alpha {FINITE}-1"),
    (
        lambda: BoundedLaplace(epsilon=0.5, size=10).epsilon_at(10),
        "distance must be a whole number from 1 to 9; got 10",
    ),
    (lambda: ClampedLaplace(epsilon=0.5, size=10).epsilon_at(0), "distance must be a whole number from 1 to 9; got 0"),
    (
        lambda: LocalLaplace(epsilon=1, size=9, theta=3).epsilon_at(9),
        "distance must be a whole number from 1 to 8; got",
    ),
    (lambda: GlobalMap(epsilon=0.5, size=10).draw([1], threads=-1), "threads must be "),
    (lambda: LOOSE(epsilon=0.5, size=10).draw([1], threads=1.5), "threads must be "),
    (lambda: ReplayableBits(seed=-1), "seed must be a whole number from 0 to"),
    (kind(Piecewise, epsilon=1e-7, size=10), "epsilon must be at least 9.53"),
    (kind(Piecewise, epsilon=1.0, size=1), f"size {WHOLE}1"),
    (kind(Duchi, epsilon=NAN, size=10), f"epsilon {FINITE}nan"),
    (kind(Duchi, epsilon=1.0, size=2**31 + 1), f"size {WHOLE}2147483649"),
    (kind(RangeLaplace, epsilon=1e-4, size=2**31), "epsilon must leave each step of a code at least 9.09"),
    (kind(SampledVector, epsilon=1.0, size=9, d=0), "d must be a whole number from 1 to 2048; got 0"),
    (kind(SampledVector, epsilon=1.0, size=9, d=4, k=5), "k must be a whole number from 1 to 4; got 5"),
    (kind(SampledVector, epsilon=1.0, size=9, d=4, k=0), "k must be a whole number from 1 to 4; got 0"),
    (kind(SampledVector, epsilon=1.0, size=9, d=4, each="laplace"), "each must be one of piecewise, duchi; got 'lap"),
    (kind(SampledVector, epsilon=2.0**-20, size=9, d=4, k=4), "epsilon must leave each chosen attribute at least 9"),
    (kind(DuchiVector, epsilon=1.0, size=9, d=2049), "d must be a whole number from 1 to 2048; got 2049"),
    (kind(LaplaceVector, epsilon=1.0, size=9, d=2, sensitivity=17), "sensitivity must be a whole number from 1 to 16"),
    (kind(LaplaceVector, epsilon=1e-5, size=2**31, d=9), "epsilon must leave each step of a code at least 9.09"),
    (kind(UnaryEncoding, epsilon=1.0, size=2**14 + 1), "size must be a whole number from 2 to 16384; got 16385"),
    (kind(UnaryEncoding, epsilon=0, size=9), f"epsilon {FINITE}0"),
    (kind(UnaryEncoding, epsilon=1e-7, size=9), "epsilon must be at least 9.53"),
    (kind(UnaryEncoding, epsilon=1.0, size=9, optimised=1), "optimised must be True or False; got 1"),
    (kind(DiscreteGaussian, epsilon=-1, delta=0.1), f"epsilon {FINITE}-1"),
    (kind(DiscreteGaussian, epsilon=1, delta=1.0), "delta must be a number between 0 and 1; got 1.0"),
    (kind(DiscreteGaussian, epsilon=1, delta=0.1, sensitivity=0), "sensitivity must be a whole number from 1 to 214"),
    (kind(DiscreteGaussian, epsilon=1.0, delta=1e-6, sensitivity=10**4), "delta must be at least 0.000069"),
    (lambda: DiscreteGaussian(epsilon=1.0, delta=0.1).delta_at(0), f"epsilon {FINITE}0"),
    (lambda: Duchi(epsilon=1.0, size=9).variance(10), "code must be a whole number from 1 to 9; got 10"),
    (made(mechanism="duchi-vector", epsilon=0.5, size=10), "d must be given for 'duchi-vector'; got None"),
    (made(mechanism="duchi", epsilon=0.5, size=10, k=1), "k is no setting of 'duchi', which takes epsilon, size;"),
    (made(mechanism="laplace"), "mechanism must be one of global, adj, local, tight, grr, bounded-laplace"),
    (made(mechanism="global", size=10), "epsilon must be given for 'global'; got None"),
    (made(mechanism="adj", epsilon=0.5, size=10), "theta must be given for 'adj'; got None"),
    (made(mechanism="global", epsilon=0.5, size=10, theta=2), "theta is no setting of 'global', which takes size,"),
    (
        made(mechanism="grr", epsilon=0.5, size=10, gaps=[1.0]),
        "gaps is no setting of 'grr', which takes size, epsilon;",
    ),
    (made(mechanism="discrete-laplace", epsilon=0.5, size=10), "size is no setting of 'discrete-laplace', which takes"),
    (made(mechanism="local", epsilon=0.5, size=10, theta=4, alpha=1.0), "alpha is no setting of 'local', which takes"),
    (made(mechanism="tight", gaps=[0.5, -0.5]), "gaps[1] must be a number above 0; got -0.5"),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=[f"{i} {text[:45]}" for i, (_, text) in enumerate(CASES)])
def test_a_wrong_setting_is_named_with_its_rule(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(message)
    assert "\n" not in text
    assert len(text) < 300
    assert text.startswith(f"{caught.value.name} {caught.value.rule}; got ")


ROWS = "column 'codes' must be rows of 2 whole numbers; found "
ROW = DuchiVector(epsilon=1.0, size=9, d=2)
DRAWS: list[tuple[Any, Any, str]] = [
    (ROW, [[1, 2, 3]], f"{ROWS}an array of shape (1, 3)"),
    (ROW, [1, 2], f"{ROWS}an array of shape (2,)"),
    (ROW, [[1, 2], [3]], f"{ROWS}rows of different lengths"),
    (ROW, [[1, True]], f"{ROWS}truth values"),
    (ROW, [[1.0, 2.0]], f"{ROWS}values of type float64"),
    (ROW, np.array([[1.0, 2.0]]), f"{ROWS}values of type float64"),
    (ROW, [[1, None]], f"{ROWS}values of type object"),
    (ROW, np.ma.masked_array([[1, 2]], mask=[[False, True]]), f"{ROWS}values of type int64"),
    (ROW, np.ones((1, 2, 2), dtype=np.int64), f"{ROWS}an array of shape (1, 2, 2)"),
    (ROW, [[1, 10]], "column 'codes' must lie from 1 to 9; found 1 to 10"),
    (UnaryEncoding(epsilon=1.0, size=9), [10], "column 'codes' must lie from 1 to 9; found 10 to 10"),
    (GlobalMap(epsilon=0.5, size=10), [11], "column 'codes' must lie from 1 to 10; found 11 to 11"),
    (AdjLaplace(epsilon=0.5, size=300, theta=7), [1, 301], "column 'codes' must lie from 1 to 300; found 1 to 301"),
    (ClampedLaplace(epsilon=0.5, size=2**31), [0], "column 'codes' must lie from 1 to 2147483648; found 0 to 0"),
    (
        DiscreteLaplace(epsilon=0.5),
        [2**31],
        "column 'codes' must lie from -2147483647 to 2147483647; found 2147483648 to 2147483648",
    ),
    (
        DiscreteLaplace(epsilon=0.5),
        [2**64 - 1],
        "column 'codes' must lie from -2147483647 to 2147483647; found 1844674407370955161",
    ),
    (
        DiscreteLaplace(epsilon=0.5),
        [0.5],
        "column 'codes' must be a one-dimensional list of whole numbers; found values of type float64",
    ),
    (
        GlobalMap(epsilon=0.5, size=10),
        {1, 2},
        "column 'codes' must be a one-dimensional list of whole numbers; found 0",
    ),
]


@pytest.mark.parametrize(("mechanism", "codes", "message"), DRAWS, ids=[text[:60] for *_, text in DRAWS])
def test_a_wrong_column_is_named_with_its_rule(mechanism: Any, codes: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        mechanism.draw(codes)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UsageError)


def test_unknown_and_misspelt_settings_are_refused_by_the_parser() -> None:
    import msgspec

    for text in (b'mechanism = "global"\nepsilom = 1', b'mechanism = "global"\nepsilon = "1"', b"epsilon = 1.0"):
        with pytest.raises(msgspec.ValidationError, match=r"unknown field|Expected|missing required"):
            msgspec.toml.decode(text, type=MechanismSettings)
    assert len(CASES) + len(DRAWS) > 40
