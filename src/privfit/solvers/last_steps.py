"""Two Newton steps after a solver, whose noise is known exactly: what standard errors follow from.

A solver stops early on purpose, and the distribution of where it stops is not known. So it gets a part of the
budget, and what is left corrects it: a gradient and a curvature for a first step, and at the weights that it
leads to once more both, and the squares of the records' scores, which tell how much the gradient varies
between samples. One step is not enough, because what it leaves to go is as large as the sampling error
where there are many records. Shares are of the whole budget; docs/research.md has how they were chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privfit.curator import Curator, Measurement, Vector
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread, Norms
from privfit.questions.products import symmetric
from privfit.solvers.base import Solution
from privfit.solvers.contrasts import Category, Contrasts, contrasts_of, with_references_at_zero
from privfit.solvers.newton import noise_edge

SOLVER_SHARE = 0.40
RADIUS_SHARE = 0.01
FIRST_CURVATURE_SHARE, FIRST_GRADIENT_SHARE = 0.08, 0.06
CURVATURE_SHARE, SPREAD_SHARE, GRADIENT_SHARE = 0.16, 0.08, 0.21
LONG_RECORDS = 0.1  # share of the records that are longer than the radius, and count less
RADII = 4.0 * 2.0 ** (-np.arange(25) / 8)  # in units of the typical norm


@dataclass(frozen=True, eq=False)
class LastSteps:
    """What the last steps released, in the free directions of a view.

    Parameters
    ----------
    w : array
        The raw weights that they lead to, those of reference levels moved to 0.
    contrasts : Contrasts
        The free directions.
    curvature, spread : arrays
        The released H, the penalty's part included, and V.
    sigma_curvature, sigma_spread, sigma_gradient : float
        The noises' scales of both and of the last gradient.
    step : array
        The last step.
    mass : float
        The released sum of second derivatives.
    notes : tuple of str
        What was decided, in words for the statement.
    """

    w: Vector
    contrasts: Contrasts
    curvature: Vector
    spread: Vector
    sigma_curvature: float
    sigma_spread: float
    sigma_gradient: float
    step: Vector
    mass: float
    notes: tuple[str, ...]


def last_steps(
    curator: Curator, solution: Solution, budget: float, categories: tuple[Category, ...]
) -> LastSteps:
    """Correct a solution with what is left of the budget, which is what the shares above are of.

    The solution says in which view of the features it was found, and how many records there are. Where it
    clipped columns at bounds that it bought, the steps do not: of clipped columns even a right model would
    have other coefficients. Shrinking whole records by their length does not change them.
    """
    view, n = solution.view, solution.total
    assert view is not None
    assert n is not None
    features = curator.transformed(view.center, view.scale, view.bias or 1.0)
    loss, d = features.loss, features.n_weights
    contrasts = contrasts_of(view, d, features.intercept, categories)
    basis = contrasts.basis
    penalty = n * features.penalty.alpha * contrasts.squares
    radius = _radius(features, RADIUS_SHARE * budget, view.bias)
    slope, steepest = loss.lipschitz, loss.smoothness
    start = with_references_at_zero(solution.w, categories) if features.intercept else solution.w
    w = basis.T @ view.viewed_weights(start)

    point = features.at(basis @ w)
    first = features.measure(EffectCurvature(radius, steepest), FIRST_CURVATURE_SHARE * budget, of=point)
    g = features.measure(EffectGradient(radius, slope), FIRST_GRADIENT_SHARE * budget, of=point)
    rough = basis.T @ symmetric(first.value) @ basis + penalty
    gradient = basis.T @ g.value + penalty @ w
    w = w - lifted(rough, noise_edge(first.sigma, len(w))) @ gradient

    point = features.at(basis @ w)
    second = features.measure(EffectCurvature(radius, steepest), CURVATURE_SHARE * budget, of=point)
    spread = features.measure(EffectSpread(radius, slope), SPREAD_SHARE * budget, of=point)
    g = features.measure(EffectGradient(radius, slope), features.remaining, of=point)
    both = first.average(second)  # the curvature at the first point is off by less than its noise
    curvature = basis.T @ symmetric(both.value) @ basis + penalty
    step = lifted(curvature, both.sigma) @ (basis.T @ g.value + penalty @ w)
    mass = _mass(both, radius, view.bias)
    note = (
        f"two Newton steps after the solver corrected the weights; records more than {radius:.3g} times as "
        "long as a typical one count less in them"
    )
    return LastSteps(
        w=contrasts.effects @ (w - step),
        contrasts=contrasts,
        curvature=curvature,
        spread=basis.T @ symmetric(spread.value) @ basis,
        sigma_curvature=both.sigma,
        sigma_spread=spread.sigma,
        sigma_gradient=g.sigma,
        step=step,
        mass=mass,
        notes=(note,),
    )


def lifted(curvature: Vector, least: float) -> Vector:
    """Return the inverse of a noisy matrix whose eigenvalues below `least` are lifted to it."""
    values, vectors = np.linalg.eigh(curvature)
    inverse: Vector = (vectors / np.maximum(values, least)) @ vectors.T
    return inverse


def _radius(features: Curator, rho: float, bias: float | None) -> float:
    """Buy a length that few records, the intercept's column included, exceed."""
    counts = features.measure(Norms(RADII), rho)
    above = np.cumsum(counts.value)
    length = float(RADII[int(np.argmax(above >= LONG_RECORDS * above[-1]))])
    return math.hypot(length, bias or 0.0)


def _mass(curvature: Measurement, radius: float, bias: float | None) -> float:
    """Return the sum of second derivatives: from the intercept's entry or, without one, a lower bound."""
    matrix = symmetric(curvature.value)
    if bias is None:
        return max(float(np.trace(matrix)) / radius**2, 1.0)
    return max(float(matrix[-1, -1]) / bias**2, 1.0)
