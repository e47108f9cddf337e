import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Ledger
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.solvers import DPAGD, ModernDPAGD


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5))
    return X, ((X - 0.5) @ rng.normal(size=5) * 6 + rng.logistic(size=n) > 0).astype(int)


def test_prices_are_planned_and_most_goes_to_the_gradient():
    X, y = table()
    engine = Problem.of(X, np.where(y == 1, 1.0, -1.0), LOSSES["logistic"])
    ledger, noise = Ledger(rho=0.6), ScriptedNoise()
    solution = ModernDPAGD().solve(curator_of(engine, ledger, noise, epsilon=1.0, delta=1e-6))
    assert ledger.entries[0].rho == pytest.approx(0.6 / 60 * 0.8)
    assert ledger.entries[1].rho == pytest.approx(0.6 / 60 * 0.2)
    assert "gumbel" in ledger.entries[1].mechanism
    assert ledger.spent <= 0.6
    assert 10 < solution.n_iter <= 60


def test_the_scores_width_is_the_longest_rise_and_not_the_loss():
    X, y = table()
    engine = Problem.of(X, np.where(y == 1, 1.0, -1.0), LOSSES["logistic"])
    noise = ScriptedNoise()
    ModernDPAGD(alpha_max=0.5).solve(curator_of(engine, Ledger(rho=0.6), noise, epsilon=1.0, delta=1e-6))
    _, scale, _ = noise.argmax_inputs[0]
    assert scale == pytest.approx(0.5 * 3.0 / np.sqrt(8 * 0.6 / 60 * 0.2), rel=1e-3)


def test_releases_the_mean_of_the_second_half_of_its_path():
    path = [np.full(2, float(k)) for k in range(6)]
    np.testing.assert_array_equal(ModernDPAGD().answer(path), [4.0, 4.0])
    np.testing.assert_array_equal(DPAGD().answer(path), [5.0, 5.0])


@pytest.mark.slow
@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
def test_beats_the_published_version_at_the_same_promise(model):
    X, y = table(20_000)
    scores = {
        solver: np.mean(
            [
                model(0.4, 1e-8, solver=solver, noise="seeded", random_state=k).fit(X, y).score(X, y)
                for k in range(3)
            ]
        )
        for solver in ("dpagd", "dpagd-modern")
    }
    assert scores["dpagd-modern"] > scores["dpagd"]
