import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_output import ALL, LOSSES

from privfit.engine.exact.bounds import loss_slack
from privfit.engine.kernels.pointwise import loops
from privfit.engine.problem import Problem
from privfit.losses import Loss, get_loss
from privfit.losses.arithmetic import exp, log, log1p_unit
from privfit.losses.huber import huber
from privfit.losses.quantile import quantile_loss, smoothed_quantile

# Value and derivative of this package's losses, as functions of the margin m = target * prediction.
WRITTEN_OUT = {
    "logistic": (lambda m: np.logaddexp(0, -m), lambda m: -1 / (1 + np.exp(m))),
    "hinge": (lambda m: np.maximum(1 - m, 0), lambda m: np.where(m < 1, -1.0, 0.0)),
    "smoothed_hinge": (
        lambda m: np.where(m > 1.5, 0, np.where(m < 0.5, 1 - m, (1.5 - np.clip(m, 0.5, 1.5)) ** 2 / 2)),
        lambda m: -np.clip(1.5 - m, 0, 1),
    ),
}
# The same of losses of numbers, as functions of the prediction p and the target t.
OF_NUMBERS = {
    "squared": (lambda p, t: (p - t) ** 2 / 2, lambda p, t: p - t),
    "huber_1.345": (
        lambda p, t: np.where(abs(p - t) < 1.345, (p - t) ** 2 / 2, 1.345 * (abs(p - t) - 1.345 / 2)),
        lambda p, t: np.clip(p - t, -1.345, 1.345),
    ),
    "quantile_0.9": (
        lambda p, t: np.where(p < t, 0.9 * (t - p), 0.1 * (p - t)),
        lambda p, t: np.where(p <= t, -0.9, 0.1),
    ),
    "poisson": (
        lambda p, t: (
            np.where(
                p < math.log(32), np.exp(p) - t * p, 32 + (32 - t) * (p - math.log(32)) - t * math.log(32)
            )
            - (t - t * np.log(np.maximum(t, 1e-300)))
        ),
        lambda p, t: np.exp(np.minimum(p, math.log(32))) - t,
    ),
}
LINES = st.floats(-60, 60)
CASES = [(loss, target) for loss in LOSSES.values() for target in loss.targets.typical]
EVERYWHERE = [-1e308, -1e150, -745.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 40.0, 745.0, 1e150, 1e308]


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> Loss:
    return LOSSES[request.param]


@pytest.mark.parametrize("name", WRITTEN_OUT)
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_losses_of_this_package_are_what_they_are_called(name: str, target: float) -> None:
    loss, (value, derivative) = get_loss(name), WRITTEN_OUT[name]
    for prediction in np.linspace(-36, 36, 289).tolist():
        m = target * prediction
        assert loss.value(prediction, target) == pytest.approx(value(m), rel=1e-14, abs=0)
        assert loss.derivative(prediction, target) == pytest.approx(target * derivative(m), rel=1e-14, abs=0)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_losses_of_numbers_are_what_they_are_called(name: str) -> None:
    loss, (value, derivative) = get_loss(name), OF_NUMBERS[name]
    for target in (0.0, 0.7, 2.0, 31.0):
        for prediction in np.linspace(-9.1, 9.2, 184).tolist():
            assert loss.value(prediction, target) == pytest.approx(value(prediction, target), abs=1e-12)
            slope = loss.derivative(prediction, target)
            assert slope == pytest.approx(derivative(prediction, target), abs=1e-12)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.97])
def test_the_smooth_quantile_loss_is_the_mean_of_moved_ones(q: float) -> None:
    """Its slope is at most max(q, 1 - q), and where it is steepest it is the quantile loss."""
    kinked, smooth = quantile_loss(q), smoothed_quantile(q, 0.25)
    moves = (np.arange(4000) + 0.5) / 8000.0 - 0.25
    for prediction in (-3.0, -0.2, 0.0, 0.1, 0.24, 0.26, 2.0):
        mean = np.mean([kinked.value(prediction, 0.1 + move) for move in moves.tolist()])
        assert smooth.value(prediction, 0.1) == pytest.approx(mean, abs=1e-6)
    assert kinked.lipschitz == smooth.lipschitz == max(q, 1 - q)


def test_the_loss_of_counts_stays_convex_where_a_clipped_prediction_would_not() -> None:
    """With the prediction clipped inside the loss the slope falls back to 0 beyond the clip."""
    slopes = [get_loss("poisson").derivative(p, 3.0) for p in np.linspace(2.0, 6.0, 81).tolist()]
    assert np.all(np.diff(slopes) >= 0)
    assert slopes[-1] == pytest.approx(32.0 - 3.0)
    clipped = [math.exp(p) - 3.0 if p < math.log(32) else 0.0 for p in np.linspace(2.0, 6.0, 81).tolist()]
    assert np.any(np.diff(clipped) < 0)


@pytest.mark.parametrize("make", [huber, quantile_loss])
def test_losses_with_equal_parameters_are_one_object_and_share_their_loops(make) -> None:
    loss = make(0.3)
    assert make(0.3) is loss
    assert pickle.loads(pickle.dumps(loss)) is loss
    assert loops(make(0.3)) is loops(loss)


