"""Newton steps after a solver, asked without noise: where they lead, and where they ask."""

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit.accounting import Ledger
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.engine.view import View
from privfit.losses import get_loss
from privfit.models.inference import DOUBT_LIMIT
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread
from privfit.solvers import Solution, last_steps
from privfit.solvers.contrasts import Category, contrasts_of
from privfit.solvers.last_steps import limits_of

N = 40_000
TRUE = np.array([1.0, -0.5, 0.2])


def logistic_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    score = X @ TRUE[:2] + TRUE[2]
    return X, np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)


def exact(X, y, radius, w, steps):
    """Return weights after so many Newton steps on the shrunk records, in exact sums, and their errors."""
    rows = np.column_stack([X, np.ones(len(X))])
    f = np.minimum(1.0, radius**2 / (rows**2).sum(axis=1))
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(y * (rows @ w)))
        scores = (f * -y * p)[:, None] * rows
        H = (rows.T * (f * p * (1.0 - p))) @ rows
        w = w - np.linalg.solve(H, scores.sum(axis=0))
    covariance = np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)
    return w, np.sqrt(np.diag(covariance))


def sandwich_bread(X, y, w):
    rows = np.column_stack([X, np.ones(len(X))])
    f = np.minimum(1.0, 4.0 / (rows**2).sum(axis=1))
    p = 1.0 / (1.0 + np.exp(y * (rows @ w)))
    return (rows.T * (f * p * (1.0 - p))) @ rows


def stepped(start, monkeypatch, *, loss="logistic", table=logistic_table, noise=0.0):
    """Return the last steps from a start, with the weights at which each question was asked."""
    X, y = table()
    problem = Problem.of(X, y, get_loss(loss))
    curator = curator_of(problem, Ledger(rho=1.0), ScriptedNoise(size=noise), epsilon=1.0, delta=1e-6)
    asked, measure = [], Curator.measure

    def noticed(self, question, rho, *, of=None):
        asked.append((question, None if of is None else of.w))
        return measure(self, question, rho, of=of)

    monkeypatch.setattr(Curator, "measure", noticed)
    monkeypatch.setattr(last_steps, "_radius", lambda features, rho, bias: 2.0)
    solution = Solution(start, view=View.plain(2, intercept=True), total=N)
    return last_steps.last_steps(curator, solution, 1.0), asked


def test_one_step_leaves_more_to_go_than_the_sampling_error_and_two_do_not(monkeypatch):
    """From a start that is off by half of the margins, as an early end of a walk leaves it."""
    X, y = logistic_table()
    start = 0.5 * TRUE
    steps, _ = stepped(start, monkeypatch)
    best, errors = exact(X, y, 2.0, TRUE, 10)
    one, _ = exact(X, y, 2.0, start, 1)
    assert np.max(np.abs(one - best) / errors) > 1.5
    assert np.max(np.abs(steps.raw(steps.w) - best) / errors) < 0.35
    # with the curvature at the start, a third of it, the second step would be that much too long
    H = [sandwich_bread(X, y, w) for w in (start, one)]
    both = np.linalg.solve((H[0] + 2.0 * H[1]) / 3.0, H[1] @ (one - best))
    assert np.max(np.abs(one - both - best) / errors) > 0.5


def test_curvature_and_spread_are_asked_at_the_weights_of_the_first_step(monkeypatch):
    steps, asked = stepped(0.5 * TRUE, monkeypatch)
    kinds = [type(question) for question, _ in asked]
    assert kinds == [EffectCurvature, EffectGradient, EffectCurvature, EffectSpread, EffectGradient]
    places = [w for _, w in asked]
    assert np.array_equal(places[0], places[1])
    assert np.array_equal(places[2], places[3])
    assert np.array_equal(places[2], places[4])
    assert np.abs(places[2] - TRUE).max() < 0.5 * np.abs(places[0] - TRUE).max()
    np.testing.assert_allclose(places[4] - steps.contrasts.basis @ steps.step, steps.raw(steps.w), atol=1e-9)


def linear_table():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 2))
    return X, 0.1 * (X @ TRUE[:2] + TRUE[2]) + 0.1 * rng.normal(size=N)


def test_the_squared_loss_is_asked_once_at_the_solvers_weights_because_a_step_is_exact(monkeypatch):
    X, y = linear_table()
    start = np.array([0.05, 0.05, 0.0])
    steps, asked = stepped(start, monkeypatch, loss="squared", table=linear_table)
    assert [type(question) for question, _ in asked] == [EffectCurvature, EffectSpread, EffectGradient]
    for _, w in asked:
        np.testing.assert_allclose(w, start, atol=1e-12)
    rows = np.column_stack([X, np.ones(N)])
    f = np.minimum(1.0, 4.0 / (rows**2).sum(axis=1))
    best = np.linalg.solve((rows.T * f) @ rows, rows.T @ (f * y))
    # the sums are rounded to grids; one ten-thousandth of a standard error is far more than that
    np.testing.assert_allclose(steps.raw(steps.w), best, atol=1e-7)
    assert steps.notes[0].startswith("a Newton step after the solver")


