"""Private statistics of the features ("geometry"): scales of columns, norms of records, means and variances.

The curator releases every number for a price; what is computed from it afterwards is post-processing. Shares
are shares of the whole privacy budget.
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

Exponents = NDArray[np.intp]  # exponents of powers of two

SCALE_SHARE = 0.02  # share of the budget; scales are needed within a factor of two only
# the largest share, for scales that noise hides, if targets are numbers and no bounds are declared
MOST_SCALE_SHARE = 0.15
# least and largest share, the latter for a small reach; norms are needed within a fifth only
NORM_SHARES = (0.007, 0.05)
MOMENT_SHARES = (0.06, 0.2)  # least and largest share, the latter for a small reach
MIN_REACH_FOR_GEOMETRY = 15.0  # n sqrt(2 rho); below it, noise hides everything about the features
CURVE_WEIGHT = 0.5  # weight of second moments relative to first moments; .3 to 1 give similar results
MOST_NOISE_OF_MOMENTS = 1.25  # in units of a column's mean second moment; with more, moments are not bought
NOISE_FLOOR, VARIANCE_FLOOR = 2.0, 0.1  # shares of its noise, and of the mean variance, added to a variance
LOWEST_MAGNITUDE = -30  # exponent of the first bin of Magnitudes
LONG_RECORDS_REACH = 450.0  # reach above which records that are far longer than the median are clipped less
LONG_RECORDS = 0.1, 1.5  # at most this share of records is clipped, and none below 1.5 times the typical norm
TAIL_SHARE = 0.02  # share of a column's visible values that may lie beyond its scale
VISIBLE_DEVIATIONS = 5.0  # standard deviations that one bin of pure noise in 3.5 million reaches
# the number of columns whose bins are processed together, so that wide tables need little memory
COLUMNS_AT_ONCE = 2**14
NORM_GRID = 2.0 ** (-np.arange(25) / 4)  # edges of norms, each 16% below the previous one, down to 1/64


@dataclass(frozen=True)
class Features:
    """Features in [-1, 1], and public facts about their signs.

    `roots` is 1 for columns that cannot be negative, and 0 for the others (see `Moments`). After
    standardising, a record of norm 1 is `longer` times as long as a typical one.
    """

    curator: Curator
    roots: Vector
    notes: tuple[str, ...] = ()
    longer: float = 1.0


def counted(curator: Curator, budget: float) -> float:
    """Return the declared number of records, or a noisy count, for which more is paid if it is small.

    delta is compared with it or, if people may have several records, with the number of people.
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
    """Return for each column a power of two that bounds nearly all its values, and which columns share one.

    If no bin of a column is clearly above the noise, and the column is comparable with others, it shares a
    bound with all such columns. Each column's bound is relative to its unit, a power of two: two columns
    declared up to 1 and up to 1000 are assumed to use the same part of their range. While there are such
    columns, up to `most` is spent on more exact counts.
    """
    counts = curator.measure(Magnitudes(), rho)
    while True:
        bins = counts.value.reshape(curator.n_features, -1)
        top = top_bin(bins, VISIBLE_DEVIATIONS * counts.sigma)
        if (top >= 0).all() or counts.rho >= most:
            break
        counts = curator.refine(counts, min(counts.rho, most - counts.rho))
    exponents = LOWEST_MAGNITUDE + np.arange(bins.shape[1])
    shared = (top < 0) & comparable
    powers = exponents[top]
    if shared.any():
        together = _in_units(bins[shared], units[shared])
        common = top_bin(together[None], VISIBLE_DEVIATIONS * counts.sigma * math.sqrt(shared.sum()))[0]
        # a scale of 1 if nothing is known
        powers = np.where(shared, units + (exponents[common] if common >= 0 else 0), powers)
    return np.exp2(powers.astype(np.float64)), shared


def _in_units(bins: Vector, units: Exponents) -> Vector:
    """Add up the columns' bins, each shifted by the column's unit; bins beyond the ends are left out."""
    n_bins = bins.shape[1]
    together = np.zeros(n_bins)
    for first in range(0, len(bins), COLUMNS_AT_ONCE):
        block = slice(first, first + COLUMNS_AT_ONCE)
        places = np.arange(n_bins) - units[block, None]
        inside = (places >= 0) & (places < n_bins)
        together += np.bincount(places[inside], weights=bins[block][inside], minlength=n_bins)
    return together


