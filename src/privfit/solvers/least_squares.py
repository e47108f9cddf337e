"""Least squares from noisy sums of products, and when they are as good as a walk.

The noise could make the matrix singular, so a ridge is added that the noise does not outweigh.
"""

from __future__ import annotations

import math

import numpy as np

from privfit.curator import Curator, Vector
from privfit.losses.squared import SQUARED
from privfit.questions import SufficientStatistics
from privfit.questions.products import symmetric

RADIUS = 1.5  # rows that are longer than so many typical ones are shrunk
FARTHEST = 3.0  # scales from their centre to which targets are clipped
RIDGE = 1.25  # times the largest eigenvalue that the noise alone has as a rule
FEW = 0.005  # d^1.5 / reach up to which one release is as good as a walk, which takes dozens of passes


def is_enough(features: Curator, n: float) -> bool:
    """Return whether one release of the sums is as good as a walk, by public numbers."""
    d, reach = features.n_weights, features.reach(n)
    plain = features.loss is SQUARED and not features.weighted
    return plain and d * math.sqrt(d) <= FEW * reach


def least_squares(features: Curator, n: float) -> Vector:
    """Spend what is left on the sums, and return the ridge solution."""
    d = features.n_weights
    sums = features.measure(SufficientStatistics(RADIUS, FARTHEST), features.remaining)
    products = sums.value[-d:]
    values, vectors = np.linalg.eigh(symmetric(sums.value[:-d]))
    edge = sums.sigma * math.sqrt(2.0 * d)  # of the eigenvalues of pure noise (Wigner's semicircle)
    surely = max(values[0] - edge, 0.0)  # the least eigenvalue without the noise is at least this
    ridge = max(RIDGE * edge - surely, 0.0)
    penalty = n * np.stack([features.regulariser.gradient(e) for e in np.eye(d)])
    noisy = (vectors * values) @ vectors.T + penalty + ridge * np.eye(d)
    solution: Vector = np.linalg.solve(noisy, products)
    return solution
