"""The regulariser alpha/2 ||w||^2, as in scikit-learn's SGDClassifier."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from privfit.penalties.penalty import Vector


@dataclass(frozen=True)
class Ridge:
    """Half the squared norm of the raw weights, including the intercept, times alpha; no constraint.

    It is added to the mean loss over the records, so `alpha` means the same as in scikit-learn's
    `SGDClassifier`, except that the intercept is penalised, too.

    Parameters
    ----------
    alpha : float
        The strength; 0 for no regulariser.
    start : array, optional
        Public raw weights, the intercept last, from which a search starts.
    """

    alpha: float = 0.0
    start: Vector | None = field(default=None, compare=False)

    @property
    def smoothness(self) -> float:
        """The slope of its gradient."""
        return self.alpha

    @property
    def is_constraint(self) -> bool:
        """Whether the weights must stay in a set: no."""
        return False

    @property
    def is_cone(self) -> bool:
        """Whether the set contains all multiples of its points: yes, because it contains all weights."""
        return True

    def value(self, w: Vector) -> float:
        """Return alpha/2 ||w||^2."""
        return self.alpha / 2 * float(w @ w)

    def gradient(self, w: Vector) -> Vector:
        """Return alpha w."""
        return self.alpha * w

    def retargeted(self, center: float, scale: float) -> Ridge:
        """Return the same penalty, and the start in the new unit of the targets."""
        if self.start is None:
            return self
        start = self.start.copy()
        start[-1] -= center
        return replace(self, start=start / scale)

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the weights as they are."""
        return w


NO_PENALTY = Ridge()
