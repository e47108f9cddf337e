"""Least squares from noisy sums of products, and a rule for when this is as accurate as gradient steps.

The noise could make the matrix singular, so a ridge is added that is larger than the noise.
"""

from __future__ import annotations

import math

import numpy as np

from privfit.curator import Curator, Vector
from privfit.losses.squared import SQUARED
from privfit.questions import SufficientStatistics
from privfit.questions.products import symmetric

RADIUS = 1.5  # rows are clipped to this norm, in units of the typical norm
LARGEST_TARGET = 3.0  # targets are clipped to this distance from their centre, in units of their scale
RIDGE_FACTOR = 1.25  # in units of the expected largest eigenvalue of the noise
# the largest d^1.5 / reach for which one release is as accurate as dozens of passes
MOST_WEIGHTS_PER_REACH = 0.005


def is_enough(features: Curator, n: float) -> bool:
    """Return whether one release of the sums is as accurate as gradient steps, judged by public numbers."""
    d, reach = features.n_weights, features.reach(n)
    plain = features.loss is SQUARED and not features.weighted
    return plain and d * math.sqrt(d) <= MOST_WEIGHTS_PER_REACH * reach


def least_squares(features: Curator, n: float) -> Vector:
    """Spend the remaining budget on the sums, and return the ridge solution."""
    d = features.n_weights
    sums = features.measure(SufficientStatistics(RADIUS, LARGEST_TARGET), features.remaining)
    products = sums.value[-d:]
    values, vectors = np.linalg.eigh(symmetric(sums.value[:-d]))
    edge = sums.sigma * math.sqrt(2.0 * d)  # the largest eigenvalue of pure noise (Wigner's semicircle)
    surely = max(values[0] - edge, 0.0)  # a lower bound on the least eigenvalue of the exact matrix
    ridge = max(RIDGE_FACTOR * edge - surely, 0.0)
    penalty = n * np.stack([features.regulariser.gradient(e) for e in np.eye(d)])
    noisy = (vectors * values) @ vectors.T + penalty + ridge * np.eye(d)
    solution: Vector = np.linalg.solve(noisy, products)
    return solution
