"""A search keeps one promise for all its fits and scores, and behaves as scikit-learn's searches do."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from privfit import (
    BudgetExceeded,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPSearchCV,
    Ledger,
    PrivacyLeakError,
    load,
    metrics,
    strict,
)
from privfit.accounting import Concentrated, Gaussian
from privfit.leaks import PrivacyLeakWarning
from privfit.solvers import GradientDescent
from privfit.tuning import search as search_module

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

N = 1500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + X[:, 1] + 0.3 * RNG.logistic(size=N) > 0.0).astype(int)
PUBLIC = {"classes": (0, 1), "feature_bounds": (-4.0, 4.0), "n_records": N}
MODEL = DPLogisticRegression(**PUBLIC, solver=GradientDescent(steps=5))
GRID = {"alpha": [0.0, 3.0]}  # the second of which learns next to nothing
EPSILON = 8.0


def searched(model=None, grid=None, **settings):
    made = DPSearchCV(
        clone(new_model()) if model is None else model, GRID if grid is None else grid, **settings
    )
    return made.set_params(epsilon=None if made.rho else made.epsilon or EPSILON).fit(X, Y)


def new_model(**settings):
    """Return an estimator of a family of its own."""
    return DPLogisticRegression(**PUBLIC, **{"solver": GradientDescent(steps=5), **settings})


def leaks(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, [str(w.message) for w in caught if w.category is PrivacyLeakWarning]


# -- what is chosen, and what is said of it ---------------------------------------------------------------


def test_the_better_setting_is_chosen_and_fitted_to_all_records():
    """At this epsilon the noise of the difference is a hundredth of the difference."""
    search = searched()
    assert search.best_params_ == {"alpha": 0.0}
    assert search.best_index_ == 0
    assert search.best_estimator_.alpha == 0.0
    assert search.best_estimator_ not in search.estimators_
    assert search.best_estimator_.n_records == N
    assert [model.alpha for model in search.estimators_] == [0.0, 3.0]
    assert [model.n_records for model in search.estimators_] == [round(0.8 * N)] * 2
    assert search.score(X, Y) > 0.8


def test_without_refit_the_best_estimator_is_the_fit_that_was_scored():
    search = searched(refit=False)
    assert search.best_estimator_ is search.estimators_[search.best_index_]
    assert "number of records, declared as 1,500, is public" in search.privacy_.text


def test_results_are_released_numbers_with_the_size_of_their_noise():
    search = searched()
    results = search.cv_results_
    assert list(results) == [
        *("param_alpha", "params", "difference", "difference_noise", "mean_test_loss", "loss_noise"),
        "rank_test_loss",
    ]
    assert results["params"] == [{"alpha": 0.0}, {"alpha": 3.0}]
    assert results["rank_test_loss"].tolist() == [1, 2]
    assert results["difference"].sum() == pytest.approx(0.0, abs=1e-12)
    losses = results["mean_test_loss"]
    assert losses[1] - losses[0] == pytest.approx(np.subtract(*results["difference"][::-1]))
    assert losses[1] == pytest.approx(np.log(2.0), abs=5 * results["loss_noise"][1])
    assert (results["difference_noise"] < results["loss_noise"]).all()
    import pandas as pd

    assert pd.DataFrame(results).shape == (2, 7)


def test_the_stated_standard_errors_are_those_of_the_noise():
    """Of 300 noises of an answer. A false alarm in one of 10^4 runs; a scale off by 40% is noticed."""
    from privfit.curator import Measurement
    from privfit.tuning.results import table_of

    rng, sigma, level, n = np.random.default_rng(1), 3.0, 0.05, 5000.0
    exact = np.array([level * n, level * n * 0.2, -40.0, 10.0, 30.0])
    drawn = [
        table_of([{}] * 3, Measurement(exact + sigma * rng.normal(size=5), sigma, 0.5), level, (0.0, 2.0))
        for _ in range(300)
    ]
    for value, noise in (("difference", "difference_noise"), ("mean_test_loss", "loss_noise")):
        found = np.std([table[value] for table in drawn], axis=0) / drawn[0][noise]
        assert np.all((found > 0.82) & (found < 1.18))


def test_statements_promise_the_whole_search():
    search = searched(delta=1e-5)
    for statement in (
        search.privacy_,
        search.best_estimator_.privacy_,
        *(m.privacy_ for m in search.estimators_),
    ):
        assert (statement.epsilon, statement.delta) == (EPSILON, 1e-5)
        assert statement.rho == Gaussian.of(epsilon=EPSILON, delta=1e-5).rho
        assert "the settings were chosen among 2" in statement.text
    assert search.privacy_.text.startswith("This set of models and scores is (8, 1e-05)")
    assert search.best_estimator_.privacy_.text.startswith("This model is (8, 1e-05)")
    assert sum(search.privacy_.spending.values()) <= search.privacy_.rho * (1 + 1e-9)


def test_the_chosen_model_can_be_published(tmp_path):
    search = searched()
    search.best_estimator_.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.privacy_.epsilon == EPSILON
    assert "the settings were chosen among 2" in again.privacy_.text
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


# -- who pays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("refit", "share"), [(True, 0.3), (False, 1.0)])
def test_one_ledger_pays_for_all_fits_scores_and_the_refit(refit, share):
    ledger = Ledger(epsilon=EPSILON)
    search = searched(ledger=ledger, refit=refit)
    assert ledger.spending()["fits and scores of 2 settings"] == pytest.approx(share * ledger.rho)
    assert ledger.spent == pytest.approx(ledger.rho, rel=0.02)
    assert search.privacy_.ledger == ledger.promise
    assert search.privacy_.family is None
    with pytest.raises(BudgetExceeded):
        metrics.accuracy(search, X, Y, rho=0.1 * ledger.rho)


def test_scores_and_refits_of_the_chosen_model_draw_on_the_same_ledger():
    ledger = Ledger(epsilon=2 * EPSILON)
    search = searched(ledger=ledger)
    before = ledger.spent
    metrics.accuracy(search, X, Y, rho=0.01)
    assert ledger.spent - before == pytest.approx(0.01)
    clone(search.best_estimator_).fit(X, Y)
    assert ledger.spent - before == pytest.approx(0.01 + search.best_estimator_.rho, rel=0.02)


def test_a_search_that_does_not_fit_charges_nothing_and_reads_nothing():
    ledger = Ledger(epsilon=0.9 * EPSILON)
    with pytest.raises(BudgetExceeded, match="this search of settings of a logistic regression needs"):
        searched(ledger=ledger)
    assert ledger.spent == 0.0


def test_a_ledger_that_lasts_is_settled(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="people", epsilon=2 * EPSILON)
    search = searched(ledger=ledger)
    assert [entry.mechanism for entry in ledger.entries] == ["reserved", "settled"]
    assert ledger.spent == pytest.approx(Gaussian.of(epsilon=EPSILON, delta=1e-6).rho, rel=0.02)
    assert search.best_estimator_.privacy_.origin.dataset == "people"


def test_a_concentrated_ledger_pays_for_solvers_that_choose_by_noise():
    ledger = Ledger(rho=3.0)
    search = searched(grid={"solver": ["gradient-descent", "frank-wolfe"]}, ledger=ledger, rho=2.0)
    assert isinstance(search.privacy_.promise, Concentrated)
    assert search.privacy_.rho == 2.0
    with pytest.raises(ValueError, match="pays for Gaussian noise only"):
        searched(grid={"solver": ["gradient-descent", "frank-wolfe"]}, ledger=Ledger(epsilon=9.0))


def test_a_search_counts_in_the_family_of_its_estimator():
    model = new_model()
    search, said = leaks(lambda: searched(model))
    assert said == []
    assert str(search.privacy_.family) == "this was the only fit so far of this estimator and its clones"
    _, said = leaks(lambda: metrics.accuracy(search, X, Y, epsilon=1.0))
    assert "1 fit and 1 score" in said[0]
    _, said = leaks(lambda: clone(search).fit(X, Y))
    assert "2 fits and 1 score" in said[0]
    _, said = leaks(lambda: clone(model).set_params(epsilon=1.0).fit(X, Y))
    assert "3 fits and 1 score" in said[0]


def test_strict_mode_asks_for_a_ledger_and_declared_labels_once():
    with strict():
        with pytest.raises(PrivacyLeakError, match="a search without a ledger"):
            searched()
        ledger = Ledger(epsilon=EPSILON)
        with pytest.raises(PrivacyLeakError, match="The set of labels was taken"):
            searched(new_model().set_params(classes=None), ledger=ledger)
        with pytest.raises(PrivacyLeakError, match="seeded noise"):
            searched(ledger=ledger, noise="seeded", random_state=0)
        assert ledger.spent == 0.0
        _, said = leaks(lambda: searched(ledger=ledger))
        assert said == []


def test_an_interrupted_search_says_what_was_spent(monkeypatch):
    ledger = Ledger(epsilon=2 * EPSILON)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(search_module, "losses_of", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        searched(ledger=ledger)
    (note,) = raised.value.__notes__
    assert note.startswith("The search was interrupted and released nothing.")
    searching = 0.3 * Gaussian.of(epsilon=EPSILON, delta=1e-6).rho
    assert ledger.spent == pytest.approx(searching)  # and nothing of the refit


def test_what_a_single_fit_says_when_interrupted_is_left_to_the_search(monkeypatch):
    monkeypatch.setattr(
        GradientDescent, "solve", lambda self, curator: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt) as raised:
        searched()
    assert len(raised.value.__notes__) == 1


# -- noise --------------------------------------------------------------------------------------------------


def test_seeded_searches_are_reproducible_and_their_fits_have_noise_of_their_own():
    first, second = (searched(grid={"alpha": [0.0, 1e-12]}, noise="seeded", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.best_estimator_.coef_, second.best_estimator_.coef_)
    apart = np.abs(first.estimators_[0].coef_ - first.estimators_[1].coef_)
    assert (apart > 1e-6).all()  # the penalty alone changes less than a millionth of that
    other = searched(noise="seeded", random_state=np.random.default_rng(4))
    assert (other.estimators_[0].coef_ != first.estimators_[0].coef_).all()
    assert "SEEDED NOISE" in first.privacy_.text
    assert "random_state=3" not in repr(first)
    assert pickle.loads(pickle.dumps(first)).random_state is None


def test_secure_searches_differ():
    first, second = searched(), searched()
    assert (first.estimators_[0].coef_ != second.estimators_[0].coef_).all()


# -- scikit-learn's manners ---------------------------------------------------------------------------------


def test_settings_can_be_read_set_and_cloned():
    search = DPSearchCV(MODEL, GRID, 2.0, scoring="brier_score")
    assert search.get_params()["estimator__alpha"] == 0.0
    again = clone(search).set_params(estimator__fit_intercept=False, held_out=0.3)
    assert (again.estimator.fit_intercept, again.held_out, again.scoring) == (False, 0.3, "brier_score")
    assert MODEL.fit_intercept
    assert "DPSearchCV(" in repr(search)


def test_a_search_predicts_as_the_chosen_model():
    search = searched()
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(search, method)(X), getattr(search.best_estimator_, method)(X))
    assert search.classes_.tolist() == [0, 1]
    assert search.n_features_in_ == 3
    assert is_classifier(search)
    assert not hasattr(search, "feature_names_in_")
    assert is_regressor(DPSearchCV(DPLinearRegression(), GRID))
    assert not hasattr(DPSearchCV(DPLinearSVC(), GRID), "predict_proba")
    assert not hasattr(DPSearchCV(DPLinearRegression(), GRID), "decision_function")


def test_an_unfitted_search_says_so():
    search = DPSearchCV(MODEL, GRID)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        search.predict(X)
    assert not hasattr(search, "classes_")


def test_notebooks_show_the_promise_of_the_search():
    assert "What was promised" in searched()._repr_html_()


def test_what_a_pipeline_learns_before_a_search_is_said_and_what_learns_nothing_is_not():
    search = DPSearchCV(new_model(), GRID, EPSILON)
    _, said = leaks(lambda: make_pipeline(FunctionTransformer(), search).fit(X, Y))
    assert said == []
    search = DPSearchCV(new_model(), GRID, EPSILON)
    pipeline, said = leaks(lambda: make_pipeline(StandardScaler(), search).fit(X, Y))
    assert said
    assert all("step 'standardscaler'" in message for message in said)
    assert "step 'standardscaler' (StandardScaler) is public" in pipeline[-1].privacy_.text


def test_searches_of_searches_pay_for_each():
    ledger = Ledger(epsilon=9.0)
    outer = GridSearchCV(
        DPSearchCV(new_model(), GRID, 2.0, ledger=ledger),
        {"held_out": [0.2, 0.3]},
        cv=2,
        scoring=metrics.make_scorer("accuracy", rho=0.01),
        error_score="raise",
    ).fit(X, Y)
    entries = [entry.what for entry in ledger.entries]
    assert entries.count("fits and scores of 2 settings") == 5
    assert entries.count("scores") == 4
    assert outer.best_estimator_.privacy_.epsilon == 2.0


def test_progress_is_shown_on_standard_error(capsys):
    searched(verbose=1)
    shown = capsys.readouterr()
    assert "Setting 2 of 2: alpha = 3.0" in shown.err
    assert "Comparing 2 settings" in shown.err
    assert shown.out == ""
