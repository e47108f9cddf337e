"""Losses that a user wrote: what they may use, what they cannot break, and who takes them."""

import dataclasses
import inspect
import math
import pickle
import random
import subprocess
import sys
from unittest.mock import ANY

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

import privfit
from privfit import DPLinearClassifier, DPLinearRegressor, Ledger
from privfit.engine.exact.bounds import loss_slack
from privfit.engine.problem import Problem
from privfit.estimators.classification import LinearClassifier
from privfit.estimators.regression import LinearRegressor
from privfit.losses import Loss, get_loss, is_own
from privfit.losses.arithmetic import compilable, exp
from privfit.losses.guarded import guarded
from privfit.losses.targets import Interval
from privfit.questions import HessianAt
from privfit.solvers import SOLVERS
from privfit.testing import check_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 3))
Y = (X @ [1.0, -1.0, 0.5] + RNG.logistic(size=2000) > 0).astype(int)
BOUNDS = {"feature_bounds": (-5.0, 5.0)}


def value(prediction, target):
    return max(1.0 - target * prediction, 0.0) ** 2


def derivative(prediction, target):
    return -2.0 * target * max(1.0 - target * prediction, 0.0)


SQUARED_HINGE = Loss("squared hinge", value, derivative, smoothness=2.0)


# -- what check_loss finds


def test_losses_of_this_package_and_a_correct_one_pass():
    check_loss(SQUARED_HINGE)
    for name in ("hinge", "poisson"):  # of which one has a kink, and one is nearly an exponential
        check_loss(get_loss(name))


def hill(prediction, target):
    far = 1.0 + (prediction + 1.0) * (prediction + 1.0)
    return 1.0 / far


def hillside(prediction, target):
    far = 1.0 + (prediction + 1.0) * (prediction + 1.0)
    return -2.0 * (prediction + 1.0) / (far * far)


def halved(prediction, target):
    return 0.5 * derivative(prediction, target)


def lowered(prediction, target):
    return value(prediction, target) - 1.0


def with_a_gap(prediction, target):
    return value(prediction, target) if prediction < 20.0 else math.inf


def far_out(prediction, target):
    return -2.0 * target * (prediction / prediction) * max(1.0 - target * prediction, 0.0)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (Loss("a", hill, hillside), r"at prediction -1.575 and target -1 its derivative falls, so"),
        (Loss("a", value, halved), r"its derivative is .*, but its value rises by"),
        (Loss("a", lowered, derivative), "its value is negative, and would count as 0"),
        (Loss("a", with_a_gap, derivative), "at prediction 20 .* its value is no finite number"),
        (Loss("a", value, derivative, lipschitz=3.0), "beyond its lipschitz constant"),
        (Loss("a", value, derivative, smoothness=1.0), "beyond its smoothness constant"),
        (
            Loss("a", value, derivative, smoothness=-1.0),
            "smoothness of the loss 'a' must be a positive",
        ),
        (Loss("a", value, far_out), "must have a derivative at prediction 0 that is a finite number"),
    ],
)
def test_what_is_wrong_is_named_in_a_sentence(loss, said):
    with pytest.raises(ValueError, match=said):
        check_loss(loss)


# -- what a user's function may use

COUNTS = [0]


def uses_numpy(prediction, target):
    return np.exp(-target * prediction)


def uses_a_library(prediction, target):
    return math.exp(-target * prediction)


def uses_chance(prediction, target):
    return random.random()


def uses_a_list(prediction, target):
    return COUNTS[0] + prediction


def uses_powers(prediction, target):
    return abs(prediction) ** target


def uses_a_default(prediction, target, scale=1.0):
    return scale * abs(prediction - target)


def helper(margin):
    return random.gauss(margin, 1.0)


def uses_a_helper(prediction, target):
    return helper(target * prediction)


def calls_itself(prediction, target):
    return calls_itself(target, prediction)


