"""Fits with inference, replayed on neighbours: nothing but what was released tells two tables apart."""

import dataclasses

import pytest
import test_person_replay
import test_regressor_replay
from test_class_replay import in_three_classes
from test_regressor_replay import BOUNDS
from test_solver_replay import replay_on_all_tables

from privfit import DPLogisticRegression
from privfit.curator import Curator
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread, PersonSpread
from privfit.solvers import Adaptive

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
]

SETTINGS = {
    "nothing declared": {},
    "all declared": {"n_records": 60, "feature_bounds": (-2.0, 2.0), "epsilon": 200.0},
    "alpha": {"alpha": 0.05, "fit_intercept": False, "solver": "newton"},
    "one column": {"inference": ["x1"], "epsilon": 0.5},
}


def replay(**settings):
    public = {"epsilon": 20.0, "delta": 1e-3, "classes": (0, 1), "inference": True} | settings
    return replay_on_all_tables(lambda table: lambda: DPLogisticRegression(**public).fit(*table))


@pytest.mark.parametrize("name", SETTINGS)
def test_effects_tell_neighbours_apart_by_nothing_but_what_was_released(name):
    replay(**SETTINGS[name])


@pytest.mark.parametrize("model", ["squared", "huber", "poisson"])
@pytest.mark.parametrize(
    "declared",
    [pytest.param({}, id="undeclared", marks=pytest.mark.slow), pytest.param(BOUNDS, id="declared")],
)
def test_effects_of_numbers_tell_neighbours_apart_by_nothing(model, declared):
    test_regressor_replay.replay(model, epsilon=20.0, inference=True, **declared)


@pytest.mark.parametrize("form", ["dense", pytest.param("csr", marks=pytest.mark.slow)])
def test_effects_of_people_tell_neighbours_apart_by_nothing(form):
    test_person_replay.replay(Adaptive(), form=form, inference=True)


@pytest.mark.parametrize("settings", [{"n_records": 60, "epsilon": 200.0}, {"fit_intercept": False}])
def test_effects_of_classes_tell_neighbours_apart_by_nothing(settings):
    """The solver takes few steps, because tests of its own replay it; what follows it is replayed here."""
    public = {"epsilon": 20.0, "delta": 1e-3, "classes": (0, 1, 2), "inference": True, "max_passes": 14}
    public |= settings

    def fit_of(table):
        return lambda: DPLogisticRegression(**public).fit(*in_three_classes(table))

    replay_on_all_tables(fit_of)


@pytest.mark.parametrize("question", [EffectGradient, EffectCurvature, EffectSpread])
def test_a_sensitivity_that_is_too_small_is_noticed(question, monkeypatch):
    """The neighbours move each of the sums by more than a twentieth of what is paid for."""
    original = Curator._bounded

    def cheaper(self, asked, of):
        found = original(self, asked, of)
        return (
            dataclasses.replace(found, sensitivity=0.05 * found.sensitivity)
            if type(asked) is question
            else found
        )

    monkeypatch.setattr(Curator, "_bounded", cheaper)
    with pytest.raises(AssertionError, match="is paid for"):
        replay(n_records=60, feature_bounds=(-2.0, 2.0), epsilon=200.0)


def test_squares_of_people_priced_as_those_of_records_are_noticed(monkeypatch):
    """The price is that of the number of records instead of its square."""
    original = PersonSpread.bounded

    def cheaper(self, of):
        found = original(self, of)
        return dataclasses.replace(found, sensitivity=found.sensitivity / test_person_replay.K)

    monkeypatch.setattr(PersonSpread, "bounded", cheaper)
    with pytest.raises(AssertionError, match="is paid for"):
        test_person_replay.replay(Adaptive(), inference=True, feature_bounds=(-2.0, 2.0), epsilon=2000.0)


def test_the_exact_number_of_records_in_the_radius_is_noticed(monkeypatch):
    """A radius that is read off the records, not bought, tells tables apart."""
    from privfit.solvers import last_steps

    def leaky(features, rho, bias):
        bought(features, rho, bias)
        return 1.0 + features._table.n_records / 1000.0

    bought = last_steps._radius
    monkeypatch.setattr(last_steps, "_radius", leaky)
    with pytest.raises(AssertionError):
        replay(n_records=60, feature_bounds=(-2.0, 2.0))
