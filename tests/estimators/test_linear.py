import copy
import math
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import privfit
from privfit import BudgetExceeded, DPLinearSVC, DPLogisticRegression, Ledger
from privfit.accounting import Direct, Gaussian, rho_from_epsilon
from privfit.questions import Count
from privfit.solvers import DPAGD

MODELS = [DPLogisticRegression, DPLinearSVC]

# small tables with nothing declared: what that costs is not the subject here
pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    return X, (X @ [2.0, -1.0, 0.5, 0.0] + 0.5 + 0.5 * rng.normal(size=3000) > 0).astype(int)


@pytest.mark.parametrize("model", MODELS)
def test_learns_and_has_what_scikit_learn_users_expect(model, table):
    X, y = table
    fitted = model(epsilon=4.0, noise="seeded", random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.85
    assert fitted.coef_.shape == (1, 4)
    assert fitted.intercept_.shape == (1,)
    assert fitted.n_features_in_ == 4
    assert fitted.n_iter_ == len(fitted.trace_) > 0
    np.testing.assert_array_equal(fitted.classes_, [0, 1])
    known = np.clip(X, *fitted.feature_bounds_)
    np.testing.assert_allclose(fitted.decision_function(X), known @ fitted.coef_[0] + fitted.intercept_[0])
    np.testing.assert_array_equal(fitted.predict(X), (fitted.decision_function(X) > 0).astype(int))


def test_probabilities_are_the_logistic_function_of_the_scores(table):
    X, y = table
    fitted = DPLogisticRegression(epsilon=4.0, noise="seeded", random_state=0).fit(X, y)
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-fitted.decision_function(X))))
    assert not hasattr(DPLinearSVC(), "predict_proba")


def test_logarithms_of_probabilities_are_right_where_the_probabilities_round_to_0_and_1(table):
    X, y = table
    fitted = DPLogisticRegression(epsilon=4.0, noise="seeded", random_state=0).fit(X, y)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X), atol=1e-15)
    fitted.coef_, fitted.intercept_ = np.zeros((1, X.shape[1])), np.array([800.0])
    np.testing.assert_allclose(fitted.predict_log_proba(X[:1]), [[-800.0, 0.0]])
    fitted.intercept_ = np.array([-40.0])
    np.testing.assert_allclose(fitted.predict_log_proba(X[:1]), [[-np.exp(-40.0), -40.0]], rtol=1e-12)
    assert not hasattr(DPLinearSVC(), "predict_log_proba")


def test_spends_what_was_promised_and_no_more(table):
    fitted = DPLogisticRegression(epsilon=0.7, delta=1e-7, noise="seeded", random_state=0).fit(*table)
    assert fitted.privacy_.rho == fitted.ledger_.rho == Gaussian.of(epsilon=0.7, delta=1e-7).rho
    assert 0.95 * fitted.ledger_.rho < fitted.ledger_.spent <= fitted.ledger_.rho
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (0.7, 1e-7)


@pytest.mark.parametrize("solver", ["adaptive", "dpagd", "dpagd-modern", "sgd-ma"])
def test_what_is_stated_was_fixed_before_the_first_look(solver, table):
    """A filter proves the total it was given, not what a run happened to spend of it."""
    fits = [
        DPLogisticRegression(2.0, solver=solver, noise="seeded", random_state=seed).fit(*table)
        for seed in (0, 1)
    ]
    assert [fit.privacy_.epsilon for fit in fits] == [2.0, 2.0]
    assert fits[0].privacy_.rho == fits[1].privacy_.rho == fits[0].ledger_.rho
    if solver == "dpagd-modern":
        assert fits[0].ledger_.spent != fits[1].ledger_.spent


@pytest.mark.parametrize(
    ("solver", "conversion"), [("dpagd", "classic"), (DPAGD(conversion="tight"), "tight")]
)
def test_a_solver_chooses_the_conversion(solver, conversion, table):
    fitted = DPLogisticRegression(0.7, solver=solver, noise="seeded", random_state=0).fit(*table)
    assert fitted.ledger_.rho == rho_from_epsilon(0.7, 1e-6, conversion)
    assert fitted.privacy_.epsilon <= 0.7


def test_rho_replaces_epsilon(table):
    fitted = DPLogisticRegression(rho=0.01, noise="seeded", random_state=0).fit(*table)
    assert fitted.ledger_.rho == fitted.privacy_.rho == 0.01
    assert fitted.privacy_.epsilon == Gaussian.of(rho=0.01, delta=1e-6).epsilon


