"""Sums for standard errors of several classes: what a record adds, and how far it moves them (Q40)."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import softmax as probabilities

from privfit.accounting.relation import Relation
from privfit.engine import class_products
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses.softmax import softmax
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread, PersonSpread
from privfit.questions.products import symmetric

rng = np.random.default_rng(0)
N, R, K = 300, 1.5, 3
X, Y = rng.normal(size=(N, 2)), rng.integers(K, size=N).astype(float)
W, WEIGHTS = rng.normal(size=(3, K)), rng.random(N)
LOSS, ROOT = softmax(K), math.sqrt(2.0)
QUESTIONS = EffectGradient(R, ROOT), EffectCurvature(R, 0.5), EffectSpread(R, ROOT)


def expected(rows, weights):
    """Return gradient, curvature and squared scores by their definition, without the rows of the engine."""
    f = np.minimum(1.0, R**2 / (rows**2).sum(axis=1))
    p = probabilities(rows @ W, axis=1)
    scores = [
        np.kron(x, u * part * (q - np.eye(K)[int(y)]))
        for x, u, part, q, y in zip(rows, weights, f, p, Y, strict=True)
    ]
    curvature = sum(
        u * part * np.kron(np.outer(x, x), np.diag(q) - np.outer(q, q))
        for x, u, part, q in zip(rows, weights, f, p, strict=True)
    )
    return np.sum(scores, axis=0), curvature, np.transpose(scores) @ np.array(scores)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_are_those_of_the_softmax_with_long_records_shrunk(weighted, form, monkeypatch):
    monkeypatch.setattr(class_products, "NUMBERS_AT_ONCE", 1000)  # several blocks
    problem = Problem.of(form(X), Y, LOSS, weights=WEIGHTS if weighted else None)
    center, scale = np.array([0.2, -0.1]), np.array([0.5, 2.0])
    point = problem.transformed(center, scale, 0.3).at(W)
    gradient, curvature, spread = (question.bounded(point).look() for question in QUESTIONS)
    rows = np.column_stack([scale * (X - center), np.full(N, 0.3)])
    exact = expected(rows, WEIGHTS if weighted else np.ones(N))
    np.testing.assert_allclose(gradient.ravel(), exact[0], atol=N * 2.0**-20)
    np.testing.assert_allclose(symmetric(curvature), exact[1], atol=N * 2.0**-13)
    np.testing.assert_allclose(symmetric(spread), exact[2], atol=N * 2.0**-13)


def test_the_matrix_of_second_derivatives_is_never_longer_than_one_half():
    """What the price of the curvature rests on, for classes of all kinds of probabilities."""
    for classes in (2, 3, 5, 20):
        for concentration in (0.05, 0.3, 1.0, 10.0):
            for p in rng.dirichlet(np.full(classes, concentration), size=200):
                assert np.linalg.norm(np.diag(p) - np.outer(p, p)) <= 0.5 + 1e-12


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
@pytest.mark.parametrize("size", [1e-170, 0.3, 0.79, 1e6, 1e200])
def test_no_record_moves_a_sum_by_more_than_its_bound_and_some_nearly_do(question, size):
    reached = 0.0
    # the weights of two classes are equal: where the third one is hopeless, p = (1/2, 1/2, 0)
    for w in (W, 6.0 * W, np.array([[9.0, 9.0, -90.0]] * 2 + [[0.0] * 3])):
        for label in range(K):
            row = [[size, size]]
            more = Problem.of(np.vstack([X, row]), np.append(Y, label), LOSS).at(w)
            alone = Problem.of(np.array(row), [float(label)], LOSS).at(w)
            less = Problem.of(X, Y, LOSS).at(w)
            bounded = question.bounded(less)
            moved = np.linalg.norm(question.bounded(more).look() - bounded.look())
            assert moved <= bounded.sensitivity
            share = np.linalg.norm(question.bounded(alone).look())
            assert share <= question.bounded(alone).sensitivity
            reached = max(reached, share / bounded.sensitivity)
    if size == 0.79 and not isinstance(question, EffectGradient):  # as long as the radius
        assert reached > (0.98 if isinstance(question, EffectCurvature) else 0.7)


def test_a_wrong_slope_is_clipped_and_a_wrong_curvature_refused():
    at = Problem.of(X[:1], Y[:1], LOSS).at(W)
    for question in (EffectGradient(R, 0.01), EffectSpread(R, 0.01)):
        bounded = question.bounded(at)
        assert np.linalg.norm(bounded.look()) <= bounded.sensitivity
    with pytest.raises(ValueError, match=r"at least 0\.5"):
        EffectCurvature(R, 0.4).bounded(at)
    with pytest.raises(ValueError, match="softmax loss only"):
        EffectCurvature(R, 0.5, 3.0).bounded(at)


def test_people_are_refused_and_records_of_people_cost_as_many_times():
    problem = Problem.of(X, Y, LOSS, persons=Persons.of(np.arange(N) // 2, 2))
    with pytest.raises(ValueError, match="one output only"):
        PersonSpread(R, ROOT).bounded(problem.at(W))
    bounded = EffectCurvature(R, 0.5).bounded(problem.at(W))
    both = bounded.under(Relation(records_per_person=2, person_id="id"))
    assert both.sensitivity == pytest.approx(2.0 * bounded.sensitivity)
