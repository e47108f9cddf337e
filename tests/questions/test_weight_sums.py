"""Sums of weights: what a record adds, and that a wrong bound would be noticed."""

import math

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit.accounting import Ledger
from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.losses.targets import Classes
from privfit.questions import (
    ClassSums,
    GradientAt,
    HessianAt,
    LossesAlong,
    RisesAlong,
    SecondMoments,
    TargetSums,
    WeightSum,
)

rng = np.random.default_rng(0)
N = 200
X, Y = rng.normal(size=(N, 2)), np.where(rng.random(N) < 0.3, 1.0, -1.0)
WEIGHTS = np.append(rng.random(N - 3), [0.0, 5e-324, 1.0])
W = np.array([0.5, -1.0, 0.2])


def problem(weights=WEIGHTS, rows=slice(None), loss="logistic"):
    return Problem.of(X[rows], Y[rows], get_loss(loss), weights=None if weights is None else weights[rows])


def test_the_sum_is_that_of_the_weights():
    assert WeightSum().bounded(problem()).look() == pytest.approx([WEIGHTS.sum()], abs=N * 2.0**-22)
    assert WeightSum().bounded(problem(None)).look() == [N]


def test_classes_are_added_up_apart_in_the_order_of_their_values():
    expected = [WEIGHTS[Y < 0].sum(), WEIGHTS[Y > 0].sum()]
    assert ClassSums().bounded(problem()).look() == pytest.approx(expected, abs=N * 2.0**-22)
    assert ClassSums().bounded(problem(None)).look().tolist() == [(Y < 0).sum(), (Y > 0).sum()]


def test_only_classes_are_added_up_by_class():
    class Numbers:
        targets = object()

    with pytest.raises(ValueError, match="only targets that are classes"):
        ClassSums().bounded(type("Of", (), {"loss": Numbers}))


def test_several_classes_are_added_up_apart():
    of = type("Of", (), {})()
    of.loss, of.targets, of.weights = (
        type("Loss", (), {"targets": Classes(3)}),
        np.array([0.0, 2, 2, 1]),
        None,
    )
    assert ClassSums().bounded(of).look().tolist() == [1.0, 1.0, 2.0]
    of.weights = np.array([0.5, 0.25, 1.0, 0.0])
    assert ClassSums().bounded(of).look().tolist() == [0.5, 0.0, 1.25]


@pytest.mark.parametrize("weight", [0.0, 5e-324, 2.0**-22, 0.3, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("question", [WeightSum(), ClassSums(), TargetSums()])
def test_a_record_more_moves_the_sums_by_its_weight_and_not_beyond_the_bound(question, weight):
    weights = np.append(WEIGHTS[:-1], weight)
    more, less = (question.bounded(problem(weights, slice(0, n))) for n in (N, N - 1))
    moved = float(np.linalg.norm(more.look() - less.look()))
    assert moved == pytest.approx(weight, abs=2.0**-21)
    assert moved <= more.sensitivity == less.sensitivity <= 1.0 + 2.0**-20


@pytest.mark.parametrize("question", [WeightSum(), ClassSums()])
def test_a_record_of_the_largest_weight_uses_up_the_sensitivity(question):
    """So a smaller bound, .999 for example, would be wrong."""
    more, less = (question.bounded(problem(rows=slice(0, n))).look() for n in (N, N - 1))
    assert float(np.linalg.norm(more - less)) == question.bounded(problem()).sensitivity == 1.0


def test_sums_do_not_depend_on_the_order_of_the_records():
    order = rng.permutation(N)
    shuffled = Problem.of(X[order], Y[order], get_loss("logistic"), weights=WEIGHTS[order])
    for question in (WeightSum(), ClassSums(), TargetSums()):
        np.testing.assert_array_equal(
            question.bounded(problem()).look(), question.bounded(shuffled).look(), strict=True
        )


# -- questions about the objective answer for weights, those about the records do not ------------------------


def measured(question, weights, rows=slice(None)):
    noise = ScriptedNoise(size=0.0)
    curator = curator_of(problem(weights, rows), Ledger(rho=1.0), noise, epsilon=1.0, delta=1e-6)
    return curator.measure(question, 0.01).value


WEIGHTED = [GradientAt(W, 8.0), HessianAt(W, 8.0), SecondMoments(8.0), TargetSums(), WeightSum()]


@pytest.mark.parametrize("question", WEIGHTED, ids=lambda question: type(question).__name__)
def test_a_weight_of_a_half_twice_is_a_record_once(question):
    half = np.full(2 * N, 0.5)
    twice = Problem.of(np.vstack([X, X]), np.append(Y, Y), get_loss("logistic"), weights=half)
    curator = curator_of(twice, Ledger(rho=1.0), ScriptedNoise(size=0.0), epsilon=1.0, delta=1e-6)
    np.testing.assert_allclose(curator.measure(question, 0.01).value, measured(question, None), atol=0.05)


@pytest.mark.parametrize("question", WEIGHTED, ids=lambda question: type(question).__name__)
def test_records_of_weight_zero_add_nothing(question):
    kept = np.arange(N) % 3 == 0
    np.testing.assert_allclose(
        measured(question, kept.astype(float)), measured(question, None, kept), atol=1e-12
    )


def test_the_weight_multiplies_before_the_clip():
    """Multiplied after it, a record of weight 1/10 whose gradient is 10 clips long would add 1/10 clip."""
    long = Problem.of(np.array([[20.0, 0.0]]), [1.0], get_loss("logistic"), intercept=False, weights=[0.1])
    gradient = GradientAt(np.zeros(2), 1.0).bounded(long).look()  # the slope at 0 is -1/2
    np.testing.assert_allclose(gradient, [-1.0, 0.0], atol=1e-5)
    line = long.at(np.zeros(2)).along(np.array([1.0, 0.0]))  # losses up to 20 at step 1
    steps = np.array([0.0, 1.0])
    np.testing.assert_allclose(
        LossesAlong(steps, 1.5).bounded(line).look(), [0.1 * math.log(2.0), 1.5], atol=1e-4
    )
    np.testing.assert_allclose(RisesAlong(steps, 50.0).bounded(line).look(), [0.0, 1.93], atol=0.01)


def test_weights_beyond_one_are_refused_because_no_bound_would_hold():
    for wrong in (np.array([2.0]), np.array([-0.1]), np.array([math.nan])):
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            Problem.of(np.ones((1, 2)), [1.0], get_loss("logistic"), weights=wrong)
