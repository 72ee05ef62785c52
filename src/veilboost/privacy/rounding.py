"""Directed rounding: the smallest float not below an exact number, so that no printed loss is too small."""

import math
from fractions import Fraction


def up(exact: Fraction) -> float:
    """Return the smallest float that is not below ``exact``.

    >>> up(Fraction(0.1) * 3) == math.nextafter(0.3, 1)
    True
    """
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


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

    The logarithm of a rational other than one is irrational, so it is never a float itself; 256 bits are far
    more than it takes to tell it from the floats beside it. A denominator of zero costs infinity.

    >>> log_up(2, 1) >= math.log(2), log_up(7, 7), log_up(1, 0)
    (True, 0.0, inf)
    """
    from mpmath import mp

    if numerator == denominator:
        return 0.0
    if denominator == 0:
        return math.inf
    with mp.workprec(256):
        exact = mp.log(mp.mpf(numerator) / denominator)
        bound = math.nextafter(float(exact), 0.0)
        while bound < exact:
            bound = math.nextafter(bound, math.inf)
    return bound