def hides_chance_in_a_lambda(prediction, target):
    noise = lambda: random.random()  # noqa: E731  # a function inside is what is tested
    return prediction + noise()


def hides_chance_in_a_function(prediction, target):
    def noise():
        import random

        return random.random()

    return prediction + noise()


def tells_of_a_record(prediction, target):
    if target > 0.5:
        raise ArithmeticError
    return prediction


def hides_a_power(prediction, target):
    return prediction ** (0.3 if target > 0.0 else 2)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (uses_numpy, "The value of the loss 'a' uses 'exp'; use arithmetic"),
        (uses_a_library, "The value of the loss 'a' uses 'exp'; use arithmetic"),
        (uses_chance, "The value of the loss 'a' uses 'random'"),
        (uses_a_list, "must compute with numbers alone"),
        (uses_powers, r"uses the operator '\*\*'"),
        (uses_a_default, r"must be a function of \(prediction, target\)"),
        (uses_a_helper, "The function 'helper' that the value of the loss 'a' uses uses 'gauss'"),
        (calls_itself, "calls itself"),
        (hides_chance_in_a_lambda, "no functions inside it"),
        (hides_chance_in_a_function, "no functions inside it"),
        (tells_of_a_record, "must return a number for all arguments: no exceptions"),
        (hides_a_power, r"uses the operator '\*\*'"),
        (np.exp, "must be a Python function"),
        (print, "must be a Python function"),
    ],
)
def test_functions_that_may_depend_on_more_than_their_arguments_are_refused(function, said):
    for loss, what in (
        (Loss("a", function, derivative), "value"),
        (Loss("a", value, function), "derivative"),
    ):
        with pytest.raises(ValueError, match=said.replace("value", what)):
            guarded(loss)


SCALE = 2.0


def square(residual):
    return residual**2


def plain(prediction, target):
    residual = prediction - target
    if math.isnan(residual) or abs(residual) > 3.0:
        return SCALE * exp(math.copysign(1.0, residual)) * math.fabs(residual)
    return min(square(residual), 9.0)


def test_arithmetic_constants_and_helpers_are_allowed():
    guarded(Loss("a", plain, plain))


def test_another_version_of_a_loss_has_other_compiled_loops():
    """Machine code is kept on disk by name: yesterday's must not be found for today's functions."""

    def steeper(prediction, target):
        return -3.0 * target * max(1.0 - target * prediction, 0.0)

    one, same, other = (
        guarded(Loss(name, value, slope, smoothness=2.0))
        for name, slope in (("a", derivative), ("b", derivative), ("a", steeper))
    )
    assert one is same
    assert one.name != other.name


def test_the_same_code_with_another_function_under_the_same_name_is_another_loss():
    def made(smaller):
        def ramp(prediction, target):
            return smaller(abs(prediction - target), 1.0)

        return guarded(Loss("a", ramp, ramp))

    assert made(min) is not made(max)


# -- what it cannot break


def unruly_value(prediction, target):
    if prediction > 2.0:
        return -1e9
    return math.inf if prediction > 1.0 else math.nan if prediction > 0.5 else 1e9 * abs(prediction)


def unruly_derivative(prediction, target):
    if prediction > 2.0:
        return math.nan
    return math.inf if prediction > 1.0 else -1e30 if prediction > 0.5 else 1.0


UNRULY = guarded(Loss("unruly", unruly_value, unruly_derivative))


@pytest.mark.parametrize("prediction", [0.0, 0.7, 1.5, 3.0, -1e30, 1e30])
def test_one_record_moves_no_sum_by_more_than_its_bound(prediction):
    clip = 1.5
    rows = np.vstack([X[:50], [[prediction, 1e6, -1e6]]])
    w = np.array([1.0, 0.0, 0.0, 0.0])
    few, more = (Problem.of(rows[:n], np.ones(n), UNRULY) for n in (50, 51))
    moved = more.gradient_at(w, clip) - few.gradient_at(w, clip)
    assert np.linalg.norm(moved) <= few.gradient_bound(clip)
    added = more.at(w).loss_sum(clip) - few.at(w).loss_sum(clip)
    assert -loss_slack(clip) <= added <= clip + loss_slack(clip)


