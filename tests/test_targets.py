"""Kinds of targets: what they hold, how far one moves their sum, and where a walk starts."""

import math
import re

import numpy as np
import pytest
from curators import curator_of
from hypothesis import given
from hypothesis import strategies as st
from one_output import LOSSES
from scipy.optimize import minimize_scalar
from scripted import ScriptedNoise

from privfit.accounting import Ledger
from privfit.engine.problem import Problem
from privfit.estimators.targets import IntervalEncoder
from privfit.losses import Loss
from privfit.losses.targets import TWO_LABELS, Classes, Counts, Interval
from privfit.questions import GradientAt, SlopesAt, TargetSums

KINDS = {
    "two labels": (TWO_LABELS, st.sampled_from([-1.0, 1.0]), [0.0, 0.5, 2.0, math.nan]),
    "classes": (Classes(4), st.integers(0, 3).map(float), [-1.0, 0.5, 4.0, math.nan]),
    "an interval": (Interval(-1.0, 1.0), st.floats(-1.0, 1.0), [-1.1, 1.1, math.inf, math.nan]),
    "another interval": (Interval(-0.3, 7.7), st.floats(-0.3, 7.7), [-0.4, 8.0, math.nan]),
    "counts": (Counts(50), st.integers(0, 50).map(float), [-1.0, 0.5, 51.0, math.nan]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_targets_hold_what_they_say_and_nothing_else(kind):
    targets, _, others = KINDS[kind]
    assert targets.hold(np.array(targets.typical))
    for other in others:
        assert not targets.hold(np.array([*targets.typical, other]))
    loss = Loss("any", abs, abs, 1.0, 1.0, targets=targets)
    with pytest.raises(ValueError, match=re.escape(f"must be {targets.described}")):
        Problem.of(np.zeros((1, 1)), [others[0]], loss)


@pytest.mark.parametrize(
    "ends", [(-math.inf, math.inf), (0.0, 1e308), (0.0, 5e-324), (1.0, 1.0), (1.0, 0.0), (math.nan, 1.0)]
)
def test_an_interval_without_ends_has_no_bound(ends):
    with pytest.raises(ValueError, match="The ends of targets must be two different numbers"):
        Interval(*ends)


@pytest.mark.parametrize("largest", [0, -1, 2**20 + 1, math.inf, math.nan])
def test_counts_whose_sums_may_round_are_refused(largest):
    with pytest.raises(ValueError, match="The largest count must lie between 1 and 1048576"):
        Counts(largest)


@pytest.mark.parametrize("bounds", [(0.0, 1e-100), (-1e100, 1e100), (1e100, 1.0000001e100), (-3.0, 7.0)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.filterwarnings("error")
def test_targets_far_beyond_their_bounds_are_encoded_without_a_word(bounds, intercept):
    """Which a quotient that overflows would cause, of one record alone."""
    encoded = IntervalEncoder(*bounds, intercept).encode(np.array([-1.7e308, *bounds, 1.7e308]))
    assert encoded[0] == encoded[1]
    assert encoded[2] == encoded[3]
    assert np.all(np.abs(encoded) <= 1.0)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_one_record_moves_the_sum_of_targets_by_at_most_their_bound_in_any_order(kind, data):
    targets, values, _ = KINDS[kind]
    drawn = np.array(data.draw(st.lists(values, min_size=1, max_size=30)))
    rows = targets.summands(drawn)
    assert np.all(np.linalg.norm(rows, axis=1) <= targets.bound)
    order = data.draw(st.permutations(range(len(drawn))))
    assert np.array_equal(rows[list(order)].sum(axis=0), rows.sum(axis=0))
    # one record more moves the exact sum by its own row, because no addition rounds
    assert np.array_equal(rows.sum(axis=0) - rows[:-1].sum(axis=0), rows[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_noisy_mean_becomes_one_that_is_possible(kind):
    targets, _, _ = KINDS[kind]
    width = targets.summands(np.array(targets.typical)).shape[1]
    for far in (-100.0, 100.0):
        mean = targets.likely_mean(np.full(width, far) * np.linspace(1.0, 0.5, width), 0.1)
        low, high = (0.0, 1.0) if kind == "classes" else (min(targets.typical), max(targets.typical))
        assert np.all((mean >= low) & (mean <= high))
    if kind == "classes":
        assert mean.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("loss", sorted(name for name, loss in LOSSES.items() if loss.targets == TWO_LABELS))
@pytest.mark.parametrize("mean", [-0.95, -0.4, 0.0, 0.7])
def test_the_best_constant_is_the_minimiser_of_the_mean_loss(loss, mean):
    """Of the hinge, the minimiser is the sign; near even shares its link is shorter, which noise asks for."""
    loss = LOSSES[loss]
    found = loss.best_constant(np.array([mean]))
    if loss.smoothness == math.inf:
        assert found == pytest.approx(np.clip(2.0 * math.log((1 + mean) / (1 - mean)), -1.0, 1.0))
        return
    share = (1.0 + mean) / 2.0

    def expected(b):
        return share * loss.value(b, 1.0) + (1.0 - share) * loss.value(b, -1.0)

    best = minimize_scalar(expected, bounds=(-20.0, 20.0), method="bounded", options={"xatol": 1e-9})
    assert expected(found) <= best.fun + 1e-9


@pytest.mark.parametrize(("loss", "best"), [("squared", 0.7), ("poisson", math.log(0.7))])
def test_the_best_constant_for_numbers_has_no_mean_slope(loss, best):
    """Of two records, 0.5 and 0.9."""
    loss = LOSSES[loss]
    found = loss.best_constant(np.array([0.7]))
    assert found == pytest.approx(best)
    assert loss.derivative(found, 0.5) + loss.derivative(found, 0.9) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9))
def test_the_nearest_targets_are_targets(kind, values):
    targets, _, _ = KINDS[kind]
    nearest = targets.nearest(np.array(values))
    assert targets.hold(nearest)
    np.testing.assert_array_equal(targets.nearest(nearest), nearest)


def test_an_interval_that_ends_at_a_power_of_two_is_not_charged_for_the_next():
    assert Interval(-1.0, 1.0).bound == pytest.approx(1.0, rel=1e-5)
    assert Interval(-1.0, 1.1).bound == pytest.approx(2.0, rel=1e-5)


def test_the_slope_of_an_intercept_is_the_last_coordinate_of_the_gradient():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(50, 3)), np.where(rng.random(50) < 0.3, 1.0, -1.0), rng.normal(size=4)
    problem, noise = Problem.of(X, y, LOSSES["logistic"]), ScriptedNoise(size=0.0)
    curator = curator_of(problem, Ledger(rho=9.0), noise, epsilon=1.0, delta=1e-6)
    slope = curator.measure(SlopesAt(w, 1.0), 1.0).value
    assert slope == pytest.approx(curator.measure(GradientAt(w, 100.0), 1.0).value[-1:], abs=1e-2)
    assert curator.measure(TargetSums(), 1.0).value == y.sum()


def test_slopes_are_clipped_and_what_is_no_number_adds_nothing():
    problem = Problem.of(np.ones((5, 1)), np.ones(5), LOSSES["hinge"])
    assert np.isfinite(problem.at(np.array([1e308, 1e308])).slope_sum(0.25)).all()
    assert problem.at(np.zeros(2)).slope_sum(0.25) == -5 * 0.25
