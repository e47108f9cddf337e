"""A score is paid for by the model's account, or counts in its family; what does not fit is not looked at."""

import gc
import pickle
import re
import warnings

import numpy as np
import pytest
from neighbours import COLUMNS, base_table, neighbours
from scored import drawn, public_model
from scripted import ScriptedNoise
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from watched import Watched

from privfit import (
    BudgetExceeded,
    DPLinearSVC,
    DPLogisticRegression,
    Ledger,
    PrivacyLeakError,
    metrics,
    strict,
)
from privfit.accounting import Gaussian
from privfit.engine import table
from privfit.leaks import PrivacyLeakWarning
from privfit.metrics import label_marks
from privfit.metrics.examination import Examination
from privfit.metrics.strategies import LOGITS, Strategy
from privfit.surroundings import family

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

X, Y = drawn(300)
FIT = {"rho": 0.01, "classes": (0, 1), "n_records": 300, "feature_bounds": (-4, 4)}


def fitted(**settings):
    return DPLogisticRegression(**FIT, **settings).fit(X, Y)


def warned(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, [str(w.message) for w in caught if w.category is PrivacyLeakWarning]


# -- who pays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(FunctionTransformer(), model),
        lambda model: GridSearchCV(
            model, {"alpha": [0.0]}, cv=2, scoring=metrics.make_scorer("accuracy", rho=0.01)
        ),
    ],
    ids=["plain", "pipeline", "search"],
)
def test_a_score_draws_on_the_account_of_the_model(wrap):
    ledger = Ledger(rho=1.0)
    model = wrap(DPLogisticRegression(**FIT, ledger=ledger)).fit(X, Y)
    before = ledger.spent
    found = metrics.evaluate(model, X, Y, rho=0.02)
    assert ledger.spent - before == pytest.approx(0.02)
    assert ledger.entries[-1].what == "scores"
    assert found.privacy.ledger == ledger.promise
    assert found.privacy.family is None
    assert found.privacy.rho == 0.02


def test_another_account_can_be_named_for_other_people():
    ledger, others = Ledger(rho=1.0), Ledger.keeping(Gaussian.of(rho=1.0, delta=1e-6))
    model = fitted(ledger=ledger)
    before = ledger.spent
    assert metrics.evaluate(model, X, Y, rho=0.02, ledger=others).privacy.ledger == others.promise
    assert ledger.spent == before
    assert others.spent == 0.02


def test_epsilon_names_the_price_as_well():
    found = metrics.evaluate(public_model(), X, Y, epsilon=0.5, delta=1e-5)
    assert (found.privacy.epsilon, found.privacy.delta) == (0.5, 1e-5)


def test_a_search_pays_for_every_score_it_sees():
    ledger = Ledger(rho=1.0)
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), DPLinearSVC(**FIT, ledger=ledger)),
        {"dplinearsvc__alpha": [0.0, 0.1]},
        cv=3,
        scoring=metrics.make_scorer("accuracy", rho=0.003),
        error_score="raise",
    ).fit(X, Y)
    assert sum(entry.what == "scores" for entry in ledger.entries) == 6
    assert ledger.spending()["scores"] == pytest.approx(6 * 0.003)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_several_scores_of_a_search_are_one_release():
    ledger = Ledger(rho=1.0)
    names = ("accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss", "neg_brier_score")
    search = GridSearchCV(
        DPLogisticRegression(**FIT, ledger=ledger),
        {"alpha": [0.0, 0.1]},
        cv=2,
        scoring=metrics.make_scorer(names, rho=0.005),
        refit="neg_log_loss",
    ).fit(X, Y)
    assert ledger.spending()["scores"] == pytest.approx(4 * 0.005)
    assert all(
        np.all(search.cv_results_[f"mean_test_{name}"] <= 0) for name in names if name.startswith("neg")
    )
    assert np.all(search.cv_results_["mean_test_roc_auc"] >= 0)


def test_a_search_stops_when_the_account_is_empty():
    ledger = Ledger(rho=0.05)
    with pytest.raises(BudgetExceeded, match=r"this set of scores needs rho = 0\.03"):
        cross_val_score(
            DPLogisticRegression(**FIT, ledger=ledger),
            X,
            Y,
            cv=3,
            scoring=metrics.make_scorer("accuracy", rho=0.03),
            error_score="raise",
        )


