"""Output perturbation: gradient descent without noise, whose last point is released with noise.

After Zhang, Zheng, Mou & Wang (2017), "Efficient private ERM for smooth objectives". The sensitivity is that
of claim U1 in docs/privacy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privfit.accounting import Concentrated
from privfit.accounting.zcdp import gaussian_sigma
from privfit.curator import Curator
from privfit.losses import Loss
from privfit.solvers.base import Solution, register
from privfit.solvers.kit import check_positive, check_whole, number_of_records
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    LABELS_AS_PROVED,
    OWN_LOSS,
    PLAIN_RECORDS,
    POSITIVE_DELTA,
    SMOOTH_LOSS,
    Requirement,
)

NOISE_PER_WEIGHT, MOST_STEPS = 0.1, 2000  # default limits: noise of each weight, and number of steps

# If n records are expected and there are N, each has the weight (1 + FADE - FADE N/n) / n, or 0 if that is
# negative; it is 1/n if N = n. The weight falls slowly with N, so one more record hardly changes that of the
# others. Yet the total weight never exceeds MOST_WEIGHT, and N times the total never exceeds MOST_SQUARED n.
FADE = 0.1
MOST_WEIGHT = (1.0 + FADE) ** 2 / (4.0 * FADE)
MOST_SQUARED = 4.0 * (1.0 + FADE) ** 3 / (27.0 * FADE**2)


@register
@dataclass(frozen=True, kw_only=True)
class OutputPerturbation:
    """Full-batch gradient descent whose last point is released with Gaussian noise.

    Use it as a baseline. The noise is calibrated to a record with the largest possible gradient in every
    step. No real record has such gradients. Noisy gradient descent needs far less noise.

    Parameters
    ----------
    T : int, optional
        Number of steps. By default as many as give a weight noise of at most 0.1, and at most 2000.
    step : float, optional
        Step size on the mean loss; by default the longest that the proof allows.
    radius : float
        Rows, including the intercept's 1, are clipped to this norm. A typical norm is a good choice.

    Notes
    -----
    The kink of the hinge is smoothed, because if gradients jump, one record may change the result a lot.
    """

    name: ClassVar[str] = "output-perturbation"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        *PLAIN_RECORDS,
        LABELS_AS_PROVED,
        BOUNDED_SLOPE,
        SMOOTH_LOSS,
        POSITIVE_DELTA,
        OWN_LOSS,
    )
    promise = staticmethod(Concentrated.of)

    T: int | None = None
    step: float | None = None
    radius: float = 3.0

    def __post_init__(self) -> None:
        check_positive(self, "step", "radius")
        check_whole(self, "T")

    def solve(self, curator: Curator) -> Solution:
        """Descend from zero, and add noise to the last point."""
        loss = curator.loss.smoothed
        step = self._step(loss, curator.penalty.alpha)
        n = number_of_records(curator)
        rho = curator.remaining
        gradient = self._longest_row * loss.lipschitz
        facts = n, curator.n_weights, curator.penalty.alpha
        T = self.T
        if T is None:
            noise_of_a_step = gaussian_sigma(sensitivity(1, step, gradient, *facts), rho)
            T = min(max(1, int(NOISE_PER_WEIGHT / noise_of_a_step)), MOST_STEPS)
        sigma = gaussian_sigma(sensitivity(T, step, gradient, *facts), rho)

        problem, noise = curator.open(rho, why="output perturbation", claim="U1")
        problem = problem.with_loss(loss).with_rows_of(self.radius, shrink_only=True)
        weight = max(0.0, 1.0 + FADE - FADE * problem.n_records / n) / n
        w = np.zeros(curator.n_weights)
        for _ in range(int(T)):
            w = w - step * (weight * problem.gradient_at(w, math.inf) + curator.penalty.alpha * w)
        note = f"{T} steps of size {step:.4g}, then noise of {sigma:.4g} on every weight"
        return Solution(noise.gaussian(w, sigma), notes=(note,))

    @property
    def _longest_row(self) -> float:
        return self.radius * (1.0 + 2.0**-19)  # twice the rounding error that Table.with_rows_of allows

    def _step(self, loss: Loss, alpha: float) -> float:
        """Return the step size; the longest is that at which gradient steps do not increase distances."""
        longest = 2.0 / (MOST_WEIGHT * loss.smoothness * self._longest_row**2 + 2.0 * alpha)
        if self.step is not None and self.step > longest:
            raise ValueError(
                f"The proof needs a step of at most {longest:.4g} for this loss, radius and alpha, "
                f"got step={self.step!r}; lower step or radius."
            )
        return longest if self.step is None else self.step


def sensitivity(T: int, step: float, gradient: float, n: float, n_weights: int, alpha: float) -> float:
    """Bound how far one more record moves the last of T points (U1).

    A step multiplies the distance between the points of two neighbouring tables by 1 - step * alpha, and adds
    step * `gradient` * (1 + FADE) / n, where `gradient` bounds the norm of a record's gradient. The last term
    bounds the rounding errors of both.
    """
    shrink = step * alpha
    steps = T if shrink == 0.0 else -math.expm1(T * math.log1p(-shrink)) / shrink
    rounding = 2.0**-49 * (MOST_SQUARED * n + MOST_WEIGHT * (n_weights + 10) * T)
    return step * gradient * steps * ((1.0 + FADE) / n + rounding)
