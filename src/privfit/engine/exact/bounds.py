"""How far one record can move a sum: the bounds that follow from the grid, with their proofs."""

import math

import numpy as np

from privfit.engine.exact.grids import GRID_BITS, MAX_CLIP, MAX_RECORDS, MIN_CLIP, FloatArray, grid, grids

# limits of the radius of rows; between them float32 has its full precision
SMALLEST_RADIUS, LARGEST_RADIUS = 2.0**-100, 2.0**100
SMALLEST_SQUARE = 2.0**-1074  # the spacing of float64 near zero
ROUNDING_OF_SUMS = 2.0**-53 * MAX_RECORDS  # error of rounding a sum once, in units of the largest summand

# precision of rows that are multiplied: 2**32 records times 2**30 squared steps fit into 64 bits
PRODUCT_BITS = 15

# the largest number of equal steps along a line; powers by repeated products are then accurate
MAX_CANDIDATES = 64

# Clips for which the logistic ladder multiplies factors and takes few logarithms (see `loss_slack`).
MIN_PRODUCT_CLIP, MAX_PRODUCT_CLIP = 2.0**-5, 64.0


def norms(squares: FloatArray, n_columns: int, bias: float | None = None) -> FloatArray:
    """Return the norms of rows with these computed sums of squares, and of the bias; never too small.

    Squares below 2**-1022 are rounded to multiples of 2**-1074, and those below half of that become 0: a row
    of p equal numbers near 1e-162 would seem .7 sqrt(p) times shorter than it is. Each column loses at most
    half a multiple, so a whole multiple per column is added. If the sum is above 1e-300, this changes
    nothing, and the norm has a relative error of at most (p / 2 + 2) 2**-53. Below that, the norm may be too
    large, by up to 3e-162 sqrt(p).
    """
    constant = 0.0 if bias is None else bias * bias
    with np.errstate(over="ignore"):
        rows: FloatArray = np.sqrt(squares + (constant + max(1, n_columns) * SMALLEST_SQUARE))
    return rows


def unrounded_error(
    n_records: int,
    chunk_size: int,
    n_weights: int,
    *,
    lipschitz: float,
    smoothness: float,
    longest: float,
    length: float,
) -> float:
    """Bound the L2 distance of an unclipped gradient sum, as computed, from the exact one.

    No row is longer than `longest`, and the weights have this `length`. With u = 2**-53, each of the n shares
    slope * row, of norm at most lipschitz * longest, is off by
      smoothness * (2 n_weights + 16) u longest length    the margin's error, times how the slope follows it,
      2**5 u lipschitz                                     evaluating the slope and making it `odd`,
    times the row, and a sum in chunks of m rows adds (m + n/m + 2**12) u of all shares' sizes: within a
    chunk, over chunks, and over the phrases of a packed matrix. 1.01 covers products of errors.
    """
    additions = chunk_size + n_records / chunk_size + 2.0**12
    slopes = lipschitz * (additions + 2.0**5) + smoothness * longest * (2 * n_weights + 16) * length
    return 1.01 * 2.0**-53 * n_records * longest * slopes


def column_clips(clip: float, center: FloatArray, scale: FloatArray, bias: float | None) -> FloatArray:
    """Bound |coefficient * x_j| for every column of X, and the coefficient, given clipped gradients.

    The gradient coefficient * (z, bias) with z = scale * (x - center) has norm at most `clip`. Hence
    |coefficient| <= clip / bias and |coefficient * x_j| <= clip / scale_j + |center_j| * clip / bias.
    Dropped columns have no bound; nor has the coefficient without an intercept, when centers are 0.
    """
    with np.errstate(divide="ignore"):
        columns = clip / scale
    if bias is None:
        return np.append(columns, math.inf)
    return np.append(columns + np.abs(center) * (clip / bias), clip / bias)


