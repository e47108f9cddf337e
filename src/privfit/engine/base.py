"""What a solver may ask of the records: exact sums, and nothing about noise, budget or policy."""

from math import inf
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privfit.losses import Loss

FloatArray = NDArray[np.float64]


class Line(Protocol):
    """The points w - step * direction, with the margins of both ends known."""

    def loss_sums(self, spacing: float, count: int, clip: float = inf) -> FloatArray:
        """Sum the losses, each at most `clip`, at the steps k * spacing for k = 0..count. No pass over X."""
        ...

    def rise_sums(self, spacing: float, count: int, slope_clip: float) -> FloatArray:
        """Sum how far each record's loss at the steps k * spacing lies above its least. No pass over X.

        Record i contributes l(m_i - k s d_i) - min over j of l(m_i - j s d_i), where its margin's slope d_i
        is clipped to +-slope_clip first.

        Guarantee: one record more moves each sum by a value in [-tau, bound + tau] with
        bound = `rounding.rise_bound(loss.lipschitz, spacing, count, slope_clip)` and
        tau = `rounding.rise_slack(bound)`.
        """
        ...

    def move(self, step: float) -> "Point":
        """Return the point w - step * direction. No pass over X, because margins are linear."""
        ...


class Point(Protocol):
    """A weight vector and the margins of all records there."""

    @property
    def w(self) -> FloatArray:
        """The weights, read-only; the intercept comes last."""
        ...

    def gradient_sum(self, clip: float = inf) -> FloatArray:
        """Sum the records' gradients, each clipped to L2 norm `clip`. One pass over X.

        Guarantee: with a finite clip the sum is exact (bit-identical in any order of the records), and
        one record more moves it by at most `Engine.gradient_bound(clip)` in L2 norm.
        """
        ...

    def loss_sum(self, clip: float = inf) -> float:
        """Sum the losses, each at most `clip`. No pass over X."""
        ...

    def along(self, direction: FloatArray) -> Line:
        """Return the line from here against `direction`. One pass over X."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Sums over records. All arguments are finite numbers, except a clip, which may be infinite.

    Guarantee: one record more moves each clipped loss sum by a value in [-tau, clip + tau] with
    tau = `rounding.loss_slack(clip)`, and gradient sums as `Point.gradient_sum` says.
    """

    @property
    def n_records(self) -> int:
        """Number of records."""
        ...

    @property
    def n_weights(self) -> int:
        """Number of columns, plus one with an intercept."""
        ...

    @property
    def intercept(self) -> bool:
        """Whether the last weight multiplies an implicit constant column."""
        ...

    @property
    def loss(self) -> Loss:
        """The loss that is summed."""
        ...

    def at(self, w: FloatArray) -> Point:
        """Return the point w. One pass over X."""
        ...

    def subset(self, rows: NDArray[np.integer]) -> "Engine":
        """Return an engine over these records (indices, repeats allowed), for mini-batches."""
        ...

    def gradient_at(self, w: FloatArray, clip: float) -> FloatArray:
        """Sum the clipped gradients at w in one pass over X.

        Guarantee: with a finite clip it is `at(w).gradient_sum(clip)`, bit for bit.
        """
        ...

    def gradient_bound(self, clip: float) -> float:
        """Bound the L2 distance that one record moves a gradient sum: `clip` and the rounding."""
        ...

    def gradient_error(self, w: FloatArray) -> float:
        """Bound the L2 distance of `gradient_at(w, inf)` from the sum in exact arithmetic, for these records.

        Not after `transformed`. It grows with the number of records, so it is not public.
        """
        ...

    def transformed(self, center: FloatArray, scale: FloatArray, bias: float = 1.0) -> "Engine":
        """Return an engine over the features scale * (z - center) and an intercept column that holds `bias`.

        X is shared, and weights are those of the new features. Scales are not negative; 0 drops a column,
        for later transformations too. Centring needs the intercept. One pass over X, for the norms.
        """
        ...

    def clipped(self, low: FloatArray, high: FloatArray) -> "Engine":
        """Return an engine whose column j is clipped to [low_j, high_j]; X is copied if that changes it.

        Not after `transformed`. The bounds are rounded to X's precision; a sparse X's must include 0.
        """
        ...

    def with_rows_of(self, radius: float, *, shrink_only: bool = False) -> "Engine":
        """Return an engine over a copy of the rows (x, 1), each scaled to norm `radius`.

        With `shrink_only` shorter rows stay as they are. The intercept's column, if any, is scaled with its
        row and is then an ordinary last column, so weights mean what they did. Not after `transformed`.
        The radius is in [2^-100, 2^100]. Guarantee: no row is longer than radius (1 + 2^-20). A row too long
        to be squared becomes zeros; one so short that its squares vanish becomes shorter than `radius`, and
        a row of zeros stays what it is.
        """
        ...

    def with_loss(self, loss: Loss) -> "Engine":
        """Return an engine over the same records that sums another loss. X is shared; no pass."""
        ...

    def norm_counts(self, edges: FloatArray) -> FloatArray:
        """Count the records with feature norm in (edges[k + 1], edges[k]], for descending edges.

        The first bin also takes longer records and the last one shorter ones; the intercept's column is
        not part of the norm. Guarantee: one record more adds 1 to one count.
        """
        ...

    def curve_counts(self, edges: FloatArray, folds: FloatArray) -> FloatArray:
        """Count the records by the norm of their curve z * (z - fold), as `norm_counts` does. One pass."""
        ...

    def moment_sums(
        self, radius: float, curve_radius: float, folds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sum f * z and f * z * (z - fold), with f = min(1, radius / ||z||, curve_radius / ||curve||).

        The intercept's column is left out. One pass over X. Guarantee: the sums are exact, and one record
        more moves them by at most the two `moment_bounds`, whatever its values; f is 0 where their squares
        overflow.
        """
        ...

    def moment_bounds(self, radius: float, curve_radius: float, folds: FloatArray) -> tuple[float, float]:
        """Bound the L2 distances that one record moves the two `moment_sums`: the radii and rounding."""
        ...

    def raw_weights(self, w: FloatArray) -> FloatArray:
        """Return the weights of the columns of X, and the intercept, that give the margins of w."""
        ...

    def pulled_back(self, gradient: FloatArray) -> FloatArray:
        """Turn a gradient with respect to raw weights into one with respect to this engine's."""
        ...

    @property
    def stretch(self) -> float:
        """How much longer than w the raw weights can be."""
        ...

    def value_counts(self, edges: FloatArray) -> FloatArray:
        """Count the values of each raw column between its edges; row j of `edges` ascends and is column j's.

        Bin k of column j takes x with edges[j, k - 1] < x <= edges[j, k]; the first bin takes all below and
        the last one all above. Transformations are ignored. One pass over X. Guarantee: one record more adds
        1 to one bin of every column.
        """
        ...

    def magnitude_sums(self, lowest: int = -30, highest: int = 40) -> FloatArray:
        """Sum the records' shares of each raw column's bins, by ceil(log2 |x|) from `lowest` to `highest`.

        A record with k values that are not zero adds 1 / sqrt(k) to the bin of each. Zeros and what is
        smaller than the first bin add nothing; the last bin also takes what is larger. Transformations are
        ignored. One pass over X. Guarantee: one record more moves the sums by at most `magnitude_bound`.
        """
        ...

    def magnitude_bound(self) -> float:
        """Bound the L2 distance that one record moves `magnitude_sums`: 1 and rounding."""
        ...
