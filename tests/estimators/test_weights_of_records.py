"""Weights of records and of classes: what they do to a model, what they cost, and what is refused."""

import json

import numpy as np
import pytest
import sklearn
from replay import noise_from
from scripted import ScriptedNoise
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from privfit import (
    DPLinearSVC,
    DPLogisticRegression,
    Ledger,
    PrivacyLeakError,
    PrivacyLeakWarning,
    load,
    strict,
)
from privfit.estimators.weighting import STANDS_OUT, Weighting
from privfit.solvers import DPAGD, SOLVERS, GradientDescent, ModernDPAGD

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
]

rng = np.random.default_rng(0)
N = 4000
X = rng.normal(size=(N, 3))
# two groups that are unlike: what the model says depends on how much each of them weighs
GROUP = rng.random(N) < 0.5
MARGIN = np.where(GROUP, X @ [1.0, -0.5, 0.5] + 0.5, X @ [-0.3, 0.8, -0.5] - 1.0)
Y = (MARGIN + rng.logistic(size=N) > 0).astype(int)
WEIGHT = np.where(GROUP, rng.uniform(1.5, 3.0, N), rng.uniform(0.1, 0.5, N))


class Silent(ScriptedNoise):
    """No noise at all: what is released is what was computed."""

    def __init__(self):
        super().__init__(size=0.0)

    def radial(self, size, scale):
        return np.zeros(size)


def fit(x=X, y=Y, sample_weight=None, *, epsilon=50.0, kind=DPLogisticRegression, **settings):
    with noise_from(Silent()):
        return kind(epsilon, classes=(0, 1), **settings).fit(x, y, sample_weight)


def weights(model):
    return np.append(model.coef_, model.intercept_)


def reference(sample_weight=None, **settings):
    return weights(LogisticRegression(C=np.inf, tol=1e-8, **settings).fit(X, Y, sample_weight))


# -- without noise, the weighted model is scikit-learn's --------------------------------------------------


@pytest.mark.parametrize("solver", ["nonprivate", "adaptive", "newton", GradientDescent(clip=20.0)])
def test_without_noise_the_model_is_scikit_learns(solver):
    expected, unlike = reference(WEIGHT), reference()
    assert np.abs(expected - unlike).max() > 0.3  # the weights matter
    found = weights(fit(sample_weight=WEIGHT, solver=solver, max_weight=3.0))
    np.testing.assert_allclose(found, expected, atol=0.005)


@pytest.mark.parametrize("solver", [DPAGD(C_grad=20.0, C_obj=20.0, splits=6.0), ModernDPAGD(C_grad=20.0)])
def test_line_searches_come_nearer_to_the_weighted_optimum_than_to_the_other(solver):
    found = weights(fit(sample_weight=WEIGHT, solver=solver, max_weight=3.0))
    assert np.abs(found - reference(WEIGHT)).max() < 0.5 * np.abs(found - reference()).max()


def test_the_walk_divides_by_the_sum_of_weights_too():
    """At a budget that buys no curvature; divided by the number of records its steps would be a third."""
    model = fit(sample_weight=WEIGHT, max_weight=3.0, epsilon=1.0)
    assert "Newton" not in str(model.privacy_)
    np.testing.assert_allclose(weights(model), reference(WEIGHT), atol=0.05)


def test_a_regulariser_is_as_strong_as_on_records_that_are_repeated():
    repeats = np.where(GROUP, 3, 1)
    once = fit(sample_weight=repeats, max_weight=3, alpha=0.1, solver="nonprivate")
    often = fit(np.repeat(X, repeats, axis=0), np.repeat(Y, repeats), alpha=0.1, solver="nonprivate")
    np.testing.assert_allclose(weights(once), weights(often), atol=1e-4)


@pytest.mark.parametrize("solver", ["adaptive", "newton", "gradient-descent"])
def test_equal_weights_cost_next_to_nothing(solver):
    """The same scripted noise with and without weights; weights of `max_weight` are weights of 1."""

    def loss(sample_weight, seed):
        noise = ScriptedNoise(seed)
        noise.radial = None
        settings = {"solver": solver, "classes": (0, 1), "max_weight": 7.0}
        with noise_from(noise):
            model = DPLogisticRegression(1.0, **settings).fit(X, Y, sample_weight)
        return -np.mean(model.predict_log_proba(X)[np.arange(N), Y])

    best = -np.mean(fit(solver="nonprivate").predict_log_proba(X)[np.arange(N), Y])
    excess, unweighted = (
        np.mean([loss(w, seed) - best for seed in range(12)]) for w in (np.full(N, 7.0), None)
    )
    assert excess < 1.5 * unweighted + 1e-3
    assert unweighted < 0.02


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
def test_only_the_ratio_of_weights_to_their_bound_matters(kind):
    once = fit(sample_weight=WEIGHT, max_weight=3.0, kind=kind)
    often = fit(sample_weight=1024.0 * WEIGHT, max_weight=3072.0, kind=kind)
    np.testing.assert_array_equal(weights(once), weights(often))


