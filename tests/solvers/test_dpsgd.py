"""SGD on Poisson samples: the walk against a transcription, the plan against dp-accounting, neighbours."""

import math

import dp_accounting
import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Direct, Ledger
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.mechanisms.noise import SeededNoise
from privfit.solvers import SGDMA, BudgetWarning, SGDAdv

DELTA = 1e-6
SOLVERS = [SGDMA(max_steps=300), SGDAdv(steps=40)]
MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}


def table(n=900, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5]) + 0.5 * rng.logistic(size=n) > 0, 1.0, -1.0)


def run(solver, X, y, *, epsilon=1.0, loss="logistic", noise=None, intercept=True, delta=DELTA, **public):
    ledger = Ledger.keeping(Direct(epsilon, delta))
    engine = Problem.of(X, y, LOSSES[loss], intercept=intercept)
    noise = ScriptedNoise(5) if noise is None else noise
    return (
        solver.solve(curator_of(engine, ledger, noise, epsilon=epsilon, delta=delta, **public)),
        ledger,
        noise,
    )


# -- the walk


def transcription(X, y, loss, *, steps, q, expected, sigma, clip, step, alpha, seed):
    """Write the algorithm down once more, forming every record's gradient."""
    draw = np.random.default_rng(seed)
    Z = np.column_stack([X, np.ones(len(y))])
    w = np.zeros(Z.shape[1])
    for _ in range(steps):
        chosen = draw.random(len(y)) < q
        m = y[chosen] * (Z[chosen] @ w)
        slope = -1 / (1 + np.exp(m)) if loss == "logistic" else -(m < 1).astype(float)
        G = (slope * y[chosen])[:, None] * Z[chosen]
        G *= np.minimum(1, clip / np.maximum(np.linalg.norm(G, axis=1), 1e-300))[:, None]
        g = G.sum(axis=0) + sigma * draw.standard_normal(Z.shape[1])
        w = w - step * (g / expected + alpha * w)
    return w


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("solver", [SGDMA(max_steps=300, clip=1.5), SGDAdv(steps=40, clip=1.5)])
def test_takes_the_steps_of_the_transcription(solver, loss, alpha):
    """The number of records is declared as 1000 where 900 are there: all that follows from it is public."""
    X, y = table()
    solution, _, noise = run(solver, X, y, loss=loss, alpha=alpha, n_records=1000)
    plan = solver.plan(1000.0, 1.0, DELTA)
    q = 1 / math.sqrt(1000)
    expected = transcription(
        X,
        y,
        loss,
        steps=plan.steps,
        q=q,
        expected=1000 * q,
        sigma=plan.noise_multiplier * 1.5,
        clip=1.5,
        step=solver.step,
        alpha=alpha,
        seed=5,
    )
    assert solution.n_iter == plan.steps > 20
    np.testing.assert_allclose(solution.w, expected, rtol=1e-4, atol=1e-4)
    for _, sigma in noise.gaussian_inputs:
        assert 1.0 < sigma / (1.5 * plan.noise_multiplier) < 1.0 + 1e-5


class SameCoins(ScriptedNoise):
    """Every record has a coin of its own for every step, and what is released is known beforehand."""

    def __init__(self):
        super().__init__(0)
        self.samples = []

    def poisson_rows(self, n_rows, probability):
        coins = np.random.default_rng([7, len(self.samples)]).random(n_rows)
        coins[100:101] = len(self.samples) % 10 > 0  # the coin of the neighbour's record, scripted
        self.samples.append(coins < probability)
        return np.flatnonzero(self.samples[-1])

    def gaussian(self, values, sigma):
        self.gaussian_inputs.append((values.copy(), sigma))
        return 20.0 * np.random.default_rng([8, len(self.samples)]).standard_normal(values.shape)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("solver", [SGDMA(max_steps=200, clip=0.7), SGDAdv(steps=200, clip=0.7)])
