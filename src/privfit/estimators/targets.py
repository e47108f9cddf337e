"""Encoders of targets: the protocol, and encoders for numbers between public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from privfit.estimators.tables import as_array
from privfit.estimators.validation import BOUND_SIZES, shown
from privfit.leaks import warn_caller
from privfit.models.separators import with_separators
from privfit.schema.frames import dtype_name

Vector = NDArray[np.float64]


class TargetEncoder(Protocol):
    """Encodes targets as numbers, and converts weights to the targets' units."""

    @property
    def assumption(self) -> str:
        """The assumption about the targets in the privacy statement."""
        ...

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest encoded target."""
        ...

    def encode(self, y: NDArray[Any]) -> Vector:
        """Return the targets as numbers for the loss."""
        ...

    def in_units(self, w: Vector) -> Vector:
        """Return weights whose scores are in the units of the targets."""
        ...


@dataclass(frozen=True)
class IntervalEncoder:
    """Numbers between public bounds, mapped to [-1, 1]; those beyond a bound count as the bound.

    If 0 lies between the bounds, or there is no intercept, 0 stays 0; otherwise the middle becomes 0.

    Parameters
    ----------
    low, high : float
        The bounds.
    intercept : bool
        Whether the model has an intercept.
    bought : bool
        Whether the bounds were bought, not declared.
    """

    low: float
    high: float
    intercept: bool
    bought: bool = False

    @property
    def assumption(self) -> str:
        """The assumption that the bounds are public or were bought, and that targets are clipped to them."""
        known = "were bought with a part of the privacy budget" if self.bought else "are public"
        bounds = with_separators(f"{self.low:g} and {self.high:g}")
        return f"the bounds of the target, {bounds}, {known}; a target beyond them counts as the nearer bound"

    @property
    def _middle(self) -> float:
        if not self.intercept or self.low <= 0.0 <= self.high:
            return 0.0
        return 0.5 * self.low + 0.5 * self.high

    @property
    def _unit(self) -> float:
        """The number of units of the target in an encoded 1."""
        return max(self.high - self._middle, self._middle - self.low)

    @property
    def ends(self) -> tuple[float, float]:
        """The encoded bounds."""
        low, high = self.encode(np.array([self.low, self.high])).tolist()
        return low, high

    def encode(self, y: NDArray[Any]) -> Vector:
        """Return numbers between -1 and 1."""
        # rounding is monotone, so no difference exceeds the unit, and no quotient exceeds 1
        encoded: Vector = (np.clip(y, self.low, self.high) - self._middle) / self._unit
        return encoded

    def in_units(self, w: Vector) -> Vector:
        """Return the weights times the unit; the middle goes to the intercept, which is last."""
        scaled: Vector = w * self._unit
        if self.intercept:
            scaled[-1] += self._middle
        return scaled


@dataclass(frozen=True)
class AmountEncoder:
    """Numbers from 0 to a public largest one, divided by it; those beyond count as the nearer end.

    Predictions are logarithms of means, so the largest one becomes part of the intercept.

    Parameters
    ----------
    largest : float
        The largest number.
    bought : bool
        Whether it was bought, not declared.
    """

    largest: float
    bought: bool = False

    @property
    def assumption(self) -> str:
        """The assumption that the largest number is public or was bought; larger ones are clipped."""
        known = "was bought with a part of the privacy budget" if self.bought else "is public"
        largest = with_separators(f"{self.largest:g}")
        return (
            f"the largest target, {largest}, {known}; a larger one counts as this one, "
            "and a negative one as 0"
        )

    @property
    def ends(self) -> tuple[float, float]:
        """0 and the encoded largest number."""
        return 0.0, 1.0

    def encode(self, y: NDArray[Any]) -> Vector:
        """Return numbers between 0 and 1."""
        encoded: Vector = np.clip(y, 0.0, self.largest) / self.largest
        return encoded

    def in_units(self, w: Vector) -> Vector:
        """Return the weights with the logarithm of the largest number added to the intercept, the last."""
        shifted = w.copy()
        shifted[-1] += math.log(self.largest)
        return shifted


def number_column(y: Any) -> Vector:
    """Return targets as an array of numbers; if they are not numbers, raise an error that quotes no value."""
    if hasattr(y, "collect") or isinstance(y, np.ma.MaskedArray | dict | str):
        raise ValueError(
            f"y must be an array or a column with one number for each row, not {type(y).__name__}."
        )
    numbers = as_array(y)
    if numbers is None or not (numbers.ndim == 1 or (numbers.ndim == 2 and numbers.shape[1] == 1)):
        raise ValueError("y must hold one number for each row; y should be a 1d array.")
    if numbers.ndim == 2:
        warn_caller("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
    if numbers.dtype.kind == "O" and all(isinstance(entry, Real | Decimal) for entry in numbers.flat):
        numbers = numbers.astype(np.float64)
    if numbers.dtype.kind not in "biuf":
        raise ValueError(
            f"y has dtype {dtype_name(numbers.dtype)}, and a regression predicts numbers: convert it, for "
            "example y.astype(float), or use a classifier if these are labels."
        )
    numbers = numbers.ravel().astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("y contains NaN or inf; drop those records first.")
    return numbers


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return the declared bounds of a target; raise if they are invalid."""
    try:
        low, high = (float(side) for side in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"target_bounds must be two numbers, (low, high), that are public, got {shown(bounds)}."
        ) from None
    narrowest, widest = BOUND_SIZES
    if not (-widest <= low < high <= widest and high - low >= narrowest):
        raise ValueError(
            f"target_bounds must be (low, high) with low < high, at least {narrowest:g} apart and at most "
            f"{widest:g} in size; got {shown(low)} and {shown(high)}."
        )
    return low, high