# -- strange weights -------------------------------------------------------------------------------------


def test_weights_beyond_the_bound_count_as_the_bound_and_those_that_are_none_as_zero():
    strange, tame = WEIGHT.copy(), WEIGHT.copy()
    strange[:5], tame[:5] = [np.nan, -1.0, np.inf, 1e300, -np.inf], [0.0, 0.0, 3.0, 3.0, 0.0]
    before = strange.copy()
    np.testing.assert_array_equal(
        weights(fit(sample_weight=strange, max_weight=3.0)), weights(fit(sample_weight=tame, max_weight=3.0))
    )
    np.testing.assert_array_equal(strange, before)


@pytest.mark.parametrize("strange", [np.zeros(N), np.full(N, -1.0), np.full(N, np.nan), np.full(N, 1e-300)])
def test_weights_that_vanish_give_a_model_all_the_same(strange):
    """Whether all weights vanish may be decided by one record, so it is not refused."""
    assert np.isfinite(weights(fit(sample_weight=strange, max_weight=3.0, epsilon=1.0))).all()


def test_what_is_no_column_of_numbers_is_refused_before_a_charge():
    ledger = Ledger(rho=1.0)
    for wrong, message in (
        (np.ones(N - 1), "X and sample_weight have inconsistent numbers of samples"),
        (np.ones((N, 2)), "sample_weight must be an array or a column"),
        (["a"] * N, "weights are numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(sample_weight=wrong, max_weight=3.0, ledger=ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"max_weight": 0.0}, "max_weight must be a positive finite number"),
        ({"max_weight": np.inf}, "max_weight must be a positive finite number"),
        ({"max_weight": 1e200}, "max_weight must be at most"),
        ({"max_weight": 2.0, "mean_weight": 3.0}, "mean_weight must be at most max_weight"),
        ({"weight_shrinkage": 1.5}, "weight_shrinkage must be at most 1"),
        ({"weight_shrinkage": -0.5}, "weight_shrinkage must be a non-negative finite number"),
        ({"class_weight": "even"}, "class_weight must be {label: weight} or 'balanced'"),
        ({"class_weight": {0: -1.0}}, "Each weight of class_weight must be a non-negative finite number"),
        ({"class_weight": {2: 1.0}}, "class_weight names 2, which is none of the classes"),
        ({"class_weight": {0: 0, 1: 0}}, "class_weight must be above 0 for at least one class"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_a_charge(setting, message):
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match=message):
        fit(sample_weight=WEIGHT, ledger=ledger, **({"max_weight": 3.0} | setting))
    assert ledger.entries == ()


# -- what the promise does not cover -----------------------------------------------------------------------


def test_a_largest_weight_that_is_not_declared_is_read_off_the_data_aloud():
    with pytest.warns(PrivacyLeakWarning, match="The largest weight was taken from the data"):
        model = fit(sample_weight=0.73911 * WEIGHT)
    largest = 0.73911 * WEIGHT.max()
    declared = fit(sample_weight=0.73911 * WEIGHT, max_weight=largest)
    np.testing.assert_array_equal(weights(model), weights(declared))
    said = str(model.privacy_)
    assert "the largest weight is public; it was read off the data, not declared" in said
    assert f"{largest:.4g}" not in said


def test_strict_mode_wants_it_declared():
    ledger = Ledger(rho=1.0)
    with strict(), pytest.raises(PrivacyLeakError, match="declare it with max_weight="):
        DPLogisticRegression(classes=(0, 1), ledger=ledger).fit(X, Y, sample_weight=WEIGHT)
    assert ledger.entries == ()


def test_the_statement_says_what_weights_rest_on():
    said = str(fit(sample_weight=WEIGHT, max_weight=3.0, weight_shrinkage=0.5).privacy_)
    for sentence in (
        "the largest weight, 3, is public, and a weight above it counts as that",
        "weights that were adjusted to the records of others, by raking for example, are not covered",
        "weights are moved 0.5 of the way to a bought mean",
        "sum of weights",
    ):
        assert sentence in said
    assert "weight" not in str(fit(max_weight=3.0).privacy_).split("It rests on")[1]


# -- who takes weights --------------------------------------------------------------------------------------

TAKES = {"adaptive", "dpagd", "dpagd-modern", "gradient-descent", "newton"}


@pytest.mark.parametrize("solver", sorted({s for s in SOLVERS if SOLVERS[s].private} - TAKES))
@pytest.mark.parametrize(
    "weighted", [{"sample_weight": WEIGHT, "max_weight": 3.0}, {"class_weight": "balanced"}]
)
def test_other_solvers_refuse_weights_before_a_charge(solver, weighted):
    ledger = Ledger(rho=10.0, delta=1e-5)
    with pytest.raises(ValueError, match=f"The solver '{solver}' needs .*records without weights"):
        fit(solver=solver, ledger=ledger, epsilon=1.0, **weighted)
    assert ledger.entries == ()


# -- shrinking ----------------------------------------------------------------------------------------------


def test_weights_are_moved_towards_a_declared_mean():
    shrunk = 1.0 + 0.25 * (WEIGHT - 1.0)
    expected = fit(sample_weight=shrunk, max_weight=1.5)
    found = fit(sample_weight=WEIGHT, max_weight=3.0, weight_shrinkage=0.75, mean_weight=1.0)
    np.testing.assert_allclose(weights(found), weights(expected), atol=1e-3)


def test_a_mean_that_is_not_declared_is_bought():
    declared = fit(sample_weight=WEIGHT, max_weight=3.0, weight_shrinkage=0.75, mean_weight=WEIGHT.mean())
    bought = fit(sample_weight=WEIGHT, max_weight=3.0, weight_shrinkage=0.75)
    np.testing.assert_allclose(weights(bought), weights(declared), atol=1e-3)
    assert "sum of weights" in [entry.what for entry in bought.ledger_.entries[:2]]
    assert [entry.what for entry in declared.ledger_.entries].count("sum of weights") == 1


@pytest.mark.parametrize("mean", [None, 1.0])
def test_weights_that_are_shrunk_to_nothing_are_those_of_an_unweighted_fit(mean):
    found = fit(sample_weight=WEIGHT, max_weight=3.0, weight_shrinkage=1.0, mean_weight=mean)
    np.testing.assert_allclose(weights(found), weights(fit()), atol=1e-3)


# -- classes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample_weight", [None, WEIGHT])
def test_weights_of_classes_are_those_of_scikit_learn(sample_weight):
    declared = {0: 1.0, 1: 6.0}
    found = weights(fit(sample_weight=sample_weight, class_weight=declared, max_weight=3.0))
    np.testing.assert_allclose(found, reference(sample_weight, class_weight=declared), atol=0.01)


def test_a_class_that_is_not_named_weighs_one():
    np.testing.assert_array_equal(
        weights(fit(class_weight={1: 4.0})), weights(fit(class_weight={0: 1.0, 1: 4.0}))
    )


def test_balanced_classes_are_those_of_scikit_learn_and_are_paid_for():
    found = fit(class_weight="balanced")
    np.testing.assert_allclose(weights(found), reference(class_weight="balanced"), atol=0.01)
    entry = found.ledger_.entries[0]
    assert (entry.what, entry.rho) == ("classes", pytest.approx(0.01 * found.privacy_.rho))
    assert "classes, in their order, were given the bought weights" in str(found.privacy_)


def test_a_fit_without_privacy_balances_and_shrinks_by_exact_numbers():
    """It buys nothing, so what it would be given is noise alone."""
    balanced = DPLogisticRegression(classes=(0, 1), class_weight="balanced", solver="nonprivate").fit(X, Y)
    np.testing.assert_allclose(weights(balanced), reference(class_weight="balanced"), atol=1e-3)
    shrinking = {"max_weight": 3.0, "weight_shrinkage": 0.5, "solver": "nonprivate"}
    found = DPLogisticRegression(classes=(0, 1), **shrinking).fit(X, Y, WEIGHT)
    expected = reference(0.5 * WEIGHT + 0.5 * WEIGHT.mean())
    np.testing.assert_allclose(weights(found), expected, atol=1e-3)
    one_class = DPLogisticRegression(classes=(0, 1), class_weight="balanced", solver="majority")
    assert np.isfinite(weights(one_class.fit(X, np.zeros(N, dtype=int)))).all()


def test_a_class_that_nobody_has_is_balanced_by_its_noise_not_by_zero():
    """4 standard deviations count as its size, so nobody else's weight vanishes."""
    found = fit(y=np.zeros(N, dtype=int), class_weight="balanced", epsilon=1.0)
    sigma = 1.0 / np.sqrt(2.0 * found.ledger_.entries[0].rho)
    noted = next(note for note in found.privacy_.notes if "bought weights" in note)
    assert noted.endswith(f"{STANDS_OUT * sigma / N:.3g}, 1")


def test_labels_that_a_meta_estimator_numbered_keep_their_weights():
    weighting = Weighting(by_class={"no": 1.0, "yes": 4.0})
    numbered = type("Encoder", (), {"classes": np.array([0, 1])})
    assert weighting.of(None, numbered, ("yes", "no")).factors.tolist() == [0.25, 1.0]


# -- scikit-learn's ways of passing weights -------------------------------------------------


def model(**settings):
    return DPLogisticRegression(50.0, classes=(0, 1), max_weight=3.0, **settings)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_pipeline_passes_weights_by_name():
    with noise_from(Silent()):
        pipeline = make_pipeline(FunctionTransformer(), model())
        pipeline.fit(X, Y, dplogisticregression__sample_weight=WEIGHT)
    np.testing.assert_array_equal(weights(pipeline[-1]), weights(fit(sample_weight=WEIGHT, max_weight=3.0)))


@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_weights_that_are_requested():
    with noise_from(Silent()):
        pipeline = make_pipeline(FunctionTransformer(), model().set_fit_request(sample_weight=True))
        pipeline.fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(weights(pipeline[-1]), weights(fit(sample_weight=WEIGHT, max_weight=3.0)))


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_cross_validation_passes_weights(routed):
    heard = []

    class Listening(DPLogisticRegression):
        def _fit(self, records):
            heard.append(records.sample_weight)
            return super()._fit(records)

    listening = Listening(50.0, classes=(0, 1), max_weight=3.0)
    with sklearn.config_context(enable_metadata_routing=routed):
        if routed:
            listening.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_val_score(listening, X, Y, cv=2, params={"sample_weight": WEIGHT})
    assert len(scores) == len(heard) == 2
    assert sum(map(len, heard)) == N
    assert sorted(np.concatenate(heard)) == sorted(WEIGHT)


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_a_grid_search_passes_weights():
    search = GridSearchCV(model(), {"alpha": [0.0, 10.0]}, cv=2).fit(X, Y, sample_weight=WEIGHT)
    assert "records have weights" in str(search.best_estimator_.privacy_)


@pytest.mark.filterwarnings("ignore:Beware:privfit.PrivacyLeakWarning")
def test_how_often_an_ensemble_drew_a_record_is_no_weight_that_has_to_be_declared():
    """Bagging passes it as sample_weight: without repetition 0 or 1, as many as it draws."""
    bagging = BaggingClassifier(
        DPLogisticRegression(50.0, classes=(0, 1)), n_estimators=2, bootstrap=False, max_samples=0.5
    ).fit(X, Y)
    for member in bagging.estimators_:
        assert "the largest weight, 1, is public" in str(member.privacy_)


def test_weights_by_boosting_depend_on_everybody():
    model = DPLogisticRegression(20.0, classes=(0, 1), max_weight=1 / N)  # boosting starts with equal weights
    with pytest.warns(PrivacyLeakWarning) as warned:
        boosted = AdaBoostClassifier(model, n_estimators=1).fit(X, Y)
    assert any("Boosting weighs each record by" in str(warning.message) for warning in warned)
    assert "WHICH IS NOT COVERED" in str(boosted.estimators_[0].privacy_)
    with strict(), pytest.raises(PrivacyLeakError, match="Boosting weighs"):
        AdaBoostClassifier(model.set_params(ledger=Ledger(rho=1.0)), n_estimators=1).fit(X, Y)


def test_the_exact_score_weighs_records():
    fitted = fit()
    right = fitted.predict(X) == Y
    assert fitted.score(X, Y, sample_weight=WEIGHT) == pytest.approx(np.average(right, weights=WEIGHT))


# -- what is published --------------------------------------------------------------------------------------


def test_the_model_file_and_the_page_say_that_records_were_weighted(tmp_path):
    model = fit(sample_weight=WEIGHT, max_weight=3.0, weight_shrinkage=0.5, class_weight={1: 4.0})
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    assert written["weighting"] == {"max": 3.0, "shrinkage": 0.5, "mean": None, "classes": [0.25, 1.0]}
    loaded = load(tmp_path / "model.json")
    assert loaded.weighting_ == model.weighting_
    assert loaded.privacy_.assumptions == model.privacy_.assumptions
    loaded.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<dt>records</dt><dd>weighted</dd>" in page
    assert "by raking for example, are not covered" in page
    assert "weighted</dd>" not in model_page(fit(), tmp_path)


def model_page(model, folder):
    model.report(folder / "plain.html")
    model.save(folder / "plain.json")
    assert "weighting" not in json.loads((folder / "plain.json").read_text())
    return (folder / "plain.html").read_text()


def test_a_largest_weight_that_was_read_off_the_data_is_not_published(tmp_path):
    with pytest.warns(PrivacyLeakWarning):
        model = fit(sample_weight=WEIGHT, class_weight="balanced")
    assert model.weighting_ == {"max": None, "shrinkage": 0.0, "mean": None, "classes": "balanced"}
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").weighting_ == model.weighting_
