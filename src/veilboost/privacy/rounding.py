"""Exact and directed rounding: no loss that is computed or printed is smaller than it is."""

import math
from contextlib import AbstractContextManager
from decimal import ROUND_CEILING, Context, Decimal, DivisionByZero, InvalidOperation, localcontext
from fractions import Fraction

_FARTHEST = 10**17


def precise(digits: int) -> AbstractContextManager[Context]:
    """Return a context in which `Decimal` computes with so many ``digits``; it holds for this thread alone.

    >>> with precise(30):
    ...     print(Decimal(1).exp())
    2.71828182845904523536028747135
    """
    traps = [InvalidOperation, DivisionByZero]
    return localcontext(Context(prec=digits, Emin=-_FARTHEST, Emax=_FARTHEST, traps=traps))


def up(exact: Fraction) -> float:
    """Return the smallest float that is not below ``exact``; beyond all floats that is infinity.

    >>> up(Fraction(0.1) * 3) == math.nextafter(0.3, 1), up(Fraction(10) ** 400)
    (True, inf)
    """
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def down(exact: Fraction) -> float:
    """Return the largest float that is not above ``exact``.

    >>> down(Fraction(1, 10)) == math.nextafter(0.1, 0)
    True
    """
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def sum_up(terms: tuple[float, ...]) -> float:
    """Return the smallest float that is not below the exact sum of ``terms``, which may hold infinities.

    >>> sum_up((0.1, 0.2)) == math.nextafter(0.3, 1), sum_up((0.5, math.inf))
    (True, inf)
    """
    if math.inf in terms:
        return math.inf
    return up(sum(map(Fraction, terms), Fraction(0)))


def log_up(numerator: int, denominator: int) -> float:
    """Return the smallest float that is not below ``ln(numerator / denominator)``, a ratio of at least one.

    The logarithm of a rational other than one is irrational, so it is never a float itself; 80 digits are far
    more than it takes to tell it from the floats beside it. A denominator of zero costs infinity.

    >>> log_up(2, 1) >= math.log(2), log_up(7, 7), log_up(1, 0)
    (True, 0.0, inf)
    """
    if numerator == denominator:
        return 0.0
    if denominator == 0:
        return math.inf
    with precise(80):
        exact = (Decimal(numerator) / Decimal(denominator)).ln()
    bound = math.nextafter(float(exact), 0.0)
    while Decimal(bound) < exact:
        bound = math.nextafter(bound, math.inf)
    return bound


def shown(loss: float, digits: int = 6) -> str:
    """Return ``loss`` in so many significant digits, rounded up: what a person reads is never too small.

    >>> shown(0.12345649), shown(0.5), shown(1e-10), shown(2.0000001, 3), shown(math.inf)
    ('0.123457', '0.5', '1e-10', '2.01', '∞')
    """
    if math.isinf(loss):
        return "∞"
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(loss)).normalize()
    nearest = Context(prec=15).create_decimal(Decimal(loss)).normalize()  # 0.1 is 0.1, and not the float above it
    best = nearest if len(nearest.as_tuple().digits) <= digits else rounded
    return f"{best:f}" if -5 < best.adjusted() < 7 else str(best).lower()