def test_trace_holds_released_facts_only(table):
    fitted = DPLogisticRegression(epsilon=1.0, noise="seeded", random_state=0).fit(*table)
    assert set(vars(fitted.trace_[0])) == {"iteration", "step", "rho_gradient", "rho_selection", "sigma"}
    spent = sum(step.rho_gradient + step.rho_selection for step in fitted.trace_)
    assert spent <= fitted.ledger_.spent * (1 + 1e-12)


def test_nothing_unreleased_is_kept_or_shown(table, capsys, caplog):
    """Neither the fitted object nor its output may hold anything with one entry per record."""
    X, y = table
    with caplog.at_level("DEBUG", logger="privfit"):
        fitted = DPLogisticRegression(epsilon=1.0, noise="seeded", random_state=0, n_records=3000).fit(X, y)
    for name, value in vars(fitted).items():
        assert np.size(value) < 3000, name
    assert len(pickle.dumps(fitted)) < 200_000
    assert not any(isinstance(v, (privfit.curator.Curator,)) for v in vars(fitted).values())
    out = capsys.readouterr()
    assert out.out == out.err == ""
    assert not caplog.records


@pytest.mark.parametrize("model", MODELS)
def test_without_intercept(model, table):
    X, y = table
    fitted = model(epsilon=4.0, fit_intercept=False, noise="seeded", random_state=0).fit(X, y)
    assert fitted.coef_.shape == (1, 4)
    np.testing.assert_array_equal(fitted.intercept_, [0.0])


# -- kinds of input


@pytest.mark.parametrize(
    "convert", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, np.asfortranarray]
)
def test_layout_does_not_change_the_model(convert, table):
    X, y = table
    dense = DPLogisticRegression(noise="seeded", random_state=3).fit(X, y)
    other = DPLogisticRegression(noise="seeded", random_state=3).fit(convert(X), y)
    # sparse tables round ones more coarsely, for which their noise is larger by at most 1e-4
    atol = 1e-4 * np.abs(dense.coef_).max() if sparse.issparse(convert(X)) else 1e-8
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-6, atol=atol)
    np.testing.assert_array_equal(other.predict(convert(X)), dense.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_give_feature_names(frame, table):
    X, y = table
    named = frame(dict(zip("abcd", X.T, strict=True)))
    fitted = DPLogisticRegression(noise="seeded", random_state=3).fit(named, y)
    np.testing.assert_array_equal(fitted.feature_names_in_, list("abcd"))
    np.testing.assert_allclose(
        fitted.coef_, DPLogisticRegression(noise="seeded", random_state=3).fit(X, y).coef_, rtol=1e-6
    )
    assert fitted.predict(named).shape == (3000,)


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object), np.array([3, 7])]
)
def test_other_labels_want_declaring(labels, table):
    X, y = table
    with pytest.warns(privfit.PrivacyLeakWarning, match=r"set of labels .* classes=\(one, other, ...\)"):
        guessed = DPLogisticRegression(noise="seeded", random_state=3).fit(X, labels[y])
    with warnings.catch_warnings():
        warnings.simplefilter("error", privfit.PrivacyLeakWarning)
        declared = DPLogisticRegression(noise="seeded", random_state=3, classes=tuple(labels)).fit(
            X, labels[y]
        )
    np.testing.assert_array_equal(guessed.predict(X), declared.predict(X))
    assert set(declared.predict(X)) <= set(labels)
    assert any("read off the data" in a for a in guessed.privacy_.assumptions)
    assert not any("read off the data" in a for a in declared.privacy_.assumptions)


