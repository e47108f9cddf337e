"""Cases for audits: a release on two neighbouring tables, and its claimed promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privfit.accounting import Direct, Promise
from privfit.accounting.gdp import mu_from_epsilon
from privfit.auditing.answers import Release, Vector
from privfit.mechanisms.noise import NoiseSource, Shape

Kind = Literal["mechanism", "question", "solver", "interval", "score", "people"]
# the delta of all claims; large, because a few hundred runs cannot detect rare events
EPSILON, DELTA = 2.0, 0.05


@dataclass(frozen=True)
class Case:
    """A release that is audited.

    Parameters
    ----------
    name : str
        What is audited.
    kind : str
        The kind of release: a mechanism, a question, a solver, intervals, scores or a fit for people.
    promise : Promise
        The claimed promise.
    release : callable
        A function of (whether the canary is in the table, noise source) that returns the released values.
    sees : {"answers", "result"}
        What the attacker sees: every noisy answer, as the promise allows, or the result alone. If samples,
        tilted objectives or the like stay inside one release, it is audited by the result.
    control : float
        The share of the noise that the positive control adds. The audit has to detect this error.
    """

    name: str
    kind: Kind
    promise: Promise
    release: Release
    sees: Literal["answers", "result"] = "answers"
    control: float = 0.5

    @property
    def mu(self) -> float:
        """The largest shift over the standard deviation that Gaussian noise of the same price allows.

        A release with a proof of its own has no price in rho, so it is compared with Gaussian noise of the
        same epsilon and delta.
        """
        if isinstance(self.promise, Direct):
            return mu_from_epsilon(self.epsilon, DELTA)
        return math.sqrt(2.0 * self.promise.rho)

    @property
    def epsilon(self) -> float:
        """The epsilon that is claimed at `DELTA`: the stated one, not what the budget is worth."""
        stated = self.promise.epsilon
        assert stated is not None
        assert self.promise.delta == DELTA
        return stated


class Weakened:
    """A noise source with a planted bug: it adds only a share of the requested noise."""

    secure = True

    def __init__(self, source: NoiseSource, share: float) -> None:
        self.source, self.share = source, share

    def gaussian(self, values: Vector, sigma: float) -> Vector:
        """Return values plus too little Gaussian noise."""
        return self.source.gaussian(values, self.share * sigma)

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return values plus too little Laplace noise."""
        return self.source.laplace(values, self.share * scale)

    def radial(self, size: int, scale: float) -> Vector:
        """Return a vector that is too short."""
        return self.source.radial(size, self.share * scale)

    def noisy_argmax(self, scores: Vector, scale: float, shape: Shape) -> int:
        """Return the index of the largest score after too little noise."""
        return self.source.noisy_argmax(scores, self.share * scale, shape)

    def poisson_rows(self, n_rows: int, probability: float) -> NDArray[np.intp]:
        """Return a correct sample."""
        return self.source.poisson_rows(n_rows, probability)

    def spawn(self, n: int) -> list[NoiseSource]:
        """Return n sources with the same bug."""
        return [Weakened(source, self.share) for source in self.source.spawn(n)]


def flat(*parts: Any) -> Vector:
    """Return the released values as one vector."""
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])
