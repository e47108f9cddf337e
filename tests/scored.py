"""Held-out records whose scores are known, and a public model that gives them."""

import numpy as np
from sklearn.linear_model import LogisticRegression


def drawn(n, *, prevalence=0.5, distance=1.2, seed=0):
    """Return scores as one column, and labels, of which the scores are the true logarithms of odds."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < prevalence).astype(int)
    middle = np.log(prevalence / (1.0 - prevalence))
    scores = middle + (y - 0.5) * distance**2 + distance * rng.normal(size=n)
    return scores[:, None], y


def public_model(classes=(0, 1), kind=LogisticRegression):
    """Return a logistic regression whose scores are the only column."""
    model = kind()
    model.coef_, model.intercept_, model.classes_ = np.ones((1, 1)), np.zeros(1), np.array(classes)
    model.n_features_in_ = 1
    return model
