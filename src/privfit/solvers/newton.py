"""Private Newton steps: a noisy gradient, divided by a noisy matrix of second derivatives.

After Ganesh, Haghifam, Steinke & Thakurta (2023). One private matrix of second moments bounds the curvature
wherever the weights are, and serves the first steps; for smooth losses a second matrix, the curvature at the
weights reached by then, serves the others. A direction in which the matrix shows nothing but its own noise
is taken to be as curved as that noise could hide. docs/research.md has what was tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privfit.accounting import Gaussian
from privfit.curator import Curator, Measurement, Vector
from privfit.losses.targets import AMOUNTS
from privfit.questions import GradientAt, HessianAt, SecondMoments
from privfit.questions.products import symmetric
from privfit.solvers.adaptive import BIAS
from privfit.solvers.base import Solution, Step, register
from privfit.solvers.calibration import first_weights
from privfit.solvers.curvature import DIGITS
from privfit.solvers.geometry import bounded, counted, standardised
from privfit.solvers.kit import total_weight
from privfit.solvers.output_curvature import mean_of_outputs
from privfit.solvers.requirements import POSITIVE_DELTA, SMOOTH_LOSS, UNCONSTRAINED, Requirement
from privfit.solvers.walk import gradient_clip

MOST_COLUMNS = 2000  # the matrix has the square of that many numbers, and its eigenvectors take the cube
MATRIX_SHARE = 0.05  # of what geometry leaves, for each matrix: steps pay for their noise, too
REFRESH_AT = 0.3  # of the steps: the weights are then near enough for the curvature there to hold further on
WINDOW = 2.0  # of predictions, over which curvature is averaged, because steps move them by about as much
LENGTH = 1.5  # how far the noise of all steps may move a weight where there is no curvature
STEPS = (12, 100)  # curvatures below the bound X'X/4 make steps shorter than Newton's; a dozen still arrive
AVERAGE_FROM = 0.6  # of the steps: earlier points are on the way

FEW_COLUMNS = Requirement(
    f"at most {MOST_COLUMNS} columns, because it asks for a number for every two of them",
    lambda facts: facts.n_features is None or facts.n_features <= MOST_COLUMNS,
)
NO_COUNTS = Requirement(
    "labels or numbers, because no bound of the curvature for counts is small enough to step by",
    lambda facts: facts.loss.targets != AMOUNTS,
)


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of the mean loss, by eigenvectors, none smaller than what noise could hide."""

    values: Vector
    vectors: NDArray[np.float64]

    @classmethod
    def of(cls, measured: Measurement, scale: float, penalty: NDArray[np.float64], least: float) -> Curvature:
        """Return that of a noisy matrix times `scale`, and of the regulariser, at least `least`.

        The noise alone has eigenvalues up to sigma sqrt(2 d) on either side (Wigner's semicircle), and hides
        smaller ones.
        """
        values, vectors = np.linalg.eigh(scale * symmetric(measured.value) + penalty)
        hidden = scale * noise_edge(measured.sigma, len(values))
        return cls(np.maximum(values, max(hidden, least)), vectors)

    def step(self, gradient: Vector) -> Vector:
        """Return Newton's step along this gradient."""
        values = self.values if gradient.ndim == 1 else self.values[:, None]
        step: Vector = self.vectors @ ((self.vectors.T @ gradient) / values)
        return step


def noise_edge(sigma: float, d: int) -> float:
    """Return how large eigenvalues of a `symmetric` matrix of pure noise get."""
    return sigma * math.sqrt(2.0 * d)


