"""Least squares from noisy sums: one release of all products of features and targets, and a ridge.

After AdaSSP (Wang 2018), on features that are standardised like those of the default solver. The noise of the
sums could make the matrix singular, so a ridge is added that is larger than the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from privfit.accounting import Gaussian
from privfit.curator import Curator
from privfit.losses.squared import SQUARED
from privfit.solvers.adaptive import BIAS
from privfit.solvers.base import Solution, register
from privfit.solvers.geometry import bounded, counted, standardised
from privfit.solvers.least_squares import least_squares
from privfit.solvers.newton import FEW_COLUMNS
from privfit.solvers.numbers import ONE_RELEASE, constant_only
from privfit.solvers.requirements import PLAIN, POSITIVE_DELTA, Requirement
from privfit.solvers.target_scale import scaled_targets

SQUARED_LOSS = Requirement("the squared loss", lambda facts: facts.loss is SQUARED)


@register
@dataclass(frozen=True, kw_only=True)
class SufficientStatisticsSolver:
    """Least squares from one noisy release of all products of features and targets (Q21).

    It takes two passes over the data, however large the table is, and needs no settings. Its error grows with
    the cube of the number of columns, and that of the default solver with the square. Use it for many records
    and few columns, if passes are expensive.
    """

    name: ClassVar[str] = "sufficient-statistics"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (*PLAIN, POSITIVE_DELTA, SQUARED_LOSS, FEW_COLUMNS)
    promise = staticmethod(Gaussian.of)

    def solve(self, curator: Curator) -> Solution:
        """Buy the scale of the targets, statistics of the features and then the sums, and solve."""
        budget = curator.remaining
        n = counted(curator, budget)
        scaled = scaled_targets(curator, budget, n, n)
        left = curator.remaining
        if only := constant_only(scaled, left, budget):
            return only
        features = standardised(bounded(scaled.curator, left, n), left, n, BIAS)
        scaled = replace(scaled, curator=features.curator)
        w = features.curator.raw_weights(least_squares(features.curator, n))
        notes = (*features.notes, ONE_RELEASE)
        return Solution(scaled.in_units(w), (), notes, features.curator.bounds)
