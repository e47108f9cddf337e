"""Kinds of targets: which values a target may have, and the sensitivity of sums of targets.

Descent starts from the best constant prediction for the mean target (`Loss.link`). The curator releases a
noisy sum of targets for this, and each kind of target states how far one record changes that sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

SUM_BITS = 20  # sums of 2^32 multiples of bound / 2^20 are exact in float64
LARGEST_END = 1e100  # for the ends of an interval, so that no power of two near it overflows or underflows


class Targets(Protocol):
    """The values that a target may have."""

    @property
    def described(self) -> str:
        """The values, in words that complete "targets must be ..."."""
        ...

    @property
    def typical(self) -> tuple[float, ...]:
        """Values at which the slope of a loss is evaluated: both ends, if there are ends."""
        ...

    @property
    def bound(self) -> float:
        """The L2 sensitivity of the sum of `summands` to one record."""
        ...

    def hold(self, values: Vector) -> bool:
        """Return whether all of these values may be targets."""
        ...

    def nearest(self, values: Vector) -> Vector:
        """Return the target nearest to each of these finite numbers."""
        ...

    def summands(self, values: Vector) -> Vector:
        """Return the summand of each record, one row for each; their sum is exact in any order."""
        ...

    def likely_mean(self, mean: Vector, error: float) -> Vector:
        """Return a plausible mean within the range, given a noisy mean and the noise's standard deviation."""
        ...


@dataclass(frozen=True)
class TwoLabels:
    """Two labels, as -1 and +1. Their sum is the difference of the labels' counts."""

    described = "+1 and -1 only"
    typical = (-1.0, 1.0)
    bound = 1.0

    def hold(self, values: Vector) -> bool:
        """Return whether all values are -1 or +1."""
        return bool(np.isin(values, self.typical).all())

    def nearest(self, values: Vector) -> Vector:
        """Return the signs; that of 0 is +1."""
        return np.where(values < 0.0, -1.0, 1.0)

    def summands(self, values: Vector) -> Vector:
        """Return the labels."""
        return values[:, None]

    def likely_mean(self, mean: Vector, error: float) -> Vector:
        """Return the difference of the labels' shares, with the share of the rarer label made positive."""
        rarer = positive_mean(0.5 - 0.5 * abs(float(mean[0])), 0.5 * error)
        return np.array([math.copysign(max(1.0 - 2.0 * rarer, 0.0), mean[0])])


@dataclass(frozen=True)
class Classes:
    """One of several classes, by its number from 0 on. The sum is the number of records of each class.

    Parameters
    ----------
    count : int
        The number of classes.
    """

    count: int
    bound = 1.0

    @property
    def described(self) -> str:
        """The values in words."""
        return f"whole numbers from 0 to {self.count - 1}"

    @property
    def typical(self) -> tuple[float, ...]:
        """Every class."""
        return tuple(map(float, range(self.count)))

    def hold(self, values: Vector) -> bool:
        """Return whether all values are numbers of classes."""
        return bool(np.isin(values, self.typical).all())

    def nearest(self, values: Vector) -> Vector:
        """Return the nearest numbers of classes."""
        return np.clip(np.round(values), 0.0, self.count - 1.0)

    def summands(self, values: Vector) -> Vector:
        """Return 1 in the column of a record's class, 0 elsewhere."""
        members: Vector = (values[:, None] == np.arange(self.count)).astype(np.float64)
        return members

    def likely_mean(self, mean: Vector, error: float) -> Vector:
        """Return positive shares that add up to 1."""
        shares = np.array([positive_mean(float(share), error) for share in mean])
        likely: Vector = shares / shares.sum()
        return likely


