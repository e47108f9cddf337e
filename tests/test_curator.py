import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scripted import ScriptedNoise

from privfit.accounting import BudgetExceeded, Ledger
from privfit.curator import Curator
from privfit.engine.local import LocalEngine
from privfit.losses import LOSSES

STEPS = 2.0 * np.arange(21) / 20
EDGES = 4.0 * 2.0 ** -np.arange(8.0)
LOOKS = {
    "LocalEngine": (
        "gradient_at",
        "norm_counts",
        "curve_counts",
        "magnitude_sums",
        "moment_sums",
        "value_counts",
    ),
    "LocalPoint": ("gradient_sum", "loss_sum"),
    "LocalLine": ("loss_sums", "rise_sums"),
}


def make_curator(X, y, *, loss="logistic", rho=1.0, noise=None, **kwargs):
    ledger = Ledger(rho=rho)
    noise = ScriptedNoise() if noise is None else noise
    engine = LocalEngine(X, y, LOSSES[loss], intercept=True)
    return Curator(engine, ledger, noise, epsilon=1.0, delta=1e-6, **kwargs), ledger, noise


def data(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


QUESTIONS = {
    "gradient": lambda c: c.gradient(c.at(np.full(c.n_weights, 0.3)), 1.0, 0.01),
    "choose_step": lambda c: c.choose_step(
        c.along(c.at(np.zeros(c.n_weights)), np.ones(c.n_weights)), STEPS, 3.0, 0.01
    ),
    "gradient_at": lambda c: c.gradient_at(np.full(c.n_weights, 0.3), 1.0, 0.01),
    "choose_step_by_rise": lambda c: c.choose_step_by_rise(
        c.along(c.at(np.zeros(c.n_weights)), np.ones(c.n_weights)), STEPS, 1.0, 0.01
    ),
    "norms": lambda c: c.norms(EDGES, 0.01),
    "curve_norms": lambda c: c.curve_norms(EDGES, np.zeros(c.n_features), 0.01),
    "magnitudes": lambda c: c.magnitudes(0.01),
    "histograms": lambda c: c.histograms(np.tile(EDGES[::-1], (c.n_features, 1)), 0.01),
    "moments": lambda c: c.moments(1.0, 0.5, np.zeros(c.n_features), 0.7, 0.01),
    "choose_weights": lambda c: c.choose_weights(
        c.at(np.zeros(c.n_weights)), np.ones((1, c.n_weights)), 1.0, 0.01
    ),
    "count": lambda c: c.count(0.01),
    "open": lambda c: c.open(0.01, why="test"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_refused_charge_leaves_the_data_unread(question, monkeypatch):
    curator, ledger, noise = make_curator(*data(), rho=0.001)

    def look(*args, **kwargs):
        raise AssertionError("looked at the data after a refusal")

    for owner, names in LOOKS.items():
        for name in names:
            monkeypatch.setattr(f"privfit.engine.local.{owner}.{name}", look)
    with pytest.raises(BudgetExceeded, match=r"needs rho=0\.01, 0\.001 left of 0\.001"):
        QUESTIONS[question](curator)
    assert ledger.spent == 0.0
    assert ledger.entries == ()
    assert not noise.gaussian_inputs
    assert not noise.argmax_inputs


@pytest.mark.parametrize("question", sorted(set(QUESTIONS) - {"open"}))
def test_questions_charge_then_look_then_blur(question, monkeypatch):
    curator, ledger, noise = make_curator(*data())
    events = []

    def spy(owner, name, event):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            events.append(event)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, wrapped)

    from privfit.engine import local

    spy(Ledger, "charge", "charge")
    for owner, names in LOOKS.items():
        for name in names:
            spy(getattr(local, owner), name, "look")
    spy(noise, "gaussian", "blur")
    spy(noise, "noisy_argmax", "blur")
    QUESTIONS[question](curator)
    assert events == (["charge", "blur"] if question == "count" else ["charge", "look", "blur"])
    assert ledger.spent == 0.01


def test_every_question_is_on_the_account_with_its_price():
    curator, ledger, _ = make_curator(*data())
    g = QUESTIONS["gradient"](curator)
    curator.refine(g, 0.02)
    QUESTIONS["choose_step"](curator)
    QUESTIONS["count"](curator)
    assert [e.what for e in ledger.entries] == [
        "gradient",
        "gradient, refined",
        "step size",
        "number of records",
    ]
    assert [e.rho for e in ledger.entries] == [0.01, 0.02, 0.01, 0.01]


def test_an_exception_after_the_charge_leaves_it_on_the_account(monkeypatch):
    curator, ledger, noise = make_curator(*data())
    monkeypatch.setattr(noise, "gaussian", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        QUESTIONS["gradient"](curator)
    assert ledger.spent == 0.01


def test_bad_candidate_steps_are_refused_before_the_charge():
    curator, ledger, _ = make_curator(*data())
    line = curator.along(curator.at(np.zeros(4)), np.ones(4))
    for steps in (np.array([0.0]), np.array([0.0, 1.0, 3.0]), np.arange(1000.0)):
        with pytest.raises(ValueError, match="steps must be 0, h, 2h"):
            curator.choose_step(line, steps, 3.0, 0.01)
    assert ledger.spent == 0.0


def test_handles_show_nothing_but_public_vectors():
    curator, _, _ = make_curator(*data())
    point = curator.at(np.zeros(4))
    line = curator.along(point, np.ones(4))
    assert set(vars(point)) == {"w"}
    assert set(vars(line)) == {"origin", "direction"}


def test_move_follows_the_line():
    curator, _, _ = make_curator(*data(), noise=ScriptedNoise(size=0.0))
    line = curator.along(curator.at(np.full(4, 0.5)), np.ones(4))
    moved = curator.move(line, 0.25)
    np.testing.assert_allclose(moved.w, 0.25)
    np.testing.assert_allclose(
        curator.gradient(moved, 1.0, 0.01).value,
        curator.gradient(curator.at(np.full(4, 0.25)), 1.0, 0.01).value,
        atol=1e-5,
    )


def test_only_the_last_gradient_can_be_refined():
    curator, ledger, _ = make_curator(*data())
    first = QUESTIONS["gradient"](curator)
    QUESTIONS["gradient"](curator)
    with pytest.raises(ValueError, match="measured last"):
        curator.refine(first, 0.01)
    assert ledger.spent == 0.02


def test_refining_is_as_good_as_having_paid_at_once():
    curator, _, noise = make_curator(*data())
    g = QUESTIONS["gradient"](curator)
    refined = curator.refine(curator.refine(g, 0.03), 0.05)
    assert refined.rho == pytest.approx(0.09)
    (exact, sigma1), (_, sigma2), (_, sigma3) = noise.gaussian_inputs
    draws = np.random.default_rng(0)
    z = [draws.standard_normal(4) for _ in range(3)]
    expected = exact + (0.01 * sigma1 * z[0] + 0.03 * sigma2 * z[1] + 0.05 * sigma3 * z[2]) / 0.09
    np.testing.assert_allclose(refined.value, expected, rtol=1e-12)
    assert refined.sigma == pytest.approx(refined.sensitivity / math.sqrt(2 * 0.09))


# -- sensitivity: whatever one record says, no mechanism's input moves further than its noise was made for


finite = st.floats(-1e6, 1e6, width=32)
records = arrays(np.float64, (5, 2), elements=finite)
weights = arrays(np.float64, 3, elements=st.floats(-50, 50))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=40)
@given(X=records, y=arrays(bool, 5), w=weights, direction=weights, clip=st.floats(0.01, 20))
def test_no_neighbour_moves_a_question_beyond_its_noise(loss, relation, X, y, w, direction, clip):
    signs = np.where(y, 1.0, -1.0)
    tables = (slice(0, 5), slice(0, 4)) if relation == "add-remove" else (slice(0, 4), slice(1, 5))
    noises = []
    for rows in tables:
        curator, _, noise = make_curator(
            X[rows], signs[rows], loss=loss, noise=ScriptedNoise(size=0.0), relation=relation
        )
        point = curator.at(w)
        curator.refine(curator.gradient(point, clip, 0.01), 0.02)
        line = curator.along(point, direction)
        for shape in ("laplace", "exponential", "gumbel"):
            curator.choose_step(line, STEPS, clip, 0.03, shape=shape)
        curator.choose_step_by_rise(line, STEPS, clip, 0.03)
        view = curator.transformed(np.array([0.3, -5.0]), np.array([2.0, 0.1]), 0.3)
        view.gradient_at(w, clip, 0.04)
        view.norms(EDGES, 0.05)
        view.curve_norms(EDGES, np.array([1.0, 0.0]), 0.06)
        view.moments(clip, 0.3 * clip, np.array([1.0, 0.0]), 0.7, 0.07)
        view.magnitudes(0.08)
        view.histograms(np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 1e4]]), 0.09)
        noises.append(noise)
    rhos = (0.01, 0.02, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09)
    for (a, sigma), (b, _), rho in zip(*(n.gaussian_inputs for n in noises), rhos, strict=True):
        assert np.linalg.norm(a - b) <= sigma * math.sqrt(2 * rho)
    for (a, scale, shape), (b, _, _) in zip(*(n.argmax_inputs for n in noises), strict=True):
        moved = a - b
        assert moved.max() - moved.min() <= scale * math.sqrt((8 if shape == "gumbel" else 2) * 0.03)
        if relation == "add-remove":  # monotone: one more record never lowers a loss
            assert moved.max() <= 1e-3 * clip