def gradient_bound(clip: float, n_weights: int) -> float:
    """Bound the L2 norm of one record's share of `gradient_sum(clip)`.

    The record's gradient is coef * (x, 1) with |coef| at most clip / norm. In real arithmetic its norm is at
    most `clip`. In float64 the computed norm is the root of a sum of n_weights rounded squares, off by a
    factor within 1 +- (n_weights/2 + 2) u with u = 2**-53; one over it, its product with the clip, making
    the coefficient `odd`, and the product with each feature add a few u more. 2**-30 + n_weights * 2**-53 is
    larger than all of these together. Rounding to the grid then moves each coordinate by at most half a
    step, hence the vector by sqrt(n_weights) / 2 steps; as the sum of rounded contributions is exact,
    nothing else changes when a record is added or removed.
    """
    if clip == math.inf:
        return math.inf
    return clip * (1 + 2.0**-30 + n_weights * 2.0**-53) + math.sqrt(n_weights) * grid(clip) / 2


def view_gradient_bound(
    clip: float,
    center: FloatArray,
    scale: FloatArray,
    bias: float | None,
    steps: FloatArray,
    *,
    summands: int = 1,
) -> float:
    """Bound the L2 norm of one record's share of a gradient sum over z = scale * (x - center) and bias.

    Sums P_j of coefficient * x_j and A of coefficients are exact on grids with these steps g_j and, the last
    of them, g; column j's gradient is scale_j * (P_j - center_j * A), the intercept's is bias * A. Beside
    `clip`, enlarged by 2**-30 + n_weights * 2**-53 as in `gradient_bound`, a record's share holds
      scale_j g_j / 2 in column j and bias g / 2    rounding of its products and of its coefficient,
      |scale_j center_j| g / 2                      the latter times the center.
    Applying the view to exact sums rounds three times: center_j * A, at most n |center_j| clip / bias
    in size, by u = 2**-53 of that, and the difference and the product by u of the result, a vector of at
    most n times the bound so far. Two neighbouring data sets each carry this error, and u n <= 2**-21.
    The factor 1 + 2**-10 covers products of the errors named.

    In some layouts P_j is the sum of several exact `summands`, and g_j is the coarsest of their steps. The
    rounding error of adding them up is known exactly. It is added at the end, which rounds the result once
    more for each summand.
    """
    if clip == math.inf:
        return math.inf
    grid(clip)  # raises ValueError for a clip that is too extreme, as in `gradient_bound`
    sizes = np.append(scale, 0.0 if bias is None else bias)
    steps = np.where(sizes > 0.0, steps, 0.0)
    base = _norm(scale * center)
    share = clip * (1 + 2.0**-30 + len(steps) * 2.0**-53)
    share += (_norm(sizes * steps) + base * float(steps[-1])) / 2
    centers = 0.0 if bias is None else base * clip / bias  # without an intercept nothing is centred
    return share + 2 * ROUNDING_OF_SUMS * (centers + (1 + summands) * share) * (1 + 2.0**-10)


def combination_bound(one: float, clip: float, outputs: int) -> float:
    """Bound the L2 norm of one record's share of sums with several coefficients per record.

    `one` bounds a share with one coefficient, clipped to norm `clip`: it allows errors of `one` - `clip`.
    With coefficients c for k outputs a record adds the outer product of c and (z, bias), whose norm is
    ||c|| ||(z, bias)||, and c is shrunk until that is at most `clip`. Computing the length of c and dividing
    by it rounds k/2 + 8 times, for which k 2**-53 + 2**-30 is more than enough. No output's share is
    longer than the whole, so each is off by no more than `one` - `clip`, and all together by sqrt(k) times
    that.
    """
    if outputs == 1 or clip == math.inf:
        return one
    return clip * (1 + 2.0**-30 + outputs * 2.0**-53) + math.sqrt(outputs) * (one - clip)


def person_bound(one: float, clip: float, most: int) -> float:
    """Bound the L2 norm of one person's share of sums in which a person's sum is clipped to norm `clip`.

    `one` bounds one record's share: it allows errors of `one` - `clip`, for what rounding does to the
    coefficient and its products with the features, for the grid, and for the view. A person with `most`
    records makes at most as many of these errors. Before them the person's sum has norm `clip`: it is
    divided by an upper bound of its norm. Computing the factor and multiplying by it rounds a few times, by
    2**-53 of a sum of at most `most` * `clip`, for which 2**-30 `clip` is more than enough.
    """
    return clip * (1 + 2.0**-30) + most * (one - clip)