def count_table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 2))
    return X, rng.poisson(np.exp(0.3 * (X @ TRUE[:2]))) / 10.0


def test_a_first_step_of_counts_that_noise_may_explain_is_not_taken(monkeypatch):
    """From the right weights the gradient is only sampling error, which is smaller than the noise."""
    true = np.array([0.3, -0.15, -np.log(10.0)])
    _, asked = stepped(true, monkeypatch, loss="poisson", table=count_table)
    kinds = [type(question) for question, _ in asked]
    assert kinds == [EffectCurvature, EffectGradient, EffectCurvature, EffectSpread, EffectGradient]
    assert np.array_equal(asked[0][1], asked[-1][1])
    start = true - [0.3, 0.0, 0.3]
    _, asked = stepped(start, monkeypatch, loss="poisson", table=count_table)
    assert np.abs(asked[-1][1] - true).max() < 0.5 * np.abs(start - true).max()


def test_of_a_step_only_what_noise_does_not_explain_is_taken():
    """The squared length of noise is 4 in the mean, and its standard deviation is 4, too."""
    inverse, sigma = np.diag([0.5, 0.5]), 2.0
    assert last_steps._not_noise(np.zeros(2), inverse, sigma) == 0.0
    assert last_steps._not_noise(np.array([4.0, 2.8]), inverse, sigma) == 0.0
    noise = 4.0 + 2.0 * 4.0
    assert last_steps._not_noise(np.array([8.0, 0.0]), inverse, sigma) == pytest.approx(1.0 - noise / 32.0)


def test_a_right_model_keeps_its_coefficients_however_many_records_are_shrunk(monkeypatch):
    """A clip of each gradient instead, which depends on the label, moves them by several standard errors."""
    X, y = logistic_table()
    rows, w = np.column_stack([X, np.ones(N)]), TRUE.copy()
    found, errors = exact(X, y, 1.0, TRUE, 10)
    assert np.max(np.abs(found - TRUE) / errors) < 4.5  # once in 100,000 tables it is not
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(y * (rows @ w)))
        gradients = (-y * p)[:, None] * rows
        lengths = np.linalg.norm(gradients, axis=1)
        clipped = gradients * np.minimum(1.0, 0.5 / lengths)[:, None]
        w = w - np.linalg.solve((rows.T * (p * (1.0 - p))) @ rows, clipped.sum(axis=0))
    assert np.max(np.abs(w - TRUE) / errors) > 4.5


def test_weights_of_refused_effects_stay_near_the_solvers(monkeypatch):
    start = 0.5 * TRUE
    steps, _ = stepped(start, monkeypatch)
    all_known = np.ones(3, dtype=bool)
    assert np.array_equal(steps.keeping(all_known), steps.w)
    np.testing.assert_allclose(steps.raw(steps.keeping(~all_known)), start)
    first = steps.raw(steps.keeping(np.array([True, False, False])))
    assert first[0] == pytest.approx(steps.raw(steps.w)[0])
    # the others follow as far as they are correlated with it, and no further
    assert np.abs(first[1:] - start[1:]).max() < 0.3 * np.abs(steps.raw(steps.w)[1:] - start[1:]).max()


# -- free directions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_free_directions_are_orthonormal_and_lose_nothing_that_records_tell(intercept):
    """Predictions of all rows with one level of each category are kept, and references become 0."""
    rng = np.random.default_rng(1)
    d = 6 + intercept
    view = View(rng.normal(size=6) * intercept, rng.uniform(0.5, 2.0, size=6), 0.3 if intercept else None)
    categories = Category(range(1, 4), 2), Category(range(4, 6), 4)
    contrasts = contrasts_of(view, d, intercept, categories)
    q = d - len(contrasts.references)
    assert contrasts.basis.shape == (d, q)
    assert q == 5
    np.testing.assert_allclose(contrasts.basis.T @ contrasts.basis, np.eye(q), atol=1e-12)
    rows = np.zeros((50, 6))
    rows[:, 0] = rng.normal(size=50)
    rows[np.arange(50), rng.integers(1, 4, 50)] = 1.0
    rows[np.arange(50), rng.integers(4, 6, 50)] = 1.0
    raw = np.column_stack([rows, np.ones(50)])[:, :d]
    w = rng.normal(size=d)
    free = contrasts.basis.T @ view.viewed_weights(w)
    np.testing.assert_allclose(raw @ (contrasts.effects @ free), raw @ w, atol=1e-12)
    assert not np.abs((contrasts.effects @ free)[list(contrasts.references)]).max() > 1e-12
    # the penalty is that of the shortest weights that predict the same
    shortest = np.linalg.lstsq(raw, raw @ w, rcond=None)[0]
    assert free @ contrasts.squares @ free == pytest.approx(shortest @ shortest)


