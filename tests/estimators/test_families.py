"""Fits that belong together add up, and no search looks as if it had cost one fit."""

import copy
import math
import os
import pickle
import re
import threading
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privfit import DPLinearSVC, DPLogisticRegression, Ledger, PrivacyLeakError, PrivacyLeakWarning, strict
from privfit.accounting import Concentrated, Direct, epsilon_from_rho, rho_from_epsilon
from privfit.accounting.amounts import written_up
from privfit.accounting.gdp import epsilon_from_mu, mu_from_epsilon
from privfit.preprocessing import PrivateBounds
from privfit.surroundings import Family

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(300, 3)), np.arange(300) % 2
ONE = {"epsilon": 1.0, "delta": 1e-6, "n_records": 300, "feature_bounds": (-3, 3)}


def total(fits, epsilon=1.0, delta=1e-6):
    return epsilon_from_mu(math.sqrt(fits) * mu_from_epsilon(epsilon, delta), delta)


def warned(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, [str(w.message) for w in caught if w.category is PrivacyLeakWarning]


def test_the_first_fit_is_alone_and_warns_of_nothing():
    model, messages = warned(lambda: DPLogisticRegression(**ONE).fit(X, Y))
    assert messages == []
    assert model.privacy_.family.fits == 1
    assert model.privacy_.family.epsilon == 1.0
    assert "Bookkeeping" not in model.privacy_.text


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_fits_may_add_up_to_more_than_any_one_may_promise():
    model = DPLogisticRegression(**ONE | {"epsilon": 1000.0})
    for _ in range(3):
        model.fit(X, Y)
    assert model.privacy_.family.fits == 3
    assert model.privacy_.family.epsilon == pytest.approx(total(3, 1000.0), rel=1e-6)


def test_refits_add_up_and_each_says_so_once():
    model = DPLogisticRegression(**ONE).fit(X, Y)
    for fits in (2, 3):
        _, messages = warned(lambda: model.fit(X, Y))
        assert len(messages) == 1
        assert f"the {fits} fits of this estimator" in messages[0]
        assert f"add up to epsilon = {written_up(total(fits))}" in messages[0]
        assert model.privacy_.epsilon == 1.0
        assert model.privacy_.family.epsilon == pytest.approx(total(fits), rel=1e-6)
        assert "Bookkeeping, not a promise: the" in model.privacy_.text


@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearSVC])
def test_a_grid_search_never_looks_as_if_it_had_cost_one_fit(estimator):
    search = GridSearchCV(estimator(**ONE), {"alpha": [0.0, 1e-3, 1e-2]}, cv=5)
    search, messages = warned(lambda: search.fit(X, Y))
    family = search.best_estimator_.privacy_.family
    assert family.fits == 16
    assert family.epsilon == pytest.approx(total(16), rel=1e-6)
    assert len(messages) == 15
    assert "the 16 fits" in search.best_estimator_.privacy_.text


@pytest.mark.parametrize(
    ("action", "fits"),
    [
        (lambda m: cross_val_score(m, X, Y, cv=4), 4),
        (lambda m: CalibratedClassifierCV(m, cv=3).fit(X, Y), 3),
        (lambda m: StackingClassifier([("a", m)], LogisticRegression(), cv=3).fit(X, Y), 4),
        (lambda m: RFE(m, n_features_to_select=1).fit(X, Y), 3),
        (lambda m: make_pipeline(m).fit(X, Y) and clone(make_pipeline(m)).fit(X, Y), 2),
        (lambda m: copy.deepcopy(m).fit(X, Y), 1),
        (lambda m: m.set_params(alpha=0.1).fit(X, Y), 1),
    ],
    ids=["cross_val_score", "calibration", "stacking", "rfe", "pipelines", "deepcopy", "set_params"],
)
def test_whatever_clones_an_estimator_its_next_fit_knows(action, fits):
    model = DPLogisticRegression(**ONE)
    warned(lambda: action(clone(model)))
    _, messages = warned(lambda: model.fit(X, Y))
    assert model.privacy_.family.fits == fits + 1
    assert len(messages) == 1