def moment_clips(radius: float, base: FloatArray) -> FloatArray:
    """Bound, for each column, the summands of `Moments.sums` if shares have norm at most `radius`.

    Sparse rows add f * (value - base) where a value is present, base being an absent one's, and f <= 1.
    """
    return radius + np.abs(base)


def moment_bound(radius: float, base: FloatArray) -> float:
    """Bound the L2 norm of one record's share of one of the `Moments.sums`.

    A record adds f * v, v being z or its curve, with f such that its norm is at most `radius` whatever z
    is. In float64 the norm is the root of a sum of p rounded terms, and a curve z * (z - 1) near z = 1 is
    off by a few u of 1. Sparse sums are D + base * F, where F sums f and D the f * (v - base) of present
    values, each within a few u. Rounding D and F to their grids moves a share by half a step of each
    column, and by 2**-22 of base. Adding base * F rounds twice, for two data sets of n records
    with u n <= 2**-21 each. For dense rows base is zero and D is the answer.
    """
    if not MIN_CLIP <= radius <= MAX_CLIP:
        raise ValueError(f"radius must be in [{MIN_CLIP}, {MAX_CLIP}], got {radius!r}")
    p = len(base)
    steps = grids(moment_clips(radius, base))
    share = radius * (1 + 2.0**-30 + p * 2.0**-53) + math.sqrt(p) * 2.0**-49
    share += _norm(steps) / 2 + _norm(base) * (2.0**-30 + grid(1.0) / 2)
    return share + 2 * ROUNDING_OF_SUMS * (_norm(base) + share) * (1 + 2.0**-10)


def product_step(radius: float) -> float:
    """Return the step of which rows of at most this norm are whole multiples before they are multiplied."""
    if not MIN_CLIP <= radius <= MAX_CLIP:
        raise ValueError(f"radius must be in [{MIN_CLIP}, {MAX_CLIP}], got {radius!r}")
    return grid(radius) * 2.0 ** (GRID_BITS - PRODUCT_BITS)


def product_bound(radius: float, n_weights: int) -> float:
    """Bound the Frobenius norm of one record's share of `product_sums`: the square of `radius` and rounding.

    The outer product of a row with itself has its squared length as norm. A row of norm at most `radius` in
    real numbers is longer by a factor within 1 + 2**-30 + d 2**-53 as computed (see `gradient_bound`; its
    coefficient adds a rounding or two), and rounding to multiples of the step moves it by at most
    sqrt(d) / 2 steps. So it has fewer than 2**15 + sqrt(d) steps, and sums over MAX_RECORDS of them are
    below 2**63 squared steps for d <= 2**20. They are exact. Turning them into float64 and scaling what is
    off the diagonal by sqrt(2) rounds twice, each time by at most u = 2**-53 of a vector of n times the
    share, for two neighbouring data sets; sqrt(2) itself is off by less than u. The factor 1 + 2**-10 covers
    products of the errors named.
    """
    step = product_step(radius)
    length = radius * (1 + 2.0**-30 + n_weights * 2.0**-53) + math.sqrt(n_weights) * step / 2
    share = length * length * (1 + 2.0**-50)
    return share * (1 + 4 * ROUNDING_OF_SUMS * (1 + 2.0**-10))


