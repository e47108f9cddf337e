"""A limit of passes over the data: it is kept by every kind of fit, and the plan is public."""

from dataclasses import replace

import numpy as np
import pytest

from privfit import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    Ledger,
)
from privfit.accounting.relation import ONE_RECORD
from privfit.engine.layouts.dense import DenseLayout
from privfit.engine.table import Table
from privfit.losses import get_loss
from privfit.penalties import NO_PENALTY, NonNegative
from privfit.solvers import SOLVERS, Adaptive, Facts
from privfit.solvers.passes import least_passes

N, COLUMNS = 600, 4  # more columns than classes, so that a table of scores is told from the records
RNG = np.random.default_rng(7)
X = RNG.random((N, COLUMNS))
SCORES = 4.0 * X[:, 0] - 3.0 * X[:, 1]
LABELS = (SCORES + RNG.logistic(size=N) > 0.5).astype(int)
CLASSES = LABELS + (X[:, 2] > 0.5)
NUMBERS = SCORES + 0.3 * RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(0.5 * SCORES))
WEIGHTS = RNG.uniform(0.5, 1.0, size=N)
PEOPLE = np.repeat(np.arange(N // 2), 2)

TWO, THREE = {"classes": (0, 1)}, {"classes": (0, 1, 2)}
WEIGHED, OF_PEOPLE = {"sample_weight": WEIGHTS}, {"groups": PEOPLE}
FITS = {
    "two classes": (DPLogisticRegression, LABELS, TWO, {}),
    "hinge": (DPLinearSVC, LABELS, TWO, {}),
    "no intercept": (DPLogisticRegression, LABELS, TWO | {"fit_intercept": False}, {}),
    "constraint": (DPLogisticRegression, LABELS, TWO | {"constraint": NonNegative()}, {}),
    "start": (DPLogisticRegression, LABELS, TWO | {"start": (np.ones(COLUMNS), 0.0)}, {}),
    "weights": (DPLogisticRegression, LABELS, TWO | {"max_weight": 1.0}, WEIGHED),
    "people": (DPLogisticRegression, LABELS, TWO | {"rows_per_person": 2}, OF_PEOPLE),
    "three classes": (DPLogisticRegression, CLASSES, THREE, {}),
    "three classes, weights": (DPLogisticRegression, CLASSES, THREE | {"max_weight": 1.0}, WEIGHED),
    "three classes, people": (DPLogisticRegression, CLASSES, THREE | {"rows_per_person": 2}, OF_PEOPLE),
    "numbers": (DPLinearRegression, NUMBERS, {"target_bounds": (-6.0, 6.0)}, {}),
    "numbers, weights": (
        DPLinearRegression,
        NUMBERS,
        {"target_bounds": (-6.0, 6.0), "max_weight": 1.0},
        WEIGHED,
    ),
    "numbers, start": (
        DPLinearRegression,
        NUMBERS,
        {"target_bounds": (-6.0, 6.0), "start": (np.ones(COLUMNS), 0.0)},
        {},
    ),
    "numbers of people": (
        DPHuberRegressor,
        NUMBERS,
        {"target_bounds": (-6.0, 6.0), "rows_per_person": 2},
        OF_PEOPLE,
    ),
    "quantile": (DPQuantileRegressor, NUMBERS, {"target_bounds": (-6.0, 6.0)}, {}),
    "counts": (DPPoissonRegressor, COUNTS, {"target_bounds": (0.0, 50.0)}, {}),
}


class Passes:
    """How many rows of the table a solver has read.

    All outputs of a chunk are predicted, or added up, one after the other while the chunk is in the caches:
    that is one reading of it.
    """

    def __init__(self):
        self.rows, self.last, self.counting, self.again = 0, None, False, False

    def read(self, layout, rows):
        if self.counting and not self.again and layout.shape[1] == COLUMNS:
            self.rows += rows.stop - rows.start


@pytest.fixture
def passes(monkeypatch):
    """Count what is read through a dense layout while the default solver runs, on one thread."""
    found = Passes()

    def before(owner, name, act):
        original = getattr(owner, name)

        def called(self, *arguments, **settings):
            act(self, name, *arguments)
            return original(self, *arguments, **settings)

        monkeypatch.setattr(owner, name, called)

    def read(layout, _, rows, *others):
        if isinstance(rows, slice):  # a few rows by their numbers are no pass
            found.read(layout, rows)

    def sweep(*arguments):
        found.again, found.last = False, None

    def visit(_, name, rows, *others):
        found.again, found.last = found.last == (name, rows), (name, rows)

    def begin(*arguments):
        found.counting = True

    for name in ("parts", "take"):
        before(DenseLayout, name, read)
    for name in ("predict", "add_combination", "visit", "clipped", "add_gradient", "add_gradients"):
        before(DenseLayout, name, visit if name in ("predict", "add_combination") else sweep)
    for name in ("for_each_chunk", "sums"):
        before(Table, name, sweep)
    before(Adaptive, "solve", begin)
    monkeypatch.setattr("privfit.engine.parallel.threads.n_threads", lambda: 1)
    return found


def fitted(case, **settings):
    estimator, y, own, given = FITS[case]
    settings = {"epsilon": 1.0, "noise": "seeded", "random_state": 0} | own | settings
    return estimator(**settings).fit(X, y, **given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "declared", [{"feature_bounds": (0.0, 1.0), "n_records": N}, {}], ids=["all", "none"]
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("case", FITS)
def test_no_fit_takes_more_passes_than_allowed(passes, case, epsilon, declared):
    with pytest.raises(ValueError, match="max_passes must be at least") as refusal:
        fitted(case, max_passes=1, **declared)
    least = int(str(refusal.value).split("at least ")[1].split()[0])
    fitted(case, max_passes=least, epsilon=epsilon, **declared)
    assert epsilon < 1.0 or passes.rows > N, "a constant, all that little budget buys, needs no pass"
    assert passes.rows / N <= least


@pytest.mark.filterwarnings("ignore")
def test_the_limit_is_not_just_twice_too_cautious(passes):
    """Columns in which a few values are far beyond the others are clipped, which takes the most passes."""
    tails = X.copy()
    tails[::200] *= 1000.0
    declared = {"feature_bounds": (0.0, 1000.0), "n_records": N, "max_passes": 20}
    model = DPLogisticRegression(30.0, noise="seeded", random_state=0, **TWO, **declared).fit(tails, LABELS)
    assert passes.rows / N == 20
    assert model.n_iter_ == 11


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"adaptive"}))
def test_other_solvers_refuse_a_limit_before_anything_is_charged(name):
    ledger = None if not SOLVERS[name].private else Ledger(epsilon=1.0, delta=1e-6)
    model = DPLogisticRegression(1.0, solver=name, max_passes=20, ledger=ledger, **TWO)
    with pytest.raises(ValueError, match=f"The solver '{name}' has no limit of passes over the data; leave"):
        model.fit(X, LABELS)
    assert ledger is None or not ledger.entries


