"""Gradients of several outputs: one visit of each row gives what separate passes give, bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from privfit.engine.problem import Problem
from privfit.losses.softmax import softmax

K = 4
SOFTMAX = {count: softmax(count) for count in (3, K)}  # outputs are worked on in pairs, and a last one

FORMS = {
    "float64": np.ascontiguousarray,
    "float32": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "csr": sp.csr_matrix,
    "packed": lambda X: sp.csr_matrix((X > 0.7).astype(np.float64)),
}


def problem_of(form, *, n=1203, p=11, weighted=False, seed=0, outputs=K):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.6)
    weights = rng.random(n) if weighted else None
    return Problem.of(FORMS[form](X), rng.integers(0, outputs, n), SOFTMAX[outputs], weights=weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("viewed", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("outputs", SOFTMAX)
def test_one_visit_of_the_rows_gives_what_separate_passes_give(outputs, form, viewed, weighted):
    problem = problem_of(form, weighted=weighted, outputs=outputs)
    if viewed:
        p = problem.table.n_columns
        problem = problem.transformed(np.linspace(-0.5, 0.5, p), np.linspace(0.5, 2.0, p), 0.3)
    w = np.random.default_rng(1).normal(size=(problem.n_weights, outputs))
    for clip in (0.3, 2.0):
        assert np.array_equal(problem.gradient_at(w, clip), problem.at(w).gradient_sum(clip))
    np.testing.assert_allclose(problem.gradient_at(w, np.inf), problem.at(w).gradient_sum(), atol=1e-9)


@pytest.mark.parametrize("form", ["float64", "csr"])
def test_the_gradient_is_the_derivative_of_the_loss_in_plain_python(form):
    problem = problem_of(form, n=40)
    w = np.random.default_rng(2).normal(size=(problem.n_weights, K))
    X = problem.table.layout.take(slice(None))
    Z = np.column_stack([X.toarray() if sp.issparse(X) else X, np.ones(40)])

    def total(w):
        return sum(SOFTMAX[K].value(row, target) for row, target in zip(Z @ w, problem.targets, strict=True))

    h, found = 1e-6, problem.gradient_at(w, np.inf)
    for j, k in ((0, 0), (5, 3), (11, 2)):
        step = np.zeros_like(w)
        step[j, k] = h
        assert found[j, k] == pytest.approx((total(w + step) - total(w - step)) / (2 * h), abs=1e-5)


@pytest.mark.parametrize("form", ["float32", "csr"])
def test_the_joint_clip_bounds_a_record_and_reaches_the_bound(form):
    problem = problem_of(form, n=300)
    w = np.random.default_rng(3).normal(size=(problem.n_weights, K))
    X = problem.table.layout.take(slice(None))
    X = X.toarray() if sp.issparse(X) else X
    before = problem.gradient_at(w, 0.5)
    for record in (X[0], 1e5 * X[1], 1e-200 * X[2], np.zeros(11)):
        moved = []
        for label in range(K):
            more = Problem.of(
                FORMS[form](np.vstack([X, record])), np.append(problem.targets, label), SOFTMAX[K]
            )
            moved.append(np.linalg.norm(more.gradient_at(w, 0.5) - before))
        assert 0.4999 < max(moved) <= problem.gradient_bound(0.5)


def test_weights_of_a_wrong_shape_are_refused():
    problem = problem_of("float64", n=20)
    with pytest.raises(ValueError, match=r"expected weights of shape \(12, 4\), got \(12,\)"):
        problem.gradient_at(np.zeros(12), 1.0)
