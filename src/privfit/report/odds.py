"""What a promise means for one person: how far beliefs about them can change, and how well attacks can do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr, logit, ndtr, ndtri

BELIEFS = (0.01, 0.1, 0.5, 0.9)
FALSE_ALARMS = 0.05  # a common level of significance
_ROUNDING = 1.0 + 2.0**-36  # makes up for the rounding errors of the formulas below


@dataclass(frozen=True)
class Odds:
    """The promise (epsilon, delta), rho if it is one in zCDP, and mu if it is Gaussian.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    rho : float or None
        The promise in zCDP; None for a release with a theorem of its own.
    mu : float or None
        The promise in Gaussian DP, if all noise was Gaussian.
    """

    epsilon: float
    delta: float
    rho: float | None = None
    mu: float | None = None

    @classmethod
    def of(cls, promise: dict[str, Any]) -> Odds:
        """Read a promise from a model file."""
        rho = promise.get("rho")  # a direct promise has none
        mu = math.sqrt(2.0 * promise["rho"]) * _ROUNDING if promise["kind"] == "gaussian" else None
        return cls(promise["epsilon"], promise["delta"], rho, mu)

    @property
    def largest_change(self) -> float:
        """The largest change of log odds, except with the probability `exceptions`.

        For (epsilon, delta) alone it is 2 epsilon, because (epsilon, delta)-DP does not imply that the odds
        change by at most e^epsilon except with probability delta (Kasiviswanathan & Smith 2014).
        """
        return self.epsilon if self.rho is not None or not self.delta else 2.0 * self.epsilon

    def exceptions(self) -> float:
        """Bound the probability that odds change by more than e^largest_change, with or without the person.

        The log-ratio of probabilities L exceeds r with probability at most exp(-(r - rho)^2 / (4 rho)) by
        zCDP and Markov's inequality, and with at most delta(e) / (1 - exp(e - r)) for every e < r at which
        (e, delta(e))-DP holds; it is below -r with e^-r times the probability that the other one exceeds r.
        """
        r, bounds = self.largest_change, [1.0]
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
        """Return the smallest and largest belief that this one can become, except with `exceptions`."""
        least, most = (
            float(expit(logit(before) + moved)) for moved in (-self.largest_change, self.largest_change)
        )
        return least / _ROUNDING, _at_most(most)

    def best_guess(self) -> float:
        """Return how often the best attacker is right about whether a person is in, starting from 50%."""
        if self.mu is not None:
            return _at_most(float(ndtr(0.5 * self.mu)))
        return _at_most(float(expit(self.epsilon)) + self.delta * float(expit(-self.epsilon)))

    def power(self, false_alarms: float = FALSE_ALARMS) -> float:
        """Return the power of the best test for membership at this rate of false alarms."""
        if self.mu is not None:
            return _at_most(float(ndtr(ndtri(false_alarms) + self.mu)))
        exponential = math.exp(min(self.epsilon, 700.0))
        caught = 1.0 - (1.0 - self.delta - false_alarms) * math.exp(-self.epsilon)
        return _at_most(max(0.0, min(exponential * false_alarms + self.delta, caught)))


def _at_most(probability: float) -> float:
    """Return a probability increased by more than its rounding error, and at most 1."""
    return min(1.0, probability * _ROUNDING)


def rounded_up(share: float) -> str:
    """Write a share in percent with one decimal place, rounded up."""
    return f"{math.ceil(1000 * Fraction(share)) / 10:.1f}%"


def rounded_down(share: float) -> str:
    """Write a share in percent with one decimal place, rounded down."""
    return f"{math.floor(1000 * Fraction(share)) / 10:.1f}%"
