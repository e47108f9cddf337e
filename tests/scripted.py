"""A noise source for tests: every draw is known beforehand and every input is kept."""

from __future__ import annotations

import numpy as np


class ScriptedNoise:
    """Takes its standardised draws from a seeded list and records what it was given.

    `size` scales all draws; 0 gives exact answers, which shows what a mechanism was fed.
    """

    secure = False

    def __init__(self, seed: int = 0, size: float = 1.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.size = size
        self.gaussian_inputs: list[tuple[np.ndarray, float]] = []
        self.argmax_inputs: list[tuple[np.ndarray, float, str]] = []

    def gaussian(self, values, sigma):
        self.gaussian_inputs.append((values.copy(), sigma))
        return values + self.size * sigma * self.rng.standard_normal(values.shape)

    def laplace(self, values, scale):
        return values + self.size * self.rng.laplace(scale=scale, size=values.shape)

    def noisy_argmax(self, scores, scale, shape):
        self.argmax_inputs.append((scores.copy(), scale, shape))
        return int(np.argmax(scores + self.size * getattr(self.rng, shape)(scale=scale, size=scores.shape)))

    def poisson_rows(self, n_rows, probability):
        return np.flatnonzero(self.rng.random(n_rows) < probability)

    def spawn(self, n):
        return [ScriptedNoise(seed, self.size) for seed in self.rng.integers(2**31, size=n)]