@pytest.mark.parametrize("complete", [True, False])
def test_products_of_two_levels_are_zero_so_their_noise_is_taken_away(complete):
    """What is there stays, and of the noise as many dimensions go as there are pairs of levels."""
    rng = np.random.default_rng(2)
    view = View(rng.normal(size=6), rng.uniform(0.5, 2.0, size=6), 0.3)
    contrasts = contrasts_of(view, 7, True, (Category(range(1, 6), 2, complete),))
    rows = np.column_stack([rng.normal(size=80), np.zeros((80, 5))])
    some = np.arange(80) if complete else np.arange(60)
    rows[some, rng.integers(1, 6, len(some))] = 1.0
    z = np.column_stack([view.scale * (rows - view.center), np.full(80, 0.3)])
    exact = z.T @ z
    plain = contrasts.basis.T @ exact @ contrasts.basis
    np.testing.assert_allclose(contrasts.reduced(exact), plain, atol=1e-9)

    def noise():
        drawn = rng.normal(size=(7, 7))
        return (drawn + drawn.T) / 2.0  # of squared norm 1 in each of 28 dimensions

    draws = [noise() for _ in range(300)]
    before = np.mean([np.sum((contrasts.basis.T @ each @ contrasts.basis) ** 2) for each in draws])
    after = np.mean([np.sum(contrasts.reduced(each) ** 2) for each in draws])
    assert before == pytest.approx(21.0, rel=0.1)  # 6 free directions; five standard errors
    if complete:
        assert after == pytest.approx(21.0 - 10.0, rel=0.15)
    assert after < 0.85 * before
    np.testing.assert_allclose(contrasts.reduced(exact, of_records=False), plain)


def test_limits_follow_from_the_loss_and_from_bounds_of_the_targets():
    logistic = limits_of(get_loss("logistic"), (-1.0, 1.0), 0.0, 1.0)
    assert (logistic.slope, logistic.curvature, logistic.mean) == (1.0, 0.25, np.inf)
    squared = limits_of(get_loss("squared"), (0.0, 1.0), 0.4, 0.1)
    assert squared.slope == pytest.approx(6.0 + 3.0)  # the farthest target, and the largest prediction
    assert (squared.curvature, squared.remainder) == (1.0, 0.0)
    narrow = limits_of(get_loss("squared"), (-1.0, 1.0), 0.0, 1.0)
    assert narrow.slope == 2.0
    counts = limits_of(get_loss("poisson"), (0.0, 1.0), 0.0, 0.1)
    assert (counts.slope, counts.curvature, counts.mean) == (10.0, 3.0, 3.0)


# -- shares of the budget ------------------------------------------------------------------------------------

NUMBERS, COUNTS = (limits_of(get_loss(name), (0.0, 1.0), 0.0, 0.05) for name in ("squared", "poisson"))


@pytest.mark.parametrize("limits", [NUMBERS, COUNTS], ids=["numbers", "counts"])
@pytest.mark.parametrize("left", [1e-6, 0.01, 0.15, 0.6])
def test_noise_of_squares_is_a_third_of_the_variance_of_the_gradients_noise(limits, left):
    """Of numbers and counts, however wide their bounds are; so no effect is refused because of them alone."""
    of_spread = limits.spread_price(1.0, left)
    sensitivity = limits.slope * 1.5
    of_squares = sensitivity**2 / np.sqrt(2.0 * of_spread)
    of_gradient = sensitivity**2 / (2.0 * (left - of_spread))
    assert of_squares == pytest.approx(of_gradient / 3.0)
    assert 0.75 * DOUBT_LIMIT > 0.5 / 3.0  # half of the relative error counts


def test_a_quarter_of_what_is_left_buys_the_gradient_however_much_it_is():
    for left in (1.0, 100.0, 1e6):
        assert NUMBERS.spread_price(2.0 * left, left) == 0.75 * left


@pytest.mark.parametrize("name", ["logistic", "huber_1.345", "softmax_3"])
def test_slopes_that_the_loss_bounds_leave_a_fixed_share_for_squares(name):
    assert limits_of(get_loss(name), (-1.0, 1.0), 0.0, 0.1).spread_price(2.0, 0.5) == 0.08 * 2.0
