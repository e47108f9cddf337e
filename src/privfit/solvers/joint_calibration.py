"""Calibration of several outputs: one scale for the margins of all classes, and an intercept for each.

This is `privfit.solvers.calibration` for several outputs. All outputs share one scale, so there are few
numbers to fit.
"""

from __future__ import annotations

import math

import numpy as np

from privfit.curator import Curator, Vector
from privfit.questions import ScaleSlopesAt
from privfit.solvers.base import Step
from privfit.solvers.calibration import (
    CALIBRATION_STEPS,
    CLIP_REACH,
    FORGETTING_FACTOR,
    INTERCEPT_DOUBT,
    LEAST_CALIBRATION_CLIP,
    LONGEST_CALIBRATION_STEP,
    NOISE_RANGE,
    SCALE_DOUBT,
    SCALE_RANGE,
    Calibration,
    margin_size,
)
from privfit.solvers.output_curvature import gaussian_margins, mean_hessian


def jointly_calibrated(
    features: Curator, w: Vector, n: float, weight: float, bias: float, noise: float, taken: int
) -> Calibration:
    """Spend the remaining budget on the scale of the margins z.w and on the intercepts.

    It takes Newton steps with the gains of a Kalman filter, like `calibration.calibrated` for one output.
    """
    loss, p = features.loss, features.n_features
    own, outputs = w[:p], loss.outputs
    square = max(float(np.sum(own**2)), 1e-300)
    margins = features.projected(w)
    size = margin_size(margins, math.sqrt(noise * loss.free_outputs), 2.0 * math.sqrt(square), n)
    margins = margins.transformed(np.zeros(outputs), np.full(outputs, 1.0 / size), 1.0)
    explained = p * loss.free_outputs * noise / square
    scale = float(np.interp(explained, NOISE_RANGE, SCALE_RANGE)) * size
    intercepts = bias * np.sum(w[p:], axis=0)
    doubts = [SCALE_DOUBT * size] + features.intercept * outputs * [
        math.hypot(bias * math.sqrt(noise), INTERCEPT_DOUBT)
    ]
    doubt = np.diag(np.array(doubts) ** -2.0)
    clip = loss.joint_slope * max(LEAST_CALIBRATION_CLIP, margins.reach(weight) / CLIP_REACH)
    draws = gaussian_margins(own.T @ own / square)  # draws of margins of size 1
    information, trace = np.zeros_like(doubt), []
    for t in range(CALIBRATION_STEPS):
        g = margins.measure(
            ScaleSlopesAt(scale, intercepts, clip), margins.remaining / (CALIBRATION_STEPS - t)
        )
        slope = g.value / weight
        pull = features.regulariser.gradient(_weights(w, p, scale / size, intercepts / bias))
        slope[0] += float(np.sum(pull[:p] * own)) / size
        slope[1:] += np.sum(pull[p:], axis=0)[: len(slope) - 1] / bias
        longest = LONGEST_CALIBRATION_STEP * max(scale, size)
        hessian = mean_hessian(loss, draws, intercepts, max(scale, size))[: len(slope), : len(slope)]
        certainty = (weight / g.sigma) ** 2
        information = FORGETTING_FACTOR * information + certainty * hessian @ hessian
        step = certainty * np.linalg.solve(information + doubt, hessian @ slope)
        step = np.clip(step, -longest, longest)
        if loss.only_differences:
            step[1:] -= step[1:].mean() if len(step) > 1 else 0.0
        scale = max(scale - float(step[0]), 0.0)
        intercepts = intercepts - (step[1:] if features.intercept else 0.0)
        trace.append(Step(taken + t + 1, 1.0, g.rho, 0.0, g.sigma))
    decision = (
        f"{CALIBRATION_STEPS} further steps scaled its margins by {scale / size:.2f} and found their "
        "intercepts"
    )
    return Calibration(_weights(w, p, scale / size, intercepts / bias), tuple(trace), decision)


def _weights(w: Vector, p: int, scale: float, intercepts: Vector) -> Vector:
    """Return w with the weights of the columns multiplied by a scale, and new intercepts if it has any."""
    scaled = scale * w
    scaled[p:] = intercepts
    return scaled