def test_nan_and_infinity_add_nothing_and_without_the_guard_a_negative_loss_would_break_its_bound():
    rows = np.array([[0.7], [1.5], [3.0]])
    w = np.array([1.0, 0.0])
    for row, slope, loss in zip(rows, (-1e30, 0.0, 0.0), (0.0, 0.0, 0.0), strict=True):
        problem = Problem.of(row[None], np.ones(1), UNRULY)
        assert np.any(problem.gradient_at(w, 1.0)) == (slope != 0.0)
        assert problem.at(w).loss_sum(1.0) == loss
    bare = Loss("bare_unruly", compilable(unruly_value), compilable(unruly_derivative))
    assert Problem.of(rows[2:], np.ones(1), bare).at(w).loss_sum(1.0) < -loss_slack(1.0)


def steep(prediction, target):
    if prediction > 1000.0:
        return 1.7e308
    return -1.7e308 if prediction > 900.0 else prediction - target


@pytest.mark.parametrize("weight", [None, 0.0, 0.5, 1.0])
def test_slopes_further_apart_than_any_number_move_the_curvature_by_its_bound_only(weight):
    """Without a limit the curvature would be infinite, and times a weight of 0 no number."""
    question, rows = (
        HessianAt(np.array([1.0, 0.0]), radius=2.0, window=2.0),
        np.array([[1.0], [2.0], [1000.0]]),
    )
    loss = guarded(Loss("steep", value, steep))
    few, more = (
        question.bounded(
            Problem.of(rows[:n], np.ones(n), loss, weights=None if weight is None else [1.0, 1.0, weight][:n])
        )
        for n in (2, 3)
    )
    assert np.linalg.norm(more.look() - few.look()) <= few.sensitivity


# -- who takes it

TAKES = {"adaptive", "dpagd", "gradient-descent", "newton", "sgd-adv", "sgd-ma"}


@pytest.mark.parametrize("solver", sorted(name for name in SOLVERS if SOLVERS[name].private))
def test_only_solvers_whose_price_rests_on_a_clip_take_it(solver):
    named_like_ours = Loss("logistic", value, derivative, lipschitz=1.0, smoothness=2.0)
    ledger = Ledger(rho=10.0)
    model = DPLinearClassifier(rho=0.5, loss=named_like_ours, solver=solver, **BOUNDS)
    if solver in TAKES:
        assert model.fit(X, Y).score(X, Y) > 0.6
    else:
        with pytest.raises(
            ValueError,
            match=r"a loss of privfit's own, because its price rests on the loss's|needs the squared loss",
        ):
            model.set_params(ledger=ledger).fit(X, Y)
        assert ledger.entries == ()


def test_own_losses_are_told_by_what_they_are():
    logistic = get_loss("logistic")
    assert is_own(logistic)
    assert is_own(pickle.loads(pickle.dumps(logistic)))
    assert not is_own(dataclasses.replace(logistic, lipschitz=0.1))
    assert not is_own(Loss("logistic", value, derivative, 1.0, 0.25))
    assert not is_own(guarded(SQUARED_HINGE))


def test_a_copy_of_an_own_loss_does_not_bring_makers_of_other_losses():
    """What makes the loss of several classes is not compared, so privfit's own object is used."""
    logistic = get_loss("logistic")
    copied = dataclasses.replace(logistic, of_classes=lambda classes: SQUARED_HINGE)
    assert DPLinearClassifier(loss=copied)._loss_of_fit() is logistic
    assert DPLinearClassifier(loss=says_who_made_it())._loss_of_fit().name.startswith("user_")