def top_bin(
    bins: Vector, threshold: float, share: float = TAIL_SHARE
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return for each row the bin above which a given share of its values lies, or -1.

    Only bins above the threshold are counted; -1 means that there is none.
    """
    top = np.empty(len(bins), dtype=np.intp)
    for first in range(0, len(bins), COLUMNS_AT_ONCE):
        block = slice(first, first + COLUMNS_AT_ONCE)
        visible = np.where(bins[block] > threshold, bins[block], 0.0)
        tail = np.cumsum(visible[:, ::-1], axis=1)[:, ::-1]
        inside = (tail >= share * tail[:, :1]) & (tail > 0.0)
        highest = bins.shape[1] - 1 - np.argmax(inside[:, ::-1], axis=1)
        top[block] = np.where(inside.any(axis=1), highest, -1)
    return top


def bounded(curator: Curator, budget: float, n: float) -> Features:
    """Scale the features into [-1, 1] by public bounds and private magnitudes.

    Magnitudes are bought even if bounds are declared. A bound has to hold for everybody, so the bound of an
    income is far above typical incomes. Values beyond a magnitude are clipped.
    """
    if curator.bounds is not None:
        low, high = curator.bounds
        # shifting [low, high] to begin at 0 needs an intercept, and does not help if 0 lies inside
        shift = np.where((low < 0.0) & (high > 0.0) | (not curator.intercept), 0.0, low)
        sizes = widest = np.maximum(np.abs(low - shift), np.abs(high - shift))
        if curator.reach(n, budget) > MIN_REACH_FOR_GEOMETRY:
            units = np.ceil(np.log2(widest)).astype(np.intp)
            from_zero = (shift == 0.0) & (low <= 0.0) & (high >= 0.0)  # magnitudes are distances from 0
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
            "which share one scale now; declare feature_bounds=(low, high), and each column is scaled by "
            "its own bounds.",
            BudgetWarning,
            stacklevel=4,
        )
    scaled = curator.clipped(-sizes, sizes).transformed(np.zeros_like(sizes), 1.0 / sizes)
    return Features(scaled, np.zeros_like(sizes), tuple(notes))


def standardised(features: Features, budget: float, n: float, bias: float) -> Features:
    """Centre the features and scale them to a typical norm of 1, as far as the budget allows."""
    curator = features.curator
    p = curator.n_features
    reach = curator.reach(n, budget)
    rho_norm = float(np.clip((13.0 / reach) ** 2, *NORM_SHARES)) * budget
    center, scale, longer = np.zeros(p), np.ones(p), 1.0
    if reach <= MIN_REACH_FOR_GEOMETRY:
        typical = math.sqrt(p)
        bought = "nothing about the features was bought: rho is too small for this table"
    else:
        edges = math.sqrt(p) * NORM_GRID
        typical = _quantile(curator.measure(Norms(edges), rho_norm), edges, 0.5, n)
        share = float(np.clip((25.0 / reach) ** 2, *MOMENT_SHARES))
        noise = typical * math.sqrt(1.0 + CURVE_WEIGHT**2) / (reach * math.sqrt(share))
        bought = "only the typical norm of the features was bought, because moments would have been too noisy"
        if noise < MOST_NOISE_OF_MOMENTS * typical**2 / p:
            center, scale = _moments(features, typical, share * budget, rho_norm, n)
            spread = curator.transformed(center, scale).measure(Norms(2.0 * edges), rho_norm)
            typical = _quantile(spread, 2.0 * edges, 0.5, n)
            if reach > LONG_RECORDS_REACH:
                above, times = LONG_RECORDS
                clip = gradient_clip(reach / math.sqrt(p * curator.loss.free_outputs))
                # with a larger gradient clip, long records are clipped less
                heard = times * math.sqrt(max(1.0, clip))
                longer = max(1.0, _quantile(spread, 2.0 * edges, above, n) / (heard * typical))
                typical *= longer
            bought = "the features were centred and scaled by private moments"
    walkable = curator.transformed(center, scale / typical, bias)
    return Features(walkable, features.roots, (*features.notes, bought), longer)


def _moments(
    features: Features, radius: float, rho: float, rho_norm: float, n: float
) -> tuple[Vector, Vector]:
    """Return private means and inverse standard deviations.

    The question is about z and the curve z (z - root), with root 1 for columns that cannot be negative. For a
    0/1 column the curve is zero. So it adds almost nothing to the sensitivity, and the variance
    m (1 - m) + curve is as accurate as the mean. A part of its noise and of the mean variance is added to
    every variance, because small variances are the least certain, and rare columns the least useful.
    """
    curator, roots, p = features.curator, features.roots, features.curator.n_features
    edges = math.sqrt(p) * NORM_GRID
    curve_radius = _quantile(curator.measure(CurveNorms(edges, roots), rho_norm), edges, 0.1, n)
    weight = CURVE_WEIGHT * radius / curve_radius
    sums = curator.measure(Moments(radius, curve_radius, roots, weight), rho)
    mean = np.clip(sums.value[:p] / n, roots - 1.0, 1.0)
    curve = sums.value[p:] / (weight * n)
    noise_mean, noise_curve = sums.sigma / n, sums.sigma / (weight * n)
    center = mean if curator.intercept else np.zeros(p)  # without an intercept, features cannot be centred
    variance = np.maximum(curve + roots * mean - center * center, 0.0)
    noise = np.hypot((roots - 2.0 * center) * noise_mean, noise_curve)
    return center, 1.0 / np.sqrt(variance + NOISE_FLOOR * noise + VARIANCE_FLOOR * variance.mean())


def _quantile(counts: Measurement, edges: Vector, share: float, n: float) -> float:
    """Return an edge that about `share` of the records' norms exceed, from a noisy histogram.

    The number above an edge is estimated from both ends of the histogram; the two are averaged by accuracy.
    """
    above = np.cumsum(counts.value)
    not_below = n - (above[-1] - above)
    near = np.arange(1, len(above) + 1) / len(above)
    reached = (1.0 - near) * above + near * not_below >= share * n
    return float(edges[int(np.argmax(reached))])
