import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from privfit.losses import LOSSES, Loss, get_loss
from privfit.losses.arithmetic import exp, log1p_unit

LINES = st.floats(-60, 60)
CASES = [(loss, target) for loss in LOSSES.values() for target in loss.targets]
EVERYWHERE = [-1e308, -1e150, -745.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 40.0, 745.0, 1e150, 1e308]


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> Loss:
    return LOSSES[request.param]


def test_values_at_zero_and_one() -> None:
    assert get_loss("logistic").value(0.0, 1.0) == pytest.approx(math.log(2), rel=1e-15)
    assert get_loss("hinge").value(0.0, 1.0) == 1.0
    assert get_loss("smoothed_hinge").value(-1.0, -1.0) == 0.125
    assert get_loss("smoothed_hinge").value(0.0, -1.0) == 1.0


def test_derivative_is_the_slope(loss: Loss) -> None:
    for target in loss.targets:
        for p in [-30.3, -2.2, -1.2, -0.6, 0.4, 0.6, 0.9, 1.2, 1.6, 5.5]:
            slope = (loss.value(p + 1e-6, target) - loss.value(p - 1e-6, target)) / 2e-6
            assert loss.derivative(p, target) == pytest.approx(slope, abs=1e-7)


def test_the_steepest_start_is_known(loss: Loss) -> None:
    assert loss.slope_at_zero == max(abs(loss.derivative(0.0, target)) for target in loss.targets) > 0.0


def test_a_loss_with_a_kink_names_a_smooth_one_near_it(loss: Loss) -> None:
    smooth = loss.smoothed
    assert smooth.smoothness < math.inf
    assert (smooth is loss) == (loss.smoothness < math.inf)
    for prediction in np.linspace(-3, 3, 61):
        assert abs(smooth.value(prediction, 1.0) - loss.value(prediction, 1.0)) <= 0.125
    with pytest.raises(ValueError, match="'kinked' is not smooth and has no"):
        _ = Loss("kinked", loss.value, loss.derivative, 1.0, math.inf).smoothed


@given(a=LINES, b=LINES)
def test_constants_bound_slopes_and_curvature(a: float, b: float) -> None:
    for loss, target in CASES:
        assert abs(loss.derivative(a, target)) <= loss.lipschitz
        if a != b and loss.smoothness < math.inf:
            change = abs(loss.derivative(a, target) - loss.derivative(b, target))
            assert change <= loss.smoothness * abs(a - b) * (1 + 1e-9) + 1e-15


@given(a=LINES, b=LINES)
def test_convex_and_the_less_the_further_on_the_target_s_side(a: float, b: float) -> None:
    a, b = min(a, b), max(a, b)
    for loss, target in CASES:
        assert loss.value(a * target, target) >= loss.value(b * target, target) >= 0
        ends = loss.value(a, target) + loss.value(b, target)
        assert loss.value((a + b) / 2, target) <= ends / 2 + 1e-12


@pytest.mark.parametrize("m", EVERYWHERE)
def test_safe_at_every_margin(loss: Loss, m: float) -> None:
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        value, derivative = loss.value(m, 1.0), loss.derivative(m, 1.0)
        assert (loss.value(-m, -1.0), loss.derivative(-m, -1.0)) == (value, -derivative)
    assert 0 <= value <= max(1 - m, 0) + 1
    assert -1 <= derivative <= 0


def test_compiled_code_may_call_a_loss(loss: Loss) -> None:
    value, derivative = loss.value, loss.derivative
    compiled = njit(lambda p, t: (value(p, t), derivative(p, t)))
    for p in EVERYWHERE:
        for t in loss.targets:
            assert compiled(p, t) == (value(p, t), derivative(p, t))


def test_exp_is_accurate_to_a_few_units_in_the_last_place() -> None:
    for x in np.linspace(-707.9, 708.9, 5001):
        assert abs(exp(x) - math.exp(x)) <= 3 * math.ulp(math.exp(x))


def test_log1p_is_accurate_to_a_few_units_in_the_last_place() -> None:
    for e in [*np.linspace(0, 1, 5001), 1e-300, 1e-17, 1e-9]:
        assert abs(log1p_unit(e) - math.log1p(e)) <= 5 * math.ulp(math.log1p(e))


def test_a_loss_survives_pickling(loss: Loss) -> None:
    assert pickle.loads(pickle.dumps(loss)) == loss


def test_unknown_loss_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown loss 'squared'; known losses: hinge, logistic"):
        get_loss("squared")