def test_a_newly_constructed_estimator_starts_a_family_of_its_own():
    first = DPLogisticRegression(**ONE).fit(X, Y)
    settings = {name: value for name, value in first.get_params().items()}
    second, messages = warned(lambda: DPLogisticRegression(**settings).fit(X, Y))
    assert messages == []
    assert second.privacy_.family.fits == 1


def test_a_ledger_caps_the_sum_and_is_stated():
    ledger = Ledger(epsilon=3.0, delta=1e-6)
    model = DPLogisticRegression(**ONE, ledger=ledger)
    for _ in range(2):
        _, messages = warned(lambda: model.fit(X, Y))
        assert messages == []
    assert model.privacy_.family is None
    promised = "a shared ledger, which promises epsilon = 3 at delta = 1e-06 (rho = 0.2098) in all"
    assert promised in model.privacy_.text


def test_a_member_pickled_elsewhere_makes_the_total_unknown():
    model = DPLogisticRegression(**ONE)
    there = pickle.loads(pickle.dumps(clone(model)))
    for member in (there, model):
        _, messages = warned(lambda member=member: member.fit(X, Y))
        assert "was pickled or forked, and may have been fitted elsewhere" in messages[0]
        assert member.privacy_.family.epsilon is None
        assert "is unknown" in member.privacy_.text


def test_a_search_in_other_processes_does_not_end_in_a_model_that_says_it_was_alone():
    search = GridSearchCV(DPLogisticRegression(**ONE), {"alpha": [0.0, 1e-3]}, cv=2, n_jobs=2)
    search, _ = warned(lambda: search.fit(X, Y))
    assert search.best_estimator_.privacy_.family.fits is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_family_does_not_know_its_total():
    family = Family()
    receiver, sender = os.pipe()
    if os.fork() == 0:
        os.write(sender, str(family.add(Direct(1.0, 0.0))).encode())
        os._exit(0)
    assert b"unknown" in os.read(receiver, 1000)
    os.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(
    "use",
    [
        lambda family: family.add(Direct(1.0, 0.0)),
        pickle.dumps,
        lambda family: os.waitpid(os.fork() or _fit_and_leave(family), 0),
    ],
    ids=["fit", "pickle", "fit by a grandchild"],
)
def test_a_parent_knows_that_a_child_has_fitted(use):
    family, other = Family(), Family()
    child = os.fork()
    if child == 0:
        use(family)
        os._exit(0)
    os.waitpid(child, 0)
    assert "was pickled or forked" in str(family.add(Direct(1.0, 0.0)))
    assert other.add(Direct(1.0, 0.0)).is_single


def _fit_and_leave(family):
    family.add(Direct(1.0, 0.0))
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_that_fits_nothing_of_its_parent_leaves_totals_known():
    """The child's own families, of which it has many, share nothing with those that its parent makes."""
    family = Family()
    child = os.fork()
    if child == 0:
        own = [Family() for _ in range(5)]
        grandchild = os.fork()
        for one in own:
            one.add(Direct(1.0, 0.0))
        if grandchild:
            os.waitpid(grandchild, 0)
        os._exit(0)
    os.waitpid(child, 0)
    assert all(one.add(Direct(1.0, 0.0)).is_single for one in [family, *(Family() for _ in range(5))])


def test_bagging_draws_people_twice_so_no_total_is_stated():
    bagging = BaggingClassifier(DPLogisticRegression(**ONE), n_estimators=2)
    bagging, messages = warned(lambda: bagging.fit(X, Y))
    assert len(messages) == 4  # for each fit, of the repetition and of the family
    assert "one person may weigh several times" in messages[0]
    statement = bagging.estimators_[0].privacy_
    assert statement.family.epsilon is None
    assert "no record was drawn twice, which resampling with repetition does not keep" in statement.text
    with strict(), pytest.raises(PrivacyLeakError):
        BaggingClassifier(DPLogisticRegression(**ONE, classes=(0, 1)), n_estimators=2).fit(X, Y)
    pasting = BaggingClassifier(DPLogisticRegression(**ONE), n_estimators=2, bootstrap=False)
    pasting, _ = warned(lambda: pasting.fit(X, Y))
    assert pasting.estimators_[1].privacy_.family.fits == 2


@pytest.mark.parametrize("transformer", [PrivateBounds(0.5), PrivateBounds(rho=0.1)])
def test_private_bounds_have_families_too(transformer):
    transformer = clone(transformer)
    transformer.fit(X)
    _, messages = warned(lambda: transformer.fit(X))
    assert "the 2 fits" in messages[0]


