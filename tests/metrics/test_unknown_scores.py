"""Scores of which the noise leaves everything open say so, and scores of another kind of model are named."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from privfit import metrics
from privfit.report.scores import scores_block

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2))
Y = X[:, 0] + rng.normal(size=400)
SEEDED = {"noise": "seeded", "random_state": 0}


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning", "ignore::privfit.PrivacyLeakWarning")
def test_a_score_of_which_nothing_is_known_says_so_and_others_do_not():
    """rho = 1e-9 has noise of 22,000 records, whatever the seed is."""
    model = LinearRegression().fit(X, Y)
    hidden = metrics.evaluate(model, X, Y, rho=1e-9, target_bounds=(-4.0, 4.0), **SEEDED)
    assert not hidden.r2.known
    assert str(hidden.r2) == "unknown, because the noise is too large: in [-1.000, 1.000]"
    assert hidden.to_dict()["r2"]["known"] is False
    assert "unknown, because the noise is too large" in str(hidden)
    assert "<td>unknown</td>" in hidden._repr_html_()
    assert "<td>unknown</td>" in scores_block(hidden.to_dict())
    shown = metrics.evaluate(model, X, Y, rho=100.0, target_bounds=(-4.0, 4.0), **SEEDED)
    assert shown.r2.known
    assert str(shown.r2).startswith("0.")
    assert "known" not in shown.to_dict()["r2"]


def test_a_score_of_numbers_is_refused_for_classes_with_the_scores_that_these_have():
    model = LogisticRegression().fit(X, np.digitize(Y, [-0.5, 0.5]))
    with pytest.raises(ValueError, match="r2 is no score of LogisticRegression; its scores are") as refused:
        metrics.r2(model, X, np.digitize(Y, [-0.5, 0.5]), rho=1.0)
    assert "roc_auc" not in str(refused.value)
    assert "balanced_accuracy" in str(refused.value)
    with pytest.raises(ValueError, match="roc_auc is available for two classes only"):
        metrics.roc_auc(model, X, np.digitize(Y, [-0.5, 0.5]), rho=1.0)
