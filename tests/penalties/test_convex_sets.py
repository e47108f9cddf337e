"""Constraint sets: their nearest points are the nearest, and belong to the set to the last bit."""

import numpy as np
import pytest
from scipy.optimize import minimize

from privfit.penalties import Ball, Box, NonNegative, Within, moved_into

SETS = {
    "ball": lambda rng, d: Ball(10.0 ** rng.uniform(-3, 1)),
    "box": lambda rng, d: Box(-rng.random(d), rng.random(d)),
    "one-sided box": lambda rng, d: Box(-0.1, np.where(rng.random(d) < 0.5, np.inf, 0.3)),
    "non-negative": lambda rng, d: NonNegative(),
}


@pytest.mark.parametrize("kind", SETS)
def test_the_nearest_point_belongs_to_the_set_and_no_other_is_nearer(kind):
    """Of a projection v of w, <metric (w - v), u - v> <= 0 for all u in the set."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        d = int(rng.integers(1, 9))
        allowed = SETS[kind](rng, d)
        w = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3)
        metric = 10.0 ** rng.uniform(-4, 4, size=d)
        v = allowed.nearest(w, metric)
        assert allowed.holds(v)
        assert allowed.nearest(v, metric) is v
        if allowed.holds(w):
            assert v is w
        for _ in range(5):
            u = moved_into(allowed, rng.normal(size=d) * 10.0 ** rng.uniform(-3, 1))
            sizes = np.sum(metric * np.abs(w - v) * np.abs(u - v))
            assert metric * (w - v) @ (u - v) <= 1e-6 * max(sizes, 1e-300)


def test_a_ball_is_projected_on_in_the_metric_and_not_in_the_euclidean_one():
    w, metric = np.array([3.0, -2.0, 0.5]), np.array([1.0, 100.0, 0.01])
    best = minimize(
        lambda v: metric @ (v - w) ** 2,
        np.zeros(3),
        jac=lambda v: 2 * metric * (v - w),
        constraints={"type": "ineq", "fun": lambda v: 1.5**2 - v @ v, "jac": lambda v: -2 * v},
        method="SLSQP",
        options={"ftol": 1e-15},
    ).x
    np.testing.assert_allclose(Ball(1.5).nearest(w, metric), best, atol=1e-6)
    assert np.abs(Ball(1.5).nearest(w, np.ones(3)) - best).max() > 0.3


def test_a_column_that_a_view_drops_keeps_the_weight_0():
    v = Ball(1.0).nearest(np.array([2.0, 0.0, 2.0]), np.array([1.0, np.inf, 1.0]))
    assert v[1] == 0.0
    np.testing.assert_allclose(v[[0, 2]], np.sqrt(0.5))


def test_cones_are_told_from_other_sets():
    assert NonNegative().is_cone
    assert Box().is_cone
    assert Box([0.0, -np.inf], np.inf).is_cone
    assert not Ball(1.0).is_cone
    assert not Box(0.0, 1.0).is_cone
    assert not Box(-1.0).is_cone
    assert not Within(constraint=Ball(1.0)).is_cone
    assert Within(0.5, constraint=NonNegative()).alpha == 0.5


def test_sets_in_other_units_hold_the_points_times_the_factor():
    assert Ball(2.0).scaled(0.5) == Ball(1.0)
    assert Box(-1.0, [2.0, np.inf]).scaled(2.0) == Box(-2.0, [4.0, np.inf])
    assert NonNegative().scaled(7.0).holds(np.array([0.0, 5.0]))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Ball(0.0), "radius of a Ball must be a number between"),
        (lambda: Ball(np.inf), "radius of a Ball"),
        (lambda: Ball("2"), "radius of a Ball"),
        (lambda: Box(1.0, 0.0), "low <= high"),
        (lambda: Box(np.nan), "low of a Box must be a number"),
        (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), "one number for each column"),
        (lambda: Box("low"), "low of a Box must be a number"),
        (lambda: Box(np.inf, np.inf), "low <= high"),
        (lambda: Box([0.0, 1.0]).check(3), "bounds for 2 columns, and the model has 3"),
    ],
)
def test_sets_that_make_no_sense_are_refused_in_a_sentence(make, said):
    with pytest.raises(ValueError, match=said):
        make()