def test_a_neighbour_moves_a_sum_by_its_sensitivity_if_its_coin_says_so_and_else_not_at_all(solver, loss):
    X, y = table(n=100)
    with_one_more = np.vstack([X, 50.0 * np.ones((1, 3))]), np.append(y, 1.0)
    runs = [
        run(solver, *data, loss=loss, noise=SameCoins(), n_records=100)[2] for data in ((X, y), with_one_more)
    ]
    bound = Problem.of(X, y, LOSSES[loss], intercept=True).gradient_bound(0.7)
    plan = solver.plan(100.0, 1.0, DELTA)
    moved = []
    for (a, sigma), (b, same), sample in zip(
        *(r.gaussian_inputs for r in runs), runs[1].samples, strict=True
    ):
        assert sigma == same >= plan.noise_multiplier * bound
        distance = np.linalg.norm(a - b)
        assert distance <= (bound * (1 + 1e-12) if sample[-1] else 0.0)
        moved.append(distance)
    assert moved[0] > 0  # the first coin says so
    assert max(moved) > 0.99 * 0.7


def test_samples_are_poisson_and_their_true_size_is_not_used():
    """The sizes vary like a binomial: a fixed size would have no variance. False alarms: about 1e-6."""
    X, y = table(n=400)
    noise = SameCoins()
    run(SGDAdv(steps=300), X, y, noise=noise, n_records=400)
    sizes = np.array([sample.sum() for sample in noise.samples])
    assert abs(sizes.mean() - 20.0) < 5 * math.sqrt(19 / 300)
    assert 0.65 < sizes.var() / 19.0 < 1.45  # 300 draws: +-5 standard deviations are .41


def test_empty_samples_are_steps_of_noise():
    X, y = table(n=50)
    solution, _, noise = run(SGDAdv(batch_size=0.01, steps=50), X, y, n_records=50)
    assert solution.n_iter == 50
    assert sum(not values.any() for values, _ in noise.gaussian_inputs) > 40


# -- the plan


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["pld", "rdp"])
@pytest.mark.parametrize(("n", "epsilon"), [(30_000, 0.3), (3000, 3.0), (1000, 1.0)])
def test_the_plan_keeps_the_promise_by_dp_accountings_own_accountant(n, epsilon, accountant):
    plan = SGDMA(accountant=accountant, max_steps=1500).plan(float(n), epsilon, 1e-8)
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(
            1 / math.sqrt(n), dp_accounting.GaussianDpEvent(plan.noise_multiplier)
        ),
        plan.steps,
    )
    judge = dp_accounting.pld.PLDAccountant(value_discretization_interval=5e-5)
    spent = judge.compose(event).get_epsilon(1e-8)
    assert spent <= epsilon
    assert spent > (0.97 if accountant == "pld" else 0.8) * epsilon  # and spends nearly all of it


def test_noise_is_the_papers_until_the_steps_run_out():
    few, many = (SGDMA(max_steps=1000).plan(30_000.0, epsilon, 1e-8) for epsilon in (0.1, 1.0))
    assert few.noise_multiplier == 4.0
    assert 100 < few.steps < 1000
    assert many.steps == 1000
    assert 0.9 < many.noise_multiplier < 4.0


def test_advanced_composition_takes_the_authors_number_of_steps():
    for n, epsilon, steps in ((40_000, 0.8, 64), (40_000, 0.001, 1), (1e6, 1000.0, 10_000)):
        assert SGDAdv().plan(float(n), epsilon, 1e-8).steps == steps
    assert SGDAdv(steps=7).plan(40_000.0, 0.8, 1e-8).steps == 7


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_budget_means_less_noise_on_the_whole(solver):
    plans = [solver.plan(5000.0, epsilon, DELTA) for epsilon in (0.1, 0.5, 2.0, 8.0)]
    precision = [plan.steps / plan.noise_multiplier**2 for plan in plans]
    assert precision == sorted(precision)


# -- the account


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_whole_promise_is_charged_before_anything_is_read(solver):
    X, y = table()
    _, ledger, _ = run(solver, X, y, n_records=900)
    (entry,) = ledger.entries
    assert (entry.rho, entry.delta) == (ledger.rho, ledger.delta)
    assert solver.name in entry.what
    with pytest.raises(RuntimeError, match="needs rho"):
        run_again(solver, X, y, ledger)