def test_a_score_is_reserved_and_settled_on_an_account_that_lasts_also_by_workers(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="census", epsilon=3, delta=1e-6)
    metrics.evaluate(public_model(), X, Y, rho=0.01, ledger=ledger)
    reserved, settled = ledger.entries
    assert reserved.what == settled.what == "this set of scores"
    assert settled.settles == 1
    assert ledger.spent == pytest.approx(0.01, rel=1e-9)
    scorer = metrics.make_scorer("accuracy", rho=0.002)
    before, model = ledger.spent, DPLogisticRegression(**(FIT | {"rho": 0.001}), ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_val_score(model, X, Y, cv=2, scoring=scorer, n_jobs=2, error_score="raise")
    assert sum(entry.what == "this set of scores" for entry in ledger.entries) == 2 + 4
    assert ledger.spent - before >= 2 * 0.002


def test_without_an_account_scores_count_in_the_family_of_the_model():
    model = fitted()
    found, messages = warned(lambda: metrics.evaluate(model, X, Y, rho=0.01))
    assert (found.privacy.family.fits, found.privacy.family.scores) == (1, 1)
    both = Gaussian.of(rho=0.02, delta=1e-6).epsilon
    assert found.privacy.family.epsilon == pytest.approx(both, rel=1e-6)
    assert len(messages) == 1
    assert (
        "the 1 fit and 1 score of this estimator, its clones and refits add up to epsilon = " in messages[0]
    )
    again, _ = warned(lambda: clone(model).fit(X, Y))
    assert (again.privacy_.family.fits, again.privacy_.family.scores) == (2, 1)
    assert "the 2 fits and 1 score" in again.privacy_.text


def test_one_score_of_a_public_model_is_alone_and_those_of_one_scorer_add_up():
    found, messages = warned(lambda: metrics.evaluate(public_model(), X, Y, rho=0.01))
    assert messages == []
    assert str(found.privacy.family) == "this was the only score so far of this model"
    scorer = metrics.make_scorer("accuracy", rho=0.01)
    assert warned(lambda: scorer(public_model(), X, Y))[1] == []
    _, messages = warned(lambda: scorer(public_model(), X, Y))
    assert "the 2 scores of" in messages[0]


class Unhashable(LogisticRegression):
    """A public model that is equal to all others, so that it has no hash."""

    def __eq__(self, other):
        return True


class WithoutReferences:
    """A classifier to which no weak reference can be made."""

    __slots__ = ("classes_",)

    def __init__(self):
        self.classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        return LogisticRegression().__sklearn_tags__()

    def decision_function(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(FunctionTransformer(), model),
        FrozenEstimator,
        lambda model: FrozenEstimator(make_pipeline(model)),
    ],
    ids=["plain", "pipeline", "frozen", "both"],
)
@pytest.mark.parametrize("kind", [LogisticRegression, Unhashable])
def test_scores_of_a_public_model_add_up_however_it_is_wrapped(wrap, kind):
    model, other = public_model(kind=kind), public_model(kind=kind)
    for scores in (1, 2, 3):
        found, messages = warned(lambda: metrics.evaluate(wrap(model), X, Y, rho=0.01))
        assert found.privacy.family.scores == scores
        assert len(messages) == (scores > 1)
    assert found.privacy.family.epsilon == pytest.approx(Gaussian.of(rho=0.03, delta=1e-6).epsilon)
    assert "the 3 scores of this model or by this scorer add up to epsilon = " in found.privacy.text
    assert metrics.evaluate(wrap(other), X, Y, rho=0.01).privacy.family.is_single


def test_a_model_that_is_gone_is_forgotten_and_another_one_in_its_place_starts_afresh():
    known = len(family._of_models)
    for _ in range(20):  # objects that are made one after the other often get the same place
        assert metrics.evaluate(public_model(), X, Y, rho=0.01).privacy.family.is_single
    gc.collect()
    assert len(family._of_models) <= known


def test_the_total_of_a_model_that_cannot_be_told_from_others_is_unknown():
    found, messages = warned(lambda: metrics.evaluate(WithoutReferences(), X, Y, rho=0.01))
    assert found.privacy.family.epsilon is None
    assert "cannot be distinguished from others" in messages[0]


