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
        one record more moves it by at most `rounding.gradient_bound(clip, n_weights)` in L2 norm.
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
        """Whether the last weight multiplies an implicit column of ones."""
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