def run_again(solver, X, y, ledger):
    noise = ScriptedNoise(1)
    engine = Problem.of(X, y, LOSSES["logistic"], intercept=True)
    try:
        solver.solve(curator_of(engine, ledger, noise, epsilon=1.0, delta=DELTA, n_records=900))
    finally:
        assert not noise.gaussian_inputs


@pytest.mark.parametrize("model", MODELS.values())
@pytest.mark.parametrize("solver", ["sgd-ma", "sgd-adv"])
def test_fits_by_name_without_any_declaration(model, solver):
    X, y = table(n=3000)
    fitted = model(epsilon=2.0, delta=1e-5, solver=solver, noise="seeded", random_state=0).fit(X, y > 0)
    assert fitted.privacy_.epsilon == 2.0
    assert fitted.privacy_.delta == 1e-5
    assert "noise of" in fitted.privacy_.notes[0]
    assert fitted.score(X, y > 0) > (0.85 if solver == "sgd-ma" else 0.6)


def test_the_count_is_paid_out_of_epsilon():
    X, y = table(n=3000)
    # without noise the count is the declared one, so that what it costs is the only difference
    solution, _, _ = run(SGDMA(max_steps=20), X, y, noise=ScriptedNoise(size=0.0))
    declared, _, _ = run(SGDMA(max_steps=20), X, y, noise=ScriptedNoise(size=0.0), n_records=3000)
    assert declared.trace[0].sigma < solution.trace[0].sigma < 1.1 * declared.trace[0].sigma


def test_a_budget_too_small_for_one_step_gives_the_zero_model_and_charges_nothing():
    X, y = table(n=100)
    with pytest.warns(
        BudgetWarning, match=r"one step needs epsilon = 0\.\d+ and 0\.01 was left; raise epsilon"
    ):
        solution, ledger, noise = run(SGDMA(), X, y, epsilon=0.01, n_records=100)
    np.testing.assert_array_equal(solution.w, 0.0)
    assert ledger.spent == 0.0
    assert not noise.gaussian_inputs
    with pytest.warns(BudgetWarning, match=r"and 0\.0099 was left"):  # one per cent bought the count
        solution, ledger, _ = run(SGDMA(), X, y, epsilon=0.01, noise=SeededNoise(1))
    np.testing.assert_array_equal(solution.w, 0.0)
    assert ledger.spent == ledger.rho


# -- what it learns


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_strong_regulariser_is_obeyed_and_does_not_make_the_walk_diverge(solver):
    X, y = table()
    weak, strong = (run(solver, X, y, alpha=alpha, n_records=900)[0].w for alpha in (0.0, 1e4))
    assert np.linalg.norm(strong) < 1e-3 * np.linalg.norm(weak)


# -- bad settings


@pytest.mark.parametrize("solver", [SGDMA, SGDAdv])
@pytest.mark.parametrize("bad", [{"clip": 0}, {"step": -1.0}, {"batch_size": math.nan}, {"max_steps": 0}])
def test_bad_settings_are_refused(solver, bad):
    with pytest.raises(ValueError, match=rf"{solver.__name__} needs .*\b{next(iter(bad))}\b"):
        solver(**bad)


def test_other_bad_settings_are_refused():
    with pytest.raises(ValueError, match="SGDMA needs a whole number of at least 1 for max_steps"):
        SGDMA(max_steps=2.5)
    with pytest.raises(ValueError, match="SGDAdv needs a whole number of at least 1 for steps"):
        SGDAdv(steps=0)
    with pytest.raises(ValueError, match="accountant must be one of"):
        SGDMA(accountant="moments")
    with pytest.raises(ValueError, match="noise_multiplier must lie between"):
        SGDMA(noise_multiplier=0.01)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("bad", "message"), [({"delta": 0.0}, "needs a delta between 1e-15")])
def test_what_the_theorems_do_not_cover_is_refused_before_anything_is_charged(solver, bad, message):
    X, y = table(n=50)
    ledger = Ledger(rho=1.0, delta=0.1)
    public = {"epsilon": 1.0, "delta": DELTA, "n_records": 50} | bad
    curator = curator_of(
        Problem.of(X, y, LOSSES["logistic"], intercept=True), ledger, ScriptedNoise(0), **public
    )
    with pytest.raises(ValueError, match=message):
        solver.solve(curator)
    assert ledger.spent == 0.0
