"""Losses of several outputs: what each of them must be, found by being registered."""

import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from several_outputs import LOSSES

from privfit.engine.kernels.pointwise import loops
from privfit.losses import get_loss
from privfit.losses.hinges import hinges, smoothed_hinges
from privfit.losses.softmax import softmax as softmax_loss

FAR = [-1e308, -1e150, -745.0, -1.0, 0.0, 0.5, 1.0, 1.5, 40.0, 745.0, 1e150, 1e308]
LINES = st.lists(st.floats(-60, 60), min_size=8, max_size=8)


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


def slopes(loss, predictions, target):
    out = np.empty(loss.outputs)
    loss.derivative(np.asarray(predictions, dtype=float), float(target), out)
    return out


def points(loss, count=20, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=loss.outputs) * 2.0, rng.integers(loss.outputs)) for _ in range(count)]


@pytest.mark.parametrize("classes", [2, 3, 10, 40])
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 1e6])
def test_the_softmax_loss_is_minus_the_logarithm_of_a_probability(classes, size):
    loss = softmax_loss(classes)
    for predictions, target in points(loss):
        predictions = size * predictions
        expected = -log_softmax(predictions)[target]
        assert loss.value(predictions, float(target)) == pytest.approx(expected, rel=1e-13, abs=1e-13)
        probabilities = softmax(predictions) - np.eye(classes)[target]
        np.testing.assert_allclose(slopes(loss, predictions, target), probabilities, rtol=0, atol=1e-15)


def test_hinges_are_a_sum_of_one_against_the_rest():
    one, smooth = get_loss("hinge"), get_loss("smoothed_hinge")
    for many, single in ((hinges(4), one), (smoothed_hinges(4), smooth)):
        for predictions, target in points(many):
            signs = np.where(np.arange(4) == target, 1.0, -1.0)
            each = [single.value(p, t) for p, t in zip(predictions, signs, strict=True)]
            assert many.value(predictions, float(target)) == pytest.approx(sum(each), rel=1e-14)
            expected = [single.derivative(p, t) for p, t in zip(predictions, signs, strict=True)]
            np.testing.assert_array_equal(slopes(many, predictions, target), expected)


def test_derivatives_are_the_slopes(loss):
    for predictions, target in points(loss):
        for k in range(loss.outputs):
            h = 1e-6 * np.eye(loss.outputs)[k]
            ends = loss.value(predictions + h, float(target)) - loss.value(predictions - h, float(target))
            found = slopes(loss, predictions, target)[k]
            assert found == pytest.approx(ends / 2e-6, rel=1e-6, abs=1e-7)


@given(line=LINES)
def test_constants_bound_gradients_and_curvature(line):
    for loss in LOSSES.values():
        a, b = (np.array(part)[: loss.outputs] for part in (line[:4], line[4:]))
        for target in range(loss.outputs):
            one, other = slopes(loss, a, target), slopes(loss, b, target)
            assert np.linalg.norm(one) <= loss.lipschitz * (1 + 1e-15)
            if loss.smoothness < math.inf:
                limit = loss.smoothness * np.linalg.norm(a - b)
                assert np.linalg.norm(one - other) <= limit * (1 + 1e-9) + 1e-15
            if loss.only_differences:
                assert abs(one.sum()) <= 1e-15
                shifted = loss.value(a + 7.5, float(target))
                assert shifted == pytest.approx(loss.value(a, float(target)), abs=1e-12)


@given(line=LINES)
def test_convex_and_not_negative(line):
    for loss in LOSSES.values():
        a, b = (np.array(part)[: loss.outputs] for part in (line[:4], line[4:]))
        for target in map(float, range(loss.outputs)):
            ends = loss.value(a, target) + loss.value(b, target)
            assert loss.value(a, target) >= 0
            assert loss.value((a + b) / 2, target) <= ends / 2 * (1 + 1e-12) + 1e-12


def test_the_lipschitz_constant_is_reached(loss):
    """A smaller one would be wrong: of the softmax far out, of hinges at zero."""
    found = []
    for scale in (0.0, 50.0):
        for target in range(loss.outputs):
            for k in range(loss.outputs):
                found.append(np.linalg.norm(slopes(loss, scale * np.eye(loss.outputs)[k], target)))
    assert max(found) > 0.999 * loss.lipschitz


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("other", FAR)
def test_safe_at_every_prediction(loss, far, other):
    predictions = np.zeros(loss.outputs)
    predictions[0], predictions[-1] = far, other
    for target in range(loss.outputs):
        with warnings.catch_warnings(), np.errstate(all="raise", under="ignore", over="ignore"):
            warnings.simplefilter("error")
            value, found = loss.value(predictions, float(target)), slopes(loss, predictions, target)
        assert value >= 0
        assert np.linalg.norm(found) <= loss.lipschitz * (1 + 1e-15)


def test_compiled_code_computes_what_python_does(loss):
    rng = np.random.default_rng(1)
    predictions = rng.normal(size=(200, loss.outputs)) * rng.choice([1e-3, 1.0, 100.0], size=(200, 1))
    targets = rng.integers(0, loss.outputs, 200).astype(float)
    values, found = np.empty(200), np.empty_like(predictions)
    loops(loss).values(predictions, targets, values)
    loops(loss).derivatives(predictions, targets, found)
    expected = [loss.value(p, t) for p, t in zip(predictions, targets, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-14, atol=1e-15)
    each = [slopes(loss, p, t) for p, t in zip(predictions, targets, strict=True)]
    np.testing.assert_allclose(found, each, rtol=1e-13, atol=1e-15)


def test_a_loss_survives_pickling_and_keeps_its_loops(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert loops(again) is loops(loss)


def test_a_loss_of_so_many_classes_is_made_once():
    assert softmax_loss(7) is softmax_loss(7)
    assert get_loss("logistic").of_classes(7) is softmax_loss(7)
    assert get_loss("hinge").of_classes(7) is hinges(7)


def test_a_kinked_loss_names_smooth_ones_near_it(loss):
    if loss.smoothness < math.inf:
        assert loss.smoothed is loss
        return
    near = [loss.smoothed, loss.sharpened(25.0)]
    for predictions, target in points(loss):
        for smooth, most in zip(near, (0.125, 0.005), strict=True):
            gap = smooth.value(predictions, float(target)) - loss.value(predictions, float(target))
            assert -1e-12 <= gap <= most * loss.outputs


def test_the_link_is_the_best_constant_of_the_softmax_and_orders_classes_by_their_shares(loss):
    shares = np.linspace(1.0, 2.0, loss.outputs)
    shares /= shares.sum()
    constant = loss.best_constant(shares)
    assert np.all(np.diff(constant) > 0.0)
    if loss.only_differences:
        mean = sum(s * slopes(loss, constant, k) for k, s in enumerate(shares))
        np.testing.assert_allclose(mean, 0.0, atol=1e-15)
        assert constant.sum() == pytest.approx(0.0, abs=1e-14)
