"""The Gaussian mechanism and what it returns: a measurement that knows its own accuracy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.zcdp import gaussian_sigma
from privfit.mechanisms.noise import NoiseSource


@dataclass(frozen=True)
class Measurement:
    """A released noisy vector.

    Attributes
    ----------
    value : array
        The noisy answer.
    sensitivity : float
        L2 sensitivity the noise was calibrated for.
    rho : float
        What it cost in all.
    """

    value: NDArray[np.float64]
    sensitivity: float
    rho: float

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in each coordinate, sensitivity / sqrt(2 rho)."""
        return gaussian_sigma(self.sensitivity, self.rho)

    def average(self, other: Measurement) -> Measurement:
        """Combine two independent measurements of the same quantity, weighting each by its rho.

        That is inverse-variance weighting, so the result is exactly as accurate as one measurement that
        had cost both prices at once: variance sensitivity^2 / (2 (rho + rho')) (section 4 of the paper).
        """
        if not math.isclose(self.sensitivity, other.sensitivity, rel_tol=1e-12):
            raise ValueError("Only measurements of equal sensitivity can be averaged by rho.")
        rho = self.rho + other.rho
        value = (self.rho * self.value + other.rho * other.value) / rho
        return Measurement(value, self.sensitivity, rho)


def measure(value: NDArray[np.float64], sensitivity: float, rho: float, noise: NoiseSource) -> Measurement:
    """Release a vector of this L2 sensitivity at the price rho (P1)."""
    return Measurement(noise.gaussian(value, gaussian_sigma(sensitivity, rho)), sensitivity, rho)