@dataclass(frozen=True)
class Interval:
    """Any number between two public ends.

    Parameters
    ----------
    low, high : float
        The ends.
    usual : pair of float, optional
        A typical low and a typical high value; by default the two ends.
    """

    low: float = -1.0
    high: float = 1.0
    usual: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        size = max(abs(self.low), abs(self.high))
        if not (self.low < self.high and 1.0 / LARGEST_END <= size <= LARGEST_END):
            raise ValueError(
                f"The ends of targets must be two different numbers, the lower first, and the larger of them "
                f"between {1.0 / LARGEST_END:g} and {LARGEST_END:g} in size; got {self.low!r}, {self.high!r}."
            )

    @property
    def described(self) -> str:
        """The values in words."""
        return f"numbers between {self.low:g} and {self.high:g}"

    @property
    def typical(self) -> tuple[float, ...]:
        """The usual values, which by default are both ends."""
        return (self.low, self.high) if self.usual is None else self.usual

    @property
    def bound(self) -> float:
        """The smallest power of two that bounds both ends in size, plus the error of rounding to the grid."""
        return self._largest * (1.0 + 2.0**-SUM_BITS)

    @property
    def _largest(self) -> float:
        mantissa, exponent = math.frexp(max(abs(self.low), abs(self.high)))
        return math.ldexp(1.0, exponent - (mantissa == 0.5))

    def hold(self, values: Vector) -> bool:
        """Return whether all values lie between the ends."""
        return bool(np.all((values >= self.low) & (values <= self.high)))

    def summands(self, values: Vector) -> Vector:
        """Return the values, rounded to a grid on which sums are exact."""
        step = self._largest * 2.0**-SUM_BITS
        return np.round(values / step)[:, None] * step

    def nearest(self, values: Vector) -> Vector:
        """Return the values, each moved to the nearer end if it lies beyond."""
        return np.clip(values, self.low, self.high)

    def likely_mean(self, mean: Vector, error: float) -> Vector:
        """Return the mean, moved to the nearer end if it lies beyond."""
        return np.clip(mean, self.low, self.high)


@dataclass(frozen=True)
class Counts:
    """Whole numbers from 0 to a public largest one.

    Parameters
    ----------
    largest : int
        The largest count.
    """

    largest: int

    def __post_init__(self) -> None:
        if not 1 <= self.largest <= 2**SUM_BITS:
            raise ValueError(
                f"The largest count must lie between 1 and {2**SUM_BITS}, so that sums are exact; got "
                f"{self.largest!r}."
            )

    @property
    def described(self) -> str:
        """The values in words."""
        return f"whole numbers from 0 to {self.largest}"

    @property
    def typical(self) -> tuple[float, ...]:
        """0 and the largest count."""
        return 0.0, float(self.largest)

    @property
    def bound(self) -> float:
        """The largest count."""
        return float(self.largest)

    def hold(self, values: Vector) -> bool:
        """Return whether all values are whole numbers in the range."""
        return bool(np.all((values >= 0.0) & (values <= self.largest) & (values == np.floor(values))))

    def nearest(self, values: Vector) -> Vector:
        """Return the nearest whole numbers in the range."""
        return np.clip(np.round(values), 0.0, float(self.largest))

    def summands(self, values: Vector) -> Vector:
        """Return the counts; their sums are exact."""
        return values[:, None]

    def likely_mean(self, mean: Vector, error: float) -> Vector:
        """Return a positive mean, at most the largest count."""
        return np.array([min(positive_mean(float(mean[0]), error), float(self.largest))])


def positive_mean(mean: float, sd: float) -> float:
    """Return the mean of a Gaussian variable, given that it is positive."""
    z = max(mean / sd, -30.0)  # below -30 numerator and denominator underflow
    return sd * (z + math.sqrt(2.0 / math.pi) * math.exp(-0.5 * z * z) / math.erfc(-z / math.sqrt(2.0)))


TWO_LABELS = TwoLabels()
LARGEST_TARGET = 32.0  # in units of the targets' scale; larger targets are clipped to this
NUMBERS = Interval(-LARGEST_TARGET, LARGEST_TARGET, usual=(-1.0, 1.0))
AMOUNTS = Interval(0.0, LARGEST_TARGET, usual=(0.0, 2.0))