def says_who_made_it():
    """Return a loss that says it was made by a function of privfit's, which makes no losses."""
    return Loss("a", value, derivative, lipschitz=0.1, smoothness=2.0, made_by=(compilable, (ANY,)))


def test_own_losses_by_name_are_taken():
    DPLinearClassifier(1.0, loss="hinge", solver="dpagd-modern", **BOUNDS).fit(X, Y)


# -- the models


@pytest.mark.parametrize(
    ("model", "base"), [(DPLinearClassifier, LinearClassifier), (DPLinearRegressor, LinearRegressor)]
)
def test_they_have_the_settings_of_all_models_and_a_loss(model, base):
    own = dict(inspect.signature(model).parameters)
    assert own.pop("loss").default is None
    assert own == dict(inspect.signature(base).parameters)


def test_the_loss_and_alpha_are_what_is_minimised():
    def objective(w):
        margins = np.where(Y, 1.0, -1.0) * (X @ w[:3] + w[3])
        return np.mean(np.maximum(1.0 - margins, 0.0) ** 2) + 0.1 * w @ w

    best = minimize(objective, np.zeros(4), options={"gtol": 1e-9}).x
    model = DPLinearClassifier(loss=SQUARED_HINGE, alpha=0.2, solver="nonprivate").fit(X, Y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), best, atol=1e-4)


def expectile(prediction, target):
    missing = target - prediction
    return 1.5 * missing**2 if missing > 0.0 else 0.5 * missing**2


def expectile_slope(prediction, target):
    missing = target - prediction
    return -3.0 * missing if missing > 0.0 else -missing


EXPECTILE = Loss("expectile", expectile, expectile_slope, smoothness=3.0, targets=Interval())


def test_models_are_cloned_pickled_saved_and_loaded(tmp_path):
    """Scores are .724 +- .002 and .97 +- .02 over 30 and 60 fits: ten standard deviations above .7."""
    target = 50.0 + 10.0 * X[:, 0]
    for model, y in (
        (DPLinearClassifier(1.0, loss=SQUARED_HINGE, **BOUNDS), Y),
        (DPLinearRegressor(8.0, loss=EXPECTILE, target_bounds=(0.0, 100.0), **BOUNDS), target),
    ):
        fitted = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
        assert fitted.score(X, y) > 0.7
        fitted.save(tmp_path / "model.json")
        loaded = privfit.load(tmp_path / "model.json")
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
        with pytest.raises(ValueError, match="a model file does not keep the loss"):
            loaded.fit(X, y)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (None, r"loss must be a privfit\.losses\.Loss"),
        ("quadratic", r"loss must be a privfit\.losses\.Loss"),
        (EXPECTILE, "needs a loss whose targets are"),
    ],
)
def test_what_is_no_loss_of_labels_is_refused_before_a_charge(loss, said):
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match=said):
        DPLinearClassifier(0.5, loss=loss, ledger=ledger, **BOUNDS).fit(X, Y)
    assert ledger.entries == ()


PROGRAM = """
import numpy as np
from privfit.engine.problem import Problem
from privfit.losses import Loss
from privfit.losses.guarded import guarded
from losses_of_mine import value, derivative
problem = Problem.of(np.ones((1, 1)), np.ones(1), guarded(Loss("mine", value, derivative)))
print(problem.gradient_at(np.array([-1.0, 0.0]), 100.0)[0])
"""


@pytest.mark.slow
def test_a_changed_file_is_compiled_anew_in_the_next_process(tmp_path):
    """Both have the same slope at 0, so that they are divided by the same number."""
    printed = []
    for power in (1, 3):
        (tmp_path / "losses_of_mine.py").write_text(
            "def value(p, t):\n    return max(1.0 - t * p, 0.0)\n"
            f"def derivative(p, t):\n    return -t * max(1.0 - t * p, 0.0) ** {power}\n"
        )
        command = [sys.executable, "-B", "-c", PROGRAM]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        printed.append(float(ran.stdout))
    assert printed == [-2.0, -8.0]
