"""A feature matrix as the engine sees it: blocks of rows that fit the cache, and what is asked of a block."""

from collections.abc import Iterator
from typing import Any, Protocol

from privfit.engine.base import FloatArray
from privfit.engine.rounding import Rounding
from privfit.engine.threads import Call
from privfit.engine.view import View
from privfit.losses import Loss

BLOCK_BYTES = 2**24  # of the rows handed to a compiled loop at a time, so that calls are few


class Block(Protocol):
    """Consecutive rows of X. Array arguments other than weights are those of the rows."""

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view, never less than it is."""
        ...

    def margins(self, y: FloatArray, weights: Any, out: FloatArray) -> Call:
        """Return the call that writes y * (X.w + offset), with the matrix's `weights`."""
        ...

    def gradient(
        self,
        loss: Loss,
        pulls: FloatArray,
        weights: Any,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> Call:
        """Return the call that adds clipped slope of the loss at the weights times (row, 1) to `out`.

        Products are rounded.
        """
        ...

    def gradient_there(
        self,
        loss: Loss,
        margins: FloatArray,
        pulls: FloatArray,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> Call:
        """Return the call that does the same where the rows have these margins."""
        ...

    def powers(self, view: View, folds: FloatArray) -> FloatArray:
        """Return the rows' sums of squares of z and of its curve, never less than they are."""
        ...

    def moments(
        self,
        view: View,
        folds: FloatArray,
        radius: float,
        curve_radius: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add shrunken z and curves, less the base, to out[0] and out[1]; the factors to out[0, -1]."""
        ...

    def magnitudes(self, lowest: int, highest: int, magic: float, out: FloatArray) -> None:
        """Add the rows' shares to the magnitudes of their values."""
        ...

    def value_counts(self, edges: FloatArray, out: FloatArray) -> None:
        """Count the rows' values between each column's edges."""
        ...


class Matrix(Protocol):
    """What the engine needs of X."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def blocks(self, rows: slice) -> Iterator[tuple[slice, Block]]:
        """Cut these rows into blocks, each with its place in the matrix."""
        ...

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> Any:
        """Make of the columns' weights what blocks compute margins from.

        If `exact`, a record's margin depends on that record alone, to the last bit.
        """
        ...

    def n_sums(self, rounding: Rounding) -> int:
        """Return how many sums a gradient has."""
        ...

    def totals(self, sums: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the sums of the columns and of the coefficients, and what ones add to the former."""
        ...

    def base(self, view: View) -> FloatArray:
        """Return the z whose moments `Block.moments` subtracts in each column."""
        ...

    def take(self, rows: Any) -> Any:
        """Return these rows as an array or sparse matrix."""
        ...

    def subset(self, rows: Any) -> "Matrix":
        """Return a matrix of these rows, to be used a few times."""
        ...

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        ...

    def clipped(self, low: FloatArray, high: FloatArray) -> "Matrix":
        """Return the matrix with values in [low, high] per column: itself if all are there already."""
        ...


def cut(rows: slice, height: int) -> Iterator[slice]:
    """Cut these rows into parts of at most this height."""
    for start in range(rows.start, rows.stop, height):
        yield slice(start, min(start + height, rows.stop))
