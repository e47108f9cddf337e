"""The cost of each mechanism in zero-concentrated differential privacy, and the promise of a total cost.

Every number here is rounded to the safe side: costs and epsilons up, noise scales up, budgets down. The
claims cited as P1, P2, ... are stated and proved in docs/privacy.md.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

Conversion = Literal["tight", "classic"]

MIN_RHO, MAX_RHO = 1e-12, 1e3
MIN_DELTA, MAX_DELTA = 1e-15, 0.5
_LEAST_RHO = MIN_RHO * (1.0 - 1e-7)  # slightly smaller, so that the epsilon of MIN_RHO converts back

# Relative allowance for rounding: a few float64 operations together have an error below 2**-50.
_SLACK = 2.0**-50

# A square near the smallest float64 loses digits, or becomes zero. Adding this constant makes up for the
# loss, and does not change any square above 1e-300.
LOST_TO_UNDERFLOW = 2.0**-1070

# Every mechanism multiplies its noise scale by this margin, beyond what its price asks for. The margin makes
# up for the rounding of the scale itself, for the half ulp by which T shares of budget / T may exceed the
# budget (`amounts.ceiling`), and for the grid of secure Laplace noise.
NOISE_MARGIN = 1.0 + 2.0**-30

# Renyi orders a = 1 + b on a fixed geometric grid. With a fixed grid the conversions are exactly monotone,
# because every floating-point operation of an order's bound is, and so is a minimum over fixed orders. The
# grid's spacing costs less than 1e-8 of epsilon if delta is small compared with epsilon. The optimal b solves
# rho b^2 = log(1/delta) (classic) or rho b^2 + log(1 + b) = log(1/delta) (tight). It lies inside the grid for
# all allowed rho and delta.
_B = 2.0 ** np.arange(-6.0, 23.0, 2.0**-12)
_A = 1.0 + _B
_OFFSET = {
    "classic": np.zeros_like(_B),
    # (a-1) log(1 - 1/a) - log(a) is negative, so a factor below 1 is on the safe side
    "tight": (_B * np.log1p(-1.0 / _A) - np.log(_A)) * (1.0 - _SLACK),
}


def gaussian_cost(sensitivity: float, sigma: float) -> float:
    """Return the rho of Gaussian noise, rounded up: sensitivity^2 / (2 sigma^2) (P1)."""
    return pure_cost(_positive("sensitivity", sensitivity) / _positive("sigma", sigma))


def gaussian_sigma(sensitivity: float, rho: float) -> float:
    """Return the standard deviation, rounded up, at which Gaussian noise costs rho (P1)."""
    return _positive("sensitivity", sensitivity) / math.sqrt(2.0 * _positive("rho", rho)) * NOISE_MARGIN


def pure_cost(epsilon: float) -> float:
    """Return the rho of an epsilon-DP mechanism, rounded up: epsilon^2 / 2 (P2)."""
    return _positive("epsilon", epsilon) ** 2 / 2.0 * (1.0 + _SLACK) + LOST_TO_UNDERFLOW


def bounded_range_cost(epsilon: float) -> float:
    """Return the rho of an epsilon-bounded-range mechanism such as Gumbel selection: epsilon^2 / 8 (P3).

    It is rounded up.
    """
    return _positive("epsilon", epsilon) ** 2 / 8.0 * (1.0 + _SLACK) + LOST_TO_UNDERFLOW


def epsilon_from_rho(rho: float, delta: float, conversion: Conversion = "tight") -> float:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up.

    "classic" is rho + 2 sqrt(rho log(1/delta)) (Bun & Steinke 2016), the paper's; "tight" is strictly
    better (Canonne, Kamath & Steinke 2020). Both are minima over Renyi orders of the same shape (P4).

    Parameters
    ----------
    rho : float
        The total cost, from 1e-12 to 1e3.
    delta : float
        The delta of the promise, from 1e-15 to 0.5.
    conversion : {"tight", "classic"}
        Which theorem.

    Returns
    -------
    epsilon : float
        The epsilon at this delta.

    Examples
    --------
    >>> round(epsilon_from_rho(0.1, 1e-6), 2), round(epsilon_from_rho(0.1, 1e-6, "classic"), 2)
    (2.14, 2.45)
    """
    check_rho(rho)
    return epsilon_of_sum(rho, delta, conversion)


def check_rho(rho: float) -> None:
    """Refuse budgets that are too small for any question, or so large that they promise nothing."""
    if not _LEAST_RHO <= rho <= MAX_RHO:
        raise ValueError(f"rho must lie between {MIN_RHO:g} and {MAX_RHO:g}, got {rho!r}.")


def epsilon_of_sum(rho: float, delta: float, conversion: Conversion = "tight") -> float:
    """Return the same without a limit on rho, for sums of budgets.

    Above MAX_RHO the epsilon is valid, but larger than necessary.
    """
    with np.errstate(over="ignore"):  # overflow makes epsilon infinite
        epsilons = (_A * (1.0 + _SLACK)) * rho + _order_terms(delta, conversion)
    return max(0.0, float(epsilons.min()))


def rho_from_epsilon(epsilon: float, delta: float, conversion: Conversion = "tight") -> float:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-DP, rounded down.

    It is the inverse of `epsilon_from_rho`: converting the result back gives at most `epsilon`. The largest
    rho returned is 1e3. For a larger epsilon that is a stronger promise than asked for.

    Parameters
    ----------
    epsilon : float
        The epsilon of the promise.
    delta : float
        The delta of the promise, from 1e-15 to 0.5.
    conversion : {"tight", "classic"}
        Which theorem, as in `epsilon_from_rho`.

    Returns
    -------
    rho : float
        The budget.

    Raises
    ------
    ValueError
        If epsilon is worth less than rho = 1e-12.

    Examples
    --------
    >>> round(rho_from_epsilon(1.0, 1e-6), 4)
    0.0244
    """
    _positive("epsilon", epsilon)
    rhos = (epsilon - _order_terms(delta, conversion)) / (_A * (1.0 + _SLACK)) * (1.0 - _SLACK)
    rho = float(rhos.max())
    if rho < _LEAST_RHO:
        raise ValueError(
            f"epsilon = {epsilon!r} at delta = {delta!r} is worth less than rho = {MIN_RHO:g}, "
            "too little for any question; raise epsilon."
        )
    return min(rho, MAX_RHO)


def _order_terms(delta: float, conversion: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the term of each Renyi order that is added to a * rho."""
    if conversion not in _OFFSET:
        raise ValueError(f"conversion must be one of {get_args(Conversion)}, got {conversion!r}.")
    if not MIN_DELTA <= delta <= MAX_DELTA:
        raise ValueError(f"delta must lie between {MIN_DELTA:g} and {MAX_DELTA:g}, got {delta!r}.")
    terms: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        -math.log(delta) * (1.0 + _SLACK) + _OFFSET[conversion]
    ) / _B
    return terms


def _positive(name: str, value: float) -> float:
    if not (value > 0.0 and math.isfinite(value)):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}.")
    return float(value)
