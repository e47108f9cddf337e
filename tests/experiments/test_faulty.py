import math

import numpy as np
import pytest
from curators import curator_of

from privfit import DPLogisticRegression
from privfit.accounting import Ledger
from privfit.engine.problem import Problem
from privfit.experiments.faulty import FaultyDPAGD
from privfit.losses import LOSSES


class KnownNoise:
    """Hands out one prepared vector of Laplace noise and keeps the scale it was asked for."""

    secure = False

    def __init__(self, draws):
        self.draws = draws

    def laplace(self, values, scale):
        self.scale = scale
        return values + self.draws


def test_names_the_smallest_score_plus_exponential_noise():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 3)), rng.choice([-1.0, 1.0], 200)
    engine = Problem.of(X, y, LOSSES["logistic"])
    direction, steps = np.array([1.0, 0.0, 0.0, 0.0]), np.arange(5) / 4.0
    losses = np.logaddexp(0.0, -(y[:, None] * np.outer(X @ direction[:3], -steps))).clip(max=3.0).sum(axis=0)
    right_sign = wrong_sign = 0
    for _ in range(20):
        noise = KnownNoise(rng.laplace(scale=5.0, size=5))
        curator = curator_of(engine, Ledger(rho=1.0), noise, epsilon=1.0, delta=1e-6)
        line = curator.along(curator.at(np.zeros(4)), direction)
        chosen = FaultyDPAGD().choose(curator, line, steps, 0.02, np.zeros(5))
        wrong_sign += chosen == np.argmin(losses + np.abs(noise.draws))
        right_sign += chosen == np.argmin(losses - np.abs(noise.draws))
        assert noise.scale == pytest.approx(3.0 / math.sqrt(2 * 0.02))
        assert curator.remaining == pytest.approx(1.0 - 0.02)
    assert wrong_sign == 20
    assert right_sign < 20


def test_promises_nothing():
    rng = np.random.default_rng(0)
    X = rng.random((500, 3))
    model = DPLogisticRegression(solver=FaultyDPAGD(), noise="seeded", random_state=0).fit(X, X[:, 0] > 0.5)
    assert model.privacy_.epsilon == math.inf
    assert "promises no privacy" in model.privacy_.text
    assert model.n_iter_ > 0
