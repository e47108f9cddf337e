"""Models of several classes replayed on neighbours: nothing but what was released tells two tables apart."""

import dataclasses

import numpy as np
import pytest
from neighbours import QUICK, base_table, fitting, neighbours, strange_tables
from replay import Request, Tape, assert_paid_for, assert_same, run

from privfit.curator import Curator
from privfit.engine import general
from privfit.engine.problem import Point
from privfit.questions import GradientAt, ScaleSlopesAt, TargetSums
from privfit.solvers import Adaptive, Newton

SOLVERS = {
    "adaptive": Adaptive(),
    "newton": Newton(),
    **{name: QUICK[name] for name in ("gradient-descent", "dpagd", "dpagd-modern")},
}
CLASSES = (0, 1, 2)
SETTINGS = [
    {"form": "dense", "loss": "logistic", "fit_intercept": True, "alpha": 0.0, "epsilon": 20.0},
    {"form": "csr", "loss": "hinge", "fit_intercept": True, "alpha": 0.05, "epsilon": 0.5, "n_records": 60},
    {"form": "float32", "loss": "logistic", "fit_intercept": False, "alpha": 0.05, "epsilon": 0.5},
    {"form": "dense", "loss": "hinge", "fit_intercept": False, "alpha": 0.0, "epsilon": 20.0},
]


def in_three_classes(table):
    """Return the table with every third record in a third class, by what the record says alone."""
    X, y = table
    return X, np.where((X[:, 0] > 0.1) & (X[:, 1] > 0.0), 2, y)


def replay(solver, settings):
    """Record a fit of the base table, and force what it released on its neighbours and on strange tables."""
    settings = settings | {"classes": CLASSES}
    original = run(fitting(solver, settings, in_three_classes(base_table())))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for name, table in neighbours(np.float32 if settings["form"] == "float32" else np.float64).items():
        try:
            again = run(fitting(solver, settings, in_three_classes(table)), original=original)
            assert_same(original, again)
            assert_paid_for(original, again)
        except AssertionError as difference:
            difference.add_note(f"on the table {name}")
            raise
    for table in strange_tables():
        assert_same(original, run(fitting(solver, settings, in_three_classes(table)), original=original))
    return original


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s['form']}-{s['loss']}-{s['epsilon']:g}")
@pytest.mark.parametrize("name", SOLVERS)
def test_neighbours_are_told_apart_by_nothing_but_what_was_released(name, settings):
    original = replay(SOLVERS[name], settings)
    assert any(isinstance(event, Request) for event in original.tape.events), "nothing was asked"


@pytest.mark.parametrize("question", [TargetSums, GradientAt, ScaleSlopesAt])
def test_an_exact_answer_after_a_paid_one_is_noticed(monkeypatch, question):
    heard, gaussian, honest = [], Tape.gaussian, Curator.measure
    asked = []

    def overheard(self, given, *settings):
        heard.append(given)
        return gaussian(self, given, *settings)

    def leaky(self, what, rho, **settings):
        answer = honest(self, what, rho, **settings)
        asked.append(type(what))
        exact = heard[-1].copy()
        return dataclasses.replace(answer, value=exact) if isinstance(what, question) else answer

    monkeypatch.setattr(Tape, "gaussian", overheard)
    monkeypatch.setattr(Curator, "measure", leaky)
    with pytest.raises(AssertionError, match="depends on the records"):
        replay(Adaptive(), SETTINGS[0] | {"epsilon": 0.5})
    assert question in asked


def test_a_clip_of_each_class_alone_is_noticed(monkeypatch):
    """Planted: with the hinge a long record moves all three classes, each by the whole clip."""

    def by_class(self, clip=np.inf):
        coefficients = general.coefficients(self.problem, self.predictions)
        combination_sums = self.problem.table.combination_sums
        return np.stack([combination_sums(np.ascontiguousarray(c), clip) for c in coefficients.T])

    monkeypatch.setattr(Point, "gradient_sums", by_class)
    with pytest.raises(AssertionError, match="is paid for"):
        replay(SOLVERS["dpagd"], SETTINGS[3])
