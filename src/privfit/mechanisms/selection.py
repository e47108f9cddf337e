"""Private selection of the candidate with the smallest (or largest) score.

Selection adds independent noise to every score and returns the winner. The noise, of any of three shapes, is
added to the quantity that is *maximised*. Adding exponential noise to scores that are then minimised, as the
DP-AGD authors' code does, is only 20 epsilon-DP for 21 candidates (erratum E4).

The price depends on the *width*: the length of the interval that holds the changes of all scores between two
neighbouring tables. Scores that only grow when a record is added, by at most D, have width D. Scores that may
change by D in both directions have width 2D.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.zcdp import bounded_range_cost, gaussian_sigma, pure_cost
from privfit.mechanisms.noise import NoiseSource, Shape


def width(sensitivity: float, *, monotone: bool) -> float:
    """Return the width of scores that one added record changes by at most `sensitivity` each."""
    return sensitivity if monotone else 2.0 * sensitivity


def selection_cost(width: float, scale: float, shape: Shape) -> float:
    """Return the rho of noisy selection (P3 for Gumbel, P2 for the other two).

    Gumbel noise is the exponential mechanism: (width / scale)-bounded range, rho = (width / scale)^2 / 8.
    Laplace and exponential noise are (width / scale)-DP, rho = (width / scale)^2 / 2; the bounded-range
    discount does not hold for them.
    """
    epsilon = width / scale
    return bounded_range_cost(epsilon) if shape == "gumbel" else pure_cost(epsilon)


def selection_scale(width: float, rho: float, shape: Shape) -> float:
    """Return the noise scale at which noisy selection costs rho."""
    # the width takes the place of a sensitivity; for Gumbel noise half the scale is enough (bounded range)
    return gaussian_sigma(width, rho) / (2.0 if shape == "gumbel" else 1.0)


def select_max(
    scores: NDArray[np.float64], width: float, rho: float, shape: Shape, noise: NoiseSource
) -> int:
    """Return the index of a nearly largest score at the price rho."""
    return noise.noisy_argmax(scores, selection_scale(width, rho, shape), shape)


def select_min(
    scores: NDArray[np.float64], width: float, rho: float, shape: Shape, noise: NoiseSource
) -> int:
    """Return the index of a nearly smallest score at the price rho."""
    return select_max(-scores, width, rho, shape, noise)
