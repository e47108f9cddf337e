"""Weighted fits replayed on neighbours: a record moves no sum beyond its bound, whatever weight it claims."""

import dataclasses

import numpy as np
import pytest
from neighbours import FORMS, MODELS, QUICK, base_table, hostile_records, strange_tables
from replay import assert_paid_for, assert_same, run

from privfit import DPLinearRegression, DPLogisticRegression
from privfit.engine import problem as problems
from privfit.estimators import weighting
from privfit.questions import ClassSums, WeightSum
from privfit.solvers import Adaptive, GradientDescent, Newton, kit

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
]

SOLVERS = {
    "adaptive": Adaptive(),
    "newton": Newton(),
    **{name: QUICK[name] for name in ("gradient-descent", "dpagd", "dpagd-modern")},
}
LARGEST = 2.0
STRANGE = [np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e9, 1e300, LARGEST, np.nextafter(LARGEST, 3.0)]
BASE = np.random.default_rng(5).uniform(0.0, 1.2 * LARGEST, 60)
PLAIN = {"form": "dense", "loss": "logistic", "epsilon": 20.0, "max_weight": LARGEST}
SETTINGS = {
    "weights": {},
    "shrunk to a bought mean": {"weight_shrinkage": 0.5, "form": "csr"},
    "shrunk to a declared mean": {"weight_shrinkage": 0.9, "mean_weight": 1.0, "epsilon": 0.5},
    "balanced": {"class_weight": "balanced", "loss": "hinge"},
    "balanced and shrunk": {"class_weight": "balanced", "weight_shrinkage": 0.5, "alpha": 0.05},
    "classes": {"class_weight": {0: 3.0, 1: 0.5}, "alpha": 0.05, "n_records": 60},
    "several classes": {"class_weight": "balanced", "classes": (0, 1, 2)},
    "numbers": {"loss": "squared", "weight_shrinkage": 0.5},
}
KINDS = MODELS | {"squared": DPLinearRegression}


def fitting(solver, settings, table):
    X, y, weights = table
    public = {name: value for name, value in settings.items() if name not in ("form", "loss")}
    if settings["loss"] in MODELS:
        public = {"classes": (0, 1)} | public
    kind = KINDS[settings["loss"]]
    return lambda: kind(delta=1e-3, solver=solver, **public).fit(FORMS[settings["form"]](X), y, weights)


def neighbours():
    """Yield tables that differ from the base by one record, which comes last."""
    X, y = base_table()
    hostile = list(hostile_records(X, y, np.float64).values())
    for k, weight in enumerate(STRANGE):
        x, label = hostile[k % len(hostile)]
        yield np.vstack([X, x]), np.append(y, label), np.append(BASE, weight)
    yield X[:-1], y[:-1], BASE[:-1]


def replay(solver, **settings):
    settings = PLAIN | settings
    original = run(fitting(solver, settings, (*base_table(), BASE)))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for table in neighbours():
        again = run(fitting(solver, settings, table), original=original)
        assert_same(original, again)
        assert_paid_for(original, again)
    for X, y in strange_tables():
        weights = np.resize(STRANGE, len(y))
        assert_same(original, run(fitting(solver, settings, (X, y, weights)), original=original))
    return original


REPLAYED = [
    (name, how)
    for name in SOLVERS
    for how in (SETTINGS if name == "adaptive" else ("shrunk to a bought mean", "balanced and shrunk"))
]


@pytest.mark.parametrize(("name", "how"), REPLAYED)
def test_neighbours_are_told_apart_by_nothing_but_what_was_released(name, how):
    original = replay(SOLVERS[name], **SETTINGS[how])
    asked = str(original.tape.events)
    assert ("what='classes'" in asked) == (SETTINGS[how].get("class_weight") == "balanced")
    if not name.startswith("dpagd"):  # which divide by nothing, unless they are regularised
        assert "what='sum of weights'" in asked


