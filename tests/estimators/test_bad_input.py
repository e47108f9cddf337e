"""Bad input: one clear sentence, before anything is charged."""

import numpy as np
import pytest
from scipy import sparse

from privfit import DPLinearSVC, DPLogisticRegression, Ledger
from privfit.estimators.validation import check_finite

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

X = np.random.default_rng(0).normal(size=(50, 3))
Y = np.arange(50) % 2


def spoilt(value):
    bad = X.copy()
    bad[7, 1] = value
    return bad


CASES = [
    (
        "NaN in X",
        {},
        spoilt(np.nan),
        Y,
        "X contains NaN or inf; .* or declare the columns with schema=, which",
    ),
    ("inf in X", {}, spoilt(np.inf), Y, "X contains NaN or inf"),
    ("NaN in sparse X", {}, sparse.csr_matrix(spoilt(np.nan)), Y, "X contains NaN or inf"),
    ("NaN in y", {}, X, np.where(np.arange(50) == 3, np.nan, Y), "y contains NaN or inf"),
    ("inf in y", {}, X, np.where(np.arange(50) == 3, np.inf, Y), "y contains NaN or inf"),
    ("None in y", {}, X, np.where(np.arange(50) == 3, None, Y), "y contains missing labels"),
    ("one class", {}, X, np.full(50, "a"), r"y has only one class, .* declare them, classes="),
    ("continuous y", {}, X, X[:, 0], "Unknown label type"),
    ("unknown label", {"classes": (0, 2)}, X, Y, r"labels that are not in classes=\(0, 2\)"),
    ("codes", {"classes": ("a", "b")}, X, Y + 1, "integers stand for the declared classes in sorted order"),
    ("renumbered", {"classes": (1, 2)}, X, Y, "VotingClassifier number the labels 0 and 1 themselves"),
    ("one class declared", {"classes": (1, 1)}, X, Y, "at least two labels, all different"),
    ("mixed classes", {"classes": (1, "a")}, X, Y, "all strings, all numbers or all booleans"),
    ("text as classes", {"classes": "ab"}, X, Y, "classes must be a list of labels"),
    ("two columns in y", {}, X, np.stack([Y, Y], axis=1), "one label for each row, but has 2 columns"),
    ("dates in y", {}, X, Y.astype("datetime64[D]"), "y has dtype datetime64"),
    ("mixed y", {}, X, np.where(Y == 1, "a", np.array(0, dtype=object)), "labels of different types"),
    ("one label declared", {"classes": (1,)}, X, Y, "at least two labels"),
    ("too many classes", {"classes": range(2000)}, X, Y, "classes must name at most 1000 labels"),
    ("epsilon zero", {"epsilon": 0.0}, X, Y, "epsilon must be a positive finite number, got 0.0"),
    ("epsilon negative", {"epsilon": -1.0}, X, Y, "epsilon must be a positive finite number"),
    ("epsilon NaN", {"epsilon": np.nan}, X, Y, "epsilon must be a positive finite number"),
    ("epsilon text", {"epsilon": "1"}, X, Y, "epsilon must be a positive finite number"),
    ("delta zero", {"delta": 0.0}, X, Y, r"needs a delta between 1e-15 and 0.5; .* objective-perturbation"),
    ("delta one", {"delta": 1.0}, X, Y, "needs a delta between 1e-15 and 0.5"),
    ("delta negative", {"delta": -1e-6}, X, Y, "delta must be a non-negative finite number"),
    ("delta text", {"delta": "1e-6"}, X, Y, "delta must be a non-negative finite number, got '1e-6'"),
    ("delta none", {"delta": None}, X, Y, "delta must be a non-negative finite number"),
    ("epsilon and rho", {"epsilon": 1.0, "rho": 0.5}, X, Y, "two ways to state one privacy budget"),
    ("ledger number", {"ledger": 3.0}, X, Y, "ledger must be a privfit.Ledger or None, not float"),
    ("intercept text", {"fit_intercept": "yes"}, X, Y, "fit_intercept must be True or False, got 'yes'"),
    ("seed text", {"random_state": "0"}, X, Y, "random_state must be None, a non-negative integer"),
    ("seed negative", {"random_state": -1}, X, Y, "random_state must be None, a non-negative integer"),
    ("seedless", {"noise": "seeded"}, X, Y, "noise='seeded' needs a seed"),
    ("unknown noise", {"noise": "none"}, X, Y, "noise must be 'secure' or 'seeded'"),
    ("n_records fraction", {"n_records": 49.5}, X, Y, "n_records must be a positive whole number"),
    ("n_records true", {"n_records": True}, X, Y, "n_records must be a positive whole number"),
    ("verbose text", {"verbose": "yes"}, X, Y, "verbose must be a non-negative finite number"),
    ("alpha huge", {"alpha": 1e17}, X, Y, r"alpha must be at most 1e\+12"),
    ("alpha beyond floats", {"alpha": 10**400}, X, Y, "alpha must be a non-negative finite number, got 1000"),
    ("n_records huge", {"n_records": 10**300}, X, Y, "n_records must be a positive whole number of at most"),
    ("bounds huge", {"feature_bounds": (-1e120, 1e120)}, X, Y, r"at most 1e\+60 in size; use other units"),
    ("bounds tiny", {"feature_bounds": (0.0, 1e-101)}, X, Y, "at least 1e-60 apart"),
    ("bounds beyond floats", {"feature_bounds": (0, 10**400)}, X, Y, r"feature_bounds must be \(low, high\)"),
    ("records as epsilon", {"epsilon": X}, X, Y, "epsilon must be a positive finite number, got a ndarray"),
    ("records as noise", {"noise": X}, X, Y, "noise must be 'secure' or 'seeded', got a ndarray"),
    ("labels as classes", {"classes": Y}, X, Y, "two labels, all different, .* got 0, 1, 0, .* and more"),
    ("lists as classes", {"classes": ([1], [2])}, X, Y, "got a list, a list"),
    ("classes that are one", {"classes": ("a\0", "a")}, X, Y, "two labels, all different"),
    (
        "a release on a ledger without delta",
        {
            "ledger": Ledger(epsilon=9.0, delta=1e-5, promise="concentrated"),
            "solver": "objective-perturbation",
        },
        X,
        Y,
        "uses up a delta, and the ledger has none to spend; solvers that it pays for: adaptive, dpagd, ",
    ),
    (
        "a noisy choice on a Gaussian ledger",
        {"ledger": Ledger(epsilon=9.0), "solver": "dpagd"},
        X,
        Y,
        "Gaussian noise only; solvers that it pays for: adaptive, gradient-descent, newton",
    ),
    ("rho zero", {"rho": 0.0}, X, Y, "rho must be a positive finite number"),
    ("rho too large", {"rho": 1e9}, X, Y, "rho must lie between"),
    ("alpha negative", {"alpha": -1.0}, X, Y, "alpha must be a non-negative finite number"),
    ("n_records zero", {"n_records": 0}, X, Y, "n_records must be a positive whole number"),
    ("n_records negative", {"n_records": -5}, X, Y, "n_records must be a positive whole number"),
    ("bounds reversed", {"feature_bounds": (1.0, 0.0)}, X, Y, "low < high in every column"),
    ("bounds wrong length", {"feature_bounds": ([0, 0], 1.0)}, X, Y, "one number for each of the 3 columns"),
    ("bounds not a pair", {"feature_bounds": 1.0}, X, Y, r"feature_bounds must be \(low, high\)"),
    (
        "sparse bounds",
        {"feature_bounds": (1.0, 2.0)},
        sparse.csr_matrix(X),
        Y,
        "must include 0 in every column",
    ),
    ("empty X", {}, X[:0], Y[:0], "0 sample"),
    ("no columns", {}, X[:, :0], Y, "0 feature"),
    ("lengths differ", {}, X, Y[:-1], "inconsistent numbers of samples"),
    (
        "unknown solver",
        {"solver": "magic"},
        X,
        Y,
        r"solver must be one of \['adaptive', 'approximate-minima-perturbation', 'dpagd',",
    ),
    ("solver class", {"solver": DPLinearSVC}, X, Y, "solver must be a name or a solver object"),
]