@register
@dataclass(frozen=True, kw_only=True)
class Newton:
    """Newton steps with a private matrix of second derivatives, in the geometry of the default (Q1, Q14).

    Use it on tables of up to 2,000 columns where passes over the data are expensive, or columns strongly
    correlated: it takes 12 to 100 steps of a pass each, 2.4 to 4.4 times the root of the number of columns
    for the logistic loss and 100 for the hinge. It needs no settings.
    """

    name: ClassVar[str] = "newton"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        UNCONSTRAINED,
        POSITIVE_DELTA,
        SMOOTH_LOSS,
        FEW_COLUMNS,
        NO_COUNTS,
    )
    promise = staticmethod(Gaussian.of)

    def solve(self, curator: Curator) -> Solution:
        """Buy the geometry and the matrix, step, and average the later points, the last weighing most."""
        budget = curator.remaining
        n = counted(curator, budget)
        weight = total_weight(curator, budget, n)
        features = standardised(bounded(curator, budget, n), budget, n, BIAS)
        walker = features.curator
        start = first_weights(walker, budget, n, weight, BIAS)
        w, trace = newton_steps(walker, weight, start)
        notes = (*features.notes, f"{len(trace)} Newton steps were planned for this table and rho")
        view = walker.regulariser.view
        return Solution(walker.raw_weights(w), trace, notes, walker.bounds, view=view, total=weight)


def planned_steps(steepest: float, d: int, clip: float) -> int:
    """Return how many steps go as far as their noise lets them (LENGTH) where the matrix shows nothing.

    If the whole budget leaves a noise of `clip` on one gradient, the matrix, of records of norm 1, has one of
    1 / sqrt(MATRIX_SHARE), and a step is as long as one over the curvature that this could hide. Clips above
    1 are for budgets so large that it hides little.
    """
    hidden = steepest * noise_edge(1.0 / math.sqrt(MATRIX_SHARE), d)
    return int(np.clip(math.ceil(LENGTH * hidden / min(clip, 1.0)), *STEPS))


def newton_steps(features: Curator, n: float, w: Vector) -> tuple[Vector, tuple[Step, ...]]:
    """Return the weighted mean of the later points, and the steps."""
    loss, d, matrix_rho = features.loss, features.n_weights, MATRIX_SHARE * features.remaining
    carried = features.reach(n)
    clip = gradient_clip(carried / math.sqrt(d * loss.free_outputs))
    radius = max(1.0, clip)  # what a gradient may hear of a record, its curvature must, or steps overshoot
    clip *= loss.joint_slope
    # The hinge is curved at its kink alone. How much, at these weights, says nothing of a step further, and
    # the bound by its rounded version is so cautious that it takes as many steps as there may be.
    smooth, steepest = loss.smoothness < math.inf, loss.smoothed.smoothness
    steps = planned_steps(steepest, d, clip) if smooth else STEPS[1]
    least = steps * clip / (LENGTH * carried)
    penalty = np.stack([features.regulariser.gradient(e) for e in np.eye(d)])
    least = max(least, DIGITS * float(np.trace(penalty)))
    moments = features.measure(SecondMoments(radius), matrix_rho)
    curvature = Curvature.of(moments, steepest / n, penalty, least)
    refresh_at = math.ceil(REFRESH_AT * steps) if smooth else None
    mean, weight, trace = np.zeros_like(w), 0.0, list[Step]()
    for t in range(steps):
        bought = loss.outputs == 1  # of several outputs the moments, and the weights, tell the curvature
        reserved = matrix_rho if refresh_at is not None and t < refresh_at and bought else 0.0
        if t == refresh_at and not bought:
            of_outputs = mean_of_outputs(loss, symmetric(moments.value) / n, w, features.n_features)
            largest = float(np.linalg.eigvalsh(of_outputs)[-1])
            curvature = Curvature.of(moments, min(largest, steepest) / n, penalty, least)
        elif t == refresh_at:
            hessian = features.measure(HessianAt(w, radius * math.sqrt(steepest), WINDOW), matrix_rho)
            curvature = Curvature.of(hessian, 1.0 / n, penalty, least)
        g = features.measure(GradientAt(w, clip), (features.remaining - reserved) / (steps - t))
        gradient = loss.without_common_part(g.value) / n + features.regulariser.gradient(w)
        w = w - curvature.step(gradient)
        trace.append(Step(t + 1, 1.0, g.rho, 0.0, g.sigma))
        share = max(t + 1 - AVERAGE_FROM * steps, 0.0)
        if share > 0.0:
            weight += share
            mean = mean + (w - mean) * (share / weight)
    return mean, tuple(trace)
