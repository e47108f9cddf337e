"""Laplace and exponential noise from OpenDP's exact samplers.

Mechanisms draw at most a few dozen numbers at a time, so some ten microseconds for each do not matter.
"""

from __future__ import annotations

import math

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def add_laplace(values: Vector, scale: float) -> Vector:
    """Return values plus discrete Laplace noise on a grid 2^-80 times as fine as its scale.

    Rounding the values to the grid 2^k moves each by at most 2^(k - 1), far inside zcdp.NOISE_MARGIN.
    """
    k = math.frexp(scale)[1] - 80
    space = _floats(values.size), dp.l1_distance(T=float)
    measurement = dp.m.make_laplace(*space, scale=float(scale), k=k)
    return np.asarray(measurement(values.tolist()), dtype=np.float64)


def argmax_with_exponential_noise(scores: Vector, scale: float) -> int:
    """Return the index of the largest score after exponential noise."""
    space = _floats(scores.size), dp.linf_distance(T=float)
    # OpenDP draws exponential noise under this measure
    return int(dp.m.make_noisy_max(*space, dp.max_divergence(), scale=float(scale))(scores.tolist()))


def _floats(size: int) -> dp.Domain:
    return dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)


dp.enable_features("contrib")
