"""Seeded binary models stay what they were before there were several outputs.

`seeded_models.json` was written by the code of that time. The last bits of a matrix decomposition and of a
fused multiplication depend on the processor, and a share that is rounded the other way moves a weight by
some 1e-7, so weights are compared to 1e-5; a different question, clip, step or price moves them by far more.
To write the file anew: python tests/solvers/test_seeded_models.py
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.solvers import SGDMA, GradientDescent

FILE = Path(__file__).parent / "seeded_models.json"
MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
# an ample budget descends by curvature, a small one walks and calibrates
CASES = {
    f"{model} {solver if isinstance(solver, str) else solver.name} {table} {epsilon}": (
        model,
        solver,
        table,
        epsilon,
    )
    for model, solver, table, epsilon in [
        ("logistic", "adaptive", "even", 0.05),
        ("logistic", "adaptive", "even", 0.5),
        ("logistic", "adaptive", "even", 8.0),
        ("logistic", "adaptive", "rare", 1.0),
        ("logistic", "adaptive", "sparse", 1.0),
        ("hinge", "adaptive", "even", 0.5),
        ("hinge", "adaptive", "even", 8.0),
        ("hinge", "adaptive", "rare", 0.2),
        ("logistic", "newton", "even", 1.0),
        ("hinge", "newton", "rare", 1.0),
        ("logistic", GradientDescent(steps=40), "even", 1.0),
        ("logistic", "dpagd", "even", 8.0),
        ("hinge", "dpagd-modern", "even", 4.0),
        ("logistic", "objective-perturbation", "even", 1.0),
        ("logistic", "output-perturbation", "even", 4.0),
        ("logistic", "approximate-minima-perturbation", "even", 1.0),
        ("logistic", "frank-wolfe", "sparse", 1.0),
        ("hinge", SGDMA(max_steps=30), "even", 1.0),
        ("logistic", "nonprivate", "rare", 1.0),
        ("hinge", "majority", "rare", 1.0),
    ]
}


def records(table):
    rng = np.random.default_rng(5)
    n, p = 3000, 6
    X = rng.random((n, p)) * np.array([1.0, 1.0, 5.0, 1.0, 0.2, 1.0])
    threshold = 2.5 if table == "rare" else 0.0
    y = (X - X.mean(axis=0)) @ [3.0, -2.0, 0.5, 0.0, 6.0, 1.0] + rng.logistic(size=n) > threshold
    if table == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, p)) < 0.5, X, 0.0))
    return X, y.astype(int)


def weights(name):
    model, solver, table, epsilon = CASES[name]
    X, y = records(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MODELS[model](epsilon, solver=solver, noise="seeded", random_state=3).fit(X, y)
    return [*fitted.coef_[0].tolist(), float(fitted.intercept_[0])]


@pytest.mark.parametrize("name", CASES)
def test_a_seeded_binary_model_is_what_it_was(name):
    expected = np.array(json.loads(FILE.read_text())[name])
    np.testing.assert_allclose(weights(name), expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: weights(name) for name in CASES}, indent=1) + "\n")
