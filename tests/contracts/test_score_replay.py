"""Private scores replayed on neighbours: nothing but what was released tells two tables apart."""

import dataclasses

import numpy as np
import pytest
from neighbours import COLUMNS
from replay import Request
from scored import public_model
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor
from sklearn.svm import LinearSVC
from test_solver_replay import overhear, replay_on_all_tables

from privfit import metrics
from privfit.curator import Curator
from privfit.mechanisms import gaussian
from privfit.metrics import examination
from privfit.metrics.estimates import Estimates
from privfit.models.links import LOG
from privfit.questions.scores import ScoreSums

pytestmark = pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")

WEIGHTS = np.array([[1.0, -1.0, 0.5]])
PLAIN = {"curves": True, "n_records": None, "epsilon": 5.0}


def model(probabilities):
    """Return a public model, a new one for every run, because scores of one object add up."""
    made = public_model() if probabilities else public_model(kind=LinearSVC)
    made.coef_, made.n_features_in_ = WEIGHTS, COLUMNS
    return made


def replay(*, probabilities=True, delta=1e-3, **settings):
    return replay_on_all_tables(
        lambda table: lambda: metrics.evaluate(model(probabilities), *table, delta=delta, **settings)
    )


def of_classes(kind=LogisticRegression):
    """Return a public model of three classes, of which the third is never seen."""
    made = kind()
    made.coef_, made.intercept_ = np.vstack([-WEIGHTS, WEIGHTS, 0.25 * WEIGHTS]), np.zeros(3)
    made.classes_, made.n_features_in_ = np.array([0, 1, 2]), COLUMNS
    return made


def of_numbers(kind=LinearRegression, **settings):
    """Return a public regressor."""
    made = kind(**settings)
    made.coef_, made.intercept_, made.n_features_in_ = WEIGHTS[0], 0.3, COLUMNS
    return made


def numbers(table):
    """Return a table whose targets are as extreme as its features."""
    X, y = table
    return X, X[:, 0] + y


class Counting(LinearRegression):
    """A regressor that predicts a positive number for any record."""

    _link = LOG

    def predict(self, X):
        return np.exp(np.clip(X @ self.coef_, -50.0, 50.0))


BOUNDS = {"target_bounds": (-1.0, 2.0)}
KINDS = {
    "classes": (of_classes, lambda table: table, {}),
    "classes, labels alone": (of_classes, lambda table: table, {"curves": False, "n_records": 60}),
    "classes, margins": (lambda: of_classes(LinearSVC), lambda table: table, {}),
    "numbers": (of_numbers, numbers, BOUNDS),
    "numbers, of a known number of records": (of_numbers, numbers, BOUNDS | {"n_records": 60}),
    "quantiles": (lambda: of_numbers(QuantileRegressor, quantile=0.8), numbers, BOUNDS),
    "counts": (lambda: of_numbers(Counting), numbers, {"target_bounds": (0.0, 3.0)}),
}


def replay_kind(kind, **settings):
    make, of, known = KINDS[kind]
    given = {"delta": 1e-3, "epsilon": 5.0} | known | settings
    return replay_on_all_tables(lambda table: lambda: metrics.evaluate(make(), *of(table), **given))


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_told_apart_by_nothing_but_what_was_released_of_other_targets(kind):
    original = replay_kind(kind)
    assert [event.kind for event in original.tape.events if isinstance(event, Request)] == ["gaussian"]
    assert {"accuracy", "r2"} & set(original.visible["scores"])


@pytest.mark.parametrize(
    ("probabilities", "curves", "n_records", "epsilon"),
    [(True, True, None, 5.0), (False, True, 60, 0.1), (True, False, 60, 5.0), (False, False, None, 0.1)],
)
def test_neighbours_are_told_apart_by_nothing_but_what_was_released(
    probabilities, curves, n_records, epsilon
):
    original = replay(probabilities=probabilities, curves=curves, n_records=n_records, epsilon=epsilon)
    assert [event.kind for event in original.tape.events if isinstance(event, Request)] == ["gaussian"]
    assert "accuracy" in original.visible["scores"]


def test_neighbours_are_told_apart_by_no_warning_of_a_large_delta():
    """1/delta lies between the number of records and that of a neighbour."""
    replay(**PLAIN | {"epsilon": 20.0, "delta": 1 / 60.5})


