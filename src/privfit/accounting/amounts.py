"""Amounts that add up without rounding.

Every float64 is a multiple of one tiny unit. Amounts are stored as integers in that unit, so that their sums
are exact.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from numbers import Real

_FOUR_DIGITS_UP, _FOUR_DIGITS_DOWN = (Context(prec=4, rounding=way) for way in (ROUND_CEILING, ROUND_FLOOR))
UNIT = 2 ** (1074 + 53)  # units in 1; every float64, and every half ulp of one, is a multiple of a unit


def number(name: str, value: float) -> float:
    """Return a number as a float, infinite if too large for one; raise ValueError if it is no number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, not {type(value).__name__}.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def price(name: str, value: float) -> float:
    """Return an amount as a float; raise ValueError if it is negative, infinite or no number."""
    amount = number(name, value)
    if not (amount >= 0.0 and math.isfinite(amount)):
        raise ValueError(f"{name} must be a non-negative finite number, got {amount!r}.")
    return amount


def written_up(x: float) -> str:
    """Write x with four significant digits, rounded up, so that the text never states less than x."""
    if not 0.0 < x < math.inf:
        return f"{x:g}"
    return f"{float(_FOUR_DIGITS_UP.create_decimal(repr(float(x)))):.4g}"


def four_digits_down(x: float) -> float:
    """Return x rounded down to four significant digits."""
    if not 0.0 < x < math.inf:
        return x
    return float(_FOUR_DIGITS_DOWN.create_decimal(repr(float(x))))


def units(amount: float) -> int:
    """Return an amount in units, exactly."""
    numerator, denominator = amount.as_integer_ratio()
    return numerator * (UNIT // denominator)


def exactly_written(amount: int) -> str:
    """Write an amount in units without rounding, as an odd number and a power of two: 5p-9 is 5 / 2^9."""
    if amount == 0:
        return "0p0"
    zeros = (amount & -amount).bit_length() - 1
    return f"{amount >> zeros}p{zeros - UNIT.bit_length() + 1}"


def exactly_read(text: str) -> int:
    """Read an amount in units that `exactly_written` wrote."""
    odd, power = text.split("p")
    return int(odd) << (int(power) + UNIT.bit_length() - 1)


def ceiling(budget: float) -> int:
    """Return the largest sum of charges that a budget allows, in units.

    T shares of fl(budget / T) may add up to half an ulp more than the budget. The ceiling is half an ulp
    higher than the budget, so that they always fit. This is safe because every mechanism adds a little more
    noise than its price asks for (zcdp.NOISE_MARGIN), which makes up for far more than half an ulp.
    """
    budget_in_units = units(budget)
    return budget_in_units + budget_in_units // 2**53


def rounded_up(amount: int) -> float:
    """Return an amount in units as a float that is not smaller."""
    nearest = amount / UNIT
    return nearest if units(nearest) >= amount else math.nextafter(nearest, math.inf)


def rounded_down(amount: int) -> float:
    """Return an amount in units as a float that is not larger; 0 if it is negative."""
    amount = max(amount, 0)
    nearest = amount / UNIT
    return nearest if units(nearest) <= amount else math.nextafter(nearest, 0.0)