@pytest.mark.parametrize("wrong", [0, -3, 2.5, True, "20"])
def test_a_limit_is_a_whole_number(wrong):
    with pytest.raises(ValueError, match="needs a whole number of at least 1 for max_passes"):
        fitted("two classes", max_passes=wrong)


def test_the_least_that_works_is_said_and_nothing_is_charged():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match=r"^max_passes must be at least 13 for this model, got 12\.$"):
        fitted("two classes", max_passes=12, ledger=ledger)
    assert not ledger.entries
    facts = Facts(get_loss("logistic"), True, 1e-6, ONE_RECORD, NO_PENALTY)
    assert least_passes(facts) == 13
    assert least_passes(replace(facts, weighted=True)) == 17


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ["two classes", "numbers", "three classes"])
def test_a_limit_that_no_fit_reaches_changes_nothing(case):
    """600 steps are the most that are ever taken."""
    without, with_limit = fitted(case), fitted(case, max_passes=700)
    np.testing.assert_array_equal(without.coef_, with_limit.coef_)
    assert without.trace_ == with_limit.trace_


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "epsilon"), [("logistic", 4.0), ("hinge", 4.0)])
def test_twenty_passes_are_nearly_enough_where_the_reach_is_ample(loss, epsilon):
    """Columns that go together, and a reach of 43,000.

    With six seeds the objective was at most .0003 above that of the usual number of passes.
    """
    rng = np.random.default_rng(3)
    n = 50_000
    Z = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 30)) + rng.normal(size=(n, 30))
    Z = np.clip(Z / 16 + 0.5, 0, 1)
    y = (6.0 * (Z - 0.5) @ rng.normal(size=30) + rng.logistic(size=n) > 0.0).astype(int)
    estimator, value = {
        "logistic": (DPLogisticRegression, lambda m: np.logaddexp(0.0, -m)),
        "hinge": (DPLinearSVC, lambda m: np.maximum(1.0 - m, 0.0)),
    }[loss]
    objectives = []
    for max_passes in (None, 20):
        declared = {"n_records": n, "feature_bounds": (0.0, 1.0), "max_passes": max_passes}
        model = estimator(epsilon, noise="seeded", random_state=0, **TWO, **declared).fit(Z, y)
        objectives.append(float(np.mean(value((2 * y - 1) * model.decision_function(Z)))))
    usual, limited = objectives
    assert limited < usual + 0.001
