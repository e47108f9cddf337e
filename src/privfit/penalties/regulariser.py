"""A penalty in terms of the weights of a view, which solvers use, instead of the raw weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privfit.penalties.penalty import Penalty, Vector


class View(Protocol):
    """The map between the weights of a view and the raw weights."""

    @property
    def column_scales(self) -> Vector:
        """The factors that turn weights of the view into raw weights of the columns."""
        ...

    @property
    def stretch(self) -> float:
        """How much longer the raw weights can be than the view's weights."""
        ...

    def raw_weights(self, w: Vector) -> Vector:
        """Return the raw weights with the same predictions as the view's weights w."""
        ...

    def viewed_weights(self, raw: Vector) -> Vector:
        """Return the view's weights with the same predictions as these raw weights."""
        ...

    def pulled_back(self, gradient: Vector) -> Vector:
        """Return the gradient with respect to the view's weights, given that of the raw weights."""
        ...


@dataclass(frozen=True)
class Regulariser:
    """The penalty's gradient, start and constraint set, in terms of the weights that a solver changes.

    Parameters
    ----------
    penalty : Penalty
        A function of the raw weights, and the set in which they must stay.
    view : View
        The map between raw weights and the weights that the solver changes.
    """

    penalty: Penalty
    view: View

    def gradient(self, w: Vector) -> Vector:
        """Return the penalty's gradient with respect to the view's weights."""
        if not self.penalty.smoothness:
            return np.zeros_like(w)
        return self.view.pulled_back(self.penalty.gradient(self.view.raw_weights(w)))

    @property
    def longest_step(self) -> float:
        """The longest gradient step that cannot overshoot the minimum of the penalty alone."""
        steepest = self.penalty.smoothness * self.view.stretch**2
        return 1.0 / steepest if steepest > 0.0 else math.inf

    def start(self, otherwise: Vector) -> Vector:
        """Return the declared start, or `otherwise` if none was declared, moved into the set."""
        declared = self.penalty.start
        return self.nearest(otherwise if declared is None else self.view.viewed_weights(declared))

    def nearest(self, w: Vector) -> Vector:
        """Return the weights in the penalty's set that are nearest to w.

        The distance is measured in the view's weights, because gradient steps change these. After a Euclidean
        projection of the raw weights, such steps could stop at a point that is not the minimum over the set.
        The set does not constrain the intercept, so the intercept does not change.
        """
        if not self.penalty.is_constraint:
            return w
        scales = self.view.column_scales
        kept = scales > 0.0  # a column that the view drops has the raw weight 0 for every w
        columns = np.flatnonzero(kept)
        raw = self.view.raw_weights(w)[: len(scales)]
        with np.errstate(divide="ignore"):
            allowed = self.penalty.nearest(raw, np.where(kept, scales**-2.0, np.inf))
        if allowed is raw:
            return w
        moved = w.copy()
        moved[columns] = allowed[columns] / scales[columns]
        return moved
