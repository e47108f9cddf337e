"""A column of weights: how much each record counts."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Real
from typing import Any

from privfit.schema.column import Column
from privfit.schema.numbers import Numeric

LARGEST_WEIGHT = 1e100  # with larger ones, products of weights could overflow


@dataclass(frozen=True)
class Weight(Column):
    """A column of weights, of a survey for example: how much each record counts. It is never a feature.

    Parameters
    ----------
    name : str
        The column's name.
    max : float
        The public largest weight. Larger weights count as this one, negative and missing ones as 0. The
        noise of a fit grows with it.
    mean : float, optional
        The public mean of the weights, for `shrinkage`. If it is not given, a fit buys a noisy mean.
    shrinkage : float
        How far weights are moved towards their mean, between 0 (not at all) and 1 (all records count alike).
    thousands, decimal : str
        Marks in numbers that are text, as those of `Numeric`.

    Examples
    --------
    >>> Weight("pweight", 250.0).as_column.read("18.5")
    18.5
    """

    max: float
    _: KW_ONLY
    mean: float | None = None
    shrinkage: float = 0.0
    thousands: str = ""
    decimal: str = "."

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max", "mean"):
            self._check(name, getattr(self, name), LARGEST_WEIGHT)
        self._check("shrinkage", self.shrinkage, 1.0, or_zero=True)
        if self.mean is not None and self.mean > self.max:
            raise ValueError(f"mean of column {self.name!r} must be at most its max.")
        self.as_column  # noqa: B018  # which refuses marks that make no sense

    def _check(self, name: str, value: Any, largest: float, *, or_zero: bool = False) -> None:
        if value is None and name == "mean":
            return
        number = isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
        if not number or not 0.0 <= value <= largest or (value == 0.0 and not or_zero):
            least = "between 0 and" if or_zero else "positive and at most"
            raise ValueError(f"{name} of column {self.name!r} must be {least} {largest:g}, not {value!r}.")
        object.__setattr__(self, name, float(value))

    @cached_property
    def as_column(self) -> Numeric:
        """A column of numbers that is read in the same way."""
        return Numeric(self.name, 0.0, self.max, thousands=self.thousands, decimal=self.decimal)
