"""Private geometry: how large the features are, how long the records, how spread the columns.

Every number is bought from the curator; what is done with it afterwards is post-processing. Shares are of the
whole budget.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from privfit.curator import Curator, Measurement, Vector
from privfit.solvers.base import BudgetWarning

COUNT_SHARE = 0.002  # a count of thousands is exact enough at any price
SCALE_SHARE = 0.025  # scales are wanted to a factor of two only
NORM_SHARE = 0.007  # a quantile of norms is wanted to a fifth only
MOMENT_SHARES = (0.06, 0.2)  # more where the budget is small beside the table: geometry is then worth most
ENOUGH = 52.0  # below this n sqrt(2 rho) no column's variance can be resolved
CURVE_WEIGHT = 0.5  # weight of second moments beside first ones; anything from .3 to 1 does
USEFUL = 1.25  # moments are bought if their noise is below this times the mean second moment of a column
LOWEST_MAGNITUDE = -30  # exponent of the first bin of Curator.magnitudes
RESOLVED = 5.0  # standard deviations that no bin of pure noise reaches (about 1 in 10 000 tables)
GRID = 2.0 ** (-np.arange(25) / 4)  # norms in steps of a fifth, down to 1/64 of the largest possible


@dataclass(frozen=True)
class Features:
    """Features in [-1, 1], and what is public about their signs.

    `folds` is 1 for columns that cannot be negative, and 0 for the others.
    """

    curator: Curator
    folds: Vector
    notes: tuple[str, ...] = ()


def bounded(curator: Curator, budget: float) -> Features:
    """Scale the features into [-1, 1]: by public bounds, or by private magnitudes of the columns."""
    if curator.bounds is not None:
        low, high = curator.bounds
        # shifting [low, high] to start at 0 needs an intercept, and does not help if 0 is inside
        shift = np.where((low < 0.0) & (high > 0.0) | (not curator.intercept), 0.0, low)
        scale = 1.0 / np.maximum(np.abs(low - shift), np.abs(high - shift))
        return Features(curator.transformed(shift, scale), (low >= shift).astype(np.float64))
    scale, unresolved = _private_scales(curator, SCALE_SHARE * budget)
    notes = []
    if unresolved:
        notes.append(f"{unresolved} columns share one scale because the budget could not tell theirs apart")
        warnings.warn(
            f"The budget could not resolve the scale of {unresolved} of {len(scale)} columns, which share "
            f"one now; declaring feature_bounds=(low, high) would save {SCALE_SHARE:.1%} of the budget and scale "
            "each column by its own.",
            BudgetWarning,
            stacklevel=2,
        )
    scaled = curator.clipped(-1.0 / scale, 1.0 / scale).transformed(np.zeros_like(scale), scale)
    return Features(scaled, np.zeros_like(scale), tuple(notes))


def _private_scales(curator: Curator, rho: float) -> tuple[Vector, int]:
    """Return 1 / (a power of two above nearly all values of the column), and how many columns share one."""
    counts = curator.magnitudes(rho)
    bins = counts.value.reshape(curator.n_features, -1)
    bounds = np.exp2(LOWEST_MAGNITUDE + np.arange(bins.shape[1], dtype=np.float64))
    top = _highest_bin(bins, RESOLVED * counts.sigma)
    pooled = top < 0
    if pooled.any():
        together = bins[pooled].sum(axis=0, keepdims=True)
        shared = _highest_bin(together, RESOLVED * counts.sigma * math.sqrt(pooled.sum()))[0]
        top = np.where(pooled, shared if shared >= 0 else -LOWEST_MAGNITUDE, top)  # 2^0 if nothing is known
    scales: Vector = 1.0 / bounds[top]
    return scales, int(pooled.sum())


def _highest_bin(bins: Vector, threshold: float) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return each row's last bin above the threshold, -1 if there is none."""
    above = bins > threshold
    return np.where(above.any(axis=1), bins.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1), -1)


def standardised(features: Features, budget: float, n: float, bias: float) -> Features:
    """Centre the features and scale them to a typical norm of 1, as far as the budget can tell how."""
    curator = features.curator
    p = curator.n_features
    reach = n * math.sqrt(2.0 * budget)
    center, scale = np.zeros(p), np.ones(p)
    if reach <= ENOUGH:
        typical, bought = (
            math.sqrt(p),
            "nothing about the features was bought: too small a budget for this table",
        )
    else:
        typical = _quantile(
            curator.norms(math.sqrt(p) * GRID, NORM_SHARE * budget), math.sqrt(p) * GRID, 0.5, n
        )
        share = float(np.clip((25.0 / reach) ** 2, *MOMENT_SHARES))
        noise = typical * math.sqrt(1.0 + CURVE_WEIGHT**2) / (reach * math.sqrt(share))
        bought = "of the features only the typical norm was bought: moments would have been too noisy"
        if noise < USEFUL * typical**2 / p:
            center, scale = _moments(features, typical, share * budget, budget, n)
            edges = 2.0 * math.sqrt(p) * GRID
            spread = curator.transformed(center, scale).norms(edges, NORM_SHARE * budget)
            typical = _quantile(spread, edges, 0.5, n)
            bought = "the features were centred and scaled by private moments"
    walkable = curator.transformed(center, scale / typical, bias)
    return Features(walkable, features.folds, (*features.notes, bought))


def _moments(features: Features, radius: float, rho: float, budget: float, n: float) -> tuple[Vector, Vector]:
    """Return private means and inverse standard deviations.

    Asked are z and the curve z (z - fold), with fold 1 for columns that cannot be negative. Of a 0/1 column
    the curve is zero, so it adds next to nothing to the sensitivity, and the variance m (1 - m) + curve
    inherits the mean's accuracy. A column whose variance the noise hides is scaled as if its variance were
    the noise.
    """
    curator, folds, p = features.curator, features.folds, features.curator.n_features
    edges = math.sqrt(p) * GRID
    curve_radius = _quantile(curator.curve_norms(edges, folds, NORM_SHARE * budget), edges, 0.1, n)
    weight = CURVE_WEIGHT * radius / curve_radius
    sums = curator.moments(radius, curve_radius, folds, weight, rho)
    mean = np.clip(sums.value[:p] / n, folds - 1.0, 1.0)
    curve = sums.value[p:] / (weight * n)
    noise_mean, noise_curve = sums.sigma / n, sums.sigma / (weight * n)
    center = mean if curator.intercept else np.zeros(p)  # without an intercept nothing can be centred
    variance = np.maximum(curve + folds * mean - center * center, 0.0)
    noise = np.hypot((folds - 2.0 * center) * noise_mean, noise_curve)
    return center, 1.0 / np.sqrt(variance + noise)


def _quantile(counts: Measurement, edges: Vector, share: float, n: float) -> float:
    """Return an edge that about `share` of the records' norms exceed, from a noisy histogram."""
    reached = np.cumsum(counts.value) >= share * n
    return float(edges[int(np.argmax(reached))] if reached.any() else edges[-2])
