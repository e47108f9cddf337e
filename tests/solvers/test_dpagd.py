"""DP-AGD against a plain transcription of Algorithm 1, iteration by iteration, under the same noise."""

import math

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit.accounting import Ledger, rho_from_epsilon
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.solvers import DPAGD, BudgetWarning

DELTA = 1e-8


def table(n=60, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5]) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def run(solver, X, y, *, epsilon=8.0, loss="logistic", noise=None, alpha=0.0, n_records=None, rho=None):
    ledger = Ledger(rho=rho_from_epsilon(epsilon, DELTA, "classic") if rho is None else rho)
    noise = ScriptedNoise(5) if noise is None else noise
    engine = Problem.of(X, y, LOSSES[loss], intercept=True)
    curator = curator_of(
        engine, ledger, noise, epsilon=epsilon, delta=DELTA, alpha=alpha, n_records=n_records
    )
    return solver.solve(curator), ledger, noise


def algorithm_1(
    X,
    y,
    loss,
    *,
    eps_tot,
    lam=0.0,
    splits=60,
    gamma=0.1,
    C_obj=3.0,
    C_grad=3.0,
    seed=5,
    shape="laplace",
    cap=math.inf,
):
    """Transcribe Algorithm 1 with the errata, forming everything; yield (w, alpha, rho_ng, tries)."""
    draw = np.random.default_rng(seed)
    n = len(y)
    Z = np.column_stack([X, np.ones(n)])
    L = math.log(1 / DELTA)
    rho = (math.sqrt(L + eps_tot) - math.sqrt(L)) ** 2  # solves eps = rho + 2 sqrt(rho L)
    rho_nmax = (eps_tot / (2 * splits)) ** 2 / 2
    sigma_ng = C_grad * math.sqrt(2 * math.log(1.25 / DELTA)) / (eps_tot / (2 * splits))
    rho_ng = C_grad**2 / (2 * sigma_ng**2)
    w, alpha_max, chosen = np.zeros(Z.shape[1]), 2.0, []

    def losses(w):
        m = y * (Z @ w)
        return np.logaddexp(0, -m) if loss == "logistic" else np.maximum(1 - m, 0)

    def gradients(w):
        m = y * (Z @ w)
        d = -1 / (1 + np.exp(m)) if loss == "logistic" else -(m < 1).astype(float)
        return (d * y)[:, None] * Z

    while True:
        G = gradients(w)
        G /= np.maximum(1, np.linalg.norm(G, axis=1) / C_grad)[:, None]
        if rho < rho_ng:
            return
        rho -= rho_ng
        total = rho_ng
        noisy = G.sum(0) + math.sqrt(C_grad**2 / (2 * rho_ng)) * draw.standard_normal(Z.shape[1])
        tries = 0
        while True:
            direction = noisy + n * lam * w
            direction = direction / np.linalg.norm(direction)
            phi = np.linspace(0, alpha_max, 21)
            omega = [
                np.minimum(losses(w - a * direction), C_obj).sum()
                + n * lam / 2 * np.sum((w - a * direction) ** 2)
                for a in phi
            ]
            if rho < rho_nmax:
                return
            rho -= rho_nmax
            tries += 1
            lap = getattr(draw, shape)(scale=C_obj / math.sqrt(2 * rho_nmax), size=21)
            i = int(np.argmax(-np.array(omega) + lap))
            if i > 0:
                break
            rho_old, rho_ng = rho_ng, (1 + gamma) * rho_ng
            if rho < rho_ng - rho_old:
                return
            rho -= rho_ng - rho_old
            again = G.sum(0) + math.sqrt(C_grad**2 / (2 * (rho_ng - rho_old))) * draw.standard_normal(
                Z.shape[1]
            )
            noisy = (total * noisy + (rho_ng - rho_old) * again) / rho_ng
            total = rho_ng
        w = w - phi[i] * direction
        chosen.append(phi[i])
        if len(chosen) % 10 == 0:
            alpha_max = min(cap, 1.1 * max(chosen[-10:]))
        yield w, phi[i], total, tries


