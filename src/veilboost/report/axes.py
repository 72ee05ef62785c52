"""Axes of a chart: which numbers stand beside one, how they are written, and where on it a value lies.

Ticks are decimal numbers, so that they are exactly as round as they look, however large or small the data.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from veilboost.errors import SettingError

_FLAT = Decimal("1e-6")
_PLAIN = Decimal("1e-4"), Decimal("1e6")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One side of a chart.

    It reaches from tick to tick, or with ``tight`` from the least value to the greatest. ``zero`` makes it hold zero
    or, where there is none, begin at half the least value; ``whole`` keeps it from writing fractions, ``log`` makes
    equal factors equally long; ``names`` stand in place of the numbers 0, 1, 2 and so on.
    """

    label: str = ""
    zero: bool = False
    tight: bool = False
    whole: bool = False
    log: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Scale:
    """A stretch of numbers, the ticks on it and their texts."""

    low: Decimal
    high: Decimal
    ticks: Sequence[Decimal]
    texts: Sequence[str]
    log: bool = False

    def place(self, value: float | Decimal) -> float:
        """Return where ``value`` lies: 0 is the low end, 1 the high end."""
        low, high, found = self.low, self.high, exact(value)
        if self.log:
            low, high, found = low.log10(), high.log10(), found.log10()
        return float((found - low) / (high - low))


def exact(value: float | Decimal) -> Decimal:
    """Return the shortest decimal number that reads as ``value``."""
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))


def scale(axis: Axis, values: Sequence[float], *, most: int) -> Scale:
    """Return the scale of ``axis`` that holds all ``values``, with at most ``most`` ticks unless they are names."""
    for value in values:
        if not math.isfinite(value):
            raise SettingError(f"'{axis.label}'", "must be shown by finite numbers", value)
        if axis.log and value <= 0:
            raise SettingError(f"'{axis.label}'", "must be above 0 on a logarithmic axis", value)
    if axis.names:
        return _named(axis.names)
    held = values or ([1.0] if axis.log else [0.0, 1.0])
    low, high = min(held), max(held)
    if axis.zero:
        low, high = (max(low / 2, 5e-324), high) if axis.log else (min(low, 0.0), max(high, 0.0))
    chosen = log_ticks(low, high, most=most) if axis.log else ticks(low, high, most=most, whole=axis.whole)
    start, end = chosen[0], chosen[-1]
    inside = [tick for tick in chosen if low <= tick <= high]
    if axis.tight and len(inside) > 1:
        start, end, chosen = exact(low), exact(high), inside
    return Scale(start, end, chosen, texts(chosen, apart=axis.log), axis.log)


def _named(names: Sequence[str]) -> Scale:
    half = Decimal("0.5")
    return Scale(-half, len(names) - half, [Decimal(i) for i in range(len(names))], names)


def ticks(low: float, high: float, *, most: int = 8, whole: bool = False) -> list[Decimal]:
    """Return 2 to ``most`` multiples of 1, 2 or 5 times a power of ten; the first and the last enclose low and high.

    >>> [str(tick) for tick in ticks(0.07, 0.43)]
    ['0.0', '0.1', '0.2', '0.3', '0.4', '0.5']
    """
    start, end = _apart(exact(low), exact(high))
    for step in _steps((end - start) / most):
        first, last = math.floor(start / step), math.ceil(end / step)
        if last - first < most and (step >= 1 or not whole):
            return [n * step for n in range(first, last + 1)]
    raise AssertionError("steps grow without end")


def _apart(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Return a range wide enough to be told apart by a few digits."""
    size = max(abs(low), abs(high))
    if high - low > size * _FLAT:
        return low, high
    half = size / 2 or Decimal(1)
    return low - half, high + half


def _steps(smallest: Decimal) -> Iterator[Decimal]:
    exponent = smallest.adjusted()
    while True:
        yield from (Decimal((0, (digit,), exponent)) for digit in (1, 2, 5))
        exponent += 1


def log_ticks(low: float, high: float, *, most: int = 8) -> list[Decimal]:
    """Return 2 to ``most`` ticks around low and high: 1, 2 or 5 times powers of ten, or powers of ten alone.

    >>> [str(tick.normalize()) for tick in log_ticks(0.08, 5.12)]
    ['0.05', '0.1', '0.2', '0.5', '1', '2', '5', '1E+1']
    """
    start, end = exact(low), exact(high)
    digits = range(start.adjusted() - 1, end.adjusted() + 2)
    found = _around([Decimal((0, (digit,), power)) for power in digits for digit in (1, 2, 5)], start, end)
    every = 1
    while len(found) > most:
        powers = range(start.adjusted() // every * every, end.adjusted() + 2 * every, every)
        found, every = _around([Decimal((0, (1,), power)) for power in powers], start, end), every + 1
    return found


def _around(candidates: list[Decimal], low: Decimal, high: Decimal) -> list[Decimal]:
    first = max(i for i, tick in enumerate(candidates) if tick <= low)
    last = min(i for i, tick in enumerate(candidates) if tick >= high)
    return candidates[first : max(last, first + 1) + 1]


def texts(ticks: Sequence[Decimal], *, apart: bool = False) -> list[str]:
    """Return the ticks as written: alike in digits and in power of ten, unless they are ``apart`` by orders of size.

    >>> texts([Decimal(0), Decimal("2.5e6"), Decimal("5e6")])
    ['0', '2.5×10⁶', '5×10⁶']
    """
    if apart:
        return [text for tick in ticks for text in texts([tick])]
    largest = max(map(abs, ticks))
    if not _PLAIN[0] <= largest < _PLAIN[1]:
        said = [_power(tick, largest.adjusted()) for tick in ticks]
        return said if len(said) > 1 else [said[0].removeprefix("1×")]
    places = max(0, *(-int(tick.normalize().as_tuple().exponent) for tick in ticks))
    return [f"{tick:,.{places}f}".replace("-", "−") for tick in ticks]


def _power(tick: Decimal, exponent: int) -> str:
    if not tick:
        return "0"
    digits = f"{tick.scaleb(-exponent).normalize():f}".replace("-", "−")
    return f"{digits}×10{str(exponent).translate(_RAISED)}"
