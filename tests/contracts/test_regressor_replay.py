"""Regressors replayed on neighbours: nothing but what was released tells two tables apart.

Targets are hostile as well: as large as can be, tiny, far from all others.
"""

import numpy as np
import pytest
from neighbours import COLUMNS, base_table, neighbours, strange_tables
from replay import Request, assert_paid_for, assert_same, run

from privfit import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor, DPQuantileRegressor
from privfit.curator import Curator
from privfit.questions import SlopeCounts
from privfit.solvers import DPAGD, GradientDescent, ModernDPAGD

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

MODELS = {
    "squared": DPLinearRegression,
    "huber": DPHuberRegressor,
    "quantile": DPQuantileRegressor,
    "poisson": DPPoissonRegressor,
}
HOSTILE_TARGETS = (1e308, -1e308, 5e-324, 1e-30, 0.0, 40.0, -3.0)
BOUNDS = {"target_bounds": (0.0, 10.0), "feature_bounds": (-2.0, 2.0), "n_records": 60}


def with_numbers(table, last=None):
    """Return the features with numbers as targets; that of the last record may be another."""
    X, _ = table
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.clip(np.nan_to_num(X @ np.linspace(1.0, -1.0, COLUMNS)), -50.0, 50.0)
    y = np.maximum(np.round(3.0 + scores), 0.0)
    if last is not None:
        y[-1] = last
    return X, y


def tables_beside():
    """Yield neighbours of the base, which differ in the last record."""
    for k, (name, table) in enumerate(neighbours(np.float64).items()):
        yield name, with_numbers(table, HOSTILE_TARGETS[k % len(HOSTILE_TARGETS)] if "more" in name else None)
    X, _ = base_table()
    for target in HOSTILE_TARGETS:
        X_more, y_more = with_numbers((np.vstack([X, X[:1]]), None), target)
        yield f"with a target of {target}", (X_more, y_more)


def replay(model, **settings):
    def fit_of(table):
        X, y = table
        return lambda: MODELS[model](delta=1e-3, **settings).fit(X, y)

    original = run(fit_of(with_numbers(base_table())))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for name, table in tables_beside():
        try:
            again = run(fit_of(table), original=original)
            assert_same(original, again)
            assert_paid_for(original, again)
        except AssertionError as difference:
            difference.add_note(f"on the table {name}")
            raise
    for table in strange_tables():
        assert_same(original, run(fit_of(with_numbers(table)), original=original))
    return original


@pytest.mark.parametrize("declared", [{}, BOUNDS], ids=["nothing declared", "bounds declared"])
@pytest.mark.parametrize(
    ("model", "epsilon"),
    [*((model, epsilon) for model in MODELS for epsilon in (0.3, 20.0)), ("squared", 3e3)],
)
@pytest.mark.filterwarnings("ignore::privfit.leaks.WeakPromiseWarning")
def test_neighbours_with_hostile_targets_are_told_apart_by_nothing(model, epsilon, declared):
    original = replay(model, epsilon=epsilon, **declared)
    assert any(isinstance(event, Request) for event in original.tape.events)


@pytest.mark.parametrize("declared", [{}, BOUNDS], ids=["nothing declared", "bounds declared"])
@pytest.mark.parametrize(
    ("model", "solver"),
    [
        ("squared", "sufficient-statistics"),
        ("squared", GradientDescent(steps=5)),
        ("poisson", GradientDescent(steps=5)),
        ("squared", DPAGD(splits=6)),
        ("huber", ModernDPAGD(iterations=8)),
        ("squared", "newton"),
    ],
    ids=lambda given: getattr(given, "name", given),
)
@pytest.mark.filterwarnings("ignore::privfit.leaks.WeakPromiseWarning")
def test_other_solvers_tell_neighbours_apart_by_nothing(model, solver, declared):
    replay(model, epsilon=20.0, solver=solver, **declared)


@pytest.mark.filterwarnings("ignore::privfit.leaks.WeakPromiseWarning")
def test_an_exact_histogram_of_targets_is_noticed(monkeypatch):
    """The scale read off exact counts: a planted bug."""
    honest = Curator.measure

    def leaky(self, question, rho, **settings):
        answer = honest(self, question, rho, **settings)
        if isinstance(question, SlopeCounts):
            answer.value[:] = self._bounded(question, settings.get("of")).look()
        return answer

    monkeypatch.setattr(Curator, "measure", leaky)
    with pytest.raises(AssertionError, match="depends on the records"):
        replay("squared", epsilon=20.0, **BOUNDS)
