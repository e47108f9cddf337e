"""Fits with a constraint set, a public start or a user's loss, replayed on neighbours: only releases tell."""

import math

import numpy as np
import pytest
from neighbours import QUICK, base_table, neighbours, strange_tables
from replay import assert_paid_for, assert_same, run

from privfit import DPLinearClassifier, DPLogisticRegression
from privfit.losses import Loss
from privfit.losses.arithmetic import compilable
from privfit.penalties import Ball, Box, NonNegative
from privfit.solvers import Adaptive, Newton

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
]

SOLVERS = {
    "adaptive": Adaptive(),
    "newton": Newton(),
    **{name: QUICK[name] for name in ("gradient-descent", "dpagd", "dpagd-modern")},
}


def unruly_value(prediction, target):
    """Return numbers of all kinds: a loss that is neither convex nor finite breaks no bound."""
    if prediction > 1.0:
        return math.nan if target > 0.0 else -1e9
    return abs(prediction - target) * 1e3


def unruly_derivative(prediction, target):
    if prediction > 1.0:
        return math.inf if target > 0.0 else -1e30
    return target - prediction


UNRULY = Loss("unruly", unruly_value, unruly_derivative, smoothness=1.0)
DECLARED = {
    "a ball": {"constraint": Ball(0.3)},
    "a box": {"constraint": Box(-0.1, [0.2, 3.0, 0.0]), "epsilon": 0.5},
    "no negative weights": {"constraint": NonNegative(), "alpha": 0.05, "n_records": 60},
    "a start": {"start": ([3.0, -2.0, 0.5], 0.3)},
    "a start in a ball": {"start": ([30.0, -2.0, 0.5], 0.0), "constraint": Ball(0.5), "epsilon": 0.5},
    "a loss": {"loss": UNRULY},
    "a loss in a box": {"loss": UNRULY, "constraint": Box(0.0, 0.1), "epsilon": 0.5},
}


def replay(solver, declared):
    settings = {"epsilon": 20.0, "delta": 1e-3, "classes": (0, 1), "solver": SOLVERS[solver]} | declared
    model = DPLinearClassifier if "loss" in declared else DPLogisticRegression

    def fit_of(table):
        return lambda: model(**settings).fit(*table)

    original = run(fit_of(base_table()))
    if "refusal" in original.visible:
        return original
    for table in neighbours(np.float64).values():
        again = run(fit_of(table), original=original)
        assert_same(original, again)
        assert_paid_for(original, again)
    for table in strange_tables():
        assert_same(original, run(fit_of(table), original=original))
    return original


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_but_what_was_released_tells_tables_apart(solver, declared):
    settings = DECLARED[declared]
    refused = (solver == "newton" and "constraint" in settings) or (
        solver == "dpagd-modern" and "loss" in settings
    )
    assert ("refusal" in replay(solver, settings).visible) == refused


def negative_value(prediction, target):
    return -1e6 * abs(prediction)


def test_a_loss_without_its_guard_is_noticed(monkeypatch):
    """A negative loss moves the scores of DP-AGD's candidates by more than is paid for."""
    negative = Loss("negative", negative_value, unruly_derivative)
    replay("dpagd", {"loss": negative})
    bare = Loss("bare_negative", compilable(negative_value), compilable(unruly_derivative))
    monkeypatch.setattr("privfit.estimators.any_loss.guarded", lambda loss: bare)
    with pytest.raises(AssertionError, match="is paid for"):
        replay("dpagd", {"loss": negative})
