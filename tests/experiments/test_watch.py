"""What is written down beside DP-AGD's choices: it is true, and watching changes nothing."""

import numpy as np
import pytest

from privfit.experiments.ablations import VARIANTS
from privfit.experiments.designs import FAULTY, Cell
from privfit.experiments.fit import estimator_of, fit_cell
from privfit.experiments.watch import Choice, Watch, watched
from privfit.solvers import DPAGD

CELL = Cell("gamma", "adult", "logistic", "dpagd", 0.8, 0.5, 0, 0)


def fitted(solver, n=400):
    rng = np.random.default_rng(3)
    X = rng.random((n, 4))
    y = (X[:, 0] + 0.2 * rng.standard_normal(n) > 0.5).astype(int)
    model = estimator_of(CELL._replace(experiment="svm", value=None, epsilon=20.0), solver, n, CELL.rng(1))
    return model.fit(X, y), X, y


@pytest.mark.parametrize("solver", [DPAGD(), VARIANTS["dpagd-no-averaging"], DPAGD(batch_size=100.0)])
def test_a_watched_fit_is_the_same_fit(solver):
    copy, watch = watched(solver)
    model, _, _ = fitted(solver)
    again, _, _ = fitted(copy)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert model.trace_ == again.trace_
    assert sum(not choice.rejected for choice in watch.choices) == len(model.trace_)
    assert watch.seconds >= 0.0


def test_what_the_selection_cost_is_what_the_ledger_was_charged_for_it():
    solver, watch = watched(DPAGD())
    model, _, _ = fitted(solver)
    counts = watch.counts()
    assert watch.spent == pytest.approx(model.ledger_.spent)
    moved = sum(step.rho_selection for step in model.trace_)
    unfinished = counts.stalled * watch.choices[0].rho  # of the iteration that the budget ended
    assert counts.selection_share * model.ledger_.spent == pytest.approx(moved + unfinished)
    assert 0.0 < counts.selection_share < 1.0


def test_a_descent_direction_is_one_along_which_the_exact_loss_falls():
    solver, watch = watched(DPAGD())
    _, X, y = fitted(solver)
    slope = -(X.T @ (np.where(y == 1, 1.0, -1.0) / 2.0))  # of the logistic loss at zero
    Z_slope = np.append(slope, -np.where(y == 1, 1.0, -1.0).sum() / 2.0)
    seen = []

    class Seeing(type(solver)):
        def choose(self, curator, line, steps, rho, penalties):
            seen.append((line.origin.w.copy(), line.direction.copy()))
            return super().choose(curator, line, steps, rho, penalties)

    before = len(watch.choices)
    fitted(Seeing())
    first = [direction for w, direction in seen if not w.any()]
    assert first
    for direction, choice in zip(first, watch.choices[before:], strict=False):
        assert choice.descent == (float(Z_slope @ np.ravel(direction)) > 0.0)


def test_counts_sum_the_choices_up():
    choices = [Choice(*c, 0.1) for c in ((True, True), (False, True), (True, False), (True, True))]
    assert Watch(choices, spent=0.8).counts() == (4, 3, 2, 3, 2, pytest.approx(0.5))
    assert Watch([Choice(True, False, 0.1)], spent=0.1).counts().stalled == 1
    assert Watch().counts() == (0, 0, 0, 0, 0, 0.0)


@pytest.mark.parametrize("algorithm", ["dpagd", FAULTY])
def test_rows_have_counts_where_there_is_a_selection_and_none_elsewhere(algorithm):
    with_it = fit_cell(CELL._replace(algorithm=algorithm), 1, records=500)
    assert 0.0 < with_it.selection_share < 1.0
    assert with_it.choices == with_it.steps + with_it.rejected
    assert 0 <= with_it.rejected_descents <= min(with_it.rejected, with_it.descents)
    without = fit_cell(CELL._replace(experiment="svm", algorithm="sgd-adv", value=None), 1, records=500)
    assert without.choices is None
    assert without.selection_share is None