# -- planted bugs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two labels", "classes", "numbers"])
def test_the_exact_number_of_held_out_records_in_every_score_is_noticed(monkeypatch, kind):
    seen, read, estimated = [], ScoreSums.bounded, Estimates.estimated.__func__

    def counting(self, of):
        seen.append(of.table.n_records)
        return read(self, of)

    def leaky(cls, released, strategy, n_records, *known):
        return estimated(cls, released, strategy, seen[-1], *known)

    monkeypatch.setattr(ScoreSums, "bounded", counting)
    monkeypatch.setattr(Estimates, "estimated", classmethod(leaky))
    with pytest.raises(AssertionError, match=r"(cells|estimates) depends on the records"):
        replay(**PLAIN) if kind == "two labels" else replay_kind(kind)


@pytest.mark.parametrize("kind", ["numbers", "counts"])
def test_residuals_that_are_not_clipped_are_noticed(monkeypatch, kind):
    """Metrics and question both clip, and either suffices; here both let a thousand times more pass."""
    clip = np.clip

    def wide(values, low, high):
        return clip(values, np.minimum(low, 1e3 * low), np.maximum(high, 1e3 * high))

    monkeypatch.setattr(np, "clip", wide)
    with pytest.raises(AssertionError, match="is paid for"):
        replay_kind(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_that_is_too_small_is_noticed(monkeypatch, kind):
    """A tenth less than the longest row of shares and factors."""
    honest = ScoreSums.bounded

    def shorter(self, of):
        bounded = honest(self, of)
        return dataclasses.replace(bounded, sensitivity=0.9 * bounded.sensitivity)

    monkeypatch.setattr(ScoreSums, "bounded", shorter)
    with pytest.raises(AssertionError, match="is paid for"):
        replay_kind(kind)


LEAKS = {
    "one sum": slice(5, 6),
    "all sums of the first class": slice(None, 120),
    "all sums of the second class": slice(-120, None),
}


@pytest.mark.parametrize("where", LEAKS)
def test_sums_without_noise_are_noticed(monkeypatch, where):
    honest, heard = Curator.measure, overhear(monkeypatch, "gaussian")

    def leaky(self, *asked, **settings):
        answer = honest(self, *asked, **settings)
        value = answer.value.copy()
        value[LEAKS[where]] = heard[-1][LEAKS[where]]
        return dataclasses.replace(answer, value=value)

    monkeypatch.setattr(Curator, "measure", leaky)
    with pytest.raises(AssertionError, match="cells depends on the records"):
        replay(**PLAIN)


@pytest.mark.parametrize("kind", ["two labels", "classes", "numbers"])
def test_an_exact_sum_in_the_result_is_noticed(monkeypatch, kind):
    heard, estimated = overhear(monkeypatch, "gaussian"), Estimates.estimated.__func__

    def leaky(cls, released, strategy, n_records, *known):
        estimates = estimated(cls, released, strategy, n_records, *known)
        exact = strategy.estimator[0] @ heard[-1]
        return dataclasses.replace(estimates, counts=np.append(exact[:1], estimates.counts[1:]))

    monkeypatch.setattr(Estimates, "estimated", classmethod(leaky))
    with pytest.raises(AssertionError, match=r"(cells|estimates) depends on the records"):
        replay(**PLAIN) if kind == "two labels" else replay_kind(kind)


def test_an_exact_score_that_is_printed_is_noticed(monkeypatch):
    honest = examination.marked_labels

    def talkative(*given, **settings):
        marks = honest(*given, **settings)
        print(marks.columns.mean())
        return marks

    monkeypatch.setattr(examination, "marked_labels", talkative)
    with pytest.raises(AssertionError, match="printed depends on the records"):
        replay(**PLAIN)


def test_noise_for_half_the_sensitivity_is_noticed(monkeypatch):
    sigma = gaussian.gaussian_sigma
    monkeypatch.setattr(gaussian, "gaussian_sigma", lambda sensitivity, rho: sigma(sensitivity, rho) / 2.0)
    with pytest.raises(AssertionError, match="is paid for"):
        replay(**PLAIN)