def test_the_statement_says_what_the_budget_bought_and_what_was_decided(table):
    statement = DPLogisticRegression(epsilon=4.0, noise="seeded", random_state=0).fit(*table).privacy_
    bought = {"number of records", "column scales", "norms", "moments", "targets", "gradient"}
    assert set(statement.spending) == bought
    assert sum(statement.spending.values()) == pytest.approx(statement.rho)
    assert "privacy budget bought: number of records 0.2%" in statement.text
    assert re.search(r"; the fit took (the planned \d+|\d+ of its \d+ planned) steps", statement.text)


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (0.0, 1.0)])
def test_conventional_labels_need_no_declaration(labels, table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error", privfit.PrivacyLeakWarning)
        fitted = DPLogisticRegression(noise="seeded", random_state=3).fit(X, np.array(labels)[y])
    assert fitted.score(X, np.array(labels)[y]) > 0.7


def test_strict_mode_refuses_before_anything_is_charged(table, monkeypatch):
    X, y = table
    ledger = Ledger(rho=1.0)
    with privfit.strict(), pytest.raises(privfit.PrivacyLeakError, match="set of labels"):
        DPLogisticRegression(ledger=ledger).fit(X, np.array(["a", "b"])[y])
    monkeypatch.setenv("PRIVFIT_STRICT", "1")
    with pytest.raises(privfit.PrivacyLeakError, match="set of labels"):
        DPLogisticRegression(ledger=ledger).fit(X, np.array(["a", "b"])[y])
    with privfit.strict(False), pytest.warns(privfit.PrivacyLeakWarning):
        DPLogisticRegression(rho=0.1, ledger=ledger).fit(X, np.array(["a", "b"])[y])
    assert 0 < ledger.spent <= 0.1


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_features_are_clipped_to_declared_bounds(convert, table):
    X, y = table
    bounds = (np.array([-1.0, -2.0, 0.0, -0.5]), 0.5)
    model = DPLogisticRegression(noise="seeded", random_state=3, feature_bounds=bounds)
    clipped = clone(model).fit(np.clip(X, *bounds), y)
    declared = clone(model).fit(convert(X), y)
    # sparse tables round ones more coarsely, for which their noise is larger by at most 1e-4
    rtol = 1e-4 if sparse.issparse(convert(X)) else 1e-6
    np.testing.assert_allclose(declared.coef_, clipped.coef_, rtol=rtol)
    np.testing.assert_allclose(
        declared.decision_function(convert(X)),
        clipped.decision_function(np.clip(X, *bounds)),
        rtol=rtol,
        atol=0.01 * rtol,
    )
    assert any("bounds" in a for a in declared.privacy_.assumptions)


# -- noise


def test_unseeded_fits_differ_and_seeded_fits_repeat(table):
    a, b = (DPLogisticRegression().fit(*table).coef_ for _ in range(2))
    assert not np.array_equal(a, b)
    a, b = (DPLogisticRegression(noise="seeded", random_state=8).fit(*table).coef_ for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_refits_with_one_generator_draw_fresh_noise(table):
    model = DPLogisticRegression(noise="seeded", random_state=np.random.default_rng(0))
    assert not np.array_equal(model.fit(*table).coef_, model.fit(*table).coef_)


def test_the_statement_says_in_plain_words_what_was_promised(table):
    secure = DPLogisticRegression(epsilon=1.0).fit(*table).privacy_
    assert secure.relation == "add or remove one record"
    assert "differentially private" in secure.text
    assert "adding or removing one record" in secure.text
    assert "SEEDED" not in secure.text
    seeded = (
        DPLogisticRegression(epsilon=1.0, noise="seeded", random_state=0, n_records=3000).fit(*table).privacy_
    )
    assert "SEEDED NOISE, FOR RESEARCH ONLY" in seeded.text
    assert "3,000" in str(seeded)


def test_the_statement_never_rounds_the_promise_down(table):
    statement = DPLogisticRegression(epsilon=1.0, noise="seeded", random_state=0).fit(*table).privacy_
    printed = float(statement.text.split("(")[1].split(",")[0])
    assert statement.epsilon <= printed <= statement.epsilon * 1.002


# -- references without privacy


def test_nonprivate_reaches_scikit_learns_optimum(table):
    X, y = table
    ours = DPLogisticRegression(solver="nonprivate", alpha=1e-3, fit_intercept=False).fit(X, y)
    theirs = LogisticRegression(C=1 / (1e-3 * 3000), fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)
    assert math.isinf(ours.privacy_.epsilon)
    assert "promises no privacy" in ours.privacy_.text
    assert ours.ledger_ is None


@pytest.mark.parametrize("model", MODELS)
def test_majority_predicts_the_larger_class(model, table):
    X, y = table
    fitted = model(solver="majority").fit(X, y)
    assert fitted.score(X, y) == max(y.mean(), 1 - y.mean())
    np.testing.assert_array_equal(fitted.coef_, 0.0)
    with pytest.raises(ValueError, match="needs an intercept"):
        model(solver="majority", fit_intercept=False).fit(X, y)


@pytest.mark.parametrize("solver", ["nonprivate", "majority"])
def test_a_solver_without_privacy_cannot_draw_on_a_ledger(solver, table):
    with pytest.raises(ValueError, match="cannot draw on a ledger"):
        DPLogisticRegression(solver=solver, ledger=Ledger(rho=1.0)).fit(*table)


# -- one account for many fits


def test_every_fit_draws_from_a_shared_ledger(table):
    ledger = Ledger(rho=0.05)
    fits = [
        DPLogisticRegression(rho=0.02, ledger=ledger, noise="seeded", random_state=i).fit(*table)
        for i in range(2)
    ]
    assert ledger.spent == pytest.approx(sum(f.ledger_.spent for f in fits))
    with pytest.raises(BudgetExceeded, match=r"left of rho = 0\.05 "):
        DPLogisticRegression(rho=0.02, ledger=ledger).fit(*table)
    assert ledger.spent == pytest.approx(sum(f.ledger_.spent for f in fits))


@pytest.mark.parametrize("duplicate", [clone, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_an_estimator_share_its_account(duplicate, table):
    ledger = Ledger(rho=1.0)
    duplicate(DPLogisticRegression(rho=0.01, ledger=ledger)).fit(*table)
    assert 0 < ledger.spent <= 0.01


def test_grid_search_draws_every_fit_from_the_ledger_and_stops_when_it_is_empty(table):
    grid = {"alpha": [0.0, 1e-3, 1e-2]}
    ledger = Ledger(rho=0.1)
    model = DPLogisticRegression(rho=0.005, ledger=ledger, n_records=2000)
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(*table)
    assert len([e for e in ledger.entries if e.what == "gradient"]) > 10 * 10
    assert 9 * 0.004 < ledger.spent <= 10 * 0.005
    assert search.best_estimator_.ledger_.spent > 0

    small = Ledger(rho=0.022)
    with pytest.raises(BudgetExceeded, match=r"left of rho = 0\.022 "):
        GridSearchCV(clone(model).set_params(ledger=small), grid, cv=3, error_score="raise").fit(*table)
    assert 0.015 < small.spent <= 0.022


@pytest.mark.slow
def test_grid_search_in_worker_processes_is_refused_rather_than_multiplied(table):
    ledger = Ledger(rho=1.0)
    model = DPLogisticRegression(rho=0.005, ledger=ledger)
    search = GridSearchCV(model, {"alpha": [0.0, 1e-3]}, cv=2, n_jobs=2, error_score="raise")
    with pytest.raises(RuntimeError, match="not open in this process"):
        search.fit(*table)
    assert ledger.spent == 0.0


def test_works_in_a_pipeline(table):
    X, y = table
    pipeline = make_pipeline(
        FunctionTransformer(np.tanh), DPLogisticRegression(epsilon=4.0, noise="seeded", random_state=0)
    )
    assert pipeline.fit(X, y).score(X, y) > 0.8


# -- interruptions and progress


def test_interrupting_a_fit_leaves_the_account_right_and_says_what_was_spent(table):
    ledger = Ledger(rho=1.0)

    class Interrupting(DPAGD):
        def solve(self, curator):
            curator.measure(Count(), 0.25)
            raise KeyboardInterrupt  # what Ctrl-C does, at a place of our choice

    with pytest.raises(KeyboardInterrupt) as caught:
        DPLogisticRegression(rho=0.5, solver=Interrupting(), ledger=ledger).fit(*table)
    assert ledger.spent == 0.25
    assert "Bookkeeping: 50.0% of that spent in 1 charge." in caught.value.__notes__[0]


def test_verbose_shows_the_budget_and_no_data(table, capsys):
    DPLogisticRegression(rho=0.01, noise="seeded", random_state=0, verbose=1).fit(*table)
    shown = capsys.readouterr()
    assert "of the privacy budget" in shown.err
    assert shown.out == ""


# -- solvers whose theorem is (epsilon, delta)-DP and not zCDP (P6)


def test_a_direct_release_is_stated_at_its_own_epsilon(table):
    model = DPLogisticRegression(
        0.7, 1e-6, solver="objective-perturbation", noise="seeded", random_state=0
    ).fit(*table)
    assert (model.privacy_.epsilon, model.privacy_.delta) == (0.7, 1e-6)
    assert model.privacy_.promise == Direct(0.7, 1e-6)
    assert "(0.7, 1e-06)-differentially private (in a shared ledger: 1e-06-approx" in model.privacy_.text
    assert len(model.ledger_.entries) == 1
    assert model.ledger_.remaining == 0.0


def test_a_direct_release_named_by_rho_costs_no_more_than_rho(table):
    shared = Ledger(rho=0.3, delta=1e-6)
    model = DPLogisticRegression(
        rho=0.3, delta=1e-6, solver="objective-perturbation", ledger=shared, noise="seeded", random_state=0
    ).fit(*table)
    assert 0.3 * (1 - 1e-9) < shared.spent <= 0.3
    assert model.privacy_.epsilon == pytest.approx(np.sqrt(0.6))


def test_unit_rows_are_undone_by_no_prediction(table):
    """The sign of a margin does not depend on the row's norm; its size, and so probabilities, do."""
    X, y = table
    model = DPLogisticRegression(
        50.0, 1e-6, solver="objective-perturbation", noise="seeded", random_state=0
    ).fit(X, y)
    raw = X @ model.coef_.ravel() + model.intercept_
    norms = np.sqrt((X**2).sum(axis=1) + 1.0)
    np.testing.assert_allclose(model.decision_function(X), raw / norms)
    np.testing.assert_array_equal(model.decision_function(X) > 0, raw > 0)
