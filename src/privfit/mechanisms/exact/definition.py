"""The definition of the exact samplers, in whole numbers and fractions. The proofs N1 to N4 are about it.

The compiled loops (`kernels`) do the same with the first digits of numbers only, a thousand times as fast.
When the first digits do not decide, they leave the sample to these functions.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from privfit.mechanisms.exact.digits import BASE, Digits

HALF = Fraction(1, 2)


class Uniform:
    """A uniform number in [0, 1), whose digits are drawn when they are first needed."""

    def __init__(self, digits: Digits) -> None:
        self._source = digits
        self._digits = [digits.next()]

    def digit(self, i: int) -> int:
        """Return digit i after the point; draw it if it is not known yet."""
        while len(self._digits) <= i:
            self._digits.append(self._source.next())
        return self._digits[i]

    def below(self, bound: Uniform | Fraction) -> bool:
        """Return whether this number is less than another one, or than a fraction in [0, 1]."""
        i = 0
        if isinstance(bound, Uniform):
            while self.digit(i) == bound.digit(i):
                i += 1
            return self.digit(i) < bound.digit(i)
        while True:
            whole, rest = divmod(bound * BASE, 1)
            if self.digit(i) != whole or rest == 0:
                return self.digit(i) < whole
            i, bound = i + 1, rest

    def interval(self, length: int) -> tuple[Fraction, Fraction]:
        """Return the interval of numbers that begin with the first `length` digits of this one."""
        low = sum(Fraction(self.digit(i), BASE ** (i + 1)) for i in range(length))
        return Fraction(low), low + Fraction(1, BASE**length)


def exp_coin(digits: Digits, bound: Uniform | Fraction) -> bool:
    """Return True with probability exp(-bound), for a bound in [0, 1] (N1; von Neumann 1951)."""
    even = True
    while (u := Uniform(digits)).below(bound):
        even, bound = not even, u
    return even


def exp_half_square_coin(digits: Digits, x: Uniform) -> bool:
    """Return True with probability exp(-x^2 / 2) (N1)."""
    even, bound = True, x
    while (u := Uniform(digits)).below(bound) and digits.next() % 2 == 0 and Uniform(digits).below(x):
        even, bound = not even, u
    return even


def normal(digits: Digits) -> tuple[int, int, Uniform]:
    """Return a standard normal number, sign * (k + x), as (sign, k, x) (N1; Karney 2016)."""
    while True:
        k = 0
        while exp_coin(digits, HALF):
            k += 1
        if not all(exp_coin(digits, HALF) for _ in range(k * (k - 1))):
            continue
        x = Uniform(digits)
        if all(exp_coin(digits, x) for _ in range(k)) and exp_half_square_coin(digits, x):
            return 1 - 2 * (digits.next() % 2), k, x


def rounded_normal(digits: Digits, centre: Fraction, sigma: Fraction) -> int:
    """Return the whole number nearest to centre + sigma * (a standard normal number) (N2)."""
    sign, k, x = normal(digits)
    length = 2
    while True:
        low, high = (floor(centre + sign * sigma * (k + end) + HALF) for end in x.interval(length))
        if low == high:
            return low
        length += 1


def uniform_index(digits: Digits, size: int) -> int:
    """Return one of 0, ..., size - 1, each with the same probability; size is at most 2^32."""
    end = BASE - BASE % size
    while (digit := digits.next()) >= end:
        pass
    return digit % size


def accepts(digits: Digits, gamma: Fraction, halves: int) -> bool:
    """Return True with probability exp(-gamma) (N3).

    It tosses `halves` coins of probability exp(-1/2), and one last coin for what is left of gamma. `halves`
    must be at most 2 gamma; more coins are tossed if otherwise more than 1 would be left.
    """
    halves = max(halves, ceil(2 * gamma) - 2)
    return all(exp_coin(digits, HALF) for _ in range(halves)) and exp_coin(digits, gamma - halves * HALF)
