"""A linear map of the features, applied to weights before a pass over X and to sums after it.

The mapped features z = scale * (x - center) are never stored. z.w is x.(scale * w) minus a constant, and a
sum of coefficient times z is scale * (sum of coefficient times x - center * sum of coefficients).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.exact.grids import FloatArray, rounded_up
from privfit.engine.kernels.views import folded, unfolded
from privfit.engine.remembered import remembered

SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # also for the bias; prevents underflow in what follows


@dataclass(frozen=True, eq=False)
class View:
    """The features z = scale * (x - center), and an implicit last column of `bias` unless that is None.

    A scale of 0 drops the column.
    """

    center: FloatArray
    scale: FloatArray
    bias: float | None

    @classmethod
    def plain(cls, n_columns: int, intercept: bool) -> "View":
        """Return the view that shows X as it is."""
        return cls(np.zeros(n_columns), np.ones(n_columns), 1.0 if intercept else None)

    @remembered
    def is_plain(self) -> bool:
        """Whether z is x and the intercept's column holds ones."""
        return not self.center.any() and bool(np.all(self.scale == 1.0)) and self.bias in (None, 1.0)

    @property
    def n_weights(self) -> int:
        """Number of columns, plus one with an intercept."""
        return len(self.scale) + (self.bias is not None)

    @property
    def base(self) -> FloatArray:
        """The z of a value x = 0, for each column."""
        return -self.scale * self.center

    @remembered
    def squared_base(self) -> FloatArray:
        """The squares of `base`, `rounded_up` and followed by their sum."""
        with np.errstate(over="ignore"):
            return rounded_up(self.base**2)

    def squared_bases(self, roots: FloatArray) -> FloatArray:
        """Return the squares of `base` and of its curve, each row `rounded_up` and followed by its sum."""
        with np.errstate(over="ignore"):
            return np.stack([self.squared_base, rounded_up((self.base * (self.base - roots)) ** 2)])

    def then(self, center: ArrayLike, scale: ArrayLike, bias: float) -> "View":
        """Return the view of X that shows scale * (z - center). A dropped column stays dropped."""
        center, scale = np.array(center, dtype=np.float64), np.array(scale, dtype=np.float64)
        if not center.shape == scale.shape == self.center.shape:
            raise ValueError(
                f"center and scale must have shape {self.center.shape}, got {center.shape} and {scale.shape}"
            )
        if self.bias is None and center.any():
            raise ValueError("only a table with an intercept can be centred; pass intercept=True")
        if not SMALLEST_SCALE <= bias <= LARGEST_SCALE:
            raise ValueError(f"bias must be in [{SMALLEST_SCALE}, {LARGEST_SCALE}], got {bias!r}")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            center = np.where(self.scale > 0.0, self.center + center / self.scale, 0.0)
            scale = scale * self.scale
            center = np.where(scale > 0.0, center, 0.0)
            size = np.abs(scale * center)
        if not np.all((scale == 0.0) | ((scale >= SMALLEST_SCALE) & (scale <= LARGEST_SCALE))):
            raise ValueError(f"every scale must be 0 or in [{SMALLEST_SCALE}, {LARGEST_SCALE}]")
        if not np.all(size <= LARGEST_SCALE):
            raise ValueError(f"scale * center must be finite and at most {LARGEST_SCALE} in size")
        return View(center, scale, None if self.bias is None else float(bias))

    def weights_and_offset(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights of x, and the constant, that give the predictions of w."""
        return unfolded(w, self.center, self.scale, *self._intercept)

    def viewed_sums(self, sums: FloatArray, lost: FloatArray) -> FloatArray:
        """Turn the sums of coefficient times (x, 1) into those of coefficient times (z, bias).

        `lost` is what the columns' sums lost in rounding. It is added at the end.
        """
        return folded(sums, lost, self.center, self.scale, *self._intercept)

    def raw_weights(self, w: FloatArray) -> FloatArray:
        """Return the weights of x, and the intercept if there is one, with the same predictions as w for z.

        With several outputs, each has a column of weights.
        """
        if w.ndim == 2:
            return np.stack([self.raw_weights(np.ascontiguousarray(output)) for output in w.T], axis=1)
        weights, offset = self.weights_and_offset(w)
        return weights if self.bias is None else np.append(weights, offset)

    def viewed_weights(self, raw: FloatArray) -> FloatArray:
        """Return the weights of z with the same predictions as these weights of x, and of the intercept."""
        n_columns = len(self.scale)
        weights = np.divide(raw[:n_columns], self.scale, out=np.zeros(n_columns), where=self.scale > 0.0)
        if self.bias is None:
            return weights
        return np.append(weights, (raw[n_columns] + raw[:n_columns] @ self.center) / self.bias)

    def pulled_back(self, gradient: FloatArray) -> FloatArray:
        """Turn a gradient with respect to raw weights into one with respect to those of z."""
        if gradient.ndim == 2:
            return np.stack([self.pulled_back(output) for output in gradient.T], axis=1)
        sums = gradient if self.bias is not None else np.append(gradient, 0.0)
        return self.viewed_sums(sums, np.zeros(len(self.scale)))

    @property
    def column_scales(self) -> FloatArray:
        """The factors that turn weights of z into raw weights of the columns."""
        return self.scale

    @property
    def _intercept(self) -> tuple[bool, float]:
        return self.bias is not None, self.bias or 0.0

    @property
    def stretch(self) -> float:
        """A bound on the norm of the map from w to raw weights: how much longer the latter can be."""
        offsets = float(np.linalg.norm(self.scale * self.center))
        return math.hypot(float(np.max(self.scale, initial=0.0)), offsets, self.bias or 0.0)