@pytest.mark.parametrize("shape", ["laplace", "exponential"])
@pytest.mark.parametrize("lam", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_follows_algorithm_1_iteration_by_iteration(loss, lam, shape):
    X, y = table()
    solution, _, _ = run(
        DPAGD(selection=shape), X, y, loss=loss, alpha=lam, n_records=len(y) if lam else None
    )
    expected = list(algorithm_1(X, y, loss, eps_tot=8.0, lam=lam, shape=shape))
    assert len(expected) > 20
    assert solution.n_iter == len(expected)
    assert any(tries > 1 for *_, tries in expected), "the noise script never triggers a refinement"
    for ours, (_, alpha, rho_ng, tries) in zip(solution.trace, expected, strict=True):
        assert ours.step == pytest.approx(alpha, rel=1e-6)
        assert ours.rho_gradient == pytest.approx(rho_ng, rel=1e-6)
        assert ours.rho_selection == pytest.approx(tries * (8.0 / 120) ** 2 / 2, rel=1e-6)
        assert ours.sigma == pytest.approx(3.0 / math.sqrt(2 * rho_ng), rel=1e-4)
    np.testing.assert_allclose(solution.w, expected[-1][0], rtol=1e-3, atol=1e-3)


def test_a_cap_on_the_steps_holds_for_ever_and_changes_nothing_else():  # E10
    X, y = table()
    capped, free = (run(DPAGD(alpha_cap=cap), X, y)[0] for cap in (2.0, None))
    expected = list(algorithm_1(X, y, "logistic", eps_tot=8.0, cap=2.0))
    assert [step.step for step in capped.trace] == pytest.approx([alpha for _, alpha, *_ in expected])
    assert max(step.step for step in capped.trace) <= 2.0
    assert max(step.step for step in free.trace) > 2.0, "the noise script never chooses a long step"
    assert free.trace[:10] == capped.trace[:10]


def test_a_cap_below_the_first_largest_step_holds_from_the_start():  # E10
    X, y = table()
    solution, _, _ = run(DPAGD(alpha_cap=0.5), X, y, noise=AlwaysPick(20))
    assert [step.step for step in solution.trace] == [0.5] * solution.n_iter


def test_spends_until_the_next_charge_does_not_fit_and_never_more():
    X, y = table()
    solution, ledger, _ = run(DPAGD(), X, y)
    assert sum(s.rho_gradient + s.rho_selection for s in solution.trace) <= ledger.spent * (1 + 1e-12)
    assert ledger.spent <= ledger.rho
    assert ledger.remaining < solution.trace[-1].rho_gradient * 1.1 + (8.0 / 120) ** 2 / 2


class AlwaysPick(ScriptedNoise):
    """A private argmin that always names the same candidate."""

    def __init__(self, index):
        super().__init__(0)
        self.index = index

    def noisy_argmax(self, scores, scale, shape):
        return self.index


def test_ends_when_no_step_is_ever_accepted():  # E2
    X, y = table()
    solution, ledger, _ = run(DPAGD(), X, y, noise=AlwaysPick(0))
    assert solution.n_iter == 0
    np.testing.assert_array_equal(solution.w, 0.0)
    prices = [e.rho for e in ledger.entries if e.what == "gradient, refined"]
    np.testing.assert_allclose(np.diff(np.log(prices)), math.log(1.1), rtol=1e-6)


def test_the_chosen_candidate_is_the_step_taken():  # E5: candidate 1 moves by the first non-zero step
    X, y = table()
    solution, _, _ = run(DPAGD(), X, y, noise=AlwaysPick(1))
    assert solution.trace[0].step == pytest.approx(0.1)
    assert solution.trace[10].step == pytest.approx(0.11 / 20)


def test_each_gradient_is_charged_once():  # E5
    X, y = table()
    solution, ledger, _ = run(DPAGD(), X, y, noise=AlwaysPick(3))
    whats = [e.what for e in ledger.entries]
    assert whats[:4] == ["gradient", "step size"] * 2
    assert whats.count("gradient") - solution.n_iter in (0, 1)


def test_without_regulariser_nothing_asks_for_the_number_of_records():
    _, ledger, _ = run(DPAGD(), *table())
    assert "number of records" not in {e.what for e in ledger.entries}


def test_regulariser_buys_the_number_of_records_unless_declared():  # E6
    X, y = table()
    _, ledger, _ = run(DPAGD(), X, y, alpha=0.1)
    assert ledger.entries[0].what == "number of records"
    assert ledger.entries[0].rho == pytest.approx(0.002 * ledger.rho)
    _, ledger, _ = run(DPAGD(), X, y, alpha=0.1, n_records=60)
    assert ledger.entries[0].what == "gradient"


def test_mini_batches_learn_and_cost_no_less():  # E7: no amplification
    X, y = table(n=4000)
    whole, ledger, _ = run(DPAGD(), X, y)
    batched, batched_ledger, _ = run(DPAGD(batch_size=1000), X, y, n_records=4000)
    assert batched_ledger.entries[0].rho == ledger.entries[0].rho
    for solution in (whole, batched):
        assert np.mean((X @ solution.w[:-1] + solution.w[-1]) * y > 0) > 0.85


def test_a_budget_too_small_for_one_step_gives_the_zero_model_and_says_what_is_needed():
    X, y = table()
    needed = (8.0 / 2) ** 2 / 2 + (8.0 / 2) ** 2 / (4 * math.log(1.25 / DELTA))
    with pytest.warns(
        BudgetWarning, match=rf"one step needs rho = {needed:.4g} and .* was left; raise epsilon"
    ):
        solution, ledger, _ = run(DPAGD(splits=1), X, y)
    np.testing.assert_array_equal(solution.w, 0.0)
    assert ledger.spent == 0.0


@pytest.mark.parametrize(
    "bad", [{"splits": 0}, {"C_grad": -1.0}, {"gamma": math.nan}, {"batch_size": 0}, {"alpha_cap": 0}]
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=f"positive finite {next(iter(bad))}"):
        DPAGD(**bad)


def test_unknown_selection_is_refused():
    with pytest.raises(ValueError, match="selection must be one of"):
        DPAGD(selection="permute")
