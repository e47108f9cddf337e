"""Output perturbation: the walk against a transcription, its sensitivity against the worst neighbours."""

import math

import numpy as np
import pytest
from curators import curator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm
from scripted import ScriptedNoise

from privfit.accounting import BudgetExceeded, Ledger, rho_from_epsilon
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.solvers import OutputPerturbation
from privfit.solvers.output_perturbation import sensitivity

DERIVATIVES = {
    "logistic": lambda m: -1 / (1 + np.exp(m)),
    "hinge": lambda m: -np.clip(1.5 - m, 0, 1),  # rounded between 1/2 and 3/2
}
RHO = 0.02


def run(
    solver, X, y, *, loss="logistic", n_records=None, alpha=0.0, rho=RHO, size=0.0, intercept=False, **kw
):
    """Return the solution, the ledger, and what the mechanism was given: the end of the walk and sigma."""
    ledger, noise = Ledger(rho=rho), ScriptedNoise(3, size)
    engine = Problem.of(X, y, LOSSES[loss], intercept=intercept)
    curator = curator_of(
        engine, ledger, noise, epsilon=1.0, delta=1e-6, alpha=alpha, n_records=n_records, **kw
    )
    solution = solver.solve(curator)
    end, sigma = noise.gaussian_inputs[-1]
    return solution, ledger, end, sigma


def moved(solver, X, y, extra, label, **settings):
    """Return how far one more record moves the end of the walk, and how far the noise allows it to."""
    _, _, without, sigma = run(solver, X, y, **settings)
    _, _, with_it, same = run(solver, np.vstack([X, extra]), np.append(y, label), **settings)
    assert sigma == same
    return np.linalg.norm(with_it - without), sigma * math.sqrt(2 * RHO)


