"""Fits of numbers and amounts, in a private unit, which the default solver updates during the fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privfit.curator import Curator, Vector
from privfit.losses import Loss
from privfit.losses.targets import AMOUNTS
from privfit.solvers.base import Solution
from privfit.solvers.curvature import affordable
from privfit.solvers.descent import Descent
from privfit.solvers.geometry import bounded, counted, standardised
from privfit.solvers.kit import total_weight
from privfit.solvers.least_squares import is_enough, least_squares
from privfit.solvers.residual_walk import ResidualWalk
from privfit.solvers.target_scale import ScaledTargets, scaled_targets
from privfit.solvers.walk import PLANNED_PASSES

NEGLIGIBLE_SHARE = 1e-6  # share of the budget that rounding may leave
LARGE_PREDICTION = 1.0  # standard deviation of the logarithms of means; few models of amounts exceed it
ONE_RELEASE = "least squares were computed from one noisy release of all products"


def has_a_unit(loss: Loss) -> bool:
    """Return whether a solver may choose the unit of this loss's targets."""
    return loss.is_scale_free or loss.targets == AMOUNTS


def constant_only(scaled: ScaledTargets, left: float, budget: float) -> Solution | None:
    """Return a constant model, or the declared start, if the whole budget was spent on the centre."""
    if left > NEGLIGIBLE_SHARE * budget:
        return None
    regulariser = scaled.curator.regulariser
    w = scaled.in_units(regulariser.start(np.zeros(scaled.curator.n_weights)))
    kept = (
        "only a constant was bought" if regulariser.penalty.start is None else "the declared start was kept"
    )
    return Solution(w, notes=(f"rho is too small for this table: {kept}",))


def walk_start(features: Curator) -> Vector:
    """Return the weights at which the walk starts: zeros or declared weights, with the noisy intercept.

    If the predictions of declared weights vary too much between records, the weights are scaled down. The
    loss of amounts is very steep at large predictions, and with a small budget the walk would not return.
    """
    start = features.regulariser.start(np.zeros(features.n_weights))
    if features.penalty.start is None:
        return start
    weights = start[: features.n_features]
    # the size of predictions, if columns are uncorrelated
    size = float(np.linalg.norm(weights)) / math.sqrt(len(weights))
    weights = weights * min(1.0, LARGE_PREDICTION / max(size, 1e-300))
    # the intercept is 0, because the unit of the amounts is their mean
    return features.regulariser.nearest(np.append(weights, 0.0))


def fitted_numbers(
    curator: Curator, budget: float, n: float, weight: float, bias: float, max_steps: int
) -> Solution:
    """Buy the scale of the targets and statistics of the features, and take the steps."""
    scaled = scaled_targets(curator, budget, n, weight)
    left = curator.remaining
    if only := constant_only(scaled, left, budget):
        return only
    features = standardised(bounded(scaled.curator, left, n), left, n, bias)
    scaled = replace(scaled, curator=features.curator)
    found = Solution(
        np.zeros(curator.n_weights),
        bounds=features.curator.bounds,
        view=features.curator.regulariser.view,
        total=weight,
        target_center=scaled.center,
        target_scale=scaled.scale,
    )
    if is_enough(features.curator, n):
        w = scaled.in_units(features.curator.raw_weights(least_squares(features.curator, n)))
        return replace(found, w=w, notes=(*features.notes, ONE_RELEASE))
    walk: ResidualWalk | Descent
    few_steps = max_steps < PLANNED_PASSES[0]
    if affordable(features.curator, weight, few_steps=few_steps) and curator.loss.is_scale_free:
        walk = Descent(features.curator, weight, bias, longer=features.longer, max_steps=max_steps)
    else:
        start = walk_start(features.curator)
        walk = ResidualWalk(scaled, weight, n, bias, longer=features.longer, start=start, max_steps=max_steps)
    w = scaled.in_units(features.curator.raw_weights(walk.run()))
    unit = scaled.scale * (walk.unit if isinstance(walk, ResidualWalk) else 1.0)
    notes = (*features.notes, walk.decision())
    return replace(found, w=w, trace=tuple(walk.trace), notes=notes, target_scale=unit)


def in_bought_units(curator: Curator, bias: float, solve: Callable[[Curator, float], Solution]) -> Solution:
    """Let a solver with a fixed step size fit numbers, in private units as the default solver buys them.

    `solve` gets a curator over targets of size 1 and standardised features, whose intercept's column holds
    `bias`, and the sum of the records' weights (or their number). A user's loss is made for targets of a
    certain size, so only the features are scaled for it.
    """
    budget = curator.remaining
    n = counted(curator, budget)
    weight = total_weight(curator, budget, n)
    scaled = ScaledTargets(curator, 1.0)
    if has_a_unit(curator.loss):
        scaled = scaled_targets(curator, budget, n, weight)
    left = curator.remaining
    if only := constant_only(scaled, left, budget):
        return only
    features = standardised(bounded(scaled.curator, left, n), left, n, bias)
    found = solve(features.curator, weight)
    w = scaled.in_units(features.curator.raw_weights(found.w))
    return replace(found, w=w, notes=(*features.notes, *found.notes), bounds=features.curator.bounds)
