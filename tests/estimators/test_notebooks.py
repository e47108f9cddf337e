"""Notebooks show what was promised, and no markup from labels."""

import numpy as np
import pytest

from privfit import DPLogisticRegression


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (500, 3))
    y = np.where(X[:, 0] > 0.5, "<i>yes", "no")
    return DPLogisticRegression(1.0, classes=("<i>yes", "no"), feature_bounds=(0, 1)).fit(X, y)


def test_a_statement_shows_its_promise_and_what_it_rests_on(model):
    shown = model.privacy_._repr_html_()
    assert "epsilon = 1 at delta = 1e-06" in shown
    assert "each person has at most one record" in shown
    assert "&lt;i&gt;yes" in shown
    assert "<i>yes" not in shown


def test_a_fitted_estimator_shows_its_statement_below_the_diagram(model):
    assert model.privacy_._repr_html_() in model._repr_html_()
    assert model.privacy_._repr_html_() in model._repr_mimebundle_()["text/html"]
    unfitted = DPLogisticRegression()._repr_html_()
    assert "DPLogisticRegression" in unfitted
    assert "What was promised" not in unfitted


def test_a_model_without_privacy_says_so():
    X, y = np.random.default_rng(1).uniform(0, 1, (50, 2)), np.arange(50) % 2
    assert (
        '<td style="text-align:left">none</td>'
        in DPLogisticRegression(solver="nonprivate").fit(X, y).privacy_._repr_html_()
    )