def table(n=300, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5]) + 0.3 + rng.logistic(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("loss", DERIVATIVES)
def test_a_table_of_the_expected_size_gets_plain_gradient_descent(loss, alpha, intercept):
    X, y = table()
    solver = OutputPerturbation(T=40, step=0.1, radius=1.3)
    solution, _, end, _ = run(
        solver, X, y, loss=loss, alpha=alpha, n_records=len(y), intercept=intercept, size=1.0
    )
    Z = np.column_stack([X, np.ones(len(y))]) if intercept else X
    Z = Z * np.minimum(1, 1.3 / np.linalg.norm(Z, axis=1))[:, None]
    w = np.zeros(Z.shape[1])
    for _ in range(40):
        w = w - 0.1 * (Z.T @ (y * DERIVATIVES[loss](y * (Z @ w))) / len(y) + alpha * w)
    np.testing.assert_allclose(end, w, rtol=1e-6)
    assert np.linalg.norm(solution.w - w) > 0


# -- sensitivity


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("n", [20, 400])
def test_a_record_that_always_pushes_uses_up_nearly_all_of_the_sensitivity(n, alpha):
    """The others are zero and this one stays below the hinge's kink: each step moves by step * radius / n."""
    solver = OutputPerturbation(T=10, step=0.01, radius=2.0)
    X, y = np.zeros((n - 1, 1)), np.ones(n - 1)
    distance, allowed = moved(solver, X, y, [[2.0]], 1.0, loss="hinge", n_records=n, alpha=alpha)
    pushes = sum((1 - 0.01 * alpha) ** k for k in range(10))
    assert distance == pytest.approx(0.01 * 2.0 / n * pushes, rel=1e-6)
    assert allowed == pytest.approx(1.1 * distance, rel=1e-4)  # the paper allows 3 of these, for alpha = 0


@pytest.mark.parametrize("loss", DERIVATIVES)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("crowd", [0.5, 1.0, 5.5, 10.99])
def test_two_walks_do_not_part_however_many_records_come(crowd, alpha, loss):
    """Equal rows of both labels: all curvature in one direction, and a record that pushes along it.

    With steps three times as long, as the expected number of records alone would allow, the second walk
    would overshoot ever farther where 5.5 times as many have come.
    """
    n = 40
    X, y = np.full((2 * int(crowd * n / 2), 1), 3.0), np.ones(2 * int(crowd * n / 2))
    y[::2] = -1.0
    for T in (1, 30, 300):
        distance, allowed = moved(
            OutputPerturbation(T=T), X, y, [[3.0]], 1.0, loss=loss, n_records=n, alpha=alpha
        )
        assert 0.0 < distance <= allowed


def test_a_crowd_that_all_push_one_way_hides_the_last_to_come():
    """What the newcomer takes from the others' weights is a tenth of what it may bring; here they add up."""
    n = 50
    for N in (n, 3 * n, 8 * n, 11 * n - 1, 11 * n, 12 * n):
        X, y = np.full((N, 1), 1.0), np.ones(N)
        distance, allowed = moved(
            OutputPerturbation(T=5, step=1e-4, radius=1.0), X, y, [[-1.0]], 1.0, loss="hinge", n_records=n
        )
        assert distance <= allowed
        if 11 * n - 1 > N:
            assert distance > 0.99 * allowed


@settings(max_examples=60)
@given(
    X=arrays(np.float64, (12, 2), elements=st.floats(-5, 5)),
    y=arrays(bool, 12),
    n=st.sampled_from([1, 3, 12, 50]),
    alpha=st.sampled_from([0.0, 0.01, 4.0]),
    loss=st.sampled_from(sorted(DERIVATIVES)),
    T=st.integers(1, 60),
)
def test_no_neighbour_moves_the_end_beyond_the_noise(X, y, n, alpha, loss, T):
    signs = np.where(y, 1.0, -1.0)
    distance, allowed = moved(
        OutputPerturbation(T=T, radius=2.0),
        X[:11],
        signs[:11],
        X[11:],
        signs[11],
        loss=loss,
        n_records=n,
        alpha=alpha,
        intercept=True,
    )
    assert distance <= allowed


def test_the_noise_keeps_the_promise_by_the_exact_profile_of_the_gaussian():
    """delta(epsilon) of two Gaussians a sensitivity apart (Balle & Wang 2018), by no zCDP at all."""
    epsilon, delta, n, T, step, radius = 0.7, 1e-6, 300, 25, 0.2, 1.5
    noise = ScriptedNoise(0)
    X, y = table(n)
    curator = curator_of(
        Problem.of(X, y, LOSSES["logistic"]),
        Ledger(epsilon=epsilon, delta=delta, promise="concentrated"),
        noise,
        epsilon=epsilon,
        delta=delta,
        n_records=n,
    )
    OutputPerturbation(T=T, step=step, radius=radius).solve(curator)
    ((_, sigma),) = noise.gaussian_inputs

    def profile(ratio):
        tails = norm.cdf(ratio / 2 - epsilon / ratio), norm.cdf(-ratio / 2 - epsilon / ratio)
        return tails[0] - math.exp(epsilon) * tails[1]

    ratio = 1.1 * T * step * radius / n / sigma
    assert profile(ratio) <= delta < profile(1.2 * ratio)


def test_rounding_is_paid_for():
    """Each of two walks may be off by half of what is added; more digits show by how much it is."""
    n, T = 5000, 200
    X, y = table(n)
    _, _, end, _ = run(OutputPerturbation(T=T, step=0.05, radius=6.0), X, y, n_records=n)
    Z, signs, w = X.astype(np.longdouble), y.astype(np.longdouble), np.zeros(3, np.longdouble)
    for _ in range(T):
        w = w + np.longdouble(0.05) / n * (Z.T @ (signs / (1 + np.exp(signs * (Z @ w)))))
    added = sensitivity(T, 0.05, 6.0, n, 3, 0.0) - 1.1 * T * 0.05 * 6.0 / n
    assert 0.0 < np.linalg.norm(end - w) < added / 2


def test_rounding_is_small():
    for n in (10, 10_000, 1_000_000):
        exact = 0.1 * 3.0 * 100 * 1.1 / n
        assert exact < sensitivity(100, 0.1, 3.0, n, 50, 0.0) < exact * (1 + 1e-10 * n + 4e-14 * n**2)


# -- use


def test_everything_left_is_one_charge_and_a_count_comes_first_unless_n_is_declared():
    X, y = table()
    _, ledger, _, _ = run(OutputPerturbation(), X, y, n_records=300)
    assert [(e.what, e.rho) for e in ledger.entries] == [("output perturbation", RHO)]
    _, ledger, _, _ = run(OutputPerturbation(), X, y)
    assert [e.what for e in ledger.entries] == ["number of records", "output perturbation"]
    assert ledger.entries[0].rho == pytest.approx(0.002 * RHO)
    assert ledger.spent == pytest.approx(RHO)


def test_by_default_a_weight_gets_a_tenth_of_noise_if_steps_allow():
    X, y = table()
    solution, _, _, sigma = run(OutputPerturbation(), X, y, n_records=300, rho=0.5)
    assert 0.09 < sigma <= 0.1
    (note,) = solution.notes
    assert note.endswith(f"noise of {sigma:.4g} on every weight")
    solution, _, _, sigma = run(OutputPerturbation(step=0.01), X, y, n_records=300, rho=1e3)
    assert solution.notes[0].startswith("2000 steps")
    assert sigma < 0.01
    solution, _, _, sigma = run(OutputPerturbation(), X, y, n_records=300, rho=1e-8)
    assert solution.notes[0].startswith("1 steps")
    assert sigma > 0.1


# -- refusals, all before a charge


@pytest.mark.parametrize(
    ("loss", "alpha", "longest"),
    [("logistic", 0.0, 2 / (3.025 / 4 * 9)), ("hinge", 0.5, 2 / (3.025 * 9 + 1.0))],
)
def test_a_step_that_is_too_long_is_refused_and_the_longest_is_named(loss, alpha, longest):
    X, y = table()
    settings = {"loss": loss, "alpha": alpha, "n_records": 300}
    run(OutputPerturbation(T=1, step=0.9999 * longest), X, y, **settings)
    ledger = Ledger(rho=RHO)
    curator = curator_of(
        Problem.of(X, y, LOSSES[loss]), ledger, ScriptedNoise(), epsilon=1.0, delta=1e-6, alpha=alpha
    )
    with pytest.raises(ValueError, match=f"a step of at most {longest:.4g}.*lower step or radius"):
        OutputPerturbation(T=1, step=1.0001 * longest).solve(curator)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("bad", [{"T": 0}, {"step": -1.0}, {"radius": math.inf}, {"step": math.nan}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=rf"needs a .*\b{next(iter(bad))}\b"):
        OutputPerturbation(**bad)


def test_half_a_step_is_refused():
    with pytest.raises(ValueError, match="whole number of at least 1 for T"):
        OutputPerturbation(T=2.5)


def test_a_refused_charge_leaves_the_data_unread(monkeypatch):
    X, y = table()
    ledger = Ledger(epsilon=1.0, delta=1e-6, promise="concentrated")
    curator = curator_of(
        Problem.of(X, y, LOSSES["logistic"]), ledger, ScriptedNoise(), epsilon=1.0, delta=1e-6, n_records=300
    )
    monkeypatch.setattr(Ledger, "unspent", rho_from_epsilon(1.0, 1e-6) * 2)
    monkeypatch.setattr(Problem, "gradient_at", lambda *a: pytest.fail("looked"))
    with pytest.raises(BudgetExceeded):
        OutputPerturbation().solve(curator)
    assert ledger.spent == 0.0