def test_strict_mode_wants_an_account_and_secure_noise():
    model = public_model()
    with strict():
        with pytest.raises(PrivacyLeakError, match="Strict mode refuses a score without a ledger"):
            metrics.evaluate(model, X, Y, rho=0.01)
        ledger = Ledger(rho=1.0)
        with pytest.raises(PrivacyLeakError, match="Strict mode refuses seeded noise"):
            metrics.evaluate(model, X, Y, rho=0.01, ledger=ledger, noise="seeded", random_state=0)
        assert ledger.spent == 0.0
        metrics.evaluate(model, X, Y, rho=0.01, ledger=ledger)
        assert ledger.spent == 0.01


# -- charge, look, blur ---------------------------------------------------------------------------------


def test_records_are_looked_at_after_the_charge_and_blurred_before_anything_is_returned(monkeypatch):
    events = []
    original = table.Table

    class WatchedTable(original):
        def __new__(cls, *a, **k):
            return Watched(original(*a, **k), events)

    monkeypatch.setattr(table, "Table", WatchedTable)
    charge = Ledger.charge
    monkeypatch.setattr(
        Ledger, "charge", lambda self, *a, **k: (events.append("charge"), charge(self, *a, **k))[1]
    )
    noise = ScriptedNoise()
    blur = noise.gaussian
    noise.gaussian = lambda *a: (events.append("blur"), blur(*a))[1]
    monkeypatch.setattr(Examination, "_noise_source", lambda self: noise)
    metrics.evaluate(public_model(), X, Y, rho=0.01)
    assert re.fullmatch("charge( look)+ blur", " ".join(events))
    events.clear()
    with pytest.raises(BudgetExceeded):
        metrics.evaluate(public_model(), X, Y, rho=0.01, ledger=Ledger(rho=0.005))
    assert "look" not in events
    assert "blur" not in events


@pytest.mark.parametrize("curves", [True, False])
@pytest.mark.parametrize("classifier", [DPLogisticRegression, DPLinearSVC])
def test_no_neighbour_moves_what_is_blurred_beyond_its_noise(classifier, curves, monkeypatch):
    """Hostile records and all; noise is calibrated to the longest share, which some record uses up."""
    noise = ScriptedNoise(size=0.0)
    monkeypatch.setattr(Examination, "_noise_source", lambda self: noise)
    model = classifier(epsilon=5.0, classes=(0, 1), ledger=Ledger(rho=1e3)).fit(*base_table())
    metrics.evaluate(model, *base_table(), rho=0.01, curves=curves)
    farthest = 0.0
    for X, y in neighbours(np.float64).values():
        metrics.evaluate(model, X, y, rho=0.01, curves=curves)
        (base, sigma), (other, _) = noise.gaussian_inputs[0], noise.gaussian_inputs[-1]
        moved = np.linalg.norm(other - base) / (sigma * np.sqrt(2 * 0.01))
        assert 0.0 < moved <= 1.0
        farthest = max(farthest, moved)
    assert farthest > 0.99


def test_a_score_at_an_edge_is_computed_of_its_record_alone():
    """Matrix products round a row by what is around it; here the model does so on purpose."""

    class Moody(LogisticRegression):
        def predict_proba(self, X):
            shift = 1e-9 if len(X) > 1 else 0.0  # less than predictions may differ by
            return super().predict_proba(X + shift)

    model = Moody()
    model.__dict__.update(public_model().__dict__)
    edges = Strategy.of_curves(LOGITS).edges
    at_edges, y = edges[:, None], np.arange(len(edges)) % 2
    public = {"wanted": (), "curves": True, "clip": 0.01, "known": ""}
    found = label_marks.marked_labels(model, at_edges, y, **public).columns
    alone = [
        label_marks.marked_labels(model, row[None], np.zeros(1, int), **public).columns for row in at_edges
    ]
    np.testing.assert_array_equal(found[:, 0] - len(edges) * y - y, np.ravel(alone))


# -- bad input ------------------------------------------------------------------------------------------

