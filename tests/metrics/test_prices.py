"""A score that is bought alone says what it cost, in epsilon at delta and in rho."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from privfit import metrics

SINGLE = (
    "accuracy",
    "balanced_accuracy",
    "brier_score",
    "calibration_curve",
    "confusion_matrix",
    "log_loss",
    "roc_auc",
    "roc_curve",
)


@pytest.mark.parametrize("budget", [{"epsilon": 0.5, "delta": 1e-7}, {"rho": 0.01, "delta": 1e-7}])
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_a_single_score_names_its_price_in_both_units(name, budget):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    public = LogisticRegression().fit(X, y)
    found = getattr(metrics, name)(public, X, y, **budget)
    together = metrics.evaluate(public, X, y, **budget)
    assert found.price == together.privacy.in_short
    assert "at delta = 1e-07" in found.price
    assert "epsilon = " in found.price
    assert "rho = " in found.price
    assert found.price in str(found)
    assert getattr(together, name).price == ""
    if name == "accuracy":
        assert found.to_dict()["price"] == found.price
        assert "price" not in together.accuracy.to_dict()
