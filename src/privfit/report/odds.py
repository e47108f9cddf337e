"""What a promise means for one person: how far a belief about them can move, and who can tell at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy.special import expit, logit, ndtr, ndtri

BELIEFS = (0.01, 0.1, 0.5, 0.9)
FALSE_ALARMS = 0.05  # a usual level of significance


@dataclass(frozen=True)
class Odds:
    """The promise (epsilon, delta), and mu if it is Gaussian.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    mu : float or None
        What it is worth exactly, where all noise was Gaussian.
    """

    epsilon: float
    delta: float
    mu: float | None

    @classmethod
    def of(cls, promise: dict[str, Any]) -> Odds:
        """Read a promise as a model file has it."""
        mu = math.sqrt(2.0 * promise["rho"]) if promise["kind"] == "gaussian" else None
        return cls(promise["epsilon"], promise["delta"], mu)

    def belief_after(self, before: float) -> tuple[float, float]:
        """Return the least and the most that a belief of this probability can become (delta aside)."""
        return float(expit(logit(before) - self.epsilon)), float(expit(logit(before) + self.epsilon))

    def best_guess(self) -> float:
        """Return how often the best attacker is right who must say at even odds whether a person is in."""
        if self.mu is not None:
            return float(ndtr(0.5 * self.mu))
        return min(1.0, float(expit(self.epsilon)) + self.delta * float(expit(-self.epsilon)))

    def power(self, false_alarms: float = FALSE_ALARMS) -> float:
        """Return what share of those who are in the best test finds, given its share of false alarms."""
        if self.mu is not None:
            return float(ndtr(ndtri(false_alarms) + self.mu))
        exponential = math.exp(min(self.epsilon, 700.0))
        caught = 1.0 - (1.0 - self.delta - false_alarms) * math.exp(-self.epsilon)
        return max(0.0, min(1.0, exponential * false_alarms + self.delta, caught))