@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.parametrize(("params", "X", "y", "message"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_one_clear_sentence_before_any_charge(model, params, X, y, message):
    ledger = Ledger(rho=2000.0)
    with pytest.raises(ValueError, match=message) as caught:
        model(**{"ledger": ledger} | params).fit(X, y)
    assert ledger.spent == 0.0
    assert ledger.entries == ()
    assert len(str(caught.value).splitlines()) == 1


def test_messages_do_not_quote_the_data():
    with pytest.raises(ValueError, match="not in classes") as caught:
        DPLogisticRegression(classes=("well", "unwell")).fit(X, np.array(["well", "hiv"])[Y])
    assert "hiv" not in str(caught.value)
    with pytest.raises(ValueError, match="one label for each row") as caught:
        DPLogisticRegression().fit(X, Y[:-1])
    assert "50" not in str(caught.value)
    assert "49" not in str(caught.value)


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "predict_log_proba"])
def test_prediction_wants_the_features_of_the_fit(method):
    model = DPLogisticRegression(noise="seeded", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but DPLogisticRegression is expecting 3"):
        getattr(model, method)(X[:, :2])
    with pytest.raises(ValueError, match="X contains NaN or inf"):
        getattr(model, method)(spoilt(np.nan))


@pytest.mark.parametrize("value", [1e300, 1e-300, 0.0])
def test_extreme_but_finite_features_train_to_a_finite_model(value):
    for model in (DPLogisticRegression, DPLinearSVC):
        fitted = model(noise="seeded", random_state=0).fit(spoilt(value), Y)
        assert np.isfinite(fitted.coef_).all()


def test_one_record_and_constant_columns_are_ordinary_tables():
    DPLogisticRegression(noise="seeded", random_state=0, classes=(0, 1)).fit(X[:1], Y[:1])
    DPLogisticRegression(noise="seeded", random_state=0).fit(np.ones((50, 3)), Y)


def test_finite_values_whose_sum_overflows_are_finite():
    large = np.full((4, 2), 3e38, dtype=np.float32)
    check_finite("X", large)
    with pytest.raises(ValueError, match="X contains NaN or inf"):
        check_finite("X", np.append(large, [[np.inf, -np.inf]], axis=0))
