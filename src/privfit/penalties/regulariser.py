"""A penalty as a solver meets it: in the weights of a view instead of the raw ones."""

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
        """What a weight of the view is multiplied by to be the raw weight of its column."""
        ...

    @property
    def stretch(self) -> float:
        """How much longer than the view's weights the raw ones can be."""
        ...

    def raw_weights(self, w: Vector) -> Vector:
        """Return the raw weights that say what w says of the view's features."""
        ...

    def viewed_weights(self, raw: Vector) -> Vector:
        """Return the view's weights that say what these raw ones say."""
        ...

    def pulled_back(self, gradient: Vector) -> Vector:
        """Return the gradient with respect to the view's weights, given that of the raw ones."""
        ...


@dataclass(frozen=True)
class Regulariser:
    """What a solver adds to its gradients, where its steps start, and where they must end.

    Parameters
    ----------
    penalty : Penalty
        A function of the raw weights, and their set.
    view : View
        The map between them and the weights that the solver moves.
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
        """The longest gradient step on the penalty alone that surely does not overshoot."""
        steepest = self.penalty.smoothness * self.view.stretch**2
        return 1.0 / steepest if steepest > 0.0 else math.inf

    def start(self, otherwise: Vector) -> Vector:
        """Return where a search starts: at the declared weights, otherwise as given, moved into the set."""
        declared = self.penalty.start
        return self.nearest(otherwise if declared is None else self.view.viewed_weights(declared))

    def nearest(self, w: Vector) -> Vector:
        """Return the weights, of those that the penalty's set allows, that are nearest to w.

        A gradient step moves the view's weights, so it is their distance that counts. A Euclidean
        projection of the raw weights would let such steps stop at a point that is not the best of the set.
        The set says nothing of the intercept, which every step may move freely, so it stays.
        """
        if not self.penalty.is_constraint:
            return w
        scales = self.view.column_scales
        kept = scales > 0.0  # a column that the view drops has the raw weight 0, whatever w says
        columns = np.flatnonzero(kept)
        raw = self.view.raw_weights(w)[: len(scales)]
        with np.errstate(divide="ignore"):
            allowed = self.penalty.nearest(raw, np.where(kept, scales**-2.0, np.inf))
        if allowed is raw:
            return w
        moved = w.copy()
        moved[columns] = allowed[columns] / scales[columns]
        return moved