def test_log_is_accurate_to_a_few_units_in_the_last_place() -> None:
    for x in [*np.exp(np.linspace(-700, 700, 5001)), *np.linspace(0.5, 2, 5001), 2.3e-308, 1.7e308]:
        assert abs(log(x) - math.log(x)) <= 5 * math.ulp(math.log(x))
    assert log(1.0) == 0.0


def test_derivative_is_the_slope(loss: Loss) -> None:
    for target in loss.targets.typical:
        for p in [-30.3, -2.2, -1.2, -0.6, 0.4, 0.6, 0.9, 1.2, 1.6, 5.5]:
            slope = (loss.value(p + 1e-6, target) - loss.value(p - 1e-6, target)) / 2e-6
            assert loss.derivative(p, target) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_the_steepest_start_is_known(loss: Loss) -> None:
    assert loss.slope_at_zero == max(abs(loss.derivative(0.0, t)) for t in loss.targets.typical) > 0.0


def test_a_loss_with_a_kink_names_a_smooth_one_near_it(loss: Loss) -> None:
    smooth = loss.smoothed
    assert smooth.smoothness < math.inf
    assert (smooth is loss) == (loss.smoothness < math.inf)
    for target in loss.targets.typical:
        for prediction in np.linspace(-3, 3, 61):
            assert abs(smooth.value(prediction, target) - loss.value(prediction, target)) <= 0.125
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
def test_convex_and_not_negative(a: float, b: float) -> None:
    for loss, target in CASES:
        ends = loss.value(a, target) + loss.value(b, target)
        assert loss.value(a, target) >= 0
        assert loss.value((a + b) / 2, target) <= ends / 2 * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("prediction", EVERYWHERE)
def test_safe_at_every_prediction(loss: Loss, prediction: float) -> None:
    """Values may be infinite only where no bound on slopes keeps them finite."""
    for target in loss.targets.typical:
        with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
            warnings.simplefilter("error")
            value, derivative = loss.value(prediction, target), loss.derivative(prediction, target)
        if loss.lipschitz < math.inf:
            assert value <= loss.value(0.0, target) + loss.lipschitz * abs(prediction)
        assert value >= 0
        assert abs(derivative) <= loss.lipschitz


def test_infinite_predictions_have_losses_that_can_be_clipped(loss: Loss) -> None:
    """A record's features can make its prediction infinite; a loss that is no number would show in a sum."""
    predictions = np.array([-math.inf, math.inf])
    for target in loss.targets.typical:
        for loop in (loops(loss).values, loops(loss).derivatives):
            loop(predictions, np.full(2, target), found := np.empty(2))
            assert not np.isnan(found).any()


@pytest.mark.parametrize(
    ("maker", "arguments"),
    [
        *((huber, (tau,)) for tau in (-1.0, 0.0, math.inf, math.nan)),
        *((quantile_loss, (q,)) for q in (-0.1, 0.0, 1.0, 2.0, math.nan)),
        *((smoothed_quantile, of) for of in ((2.0, 0.25), (0.5, -0.25), (0.5, 0.0), (0.5, math.nan))),
    ],
)
def test_parameters_that_make_a_loss_negative_are_refused(maker: Any, arguments: tuple[float, ...]) -> None:
    """They count as privfit's own, whose losses nothing guards: a clip bounds them from above only."""
    with pytest.raises(ValueError, match=r"must lie between 0 and 1|must be a positive number"):
        maker(*arguments)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_a_record_that_overflows_does_not_hide_the_losses_of_others(q: float) -> None:
    """A stand-in is no loss of the registry, but a user may pass it to a solver with a line search."""
    problem = Problem.of([[1e150]], [0.0], smoothed_quantile(q, 0.25), intercept=False)
    for there in (-1e150, 1e150):
        line = problem.at([1e150]).along([there])
        sums = line.loss_sums(1e9, 3, clip=5.0)
        assert np.all((sums >= 0.0) & (sums <= 5.0 + loss_slack(5.0)))


def test_compiled_code_computes_what_python_does(loss: Loss) -> None:
    """To a few units in the last place, because compiled sums of products are rounded once."""
    predictions = np.array([*EVERYWHERE, *np.linspace(-5, 5, 101)])
    for target in loss.targets.typical:
        targets, found = np.full(len(predictions), target), np.empty((2, len(predictions)))
        for loop, out in zip((loops(loss).values, loops(loss).derivatives), found, strict=True):
            loop(predictions, targets, out)
        expected = [[f(p, target) for p in predictions.tolist()] for f in (loss.value, loss.derivative)]
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)


def test_exp_is_accurate_to_a_few_units_in_the_last_place() -> None:
    for x in np.linspace(-707.9, 708.9, 5001):
        assert abs(exp(x) - math.exp(x)) <= 3 * math.ulp(math.exp(x))


def test_log1p_is_accurate_to_a_few_units_in_the_last_place() -> None:
    for e in [*np.linspace(0, 1, 5001), 1e-300, 1e-17, 1e-9]:
        assert abs(log1p_unit(e) - math.log1p(e)) <= 5 * math.ulp(math.log1p(e))


def test_a_loss_survives_pickling(loss: Loss) -> None:
    assert pickle.loads(pickle.dumps(loss)) == loss


def test_unknown_loss_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=f"unknown loss 'cubic'; known losses: {', '.join(sorted(ALL))}"):
        get_loss("cubic")
