"""The Gaussian mechanism, and the measurement that it returns."""

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
        L2 sensitivity that the noise was calibrated to.
    rho : float
        The total price in zCDP.
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

        This is inverse-variance weighting. The result is exactly as accurate as one measurement at the sum of
        both prices: its variance is sensitivity^2 / (2 (rho + rho')) (section 4 of the paper).
        """
        if not math.isclose(self.sensitivity, other.sensitivity, rel_tol=1e-12):
            raise ValueError("Only measurements of equal sensitivity can be averaged by rho.")
        rho = self.rho + other.rho
        value = (self.rho * self.value + other.rho * other.value) / rho
        return Measurement(value, self.sensitivity, rho)


def measure(value: NDArray[np.float64], sensitivity: float, rho: float, noise: NoiseSource) -> Measurement:
    """Release a vector of this L2 sensitivity at the price rho (P1)."""
    return Measurement(noise.gaussian(value, gaussian_sigma(sensitivity, rho)), sensitivity, rho)
