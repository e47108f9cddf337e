"""Summaries of real fits with hardly any noise: what any textbook gives, in the units of the table."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import privfit
from privfit import DPHuberRegressor, DPLinearRegression, DPLogisticRegression, DPPoissonRegressor
from privfit.schema import Boolean, Categorical, CountLabel, Integer, Label, NumberLabel, Schema

AMPLE = {"rho": 900.0, "noise": "seeded", "random_state": 0, "max_passes": 40}
REGIONS = ("east", "north", "south")
COLUMNS = [
    Integer("age", 20, 80, unit="years"),
    Categorical("region", REGIONS, reference="north"),
    Boolean("smoker", words=["no", "yes"]),
]
NAMES = ["age (years), +10", "region = east", "region = south", "smoker = yes"]
MODELS = {
    "logit": (DPLogisticRegression, Label("y", ["no", "yes"], positive="yes")),
    "logit of the first class": (DPLogisticRegression, Label("y", ["no", "yes"], positive="no")),
    "identity": (DPLinearRegression, NumberLabel("y", -30.0, 90.0, unit="euros")),
    "identity of Huber": (DPHuberRegressor, NumberLabel("y", -30.0, 90.0, unit="euros")),
    "log": (DPPoissonRegressor, CountLabel("y", 15)),
}
TWICE = ("logit of the first class", "identity of Huber")  # links that another model tests, too


def table(kind, n=6000):
    rng = np.random.default_rng(5)
    found = pd.DataFrame({"age": rng.integers(20, 81, n), "region": rng.choice(REGIONS, n)})
    found["smoker"] = rng.choice(["no", "yes"], n)
    X = np.column_stack(
        [
            found["age"] / 10.0,
            found["region"] == "east",
            found["region"] == "south",
            found["smoker"] == "yes",
            np.ones(n),
        ]
    ).astype(float)
    score = X @ [0.3, -0.4, 0.5, 0.6, -1.5]
    if kind.startswith("identity"):
        found["y"] = 10.0 * score + rng.normal(0.0, 5.0, n)
    elif kind == "log":
        found["y"] = rng.poisson(np.exp(score))
    else:
        found["y"] = np.where(rng.random(n) < expit(score), "yes", "no")
    return found, X


def textbook(kind, X, y):
    """The estimate and the standard errors that do not assume the model: one row a column of X."""
    if kind.startswith("identity"):
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        slopes, weights = X @ w - y, np.ones(len(X))
    elif kind == "log":
        w = minimize(lambda w: np.exp(X @ w).sum() - y @ (X @ w), np.zeros(X.shape[1]), method="BFGS").x
        slopes, weights = np.exp(X @ w) - y, np.exp(X @ w)
    else:
        truth = y == "yes"
        loss = lambda w: np.logaddexp(0.0, np.where(truth, -1.0, 1.0) * (X @ w)).sum()  # noqa: E731
        w = minimize(loss, np.zeros(X.shape[1]), method="BFGS").x
        p = expit(X @ w)
        slopes, weights = p - truth, p * (1.0 - p)
    H = (X.T * weights) @ X
    scores = X * np.asarray(slopes)[:, None]
    return w, np.sqrt(np.diag(np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)))


@pytest.mark.filterwarnings("ignore::privfit.leaks.WeakPromiseWarning")
@pytest.mark.parametrize(
    "kind",
    ["logit", "identity", "log", *(pytest.param(kind, marks=pytest.mark.slow) for kind in TWICE)],
)
def test_without_noise_a_summary_is_that_of_a_textbook(kind, tmp_path):
    estimator, label = MODELS[kind]
    data, X = table(kind)
    model = estimator(schema=Schema(COLUMNS, label, records=len(data)), inference=True, **AMPLE).fit(data)
    frame = model.summary(per={"age": 10}).to_frame().loc[NAMES]
    w, errors = textbook(kind, X, data["y"])
    w, errors = w[:-1], errors[:-1]
    sign = -1.0 if kind == "logit of the first class" else 1.0
    # long records count less, and Huber's loss differs from the squared one for long residuals
    assert np.all(np.abs(frame["coef"] - sign * w) < 0.5 * errors)
    tolerance = 0.25 if "Huber" in kind else 0.1
    np.testing.assert_allclose(frame["std_err"], errors, rtol=tolerance)
    if "odds_ratio" in frame or "rate_ratio" in frame:
        ratio = "rate_ratio" if kind == "log" else "odds_ratio"
        np.testing.assert_allclose(frame[ratio], np.exp(frame["coef"]))
    else:
        assert kind.startswith("identity")
    ends = model.conf_int()[model.inference_.names.index("region=south")]
    assert sorted(np.abs(ends)) == pytest.approx(sorted(np.abs(frame.loc["region = south", ["low", "high"]])))
    ten = model.contrast({"age": 10})
    assert (ten.estimate, ten.std_err) == pytest.approx(tuple(frame.loc[NAMES[0], ["coef", "std_err"]]))
    model.save(tmp_path / "model.json")
    loaded = privfit.load(tmp_path / "model.json")
    assert str(loaded.summary()) == str(model.summary())
    if kind == "identity":
        assert "The intercept is the predicted y, in euros, of a record" in " ".join(
            str(model.summary()).split()
        )
    np.testing.assert_array_equal(loaded.conf_int(), model.conf_int())