def class_curvature_bound(radius: float, n_weights: int, outputs: int) -> float:
    """Bound the Frobenius norm of one record's share of a softmax's curvature: radius^2 / 2 and rounding.

    A record adds the products of K rows v_k = sqrt(f u p_k) (e_k - p) x', one for each of K `outputs`; f and
    u are at most 1, and sqrt(f) |x| is at most `radius`. Their sum is f u (diag(p) - pp') times xx'. With the
    sums s of p_k^2 and t of p_k^3, the squared norm of diag(p) - pp' is s - 2t + s^2. By Cauchy and Schwarz
    s^2 <= t, so it is at most s - s^2 <= 1/4. The squared lengths of the v_k add up to f u |x|^2 (1 - s), at
    most radius^2. A single one is at most 2 p_k (1 - p_k)^2 radius^2 <= 8/27 radius^2, so no row is clipped.

    As computed, each row is off by at most e: half a step in each of D = K `n_weights` numbers, and a few
    u = 2**-53 of `radius` for p, whose sum is 1 up to K u, for roots, norms and products, for which
    2**-30 + D 2**-53 is more than enough. So the sum of products is off by at most the sum of
    2 |v_k| e + e^2, which is at most 2 sqrt(K) radius e + K e^2. The sums are exact: of a record, the squared
    lengths add up to fewer than (2**15 + sqrt(K D))^2 squared steps, and those of MAX_RECORDS are below 2**63
    for K D <= 2**20. What follows rounds as in `product_bound`.
    """
    size = outputs * n_weights
    off = math.sqrt(size) * product_step(radius) / 2 + radius * (2.0**-30 + size * 2.0**-53)
    share = 0.5 * radius * radius + 2 * math.sqrt(outputs) * radius * off + outputs * off * off
    return share * (1 + 2.0**-50) * (1 + 4 * ROUNDING_OF_SUMS * (1 + 2.0**-10))


def magnitude_bound(n_columns: int) -> float:
    """Bound the L2 norm of one record's share of `Magnitudes.sums`.

    With k of its values not zero, a record adds 1 / sqrt(k) to k bins: a vector of norm 1, however many
    columns there are. Rounding to the grid of 1 moves each by half a step; the sums are exact.
    """
    return 1.0 + 2.0**-30 + math.sqrt(n_columns) * grid(1.0) / 2


def slope_bound(clip: float, outputs: int) -> float:
    """Bound how far one record moves a sum of slopes, each clipped to norm `clip` and rounded to its grid."""
    return clip * (1.0 + 2.0**-40) + 0.5 * grid(clip) * math.sqrt(outputs)


def rise_bound(lipschitz: float, spacing: float, count: int, slope_clip: float) -> float:
    """Bound what a record adds to each of `rise_sums`, before rounding: the loss's change along the line."""
    return lipschitz * abs(spacing) * count * slope_clip


def rise_slack(bound: float) -> float:
    """Return tau: one more record moves every sum of rises by a value in [-tau, bound + tau].

    Rises are forced into [0, bound] and rounded to its grid, and their sums are exact; 2**-20 bound is for
    one rounding of the total by the caller, as in `loss_slack`.
    """
    return grid(bound) / 2 + 2.0**-20 * bound


def loss_slack(clip: float) -> float:
    """Return tau: one more record moves every loss sum by a value in [-tau, clip + tau].

    Losses rounded to the grid are summed exactly, so tau is half a step, for every loss and clip. To this
    comes 2**-20 clip, so that the caller may round the total once more, say to add a public penalty
    no larger than the total: with u = 2**-53 and n = MAX_RECORDS that is u n clip, once per data set.

    The logistic ladder, for clips in [2**-5, 64], instead multiplies the factors f = min(1 + E, e**clip)
    of many records and takes the logarithm of the product. Each f is a float64 in [1, e**clip] that
    depends on its record alone, so how accurately E was computed does not matter, nor does the number of
    candidates. The computed sum differs from the exact sum of log f by at most
      2 u n             one rounding per factor, and at most one more per factor to merge products,
      4 u n clip        logarithms within two units in the last place (libm's are within one),
      2 u n clip        compensated summation of the logarithms and the rounding of the total,
      2 u n clip        partial sums rounded per partition of the records, and the caller's rounding,
    and log(e**clip as computed) exceeds clip by at most 4 u (1 + clip), which is nothing beside this. Two
    neighbouring data sets each carry that error, and 2 u n = 2**-20. The result is below 7e-5 of clip.
    """
    if clip == math.inf:
        return math.inf
    if MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP:
        return 2.0**-20 * (2 + 8 * clip) * (1 + 2.0**-10)
    return grid(clip) / 2 + 2.0**-20 * clip


def _norm(values: FloatArray) -> float:
    with np.errstate(over="ignore"):  # overflow gives an infinite bound, which callers refuse
        return float(np.linalg.norm(values))
