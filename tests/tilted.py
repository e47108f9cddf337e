"""Objective perturbation in plain NumPy: the density of the tilted objective's minimiser, written out."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from scripted import ScriptedNoise

SLOPES = {"logistic": lambda m: -expit(-m), "hinge": lambda m: -np.clip(1.5 - m, 0.0, 1.0)}
BENDS = {"logistic": lambda m: expit(m) * expit(-m), "hinge": lambda m: ((m > 0.5) & (m < 1.5)).astype(float)}
SMOOTHNESS = {"logistic": 0.25, "hinge": 1.0}


class TiltNoise(ScriptedNoise):
    """Scripted noise that also draws tilts for delta = 0 and counts, and keeps what it was asked."""

    def __init__(self, seed=0, size=1.0):
        super().__init__(seed, size)
        self.radial_inputs = []
        self.laplace_inputs = []
        self.tilts = []

    def gaussian(self, values, sigma):
        self.tilts.append(super().gaussian(values, sigma))
        return self.tilts[-1]

    def radial(self, size, scale):
        self.radial_inputs.append((size, scale))
        direction = self.rng.standard_normal(size)
        length = self.size * self.rng.gamma(size, scale)
        self.tilts.append(direction * length / np.linalg.norm(direction))
        return self.tilts[-1]

    def laplace(self, values, scale):
        self.laplace_inputs.append((values.copy(), scale))
        return values + self.size * self.rng.laplace(scale=scale, size=values.shape)


class Written:
    """The sum of losses over rows (x, 1) scaled to norm 1, plus ridge/2 ||w||^2."""

    def __init__(self, X, y, loss, ridge, intercept=True):
        Z = np.column_stack([X, np.ones(len(X))]) if intercept else np.asarray(X, dtype=float)
        self.Z, self.y = Z / np.linalg.norm(Z, axis=1, keepdims=True), y
        self.slope, self.bend, self.ridge = SLOPES[loss], BENDS[loss], ridge

    def gradient(self, w):
        return self.Z.T @ (self.y * self.slope(self.y * (self.Z @ w))) + self.ridge * w

    def hessian(self, w):
        return (self.Z.T * self.bend(self.y * (self.Z @ w))) @ self.Z + self.ridge * np.eye(len(w))

    def minimiser(self, tilt):
        """Return the exact minimiser with this tilt, by damped Newton steps."""
        w = np.zeros_like(tilt)
        for _ in range(500):
            g = self.gradient(w) + tilt
            if np.linalg.norm(g) < 1e-11 * (1.0 + np.linalg.norm(tilt)):
                return w
            step, t = np.linalg.solve(self.hessian(w), g), 1.0
            while t > 1e-6 and np.linalg.norm(self.gradient(w - t * step) + tilt) > np.linalg.norm(g):
                t /= 2
            w = w - t * step
        raise AssertionError("the reference did not converge")

    def log_density(self, w, log_tilt_density):
        """Return the log of the minimiser's density at w, the tilt's being given."""
        return log_tilt_density(-self.gradient(w)) + np.linalg.slogdet(self.hessian(w))[1]


class OneWeight:
    """The same for one weight, at many weights at once: rows are 1 or -1, so tables are counts of labels."""

    def __init__(self, positive, negative, loss, ridge):
        self.counts = {1: positive, -1: negative}
        self.slope, self.bend, self.ridge = SLOPES[loss], BENDS[loss], ridge

    def tilt(self, w):
        """Return the tilt whose minimiser is w."""
        return -self.ridge * w - sum(n * y * self.slope(y * w) for y, n in self.counts.items())

    def log_density(self, w, log_tilt_density):
        hessian = self.ridge + sum(n * self.bend(y * w) for y, n in self.counts.items())
        return log_tilt_density(self.tilt(w)) + np.log(hessian)

    def minimiser(self, tilt):
        """Return the weights that are the minimisers of these tilts, by bisection."""
        high = (np.abs(tilt) + sum(self.counts.values())) / self.ridge
        low = -high
        for _ in range(60):
            w = (low + high) / 2.0
            right = self.tilt(w) > tilt
            low, high = np.where(right, w, low), np.where(right, high, w)
        return w
