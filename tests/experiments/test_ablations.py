"""DP-AGD without one of its ideas: what is taken out is gone, and nothing else."""

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit.accounting import Ledger
from privfit.accounting.subsampled import sgd_epsilon
from privfit.engine.problem import Problem
from privfit.experiments.ablations import (
    VARIANTS,
    EqualSplit,
    FixedLength,
    FixedShares,
    FixedStep,
    WithoutAveraging,
)
from privfit.experiments.designs import ABLATIONS, EXPERIMENTS
from privfit.experiments.fit import solver_of
from privfit.losses import LOSSES
from privfit.solvers import DPAGD, SOLVERS, SGDAdv

RHO = 0.5


class Picks(ScriptedNoise):
    """Chooses these candidates in turn, the last one for ever, and adds no other noise."""

    def __init__(self, *picks):
        super().__init__(0, size=0.0)
        self.picks = list(picks)

    def noisy_argmax(self, scores, scale, shape):
        return self.picks.pop(0) if len(self.picks) > 1 else self.picks[0]


def run(solver, noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    problem = Problem.of(X, np.where(X[:, 0] > 0, 1.0, -1.0), LOSSES["logistic"])
    ledger = Ledger(rho=RHO)
    solution = solver.solve(curator_of(problem, ledger, noise, epsilon=8.0, delta=1e-6))
    return solution, ledger


def gradient_prices(solver, *picks):
    """Return what was paid for each measurement of a gradient, in order."""
    noise = Picks(*picks)
    _, ledger = run(solver, noise)
    sigmas = [sigma for _, sigma in noise.gaussian_inputs]
    return np.array([9.0 / (2 * sigma**2) for sigma in sigmas]), ledger


def test_without_averaging_the_better_gradient_is_paid_for_in_full():
    with_it, _ = gradient_prices(DPAGD(), 0, 0, 1)
    without, _ = gradient_prices(WithoutAveraging(), 0, 0, 1)
    first = with_it[0]
    np.testing.assert_allclose(with_it[:3] / first, [1.0, 0.1, 0.11], rtol=1e-5)
    np.testing.assert_allclose(without[:3] / first, [1.0, 1.1, 1.21], rtol=1e-5)
    np.testing.assert_allclose([with_it[3] / first, without[3] / first], 1.21, rtol=1e-5)


def test_fixed_shares_never_grow():
    prices, _ = gradient_prices(FixedShares(), 0, 0, 1)
    np.testing.assert_allclose(prices, gradient_prices(DPAGD(), 1)[0][0], rtol=1e-5)


@pytest.mark.parametrize("T", [1, 7, 60])
@pytest.mark.parametrize("pick", [0, 1])
def test_an_equal_split_asks_t_times_and_spends_all(T, pick):
    prices, ledger = gradient_prices(EqualSplit(T=T), pick)
    np.testing.assert_allclose(prices[:T], RHO / (2 * T), rtol=1e-5)
    assert len(prices) == T
    assert ledger.spent == pytest.approx(RHO)


def test_steps_of_one_length_spend_all_on_gradients():
    noise = ScriptedNoise(0, size=0.0)
    solution, ledger = run(FixedStep(alpha=0.3, T=7), noise)
    assert not noise.argmax_inputs
    assert [step.step for step in solution.trace] == [0.3] * 7
    np.testing.assert_allclose([step.rho_gradient for step in solution.trace], RHO / 7, rtol=1e-5)
    assert ledger.spent == pytest.approx(RHO)
    one, _ = run(FixedStep(alpha=0.3, T=1), ScriptedNoise(0, size=0.0))
    assert np.linalg.norm(one.w) == pytest.approx(0.3)


def test_no_name_leads_to_a_variant():
    assert set(ABLATIONS) <= set(VARIANTS)
    assert not set(VARIANTS) & set(SOLVERS)
    assert all(solver.private for solver in VARIANTS.values())


def test_the_number_of_iterations_is_varied_and_nothing_else():
    cells = {cell.algorithm: cell for cell in EXPERIMENTS["ablation-iterations"].cells(1)}
    assert {cell.value for cell in cells.values()} == {1000.0}
    assert solver_of(cells["dpagd-equal-split-capped"]) == EqualSplit(T=1000, alpha_cap=2.0)
    assert solver_of(cells["dpagd-fixed-step"]) == FixedStep(T=1000)
    assert solver_of(cells["sgd-adv"]) == SGDAdv(steps=1000)
    assert solver_of(cells["sgd-ma-fixed"]) == FixedLength(T=1000)


@pytest.mark.parametrize("T", [10, 1000])
def test_a_number_of_steps_fixed_beforehand_is_paid_for_with_noise(T):
    plan = FixedLength(T=T).plan(39_073, 0.4, 1e-8)
    assert plan.steps == T
    charged = sgd_epsilon(plan.noise_multiplier, plan.probability, T, 1e-8, "rdp")
    assert 0.99 * 0.4 < charged <= 0.4


def test_a_range_of_steps_that_stays_is_never_adjusted():
    fixed, _ = run(VARIANTS["dpagd-fixed-range"], Picks(20))
    adjusted, _ = run(DPAGD(), Picks(20))
    assert len(adjusted.trace) > 10
    assert {step.step for step in fixed.trace} == {2.0}
    assert adjusted.trace[10].step == pytest.approx(2.2)


def test_the_length_of_steps_is_varied_and_nothing_else():
    cells = list(EXPERIMENTS["ablation-step"].cells(1))
    assert {solver_of(cell) for cell in cells} == {
        FixedStep(alpha=alpha) for alpha in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    }