def test_bagging_is_noticed_on_a_ledger_too():
    ledger = Ledger(epsilon=5.0, delta=1e-6)
    model = DPLogisticRegression(**ONE, classes=(0, 1), ledger=ledger)
    bagging, messages = warned(lambda: BaggingClassifier(model, n_estimators=2).fit(X, Y))
    assert len(messages) == 2
    assert "no record was drawn twice" in bagging.estimators_[0].privacy_.text
    spent = ledger.spent
    with strict(), pytest.raises(PrivacyLeakError, match="drawn with repetition"):
        BaggingClassifier(model, n_estimators=2).fit(X, Y)
    assert ledger.spent == spent


def test_an_estimator_that_was_never_cloned_is_pickled_with_its_family():
    model = DPLogisticRegression(**ONE)
    copies = [pickle.loads(pickle.dumps(model)) for _ in range(2)]
    for member in (*copies, model):
        _, messages = warned(lambda member=member: member.fit(X, Y))
        assert "is unknown" in messages[0]


def test_a_pipeline_that_caches_pickles_its_steps_so_only_a_ledger_knows_the_total(tmp_path):
    pipeline = make_pipeline(PrivateBounds(0.5), DPLogisticRegression(**ONE), memory=str(tmp_path))
    _, messages = warned(lambda: pipeline.fit(X, Y))
    assert len(messages) == 1
    assert "is unknown" in messages[0]
    assert "Share a ledger" in messages[0]
    ledger = Ledger(epsilon=2.0, delta=1e-6)
    steps = PrivateBounds(0.5, ledger=ledger), DPLogisticRegression(**ONE, ledger=ledger)
    pipeline = make_pipeline(*steps, memory=str(tmp_path))
    _, messages = warned(lambda: pipeline.fit(X, Y))
    assert messages == []


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_worker_that_cannot_see_who_called_it_says_so(backend):
    scaled = make_pipeline(StandardScaler(), VotingClassifier([("a", DPLogisticRegression(**ONE))], n_jobs=2))
    with joblib.parallel_backend(backend, n_jobs=2):
        scaled, _ = warned(lambda: scaled.fit(X, Y))
    statement = scaled[-1].estimators_[0].privacy_
    assert (
        "nothing was learnt from the records before a worker got them, which it cannot see" in statement.text
    )
    assert statement.family.epsilon is None


# -- sums


def test_prices_add_up_by_the_better_of_two_rules():
    few, many, pure = Family(), Family(), Family()
    for _ in range(2):
        sum_of_few = few.add(Direct(0.1, 1e-6))
    for _ in range(400):
        sum_of_many = many.add(Direct(0.1, 1e-6))
        sum_of_pure = pure.add(Direct(0.01, 0.0))
    assert sum_of_few.epsilon == pytest.approx(0.2)
    assert sum_of_few.delta == pytest.approx(2e-6)
    assert sum_of_many.epsilon == pytest.approx(epsilon_from_rho(400 * 0.005, 1e-6), rel=1e-6)
    assert sum_of_many.delta == pytest.approx(401e-6)
    assert sum_of_pure.epsilon == pytest.approx(4.0)
    assert sum_of_pure.delta == 0.0


def test_a_total_is_never_smaller_than_its_parts():
    family = Family()
    for share in (0.7, 0.2, 0.1):
        found = family.add(Concentrated.of(epsilon=share, delta=1e-6))
    assert found.epsilon >= epsilon_from_rho(
        math.fsum(rho_from_epsilon(share, 1e-6) for share in (0.7, 0.2, 0.1)), 1e-6
    )


def test_a_fit_without_privacy_leaves_nothing_to_add_up():
    model = DPLogisticRegression(solver="nonprivate").fit(X, Y)
    _, messages = warned(lambda: model.set_params(solver="adaptive").fit(X, Y))
    assert "epsilon = inf" in messages[0]


