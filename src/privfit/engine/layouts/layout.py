"""The protocol of matrix layouts: the operations of a matrix, in memory or in a file, that a table needs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from privfit.engine.exact.grids import FloatArray
from privfit.engine.view import View
from privfit.losses.loss import Loss


class Loops(NamedTuple):
    """The same compiled loop for two kinds of matrices.

    `dense` takes an array of rows, `csr` the three arrays of a CSR matrix; further arguments are the same.
    """

    dense: Callable[..., None]
    csr: Callable[..., None]


class Rounding(NamedTuple):
    """The rounding of the records' shares of a gradient sum, and the bound on one rounded share.

    `magics` are the constants of the grids of the columns and, the last one, of the coefficient; see
    `grids.magic`. `ones_alike` is for packed matrices.
    """

    magics: FloatArray
    bound: float
    ones_alike: bool = False


class Layout(Protocol):
    """A matrix. Arguments with one entry for each row are sliced like the matrix."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def visit(self, rows: slice, loops: Loops, arguments: Callable[[slice], tuple[Any, ...]]) -> None:
        """Call the loop with these rows, in one or several parts, and with arguments(part)."""
        ...

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> Any:
        """Prepare the columns' weights for `predict` and `add_gradient`.

        If `exact`, a record's prediction depends on that record alone, to the last bit.
        """
        ...

    def predict(self, rows: slice, weights: Any, out: FloatArray) -> None:
        """Write x.w + offset of these rows."""
        ...

    def rounding(self, view: View, clip: float) -> Rounding:
        """Return how shares of a gradient are rounded; without a clip, not at all."""
        ...

    def n_sums(self, rounding: Rounding) -> int:
        """Return how many sums a gradient has."""
        ...

    def add_gradient(
        self,
        rows: slice,
        loss: Loss,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: Any,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped slope of the loss at the weights times (row, 1), rounded, to the sums in `out`."""
        ...

    def add_combination(
        self,
        rows: slice,
        slopes: FloatArray,
        reciprocals: FloatArray,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped slope times (row, 1), rounded, to `out`: a gradient whose slopes are known."""
        ...

    def add_gradients(
        self,
        rows: slice,
        loss: Loss,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        at: Sequence[Any],
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficients of several outputs times (row, 1), rounded, to a row of sums for each.

        `weights` multiply the derivatives; `at` is what the predictions of each output are computed from.
        """
        ...

    def by_columns(self, sums: FloatArray) -> FloatArray:
        """Return the same sums in a form that depends only on the kind and the width of the matrix.

        They are still exact, so the sums of several matrices can be added up.
        """
        ...

    def totals(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of the columns and the coefficients, and the rounding errors of the columns' sums.

        `sums` are those that `by_columns` returns.
        """
        ...

    def base(self, view: View) -> FloatArray:
        """Return, for each column, the z that the loops of moments subtract from every value."""
        ...

    def take(self, rows: Any) -> Any:
        """Return these rows as an array or sparse matrix."""
        ...

    def subset(self, rows: Any) -> "Layout":
        """Return a matrix of these rows, to be used a few times."""
        ...

    def first(self, count: int) -> "Layout":
        """Return a matrix of the first rows, which shares the memory of this one if possible."""
        ...

    def column(self, values: FloatArray) -> Any:
        """Return a matrix of this one column, of the same kind and precision; no new loop compiles."""
        ...

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        ...

    def clipped(self, low: FloatArray, high: FloatArray) -> "Layout":
        """Return the matrix with column j clipped to [low_j, high_j], or itself if that changes nothing."""
        ...