def test_the_noise_is_not_larger_than_the_sensitivity_needs():
    X, y = data()
    curator, _, noise = make_curator(X, y)
    curator.gradient(curator.at(np.zeros(4)), 2.0, 0.01)
    assert noise.gaussian_inputs[0][1] == pytest.approx(2.0 / math.sqrt(0.02), rel=1e-5)
    line = curator.along(curator.at(np.zeros(4)), np.ones(4))
    for shape, factor in (("laplace", 2), ("exponential", 2), ("gumbel", 8)):
        curator.choose_step(line, STEPS, 3.0, 0.01, shape=shape)
        assert noise.argmax_inputs[-1][1] == pytest.approx(3.0 / math.sqrt(factor * 0.01), rel=1e-3)


def test_moments_of_a_record_at_both_radii_use_up_their_sensitivity():
    inputs = []
    for rows in (slice(0, 2), slice(0, 1)):
        X, y = np.array([[0.1], [0.5]])[rows], np.ones(2)[rows]
        curator, _, noise = make_curator(X, y, noise=ScriptedNoise(size=0.0))
        curator.moments(0.5, 0.25, np.ones(1), 2.0, 0.01)  # z = 1/2 and its curve z (z - 1) = -1/4
        inputs.append(noise.gaussian_inputs[0])
    (a, sigma), (b, _) = inputs
    np.testing.assert_allclose(a - b, [0.5, -0.5], atol=1e-6)
    assert sigma * math.sqrt(2 * 0.01) == pytest.approx(math.hypot(0.5, 0.5), rel=1e-4)
    assert np.linalg.norm(a - b) <= sigma * math.sqrt(2 * 0.01)