# -- strict mode and seeds


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"refuses a fit without a ledger; share one by ledger=Ledger\(epsilon="),
        ({"noise": "seeded", "random_state": 0, "ledger": True}, "refuses seeded noise"),
        ({"solver": "nonprivate"}, "refuses models without privacy"),
        ({"solver": "majority"}, "refuses models without privacy"),
    ],
)
def test_strict_mode_refuses_what_no_account_or_proof_stands_behind(settings, message):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    if settings.get("ledger"):
        settings = settings | {"ledger": ledger}
    with strict(), pytest.raises(PrivacyLeakError, match=message):
        DPLogisticRegression(classes=(0, 1), **settings).fit(X, Y)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_strict_mode_reaches_into_threads_and_other_processes(backend):
    model = DPLogisticRegression(**ONE, classes=(0, 1), noise="seeded", random_state=1)
    with strict(), joblib.parallel_backend(backend, n_jobs=2), pytest.raises(PrivacyLeakError):
        cross_val_score(model, X, Y, cv=2, n_jobs=2, error_score="raise")


def test_a_clone_made_in_strict_mode_stays_strict_unless_told_otherwise():
    with strict():
        model = clone(DPLogisticRegression(**ONE, classes=(0, 1)))
    with pytest.raises(PrivacyLeakError, match="without a ledger"):
        model.fit(X, Y)
    with strict(False):
        assert model.fit(X, Y).privacy_.epsilon == 1.0


def test_strict_mode_binds_a_plain_thread():
    outcomes = []

    def fit():
        try:
            DPLogisticRegression(**ONE, classes=(0, 1)).fit(X, Y)
        except PrivacyLeakError as error:
            outcomes.append(str(error))

    thread = threading.Thread(target=fit)
    with strict():
        thread.start()
        thread.join()
    assert "without a ledger" in outcomes[0]


def test_strict_mode_sees_what_was_fitted_before_private_bounds():
    with strict(), pytest.raises(PrivacyLeakError, match="StandardScaler"):
        make_pipeline(StandardScaler(), PrivateBounds(ledger=Ledger(epsilon=1.0, delta=1e-6))).fit(X)


@pytest.mark.parametrize(("setting", "refused"), [("true", True), (" 1", True), ("0", False), ("off", False)])
def test_the_environment_variable_is_read_as_people_write_it(monkeypatch, setting, refused):
    monkeypatch.setenv("PRIVFIT_STRICT", setting)
    if refused:
        with pytest.raises(PrivacyLeakError):
            DPLogisticRegression(**ONE).fit(X, Y)
    else:
        DPLogisticRegression(**ONE).fit(X, Y)


def test_a_deep_copy_of_a_fitted_model_keeps_its_seed():
    model = DPLogisticRegression(**ONE, noise="seeded", random_state=4).fit(X, Y)
    again, _ = warned(lambda: copy.deepcopy(model).fit(X, Y))
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_integers_that_ensembles_inject_do_not_seed_the_noise():
    def draws(seed):
        bagging = BaggingClassifier(DPLogisticRegression(**ONE), n_estimators=1, random_state=seed)
        (ensemble, _) = warned(lambda: bagging.fit(X, Y))
        assert isinstance(ensemble.estimators_[0].random_state, int)
        return ensemble.estimators_[0].coef_

    assert not np.array_equal(draws(0), draws(0))


def test_a_seed_without_its_opt_in_is_said_to_do_nothing():
    with pytest.warns(UserWarning, match="random_state does not seed the noise, which is secure"):
        model = DPLogisticRegression(**ONE, random_state=5).fit(X, Y)
    assert "SEEDED" not in model.privacy_.text


@pytest.mark.parametrize("nest", [lambda m: m, make_pipeline, lambda m: GridSearchCV(m, {})])
def test_a_seed_is_neither_shown_nor_pickled_once_a_model_is_fitted(nest):
    model = DPLogisticRegression(**ONE, noise="seeded", random_state=987654321)
    assert "987654321" in repr(model)
    model.fit(X, Y)
    shown = repr(nest(model)) + nest(model)._repr_html_() + str(model.get_params(deep=False))
    assert "987654321" not in shown
    assert re.search(r"hidden", repr(nest(model)))
    data = pickle.dumps(model)
    assert (987654321).to_bytes(4, "little") not in data
    loaded = pickle.loads(data)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="noise='seeded' needs a seed"):
        loaded.fit(X, Y)
    np.testing.assert_array_equal(clone(model).fit(X, Y).coef_, model.coef_)
