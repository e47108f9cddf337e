"""Private Newton steps: the inverse of a noisy matrix of second derivatives times a noisy gradient.

After Ganesh, Haghifam, Steinke & Thakurta (2023). A private matrix of second moments bounds the curvature at
all weights; the first steps use it. For smooth losses the later steps use a second matrix, the curvature at
the weights reached by then. If a direction of the matrix cannot be told from noise, its curvature is taken to
be the largest that the noise could hide. docs/research.md says what was tried.
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
from privfit.solvers.curvature import LEAST_RELATIVE_PENALTY
from privfit.solvers.geometry import bounded, counted, standardised
from privfit.solvers.kit import total_weight
from privfit.solvers.output_curvature import mean_of_outputs
from privfit.solvers.requirements import POSITIVE_DELTA, SMOOTH_LOSS, UNCONSTRAINED, Requirement
from privfit.solvers.walk import gradient_clip

# the matrix has the square of this number of entries, and the time for eigenvectors grows with its cube
MOST_COLUMNS = 2000
MATRIX_SHARE = 0.05  # of what is left after the statistics of the features, for each matrix
REFRESH_AT = 0.3  # share of the steps after which the curvature is measured again, for all later steps
CURVATURE_WINDOW = 2.0  # curvature is averaged over this range of predictions, about the length of a step
NOISE_PER_WEIGHT = 1.5  # how far noise may move a weight over all steps, in a direction without curvature
# a dozen steps are enough to converge, although the bound X'X/4 makes steps shorter
FEWEST_AND_MOST_STEPS = (12, 100)
AVERAGE_FROM = 0.6  # share of the steps before which iterates are not averaged

FEW_COLUMNS = Requirement(
    f"at most {MOST_COLUMNS} columns, because it asks for a number for each pair of columns",
    lambda facts: facts.n_features is None or facts.n_features <= MOST_COLUMNS,
)
NO_COUNTS = Requirement(
    "labels or numbers, because for counts no bound on the curvature is small enough for useful steps",
    lambda facts: facts.loss.targets != AMOUNTS,
)


@dataclass(frozen=True)
class Curvature:
    """Eigenvectors of the mean loss's Hessian, and eigenvalues raised to the largest that noise hides."""

    values: Vector
    vectors: NDArray[np.float64]

    @classmethod
    def of(cls, measured: Measurement, scale: float, penalty: NDArray[np.float64], least: float) -> Curvature:
        """Return the curvature from a noisy matrix times `scale` plus the regulariser's; at least `least`.

        Pure noise has eigenvalues of up to sigma sqrt(2 d) in size (Wigner's semicircle), so smaller
        eigenvalues may be noise.
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
    """Return the largest eigenvalue to be expected of a `symmetric` matrix of pure noise."""
    return sigma * math.sqrt(2.0 * d)


@register
@dataclass(frozen=True, kw_only=True)
class Newton:
    """Newton steps with a private matrix of second derivatives, in the geometry of the default (Q1, Q14).

    Use it on tables of up to 2,000 columns if passes over the data are expensive, or if columns are strongly
    correlated. It takes 12 to 100 steps of one pass each: for the logistic loss 2.4 to 4.4 times the root of
    the number of columns, and for the hinge 100. It needs no settings.
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
        """Buy statistics of the features and the matrix, take steps, and average the later iterates."""
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
    """Return the number of steps after which noise has moved a weight by about `NOISE_PER_WEIGHT`.

    This is for directions in which the matrix shows only noise. If the noise of one gradient, bought with
    the whole budget, were `clip`, the noise of the matrix, over records of norm 1, would be
    1 / sqrt(MATRIX_SHARE). A step is as long as one over the curvature that this noise could hide. Clips
    above 1 are for large budgets, whose matrix has little noise.
    """
    hidden = steepest * noise_edge(1.0 / math.sqrt(MATRIX_SHARE), d)
    return int(np.clip(math.ceil(NOISE_PER_WEIGHT * hidden / min(clip, 1.0)), *FEWEST_AND_MOST_STEPS))


def newton_steps(features: Curator, n: float, w: Vector) -> tuple[Vector, tuple[Step, ...]]:
    """Return the weighted mean of the later iterates, and the steps."""
    loss, d, matrix_rho = features.loss, features.n_weights, MATRIX_SHARE * features.remaining
    carried = features.reach(n)
    clip = gradient_clip(carried / math.sqrt(d * loss.free_outputs))
    radius = max(1.0, clip)  # if records were clipped more than in gradients, steps would overshoot
    clip *= loss.joint_slope
    # The hinge has curvature at its kink only, so its curvature at these weights does not hold one step
    # further. The bound by the smoothed hinge is so cautious that the largest number of steps is needed.
    smooth, steepest = loss.smoothness < math.inf, loss.smoothed.smoothness
    steps = planned_steps(steepest, d, clip) if smooth else FEWEST_AND_MOST_STEPS[1]
    least = steps * clip / (NOISE_PER_WEIGHT * carried)
    penalty = np.stack([features.regulariser.gradient(e) for e in np.eye(d)])
    least = max(least, LEAST_RELATIVE_PENALTY * float(np.trace(penalty)))
    moments = features.measure(SecondMoments(radius), matrix_rho)
    curvature = Curvature.of(moments, steepest / n, penalty, least)
    refresh_at = math.ceil(REFRESH_AT * steps) if smooth else None
    mean, weight, trace = np.zeros_like(w), 0.0, list[Step]()
    for t in range(steps):
        bought = loss.outputs == 1  # for several outputs the curvature follows from moments and weights
        reserved = matrix_rho if refresh_at is not None and t < refresh_at and bought else 0.0
        if t == refresh_at and not bought:
            of_outputs = mean_of_outputs(loss, symmetric(moments.value) / n, w, features.n_features)
            largest = float(np.linalg.eigvalsh(of_outputs)[-1])
            curvature = Curvature.of(moments, min(largest, steepest) / n, penalty, least)
        elif t == refresh_at:
            hessian = features.measure(
                HessianAt(w, radius * math.sqrt(steepest), CURVATURE_WINDOW), matrix_rho
            )
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
