"""Newton steps after a solver, whose noise has a known distribution, so that standard errors follow.

A solver stops early on purpose, and the distribution of its result is not known. So the solver gets a part of
the privacy budget, and the rest corrects its result. A first step uses a gradient and a curvature. A second
step, from the weights of the first, uses both again, and the squares of the records' scores, which show how
much the gradient varies between samples. One step would not be enough: with many records, its remaining error
is as large as the sampling error. For the squared loss a step is exact, so only the second one is taken.
Shares are of the whole budget; docs/research.md says how they were chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.relation import Relation
from privfit.curator import Curator, Measurement, Vector
from privfit.losses import Loss
from privfit.losses.squared import SQUARED
from privfit.losses.targets import AMOUNTS, LARGEST_TARGET
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread, Norms, PersonSpread
from privfit.questions.products import symmetric
from privfit.solvers.base import Solution
from privfit.solvers.class_contrasts import ClassContrasts, basis_of_classes
from privfit.solvers.contrasts import Category, Contrasts, contrasts_of, with_references_at_zero
from privfit.solvers.newton import noise_edge
from privfit.solvers.numbers import has_a_unit
from privfit.solvers.residual_walk import NOISE_DEVIATIONS

SOLVER_SHARE = 0.40
RADIUS_SHARE = 0.01
FIRST_CURVATURE_SHARE, FIRST_GRADIENT_SHARE = 0.08, 0.06
CURVATURE_SHARE, SPREAD_SHARE, GRADIENT_SHARE = 0.16, 0.08, 0.21
SPREAD_NOISE = 1 / 3  # of squared scores, as a share of the variance of the gradient's noise
MOST_SPREAD_PART = 0.75  # of what is left, for squared scores; reached at an epsilon of about 9
LONG_RECORDS = 0.1  # share of the records that are longer than the radius, and therefore shrunk
LARGE_MEAN = 3.0  # records whose predicted number exceeds this, in units of the scale, are shrunk
REMAINDER, REMAINDER_OF_AMOUNTS = 0.15, 0.5  # remaining error after a Newton step u, as a share of u'Hu
DRIFT_LIMIT = 0.2  # standard errors by which the curvature at the first point may change an effect
RADII = 4.0 * 2.0 ** (-np.arange(25) / 8)  # candidates for the radius, in units of the typical norm


@dataclass(frozen=True)
class Limits:
    """Bounds on slopes and second derivatives of the losses, after records with large means are shrunk.

    Parameters
    ----------
    slope, curvature : float
        Their bounds.
    mean : float
        The predicted mean above which a record is shrunk; infinite if slopes are bounded anyway.
    remainder : float
        The remaining error after a Newton step u, as a share of u'Hu.
    """

    slope: float
    curvature: float
    mean: float
    remainder: float

    @property
    def is_of_targets(self) -> bool:
        """Whether slopes are bounded by the bounds of the targets alone, which may be far wider than they."""
        return self.mean < math.inf

    def spread_price(self, budget: float, left: float) -> float:
        """Return the part of what is left of the budget that buys squared scores; the gradient gets the rest.

        If s bounds a record's share of the gradient, the noise of the gradient has the variance
        s^2 / (2 rho_g), and that of the squared scores the standard deviation s^2 / sqrt(2 rho_v). Where s is
        wide, the second must stay small beside the first, which is part of the variance of every effect.
        These prices make it `SPREAD_NOISE` times as large, whatever s and the number of records are.
        """
        if not self.is_of_targets:
            return SPREAD_SHARE * budget
        of_gradient = 2.0 * left / (1.0 + math.sqrt(1.0 + 8.0 * left / SPREAD_NOISE**2))
        return min(2.0 * (of_gradient / SPREAD_NOISE) ** 2, MOST_SPREAD_PART * left)

    def gradient_of(self, radius: float) -> EffectGradient:
        """Return the question for the gradient."""
        return EffectGradient(radius, self.slope, self.mean)

    def curvature_of(self, radius: float) -> EffectCurvature:
        """Return the question for the curvature."""
        return EffectCurvature(radius, self.curvature, self.mean)

    def spread_of(self, radius: float, relation: Relation) -> EffectSpread | PersonSpread:
        """Return the question for the squared scores, of people if they may have several records."""
        kind = EffectSpread if relation.is_one_record_each else PersonSpread
        return kind(radius, self.slope, self.mean)


def limits_of(loss: Loss, ends: tuple[float, float], center: float, scale: float) -> Limits:
    """Return the limits for targets between these ends, which are measured in this unit.

    For numbers and amounts the slope is the predicted mean minus the target, whose bound is public or was
    bought.
    """
    if loss == SQUARED:
        farthest = min(max(ends[1] - center, center - ends[0]) / scale, LARGEST_TARGET)
        mean = min(LARGE_MEAN, farthest)
        return Limits(farthest + mean, loss.smoothness, mean, 0.0)
    if loss.targets == AMOUNTS:
        farthest = min(ends[1] / scale, LARGEST_TARGET)
        return Limits(max(farthest, LARGE_MEAN), LARGE_MEAN, LARGE_MEAN, REMAINDER_OF_AMOUNTS)
    return Limits(loss.lipschitz, loss.smoothness, math.inf, REMAINDER)


@dataclass(frozen=True, eq=False)
class LastSteps:
    """What the last steps released, in the free directions of a view.

    Parameters
    ----------
    w, start : arrays
        The corrected weights, and the solver's weights, in the free directions.
    unit : float
        The factor that turns the effects of the free directions into weights.
    shift : array
        What is then added to the weights: the centre of the targets, to the intercept.
    contrasts : Contrasts or ClassContrasts
        The free directions.
    curvature, spread : arrays
        The released H, the penalty's part included, and V.
    sigma_curvature, sigma_spread, sigma_gradient : float
        The scales of the noise in both and in the last gradient.
    step : array
        The last step.
    mass : float
        The released sum of second derivatives.
    remainder : float
        The remaining error after a Newton step u, as a share of u'Hu.
    notes : tuple of str
        What was decided, in words for the statement.
    """

    w: Vector
    start: Vector
    unit: float
    shift: Vector
    contrasts: Contrasts | ClassContrasts
    curvature: Vector
    spread: Vector
    sigma_curvature: float
    sigma_spread: float
    sigma_gradient: float
    step: Vector
    mass: float
    remainder: float
    notes: tuple[str, ...]

    def raw(self, w: Vector) -> Vector:
        """Return the raw weights for weights in the free directions; those of reference levels are 0.

        With several classes each class has a column, and the sum over the classes is 0.
        """
        if isinstance(self.contrasts, ClassContrasts):
            return (self.contrasts.weights @ w).reshape(-1, self.contrasts.outputs)
        return self.unit * (self.contrasts.effects @ w) + self.shift

    def keeping(self, known: NDArray[np.bool_]) -> Vector:
        """Return the weights nearest to the solver's whose known effects are the corrected ones.

        In directions in which noise hides the curvature, the last step is only noise. The distance is that of
        predictions, as far as the curvature is known.
        """
        if known[~self._is_reference].all():
            return self.w
        a = self.contrasts.effects[known & ~self._is_reference]
        inverse = lifted(self.curvature, noise_edge(self.sigma_curvature, len(self.w)))
        moved = np.linalg.solve(a @ inverse @ a.T, a @ (self.w - self.start))
        kept: Vector = self.start + inverse @ a.T @ moved
        return kept

    @property
    def _is_reference(self) -> NDArray[np.bool_]:
        found = np.zeros(len(self.contrasts.effects), dtype=bool)
        found[list(self.contrasts.references)] = True
        return found


def last_steps(
    curator: Curator,
    solution: Solution,
    budget: float,
    categories: tuple[Category, ...] = (),
    ends: tuple[float, float] = (-1.0, 1.0),
) -> LastSteps:
    """Correct a solution with what is left of the budget. The shares above are of the whole `budget`.

    Targets lie between `ends`, which are public or were bought. The solution holds the view of the features
    in which it was found, and the number of records. The solver may have clipped columns at bounds that it
    bought; these steps do not, because clipped columns would change the coefficients even of a correctly
    specified model. Shrinking whole records by their length does not change them.
    """
    view: Any = curator.regulariser.view if solution.view is None else solution.view
    n = solution.total or curator.n_records or 1.0
    loss, center, scale = curator.loss, solution.target_center, solution.target_scale
    shift, unit = loss.unit_of_weights(center, scale) if has_a_unit(loss) else (0.0, 1.0)
    own = curator if unit == 1.0 and shift == 0.0 else curator.retargeted(center, scale, loss)
    features = own.transformed(view.center, view.scale, view.bias or 1.0)
    limits = limits_of(loss, ends, center, scale)
    of_columns = contrasts_of(view, features.n_weights, features.intercept, categories)
    contrasts = of_columns if loss.outputs == 1 else ClassContrasts(of_columns, loss.outputs)
    basis, shape = contrasts.basis, solution.w.shape
    penalty = n * features.penalty.alpha * contrasts.squares
    radius = _radius(features, RADIUS_SHARE * budget, view.bias)
    moved = np.zeros(features.n_weights)
    moved[-1] = shift
    start = with_references_at_zero(solution.w, categories) if features.intercept else solution.w
    if loss.outputs == 1:
        viewed = view.viewed_weights((start - moved) / unit)
    else:
        viewed = np.stack([view.viewed_weights(output) for output in start.T], axis=1)
    w = solved = basis.T @ viewed.ravel()

    first, moved_by = None, np.zeros_like(w)
    if limits.remainder:
        point = features.at((basis @ w).reshape(shape))
        first = features.measure(limits.curvature_of(radius), FIRST_CURVATURE_SHARE * budget, of=point)
        g = features.measure(limits.gradient_of(radius), FIRST_GRADIENT_SHARE * budget, of=point)
        rough = contrasts.reduced(symmetric(first.value)) + penalty
        gradient = basis.T @ g.value.ravel() + penalty @ w
        inverse = lifted(rough, noise_edge(first.sigma, len(w)))
        moved_by = inverse @ gradient
        if limits.is_of_targets:
            moved_by *= _not_noise(gradient, inverse, g.sigma)
        w = w - moved_by

    point = features.at((basis @ w).reshape(shape))
    second = features.measure(limits.curvature_of(radius), CURVATURE_SHARE * budget, of=point)
    price = limits.spread_price(budget, features.remaining)
    spread = features.measure(limits.spread_of(radius, features.relation), price, of=point)
    g = features.measure(limits.gradient_of(radius), features.remaining, of=point)
    gradient = basis.T @ g.value.ravel() + penalty @ w
    for both in (second,) if first is None else (first.average(second), second):
        curvature = contrasts.reduced(symmetric(both.value)) + penalty
        step = lifted(curvature, both.sigma) @ gradient
        mass = _mass(both, radius, view.bias, loss.outputs)
        if first is None:
            break
        # the curvatures at the two points differ by about this share
        change = math.sqrt(max(float(moved_by @ curvature @ moved_by), 0.0) / mass)
        # length of the step in standard errors of an effect, which include the noise of the gradient
        errors = curvature + g.sigma**2 * np.eye(len(w))
        gone = math.sqrt(float(gradient @ lifted(errors, g.sigma**2) @ gradient) / len(w))
        if first.rho / both.rho * change * gone <= DRIFT_LIMIT:
            break
    steps = "two Newton steps" if limits.remainder else "a Newton step"
    note = (
        f"{steps} after the solver corrected the weights; records more than {radius:.3g} times as "
        f"long as a typical record count less in {'these steps' if limits.remainder else 'this step'}"
    )
    return LastSteps(
        w=w - step,
        start=solved,
        unit=unit,
        shift=moved,
        contrasts=contrasts,
        curvature=curvature,
        spread=contrasts.reduced(symmetric(spread.value), of_records=features.relation.is_one_record_each),
        sigma_curvature=both.sigma,
        sigma_spread=spread.sigma,
        sigma_gradient=g.sigma,
        step=step,
        mass=mass,
        remainder=limits.remainder,
        notes=(note,),
    )


def lifted(curvature: Vector, least: float) -> Vector:
    """Return the inverse of a noisy matrix, with all eigenvalues raised to at least `least`."""
    values, vectors = np.linalg.eigh(curvature)
    inverse: Vector = (vectors / np.maximum(values, least)) @ vectors.T
    return inverse


def _not_noise(gradient: Vector, inverse: Vector, sigma: float) -> float:
    """Return the factor of a step that leaves what noise does not explain of its squared length g'H^-1 g.

    Squares within `NOISE_DEVIATIONS` standard deviations of those that noise would give count as noise.
    """
    length = float(gradient @ inverse @ gradient)
    deviation = math.sqrt(2.0 * float(np.sum(inverse * inverse)))
    noise = sigma**2 * (float(np.trace(inverse)) + NOISE_DEVIATIONS * deviation)
    return 1.0 - noise / length if length > noise else 0.0


def _radius(features: Curator, rho: float, bias: float | None) -> float:
    """Buy a norm, including the intercept's column, that few records exceed."""
    counts = features.measure(Norms(RADII), rho)
    above = np.cumsum(counts.value)
    length = float(RADII[int(np.argmax(above >= LONG_RECORDS * above[-1]))])
    return math.hypot(length, bias or 0.0)


def _mass(curvature: Measurement, radius: float, bias: float | None, outputs: int) -> float:
    """Return the sum of second derivatives: from the intercept's entry or, without one, a lower bound.

    With several classes it is the smallest over all differences between classes.
    """
    matrix, basis = symmetric(curvature.value), basis_of_classes(outputs)
    if bias is None:
        return max(float(np.trace(matrix)) / (max(1, outputs - 1) * radius**2), 1.0)
    of_intercepts = basis.T @ matrix[-outputs:, -outputs:] @ basis
    return max(float(np.linalg.eigvalsh(of_intercepts)[0]) / bias**2, 1.0)
