"""Scores of regressors are those of scikit-learn but for noise and bounds, with how far off they may be."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics as exact
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from toy_regressor import ToyRegressor  # noqa: F401  # a fixture

from privfit import Ledger, metrics
from privfit.engine.table import Table
from privfit.mechanisms.gaussian import Measurement
from privfit.metrics.estimates import Estimates
from privfit.metrics.number_marks import marked_numbers
from privfit.metrics.numbers import NEEDED, NumberEvaluation

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
    pytest.mark.filterwarnings("ignore:Beware. the .* scores of this model:privfit.PrivacyLeakWarning"),
]

AMPLE = {"rho": 1e3, "noise": "seeded", "random_state": 0}
REPEATS = 400
ALPHA = 1e-6  # the probability of a false alarm of each coverage test below, were the seed not fixed
FEWEST, MOST = (int(binom.ppf(q, REPEATS, 0.95)) for q in (ALPHA, 1.0 - ALPHA))
BOUNDS = (-6.0, 8.0)
FEW = (0.0, 12.0)


def regressor(kind=LinearRegression, **settings):
    """Return a public model of two columns."""
    model = kind(**settings)
    model.coef_, model.intercept_, model.n_features_in_ = np.array([1.0, -0.5]), 0.25, 2
    if kind is PoissonRegressor:
        model._base_loss = model._get_loss()
    return model


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X @ [1.0, -0.5] + 0.25 + rng.normal(size=n)


def counted(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.minimum(rng.poisson(np.exp(X @ [1.0, -0.5] + 0.25)), 12).astype(float)


def truths(model, X, y, bounds):
    f = np.clip(model.predict(X), *bounds)
    found = {
        "r2": exact.r2_score(y, f),
        "mean_absolute_error": exact.mean_absolute_error(y, f),
        "root_mean_squared_error": exact.root_mean_squared_error(y, f),
    }
    if hasattr(model, "quantile"):
        found["mean_pinball_loss"] = exact.mean_pinball_loss(y, f, alpha=model.quantile)
    if isinstance(model, PoissonRegressor):
        f = np.maximum(f, 0.01 * bounds[1])
        found["mean_poisson_deviance"] = exact.mean_poisson_deviance(y, f)
        found["d2_poisson"] = exact.d2_tweedie_score(y, f, power=1)
    return found


CASES = {
    "numbers": (regressor, table, BOUNDS),
    "quantiles": (lambda: regressor(QuantileRegressor, quantile=0.8), table, BOUNDS),
    "counts": (lambda: regressor(PoissonRegressor), counted, FEW),
}


@pytest.mark.parametrize("n_records", [None, 3000])
@pytest.mark.parametrize("case", CASES)
def test_with_an_ample_budget_scores_are_those_of_scikit_learn(case, n_records):
    make, draw, bounds = CASES[case]
    model, (X, y) = make(), draw()
    found = metrics.evaluate(model, X, y, target_bounds=bounds, n_records=n_records, **AMPLE).scores()
    expected = truths(model, X, y, bounds)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=4e-3), name
        low, high = found[name].interval
        assert low - 2 * found[name].noise <= value <= high + 2 * found[name].noise
        assert found[name].population[0] <= low <= high <= found[name].population[1]


@pytest.mark.parametrize("name", NEEDED)
def test_a_score_alone_buys_only_what_it_needs_and_has_less_noise(name):
    case = "counts" if "poisson" in name else "quantiles"
    make, draw, bounds = CASES[case]
    model, (X, y) = make(), draw()
    settings = {"rho": 0.1, "target_bounds": bounds, "noise": "seeded", "random_state": 0}
    alone = getattr(metrics, name)(model, X, y, **settings)
    together = metrics.evaluate(model, X, y, **settings)
    assert alone.noise < getattr(together, name).noise
    assert alone.price == together.privacy.in_short
    json.dumps(together.to_dict(), allow_nan=False)
    assert f"{getattr(together, name).value:.3f}" in str(together)
    sign, prefix = (1.0, "") if name in ("r2", "d2_poisson") else (-1.0, "neg_")
    scorer = metrics.make_scorer(f"{prefix}{name}", **settings)
    assert scorer(model, X, y) == pytest.approx(sign * alone.value)


def test_targets_and_predictions_beyond_the_bounds_count_as_the_nearer_bound():
    model, (X, y) = regressor(), table()
    wild = np.where(np.arange(3000) % 100 == 0, 1e300, y)
    found = metrics.evaluate(model, X, wild, target_bounds=(-1.0, 1.0), **AMPLE)
    expected = np.abs(np.clip(wild, -1.0, 1.0) - np.clip(model.predict(X), -1.0, 1.0)).mean()
    assert found.mean_absolute_error.value == pytest.approx(expected, abs=1e-3)


def test_a_private_regressor_brings_its_bounds_and_its_ledger(ToyRegressor):  # noqa: F811
    X, y = table()
    ledger = Ledger(rho=2e3)
    model = ToyRegressor(rho=1.0, target_bounds=BOUNDS, feature_bounds=(-4.0, 4.0), ledger=ledger).fit(X, y)
    found = metrics.evaluate(make_pipeline(FunctionTransformer(), model), X, y, rho=1e3)
    assert found.target_bounds == BOUNDS
    assert found.r2.value == pytest.approx(exact.r2_score(y, np.clip(model.predict(X), *BOUNDS)), abs=4e-3)
    assert "the bounds of the target, -6 and 8, are public or were released" in found.privacy.text
    assert ledger.entries[-1].what == "scores"


def test_a_model_that_is_worse_than_useless_is_reported_as_minus_one():
    model, (X, y) = regressor(), table()
    model.intercept_ = 5.0
    found = metrics.evaluate(model, X, y, target_bounds=BOUNDS, **AMPLE)
    assert found.r2.value == found.r2.interval[0] == -1.0


def test_what_noise_hides_is_said_to_be_unknown():
    """Noise looks like a spread of targets in one release of 20; so in 9 of 20 once in a million times."""
    model, (X, y) = regressor(), table(20)
    found = [
        metrics.evaluate(model, X, y, target_bounds=BOUNDS, rho=1e-4, noise="seeded", random_state=seed)
        for seed in range(20)
    ]
    assert sum(each.r2.interval == (-1.0, 1.0) for each in found) > 11
    assert sum(each.mean_absolute_error.interval == (0.0, 14.0) for each in found) > 11
    for each in found:
        json.dumps(each.to_dict(), allow_nan=False)


class Moody(LinearRegression):
    """A model that rounds a record by what is around it, by less than it may."""

    def predict(self, X):
        return super().predict(X) + (1e-8 if len(X) > 1 else 0.0)


@pytest.mark.parametrize("bought", [("mean_absolute_error",), ("mean_poisson_deviance",)])
def test_a_prediction_between_two_steps_is_computed_of_its_record_alone(bought):
    model = regressor(Moody)
    model.coef_, model.intercept_, model.n_features_in_ = np.ones(1), 0.0, 1
    steps = (np.arange(2000, 2100) + 0.5) / 2**12
    line = steps if bought == ("mean_absolute_error",) else np.exp(np.log(0.01) * (1.0 - steps))
    given = {"bought": bought, "target_bounds": (0.0, 1.0), "quantile": None, "floor": 0.01}
    X, y = line[:, None], np.full(100, 0.5)
    many = marked_numbers(model, X, y, **given).columns
    alone = [marked_numbers(model, row[None], y[:1], **given).columns[0] for row in X]
    np.testing.assert_array_equal(many, alone)


BAD = {
    "no bounds": ({"target_bounds": None}, "need the public bounds of the target, target_bounds="),
    "bounds": ({"target_bounds": (2, 1)}, "target_bounds must be"),
    "texts": ({"y": ["John Smith"] * 3000}, "y has dtype"),
    "NaN": ({"y": np.full(3000, np.nan)}, "y contains NaN or inf"),
    "lengths": ({"y": np.zeros(7)}, "inconsistent numbers of samples"),
    "no targets": ({"y": None}, "Scores need the true labels"),
    "quantile": ({"score": "mean_pinball_loss"}, "needs to know which quantile is predicted"),
    "quantile too large": ({"score": "mean_pinball_loss", "quantile": 1.5}, "quantile must be at most 1"),
    "negative counts": ({"score": "mean_poisson_deviance"}, "The Poisson deviance is of counts"),
    "of labels": ({"score": "roc_auc"}, "roc_auc is no score of LinearRegression; its scores are r2, "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_before_any_charge(name):
    given, message = BAD[name]
    (X, y), ledger = table(), Ledger(rho=1.0)
    settings = {"rho": 0.1, "ledger": ledger, "target_bounds": BOUNDS, "y": y, "score": "evaluate"} | given
    score, y = settings.pop("score"), settings.pop("y")
    with pytest.raises(ValueError, match=message) as caught:
        getattr(metrics, score)(regressor(), X, y, **settings)
    assert "John Smith" not in str(caught.value)
    assert ledger.spent == 0.0


def test_a_score_of_numbers_is_refused_for_a_classifier():
    X, y = table()
    model = LogisticRegression().fit(X, y > 0.0)
    with pytest.raises(ValueError, match="r2 is no score of LogisticRegression; its scores are accuracy, "):
        metrics.r2(model, X, y > 0.0, rho=0.1, ledger=Ledger(rho=1.0))
    with pytest.raises(AttributeError, match="r2 is not available; there are: accuracy, "):
        _ = metrics.evaluate(model, X, y > 0.0, rho=0.1).r2


def test_predictions_that_are_no_numbers_are_refused_and_infinite_ones_clipped():
    class Broken(LinearRegression):
        value = np.nan

        def predict(self, X):
            return np.where(np.arange(len(X)) == 3, self.value, super().predict(X))

    (X, y), ledger, model = table(), Ledger(rho=1e4), regressor(Broken)
    with pytest.raises(ValueError, match="Broken does not give one number for each record"):
        metrics.evaluate(model, X, y, rho=0.1, ledger=ledger, target_bounds=BOUNDS)
    assert ledger.spent == 0.0
    model.value = np.inf
    found = metrics.evaluate(model, X, y, ledger=ledger, target_bounds=BOUNDS, **AMPLE)
    f = np.clip(model.predict(X), *BOUNDS)
    assert found.mean_absolute_error.value == pytest.approx(np.abs(y - f).mean(), abs=2e-3)


# -- intervals ----------------------------------------------------------------------------------------------


def hits(name, case, *, n=3000, n_records=None, wrong_by=1.0, rho=0.05):
    """Count in how many of many releases of all scores of a model the interval holds the truth."""
    make, draw, bounds = CASES[case]
    model, (X, y) = make(), draw(n)
    expected = truths(model, X, y, bounds)
    given = {"target_bounds": bounds, "quantile": getattr(model, "quantile", None), "floor": 0.01}
    marks = marked_numbers(model, X, y, tuple(expected), **given)
    bounded = marks.strategy.question().bounded(Table(marks.columns, intercept=False))
    sums, rng, found = bounded.look(), np.random.default_rng(5), 0
    sigma = Measurement(sums, bounded.sensitivity, rho).sigma
    for _ in range(REPEATS):
        noisy = sums + wrong_by * sigma * rng.standard_normal(sums.shape)
        released = Measurement(noisy, bounded.sensitivity, rho)
        estimates = Estimates.estimated(released, marks.strategy, n_records)
        evaluation = NumberEvaluation(None, estimates, marks.bought, marks.sums, *given.values())
        low, high = getattr(evaluation, name).interval
        found += low <= expected[name] <= high
    return found


@pytest.mark.parametrize("n_records", [None, 3000])
@pytest.mark.parametrize("name", NEEDED)
def test_intervals_hold_neither_too_seldom_nor_too_often(name, n_records):
    case = "counts" if "poisson" in name else "quantiles"
    found = hits(name, case, n_records=n_records)
    # for R^2 and D^2 the variance of products of noises is added, and may be a little more than there is
    assert FEWEST <= found <= (REPEATS if name in ("r2", "d2_poisson") else MOST)
    assert hits(name, case, n_records=n_records, wrong_by=1.8) < FEWEST


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("name", ["r2", "d2_poisson", "root_mean_squared_error"])
def test_intervals_hold_where_noise_is_as_large_as_what_is_measured(name, n):
    assert hits(name, "counts", n=n) >= FEWEST
