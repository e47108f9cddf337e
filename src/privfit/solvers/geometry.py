"""Private geometry: how large the features are, how long the records, how spread the columns.

Every number is bought from the curator; what is done with it afterwards is post-processing. Shares are of the
whole budget.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Curator, Measurement, Vector
from privfit.losses.targets import AMOUNTS
from privfit.questions import Count, CurveNorms, Magnitudes, Moments, Norms
from privfit.solvers import kit
from privfit.solvers.base import BudgetWarning
from privfit.solvers.walk import gradient_clip

Exponents = NDArray[np.intp]  # of two

SCALE_SHARE = 0.02  # scales are wanted to a factor of two only
MOST_SCALE_SHARE = 0.15  # for scales that the noise hides, where targets are numbers and nothing is declared
NORM_SHARES = (0.007, 0.05)  # a quantile of norms is wanted to a fifth only; more where noise hides even that
MOMENT_SHARES = (0.06, 0.2)  # more where the budget is small beside the table: geometry is then worth most
ENOUGH = 15.0  # below this n sqrt(2 rho) nothing about the features can be seen through the noise
CURVE_WEIGHT = 0.5  # weight of second moments beside first ones; anything from .3 to 1 does
USEFUL = 1.25  # moments are bought if their noise is below this times the mean second moment of a column
NOISE_FLOOR, FLOOR = 2.0, 0.1  # how much of its noise, and of the mean variance, is added to a variance
LOWEST_MAGNITUDE = -30  # exponent of the first bin of Magnitudes
LONG_RECORDS_REACH = 450.0  # from here on records far longer than the median are heard: noise matters less
LONG_RECORDS = 0.1, 1.5  # so large a share of them is clipped at so many times the typical norm, or later
TAIL = 0.02  # share of a column's visible values that may lie beyond its scale
RESOLVED = 5.0  # standard deviations that one bin of pure noise in 3.5 million reaches
GRID = 2.0 ** (-np.arange(25) / 4)  # norms in steps of a fifth, down to 1/64 of the largest possible


@dataclass(frozen=True)
class Features:
    """Features in [-1, 1], and what is public about their signs.

    `folds` is 1 for columns that cannot be negative, and 0 for the others. Once standardised, records of
    norm 1 are `longer` times as long as a typical one.
    """

    curator: Curator
    folds: Vector
    notes: tuple[str, ...] = ()
    longer: float = 1.0


def counted(curator: Curator, budget: float) -> float:
    """Return the declared number of records, or a noisy one, for which more is paid where it is small.

    delta is compared with it or, where people may have several records, with the number of people.
    """
    if curator.n_records is not None:
        return float(curator.n_records)
    count = kit.counted(curator, budget, Count())
    n = max(float(count.value[0]), 1.0)
    kit.compare_delta(curator, n, count.sigma, budget)
    return n


def _private_sizes(
    curator: Curator, rho: float, units: Exponents, comparable: NDArray[np.bool_], most: float = 0.0
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return a power of two that nearly all values of each column stay below, and which columns share one.

    Comparable columns in which no bin stands out of the noise share the bound of all of them together, each
    in units of two to its own exponent: of columns declared up to 1 and up to 1000 the same part may be used.
    As long as there are such columns, up to `most` is paid for more exact counts.
    """
    counts = curator.measure(Magnitudes(), rho)
    while True:
        bins = counts.value.reshape(curator.n_features, -1)
        top = top_bin(bins, RESOLVED * counts.sigma)
        if (top >= 0).all() or counts.rho >= most:
            break
        counts = curator.refine(counts, min(counts.rho, most - counts.rho))
    exponents = LOWEST_MAGNITUDE + np.arange(bins.shape[1])
    shared = (top < 0) & comparable
    powers = exponents[top]
    if shared.any():
        together = _in_units(bins[shared], units[shared])
        common = top_bin(together[None], RESOLVED * counts.sigma * math.sqrt(shared.sum()))[0]
        # one unit if nothing is known
        powers = np.where(shared, units + (exponents[common] if common >= 0 else 0), powers)
    return np.exp2(powers.astype(np.float64)), shared


def _in_units(bins: Vector, units: Exponents) -> Vector:
    """Add up the columns' bins, each shifted by its unit; what falls off the ends is left out."""
    n_bins = bins.shape[1]
    places = np.arange(n_bins) - units[:, None]
    inside = (places >= 0) & (places < n_bins)
    return np.bincount(places[inside], weights=bins[inside], minlength=n_bins).astype(np.float64)