CANARY = "John Smith"
THRESHOLD = FixedThresholdClassifier(LogisticRegression(), threshold=0.2).fit(X, Y)
BAD = {
    "labels": (lambda: (public_model(), X, [CANARY] * 300), {}, "y holds labels that are not in classes="),
    "no labels": (lambda: (public_model(), X, None), {}, "Scores need the true labels"),
    "lengths": (lambda: (public_model(), X, Y[:-1]), {}, "inconsistent numbers of samples"),
    "path": (lambda: (public_model(), f"{CANARY}.csv", Y), {}, "X must be a table with one row for each"),
    "columns apart": (lambda: (public_model(), {CANARY: Y}, Y), {}, "X is a dict of columns, not a table"),
    "text": (
        lambda: (public_model(), np.full((300, 1), CANARY, dtype=object), Y), {},
        r"LogisticRegression could not be applied to these records \(ValueError\)",
    ),
    "our own words": (lambda: (fitted(), np.full((300, 1), np.nan), Y), {}, "X contains NaN or inf"),
    "columns": (lambda: (fitted(), np.ones((300, COLUMNS)), Y), {}, "could not be applied to these records"),
    "not fitted": (lambda: (LogisticRegression(), X, Y), {}, "This LogisticRegression is not fitted yet"),
    "no model": (lambda: (CANARY, X, Y), {}, "A fitted scikit-learn classifier or regressor is scored, not"),
    "another class": (
        lambda: (LogisticRegression().fit(X, np.arange(300) % 3), X, [CANARY] * 300), {},
        r"y holds labels that are not in classes=\(0, 1, 2\)",
    ),
    "no predictor": (lambda: (StandardScaler().fit(X), X, Y), {}, "are of classifiers and regressors"),
    "no bounds": (lambda: (LinearRegression().fit(X, Y), X, Y), {}, "need the public bounds of the target"),
    "threshold": (lambda: (THRESHOLD, X, Y), {}, "predicts by a threshold of its own"),
    "rho": (lambda: (public_model(), X, Y), {"rho": -1.0}, "rho must be a positive finite number"),
    "two prices": (lambda: (public_model(), X, Y), {"epsilon": 1.0}, "two ways to state one privacy budget"),
    "clip": (lambda: (public_model(), X, Y), {"log_loss_clip": 0.5}, "log_loss_clip must be at most 0.25"),
    "n_records": (lambda: (public_model(), X, Y), {"n_records": 0}, "n_records must be a positive whole"),
    "curves": (lambda: (public_model(), X, Y), {"curves": "no"}, "curves must be True or False"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_before_any_charge_and_without_a_value(name):
    arguments, settings, message = BAD[name]
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match=message) as caught:
        metrics.evaluate(*arguments(), **({"rho": 0.01, "ledger": ledger} | settings))
    assert CANARY not in f"{caught.value} {caught.value.__context__}"
    assert ledger.spent == 0.0


def test_a_model_that_finds_no_memory_is_not_said_to_be_given_other_columns(monkeypatch):
    def starve(_rows):
        raise MemoryError

    model, ledger = public_model(), Ledger(rho=1.0)
    for name in ("predict", "decision_function", "predict_proba"):
        monkeypatch.setattr(model, name, starve, raising=False)
    with pytest.raises(MemoryError):
        metrics.evaluate(model, X, Y, rho=0.01, ledger=ledger)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("names", ["f1", (), ("accuracy", "log_loss")])
def test_a_scorer_names_what_it_can_score(names):
    with pytest.raises(ValueError, match="metrics are accuracy, balanced_accuracy, roc_auc, neg_brier_score"):
        metrics.make_scorer(names, rho=0.01)


def test_nothing_unreleased_is_kept():
    """What an evaluation holds depends on the records through what was blurred alone."""
    held = []
    for seed in (0, 1):
        scores, y = drawn(100, seed=seed)
        with pytest.MonkeyPatch.context() as patch:
            noise = ScriptedNoise()
            noise.gaussian = lambda values, sigma: np.zeros_like(values)
            patch.setattr(Examination, "_noise_source", lambda self, noise=noise: noise)
            found = metrics.evaluate(public_model(), scores, y, rho=0.01)
        held.append(re.sub(rb"\d{4}-\d\d-\d\d", b"", pickle.dumps(found)))
    assert held[0] == held[1]
