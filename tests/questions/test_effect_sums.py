"""Sums for standard errors: what a record adds, and by what it is shrunk."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from privfit.accounting.relation import Relation
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses import LOSSES, get_loss
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread, PersonSpread
from privfit.questions.products import symmetric

rng = np.random.default_rng(0)
N, R = 300, 1.5
X, Y = rng.normal(size=(N, 2)), np.where(rng.random(N) < 0.3, 1.0, -1.0)
W = np.array([0.5, -1.0, 0.2])
WEIGHTS = rng.random(N)
LOGIT = get_loss("logistic")
LOGISTIC = EffectGradient(R, 1.0), EffectCurvature(R, 0.25), EffectSpread(R, 1.0)


def expected(weights):
    """Return gradient, curvature and squared scores of the logistic loss, by their definition."""
    rows = np.column_stack([X, np.ones(N)])
    f = np.minimum(1.0, R**2 / (rows**2).sum(axis=1))
    p = 1.0 / (1.0 + np.exp(Y * (rows @ W)))
    scores = (f * weights * -Y * p)[:, None] * rows
    return scores.sum(axis=0), (rows.T * (weights * f * p * (1.0 - p))) @ rows, scores.T @ scores


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_are_of_the_loss_as_it_is_with_long_records_shrunk(weighted):
    point = Problem.of(X, Y, get_loss("logistic"), weights=WEIGHTS if weighted else None).at(W)
    gradient, curvature, spread = (question.bounded(point).look() for question in LOGISTIC)
    exact = expected(WEIGHTS if weighted else np.ones(N))
    np.testing.assert_allclose(gradient, exact[0], atol=N * 2.0**-20)
    np.testing.assert_allclose(symmetric(curvature), exact[1], atol=N * 2.0**-14)
    np.testing.assert_allclose(symmetric(spread), exact[2], atol=N * 2.0**-13)


def test_how_much_a_record_counts_depends_on_its_features_alone():
    """A clip of the gradient would leave more of records with small slopes, and move a right model."""
    long = np.full((2, 2), 3.0)
    sums = [
        EffectGradient(R, 1.0).bounded(Problem.of(long[:1], [y], get_loss("logistic")).at(W)).look()
        for y in (-1.0, 1.0)
    ]
    prediction = 3.0 * (W[0] + W[1]) + W[2]
    slopes = [1.0 / (1.0 + math.exp(-prediction)), -1.0 / (1.0 + math.exp(prediction))]
    f = R**2 / 19.0
    for found, slope in zip(sums, slopes, strict=True):
        np.testing.assert_allclose(found, f * slope * np.array([3.0, 3.0, 1.0]), atol=1e-5)


@pytest.mark.parametrize("question", LOGISTIC, ids=lambda question: type(question).__name__)
@pytest.mark.parametrize("size", [1e-170, 0.3, 0.79, 1e6, 1e200])
def test_no_record_moves_a_sum_by_more_than_its_bound_and_some_nearly_do(question, size):
    base = np.vstack([X, [[0.0, 0.0]]])
    reached = 0.0
    for direction in (1.0, -1.0):
        for label in (-1.0, 1.0):
            more = np.vstack([base, [[size * direction, size]]])
            at = [
                Problem.of(table, np.append(Y, np.full(len(table) - N, label)), get_loss("logistic")).at(
                    6.0 * W
                )
                for table in (base, more)
            ]
            bounded = question.bounded(at[0])
            moved = np.linalg.norm(question.bounded(at[1]).look() - bounded.look())
            assert moved <= bounded.sensitivity
            reached = max(reached, moved / bounded.sensitivity)
    if size == 0.79 and not isinstance(question, EffectCurvature):  # as long as the radius, and steep
        assert reached > 0.98


def test_wrong_constants_are_clipped():
    """The price rests on what is clipped, not on what is said of a loss."""
    point = Problem.of(X, Y, get_loss("logistic")).at(W)
    one = Problem.of(X[:0], Y[:0], get_loss("logistic")).at(W)
    for question in (EffectGradient(R, 0.01), EffectCurvature(R, 0.001), EffectSpread(R, 0.01)):
        alone = [
            question.bounded(Problem.of(X[[i]], Y[[i]], get_loss("logistic")).at(W)).look() for i in range(20)
        ]
        bound = question.bounded(one).sensitivity
        assert max(np.linalg.norm(share) for share in alone) <= bound
        assert question.bounded(point).sensitivity == bound


def test_losses_without_a_second_derivative_are_refused():
    point = Problem.of(X, Y, get_loss("hinge")).at(W)
    for question in LOGISTIC:
        with pytest.raises(ValueError, match="second derivative of the loss 'hinge' is not known"):
            question.bounded(point)


@pytest.mark.parametrize("name", ["squared", "poisson"])
def test_large_predicted_means_are_shrunk_by_the_prediction_alone(name):
    """Two records with the same features and other targets count alike, however large their slopes are."""
    loss, w = get_loss(name), np.array([1.0, 1.0, 0.0])
    rows = np.array([[1.0, 1.2], [1.0, 1.2]])
    mean = 2.2 if name == "squared" else math.exp(2.2)
    f = min(1.0, R**2 / (1.0 + 1.44 + 1.0)) * 1.5 / mean
    for target in (0.0, 1.0):
        point = Problem.of(rows[:1], [target], loss).at(w)
        share = EffectGradient(R, 100.0, 1.5).bounded(point).look()
        np.testing.assert_allclose(share, f * (mean - target) * np.array([1.0, 1.2, 1.0]), atol=1e-4)
        curvature = symmetric(EffectCurvature(R, 10.0, 1.5).bounded(point).look())
        assert curvature[0, 0] == pytest.approx(f * (1.0 if name == "squared" else mean), abs=1e-3)


@pytest.mark.parametrize("name", ["squared", "poisson", "huber"])
def test_no_record_with_an_extreme_target_or_prediction_moves_a_sum_by_more_than_its_bound(name):
    loss = next(loss for known, loss in LOSSES.items() if known.startswith(name))
    ends = loss.targets.low, loss.targets.high
    for question in (EffectGradient(R, 5.0, 3.0), EffectCurvature(R, 3.0, 3.0), EffectSpread(R, 5.0, 3.0)):
        for target in ends:
            for size in (0.0, 1.0, 30.0, 1e8, 1e200):
                point = Problem.of(np.array([[size, -0.3 * size]]), [target], loss).at(W)
                bounded = question.bounded(point)
                assert np.linalg.norm(bounded.look()) <= bounded.sensitivity


SMOOTH = [name for name, loss in LOSSES.items() if loss.second_derivative is not None and loss.outputs == 1]


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_are_those_of_the_derivative(name):
    loss, step = LOSSES[name], 1e-5
    for target in loss.targets.typical:
        for at in (-2.3, -0.4, 0.1, 1.7):
            slope = loss.derivative(at, target)
            rise = (loss.derivative(at + step, target) - loss.derivative(at - step, target)) / (2.0 * step)
            found = loss.second_derivative(np.array([slope]), np.array([at]), np.array([float(target)]))
            assert found[0] == pytest.approx(rise, rel=1e-4, abs=1e-8)
            assert found[0] <= loss.smoothness


# -- people with several records -----------------------------------------------------------------------------


def of_people(rows, labels, sizes, most=3, form=np.asarray, weights=None):
    persons = Persons.of(np.repeat(np.arange(len(sizes)), sizes), most)
    return Problem.of(form(rows), labels, LOGIT, persons=persons, weights=weights)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_squared_scores_of_people_are_squares_of_their_sums(form):
    sizes = np.tile([3, 1, 2], N // 6)
    problem = of_people(X, Y, sizes, form=form)
    center, scale = np.array([0.2, -0.1]), np.array([0.5, 2.0])
    point = problem.transformed(center, scale, 0.3).at(W)
    rows = np.column_stack([scale * (X - center), np.full(N, 0.3)])
    f = np.minimum(1.0, R**2 / (rows**2).sum(axis=1))
    p = 1.0 / (1.0 + np.exp(Y * (rows @ W)))
    scores = (f * -Y * p)[:, None] * rows
    sums = np.add.reduceat(scores, np.cumsum(sizes) - sizes, axis=0)
    found = symmetric(PersonSpread(R, 1.0).bounded(point).look())
    np.testing.assert_allclose(found, sums.T @ sums, atol=N * 2.0**-11)


def test_a_person_moves_the_squares_by_the_square_of_the_number_of_records():
    """Three equal records of one person add nine times the square of one: three times would be too little."""
    one, three = (of_people(np.full((k, 2), 0.79), np.full(k, 1.0), [k]) for k in (1, 3))
    steep = np.array([-5.0, -5.0, 0.0])
    bounded = PersonSpread(R, 1.0).bounded(three.at(steep))
    share = np.linalg.norm(bounded.look())
    assert share == pytest.approx(
        9.0 * np.linalg.norm(PersonSpread(R, 1.0).bounded(one.at(steep)).look()), rel=1e-3
    )
    assert 0.98 * bounded.sensitivity < share <= bounded.sensitivity
    assert bounded.unit == "person"
    assert bounded.under(Relation(records_per_person=3, person_id="id")).sensitivity == bounded.sensitivity


@pytest.mark.parametrize("size", [1e-170, 0.3, 1e6, 1e200])
def test_no_person_moves_the_squares_by_more_than_the_bound(size):
    for signs in ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0]):
        rows = size * np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
        question = PersonSpread(R, 1.0)
        alone = of_people(rows, signs, [3]).at(6.0 * W)
        more = of_people(np.vstack([X[:4], rows]), np.append(Y[:4], signs), [2, 2, 3]).at(6.0 * W)
        less = of_people(X[:4], Y[:4], [2, 2]).at(6.0 * W)
        bound = question.bounded(alone).sensitivity
        assert np.linalg.norm(question.bounded(alone).look()) <= bound
        assert np.linalg.norm(question.bounded(more).look() - question.bounded(less).look()) <= bound
