"""A linear map of the features, applied to weights before a pass over X and to sums after it.

The mapped features z = scale * (x - center) never exist. z.w is x.(scale * w) minus a constant, and a sum
of coefficient times z is scale * (sum of coefficient times x - center * sum of coefficients).
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.base import FloatArray
from privfit.engine.kernels import folded, unfolded
from privfit.engine.remembered import remembered
from privfit.engine.rounding import (
    Rounding,
    column_clips,
    gradient_bound,
    grid,
    magic,
    magics,
    rounded_up,
    view_gradient_bound,
)

SMALLEST, LARGEST = 1e-100, 1e100  # of scales and of the bias, so that nothing below underflows
DEAR = 1e-4  # of the clip: ones are not rounded alike if that would add more to the bound


@dataclass(frozen=True, eq=False)
class View:
    """The features z = scale * (x - center) and an implicit last column that holds `bias`.

    A scale of 0 drops the column; a bias of 0 means that there is no intercept. Of a sparse X, ones are
    rounded alike in all columns unless scales differ so much that this would be coarse. Bounds are the same
    for a dense X, so that the same seed gives the same noise.
    """

    center: FloatArray
    scale: FloatArray
    bias: float
    _remembered: dict[float, tuple[Rounding, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def plain(cls, n_columns: int, intercept: bool) -> "View":
        """Return the view that shows X as it is."""
        return cls(np.zeros(n_columns), np.ones(n_columns), float(intercept))

    @property
    def is_plain(self) -> bool:
        """Whether z is x and the intercept's column holds ones."""
        return not self.center.any() and bool(np.all(self.scale == 1.0)) and self.bias in (0.0, 1.0)

    @property
    def base(self) -> FloatArray:
        """What z is where x is 0."""
        return -self.scale * self.center

    @remembered
    def squared_base(self) -> FloatArray:
        """The squares of `base`, `rounded_up` and followed by their sum."""
        with np.errstate(over="ignore"):
            return rounded_up(self.base**2)

    def zeros(self, folds: FloatArray) -> FloatArray:
        """Return the squares of `base` and of its curve, each row `rounded_up` and followed by its sum."""
        with np.errstate(over="ignore"):
            return np.stack([self.squared_base, rounded_up((self.base * (self.base - folds)) ** 2)])

    def then(self, center: ArrayLike, scale: ArrayLike, bias: float) -> "View":
        """Return the view of X that shows scale * (z - center). A dropped column stays dropped."""
        center, scale = np.array(center, dtype=np.float64), np.array(scale, dtype=np.float64)
        if not center.shape == scale.shape == self.center.shape:
            raise ValueError(
                f"center and scale must have shape {self.center.shape}, got {center.shape} and {scale.shape}"
            )
        if not self.bias and center.any():
            raise ValueError("only an engine with an intercept can be centred; pass intercept=True")
        if not SMALLEST <= bias <= LARGEST:
            raise ValueError(f"bias must be in [{SMALLEST}, {LARGEST}], got {bias!r}")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            center = np.where(self.scale > 0.0, self.center + center / self.scale, 0.0)
            scale = scale * self.scale
            center = np.where(scale > 0.0, center, 0.0)
            size = np.abs(scale * center)
        if not np.all((scale == 0.0) | ((scale >= SMALLEST) & (scale <= LARGEST))):
            raise ValueError(f"every scale must be 0 or in [{SMALLEST}, {LARGEST}]")
        if not np.all(size <= LARGEST):
            raise ValueError(f"scale * center must be finite and at most {LARGEST} in size")
        return View(center, scale, float(bias) if self.bias else 0.0)

    def weights(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights of x, and the constant, that give the margins of w."""
        return unfolded(w, self.center, self.scale, self.bias)

    def gradient(self, sums: FloatArray, ones: FloatArray | None = None) -> FloatArray:
        """Turn the sums of coefficient times (x, 1) into those of coefficient times (z, bias).

        `ones` is what values of one add to the columns' sums.
        """
        if ones is None:
            ones = np.zeros(len(self.scale))
        gradient = folded(sums, ones, self.center, self.scale, self.bias)
        return gradient if self.bias else gradient[:-1]

    def gradient_rounding(self, clip: float) -> Rounding:
        """Return how each column's products, and the coefficient, are rounded to their grids."""
        if clip == math.inf:
            return Rounding(np.zeros(len(self.scale) + 1), True)
        return self._rounding_and_bound(clip)[0]

    def gradient_bound(self, clip: float) -> float:
        """Bound the L2 norm of one record's share of a gradient sum."""
        if clip == math.inf:
            return math.inf
        return self._rounding_and_bound(clip)[1]

    def _rounding_and_bound(self, clip: float) -> tuple[Rounding, float]:
        """Return both, remembered because every step of a walk asks for the same."""
        if clip not in self._remembered:
            grid(clip)  # refuses clips that are too extreme
            if self.is_plain:  # one grid serves all: a one adds a coefficient of at most `clip`
                bound = gradient_bound(clip, len(self.scale) + bool(self.bias))
                rounding = Rounding(np.full(len(self.scale) + 1, magic(clip)), True)
            else:
                map_ = self.center, self.scale, self.bias
                bound = view_gradient_bound(clip, *map_)
                if_alike = view_gradient_bound(clip, *map_, ones_alike=True)
                # Without an intercept the coefficient has no bound, and hence no grid.
                alike = self.bias > 0.0 and if_alike <= bound + DEAR * clip
                bound = if_alike if alike else bound
                rounding = Rounding(magics(column_clips(clip, *map_)), alike)
            self._remembered[clip] = rounding, bound
        return self._remembered[clip]

    @property
    def stretch(self) -> float:
        """How much longer than w the raw weights can be: a bound on the norm of the map between them."""
        offsets = float(np.linalg.norm(self.scale * self.center))
        return math.hypot(float(np.max(self.scale, initial=0.0)), offsets, self.bias)