def top_bin(bins: Vector, threshold: float, share: float = TAIL) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return each row's bin above which there is a share of its values, counting bins above the threshold.

    It is -1 if no bin is.
    """
    visible = np.where(bins > threshold, bins, 0.0)
    tail = np.cumsum(visible[:, ::-1], axis=1)[:, ::-1]
    inside = (tail >= share * tail[:, :1]) & (tail > 0.0)
    return np.where(inside.any(axis=1), bins.shape[1] - 1 - np.argmax(inside[:, ::-1], axis=1), -1)


def bounded(curator: Curator, budget: float, n: float) -> Features:
    """Scale the features into [-1, 1] by what is known of the columns: public bounds, private magnitudes.

    Magnitudes are bought even where bounds are declared: a bound must hold for everybody, and a single
    possible millionaire makes a column of incomes useless. Values beyond a magnitude are clipped.
    """
    if curator.bounds is not None:
        low, high = curator.bounds
        # shifting [low, high] to start at 0 needs an intercept, and does not help if 0 is inside
        shift = np.where((low < 0.0) & (high > 0.0) | (not curator.intercept), 0.0, low)
        sizes = widest = np.maximum(np.abs(low - shift), np.abs(high - shift))
        if curator.reach(n, budget) > ENOUGH:
            units = np.ceil(np.log2(widest)).astype(np.intp)
            from_zero = (shift == 0.0) & (low <= 0.0) & (high >= 0.0)  # where magnitudes are counted from
            used, _ = _private_sizes(curator, SCALE_SHARE * budget, units, from_zero)
            sizes = np.where(from_zero, np.minimum(used, widest), widest)
        low, high = np.maximum(low, shift - sizes), np.minimum(high, shift + sizes)
        scaled = curator.clipped(low, high).transformed(shift, 1.0 / sizes)
        return Features(scaled, (low >= shift).astype(np.float64))
    p = curator.n_features
    most = MOST_SCALE_SHARE * budget if curator.loss.is_scale_free or curator.loss.targets == AMOUNTS else 0.0
    sizes, shared = _private_sizes(
        curator, SCALE_SHARE * budget, np.zeros(p, dtype=np.intp), np.ones(p, dtype=bool), most
    )
    notes = []
    if shared.any():
        notes.append(f"{shared.sum()} columns share one scale because the noise hides theirs")
        warnings.warn(
            f"The privacy budget could not resolve the scale of {shared.sum()} of {len(sizes)} columns, "
            "which share one now; declare feature_bounds=(low, high) and each is scaled by its own.",
            BudgetWarning,
            stacklevel=4,
        )
    scaled = curator.clipped(-sizes, sizes).transformed(np.zeros_like(sizes), 1.0 / sizes)
    return Features(scaled, np.zeros_like(sizes), tuple(notes))


def standardised(features: Features, budget: float, n: float, bias: float) -> Features:
    """Centre the features and scale them to a typical norm of 1, as far as the budget can tell how."""
    curator = features.curator
    p = curator.n_features
    reach = curator.reach(n, budget)
    rho_norm = float(np.clip((13.0 / reach) ** 2, *NORM_SHARES)) * budget
    center, scale, longer = np.zeros(p), np.ones(p), 1.0
    if reach <= ENOUGH:
        typical = math.sqrt(p)
        bought = "nothing about the features was bought: rho is too small for this table"
    else:
        edges = math.sqrt(p) * GRID
        typical = _quantile(curator.measure(Norms(edges), rho_norm), edges, 0.5, n)
        share = float(np.clip((25.0 / reach) ** 2, *MOMENT_SHARES))
        noise = typical * math.sqrt(1.0 + CURVE_WEIGHT**2) / (reach * math.sqrt(share))
        bought = "of the features only the typical norm was bought: moments would have been too noisy"
        if noise < USEFUL * typical**2 / p:
            center, scale = _moments(features, typical, share * budget, rho_norm, n)
            spread = curator.transformed(center, scale).measure(Norms(2.0 * edges), rho_norm)
            typical = _quantile(spread, 2.0 * edges, 0.5, n)
            if reach > LONG_RECORDS_REACH:
                above, times = LONG_RECORDS
                clip = gradient_clip(reach / math.sqrt(p * curator.loss.free_outputs))
                heard = times * math.sqrt(max(1.0, clip))  # a high clip helps
                longer = max(1.0, _quantile(spread, 2.0 * edges, above, n) / (heard * typical))
                typical *= longer
            bought = "the features were centred and scaled by private moments"
    walkable = curator.transformed(center, scale / typical, bias)
    return Features(walkable, features.folds, (*features.notes, bought), longer)


def _moments(
    features: Features, radius: float, rho: float, rho_norm: float, n: float
) -> tuple[Vector, Vector]:
    """Return private means and inverse standard deviations.

    Asked are z and the curve z (z - fold), with fold 1 for columns that cannot be negative. Of a 0/1 column
    the curve is zero, so it adds next to nothing to the sensitivity, and the variance m (1 - m) + curve
    inherits the mean's accuracy. To every variance some of its noise and of the mean variance is added: small
    variances are the least certain, and rare columns the least useful.
    """
    curator, folds, p = features.curator, features.folds, features.curator.n_features
    edges = math.sqrt(p) * GRID
    curve_radius = _quantile(curator.measure(CurveNorms(edges, folds), rho_norm), edges, 0.1, n)
    weight = CURVE_WEIGHT * radius / curve_radius
    sums = curator.measure(Moments(radius, curve_radius, folds, weight), rho)
    mean = np.clip(sums.value[:p] / n, folds - 1.0, 1.0)
    curve = sums.value[p:] / (weight * n)
    noise_mean, noise_curve = sums.sigma / n, sums.sigma / (weight * n)
    center = mean if curator.intercept else np.zeros(p)  # without an intercept nothing can be centred
    variance = np.maximum(curve + folds * mean - center * center, 0.0)
    noise = np.hypot((folds - 2.0 * center) * noise_mean, noise_curve)
    return center, 1.0 / np.sqrt(variance + NOISE_FLOOR * noise + FLOOR * variance.mean())


def _quantile(counts: Measurement, edges: Vector, share: float, n: float) -> float:
    """Return an edge that about `share` of the records' norms exceed, from a noisy histogram.

    How many are above an edge is counted from both ends, each weighted by its accuracy.
    """
    above = np.cumsum(counts.value)
    not_below = n - (above[-1] - above)
    near = np.arange(1, len(above) + 1) / len(above)
    reached = (1.0 - near) * above + near * not_below >= share * n
    return float(edges[int(np.argmax(reached))])