def test_histograms_of_a_record_use_up_their_sensitivity():
    X, y = data(p=5)
    inputs = []
    for rows in (slice(0, 40), slice(0, 39)):
        curator, _, noise = make_curator(X[rows], y[rows], noise=ScriptedNoise(size=0.0))
        curator.histograms(np.zeros((5, 1)), 0.01)
        inputs.append(noise.gaussian_inputs[0])
    (a, sigma), (b, _) = inputs
    np.testing.assert_array_equal((a - b).reshape(5, 2), np.column_stack([X[39] <= 0.0, X[39] > 0.0]))
    assert np.linalg.norm(a - b) == pytest.approx(math.sqrt(5))
    assert sigma * math.sqrt(2 * 0.01) == pytest.approx(math.sqrt(5), rel=1e-6)


def test_a_huge_record_reaches_the_mechanism_clipped():
    X, y = data()
    X[7] = 1e9
    gradients = []
    for rows in (np.arange(40), np.delete(np.arange(40), 7)):
        curator, _, _ = make_curator(X[rows], y[rows], noise=ScriptedNoise(size=0.0))
        gradients.append(curator.gradient(curator.at(np.full(4, 1e-9)), 1.0, 0.01).value)
    assert np.linalg.norm(gradients[0] - gradients[1]) == pytest.approx(1.0, rel=1e-5)


# -- random subsets


def test_sample_draws_each_record_by_its_own_coin_and_charges_the_same_account():
    curator, ledger, _ = make_curator(*data(n=2000), n_records=2000)
    sizes = []
    for _ in range(200):
        batch = curator.sample(0.25)
        sizes.append(batch._engine.n_records)
        assert batch.n_records == 500
    # Binomial(2000, 1/4): a fixed-size subset would have variance 0. Fixed seed, so no false alarms.
    assert np.mean(sizes) == pytest.approx(500, abs=5)
    assert np.std(sizes) == pytest.approx(math.sqrt(2000 * 0.25 * 0.75), rel=0.2)
    QUESTIONS["gradient"](batch)
    assert ledger.spent == 0.01


def test_a_sampled_neighbour_differs_by_at_most_the_one_record():
    X, y = data(n=50)
    sums = []
    for rows in (slice(0, 50), slice(0, 49)):
        curator, _, noise = make_curator(X[rows], y[rows], noise=ScriptedNoise(size=0.0))
        noise.poisson_rows = lambda n, q: np.flatnonzero(np.random.default_rng(3).random(50)[:n] < q)
        batch = curator.sample(0.5)
        sums.append(batch.gradient(batch.at(np.zeros(4)), 1.0, 0.01).value)
    assert np.linalg.norm(sums[0] - sums[1]) <= 1.0 + 1e-5


def test_an_empty_subset_is_answered_with_noise_alone():
    curator, _, _ = make_curator(*data(), noise=ScriptedNoise(size=0.0))
    batch = curator.sample(0.0)
    np.testing.assert_array_equal(batch.gradient(batch.at(np.zeros(4)), 1.0, 0.01).value, np.zeros(4))
