"""What a promise means for one person: how far a belief about them can move, and who can tell at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr, logit, ndtr, ndtri

BELIEFS = (0.01, 0.1, 0.5, 0.9)
FALSE_ALARMS = 0.05  # a usual level of significance
_ROUNDING = 1.0 + 2.0**-36  # more than what floating-point numbers lose in the formulas below


@dataclass(frozen=True)
class Odds:
    """The promise (epsilon, delta), rho if it is one in zCDP, and mu if it is Gaussian.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    rho : float or None
        What it is worth in zCDP; None for a release with a theorem of its own.
    mu : float or None
        What it is worth exactly, where all noise was Gaussian.
    """

    epsilon: float
    delta: float
    rho: float | None = None
    mu: float | None = None

    @classmethod
    def of(cls, promise: dict[str, Any]) -> Odds:
        """Read a promise as a model file has it."""
        rho = promise.get("rho")  # a direct promise has none
        mu = math.sqrt(2.0 * promise["rho"]) * _ROUNDING if promise["kind"] == "gaussian" else None
        return cls(promise["epsilon"], promise["delta"], rho, mu)

    @property
    def reach(self) -> float:
        """How far log odds can move, `exceptions` aside: of (epsilon, delta) alone not epsilon, but twice it.

        That the odds change by e^epsilon except with probability delta is a stronger promise than
        (epsilon, delta)-DP, which does not imply it (Kasiviswanathan & Smith 2014).
        """
        return self.epsilon if self.rho is not None or not self.delta else 2.0 * self.epsilon

    def exceptions(self) -> float:
        """Bound the probability that odds change by more than e^reach either way, person in or not.

        The log-ratio of probabilities L exceeds r with probability at most exp(-(r - rho)^2 / (4 rho)) by
        zCDP and Markov's inequality, and with at most delta(e) / (1 - exp(e - r)) for every e < r at which
        (e, delta(e))-DP holds; it is below -r with e^-r times the probability that the other one exceeds r.
        """
        r, bounds = self.reach, [1.0]
        if self.rho is None and self.delta:
            bounds.append(self.delta / -math.expm1(self.epsilon - r))
        elif self.rho is None:
            return 0.0
        elif r > self.rho:
            bounds.append(math.exp(-((r - self.rho) ** 2) / (4.0 * self.rho)))
        if self.mu is not None and r > 0.0:  # an epsilon of 0 bounds no probability
            e = np.linspace(0.0, r, 1_000, endpoint=False)
            with_it = ndtr(self.mu / 2.0 - e / self.mu)
            without = np.exp(e + log_ndtr(-self.mu / 2.0 - e / self.mu))
            # the difference of two numbers of about the same size is not larger than this
            profile = with_it * _ROUNDING - without / _ROUNDING
            bounds.append(float(np.min(profile / -np.expm1(e - r))))
        return _at_most(min(bounds) * (1.0 + math.exp(-r)))

    def belief_after(self, before: float) -> tuple[float, float]:
        """Return the least and the most that a belief of this probability can become, `exceptions` aside."""
        least, most = (float(expit(logit(before) + moved)) for moved in (-self.reach, self.reach))
        return least / _ROUNDING, _at_most(most)

    def best_guess(self) -> float:
        """Return how often the best attacker is right who must say at even odds whether a person is in."""
        if self.mu is not None:
            return _at_most(float(ndtr(0.5 * self.mu)))
        return _at_most(float(expit(self.epsilon)) + self.delta * float(expit(-self.epsilon)))

    def power(self, false_alarms: float = FALSE_ALARMS) -> float:
        """Return what share of those who are in the best test finds, given its share of false alarms."""
        if self.mu is not None:
            return _at_most(float(ndtr(ndtri(false_alarms) + self.mu)))
        exponential = math.exp(min(self.epsilon, 700.0))
        caught = 1.0 - (1.0 - self.delta - false_alarms) * math.exp(-self.epsilon)
        return _at_most(max(0.0, min(exponential * false_alarms + self.delta, caught)))


def _at_most(probability: float) -> float:
    """Return a bound that is not too low for the rounding of what it was computed from."""
    return min(1.0, probability * _ROUNDING)


def rounded_up(share: float) -> str:
    """Write a share in percent with one decimal place, never smaller than it is."""
    return f"{math.ceil(1000 * Fraction(share)) / 10:.1f}%"


def rounded_down(share: float) -> str:
    """Write a share in percent with one decimal place, never larger than it is."""
    return f"{math.floor(1000 * Fraction(share)) / 10:.1f}%"