def test_a_person_with_several_hostile_weights_moves_sums_by_no_more_than_is_paid_for():
    """Two records of each person are used; a neighbour has a person more, with three."""
    X, y = base_table()
    people = np.repeat(np.arange(20), 3)
    public = {"delta": 1e-3, "classes": (0, 1), "epsilon": 20.0, "max_weight": LARGEST, "rows_per_person": 2}

    def fitted(X, y, weights, groups):
        return lambda: DPLogisticRegression(**public).fit(X, y, weights, groups=groups)

    original = run(fitted(X, y, BASE, people))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for weights in ([np.inf, 1e300, LARGEST], [np.nan, -1.0, 0.0]):
        more = np.vstack([X, 100.0 * X[:3]]), np.append(y, [1, 1, 1]), np.append(BASE, weights)
        again = run(fitted(*more, np.append(people, [99, 99, 99])), original=original)
        assert_same(original, again)
        assert_paid_for(original, again)


# -- planted bugs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [Adaptive(), Newton(), GradientDescent(steps=5)], ids=lambda s: s.name)
def test_the_exact_sum_of_weights_is_noticed(monkeypatch, solver):
    def exact(curator, budget, question):
        answer = counted(curator, budget, question)
        if isinstance(question, WeightSum):
            answer = dataclasses.replace(answer, value=question.bounded(curator._records).look())
        return answer

    counted = kit.counted
    monkeypatch.setattr(kit, "counted", exact)
    with pytest.raises(AssertionError, match="depends on the records"):
        replay(solver)


def test_exact_sizes_of_classes_are_noticed(monkeypatch):
    def exact(curator):
        bought(curator)
        sizes = ClassSums().bounded(curator._records).look()
        return sizes.min() / sizes

    bought = weighting._bought_factors
    monkeypatch.setattr(weighting, "_bought_factors", exact)
    with pytest.raises(AssertionError, match="depends on the records"):
        replay(GradientDescent(steps=5), class_weight="balanced")


def test_weights_that_are_divided_by_their_own_mean_are_noticed(monkeypatch):
    honest = weighting.Weighting.of

    def normalised(self, sample_weight, encoder, declared):
        found = np.nan_to_num(np.abs(sample_weight), posinf=1e300)
        return honest(self, LARGEST * found / found.mean(), encoder, declared)

    monkeypatch.setattr(weighting.Weighting, "of", normalised)
    with pytest.raises(AssertionError, match="is paid for"):
        replay(GradientDescent(steps=5))


def test_weights_that_are_not_clipped_are_noticed(monkeypatch):
    """The engine refuses them; without its check, too, sums of weights move by as much as a record likes."""

    def unclipped(self, sample_weight, encoder, declared):
        found = np.where(sample_weight > 0.0, sample_weight, 0.0) / LARGEST
        return weighting.RecordWeights(self, np.minimum(found, 1e100), LARGEST, None)

    monkeypatch.setattr(weighting.Weighting, "of", unclipped)
    with pytest.raises(AssertionError, match="between 0 and 1"):
        replay(GradientDescent(steps=5))
    monkeypatch.setattr(problems, "checked_weights", lambda weights, n: np.asarray(weights))
    with pytest.raises(AssertionError, match="is paid for"):
        replay(GradientDescent(steps=5))


def test_shrinking_towards_the_mean_of_the_sample_is_noticed(monkeypatch):
    monkeypatch.setattr(weighting, "_bought_mean", lambda curator: float(np.mean(curator._records.weights)))
    with pytest.raises(AssertionError, match=r"is paid for|privacy_ depends on the records"):
        replay(GradientDescent(steps=5), weight_shrinkage=0.9)


def test_a_largest_weight_that_is_read_off_the_data_does_tell_neighbours_apart():
    """So it has to be said aloud, as `test_weights_of_records.py` requires."""
    with pytest.raises(AssertionError, match="is paid for"):
        replay(GradientDescent(steps=5), max_weight=None)
