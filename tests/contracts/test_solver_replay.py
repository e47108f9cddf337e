"""Every private solver replayed on neighbours: nothing but what was released tells two tables apart."""

import dataclasses
import logging
import warnings

import numpy as np
import pytest
from neighbours import (
    VARIANTS,
    all_settings,
    base_table,
    covering_settings,
    fitting,
    neighbours,
    strange_tables,
)
from replay import Request, Tape, assert_paid_for, assert_same, run

from privfit.curator import Curator
from privfit.mechanisms import gaussian
from privfit.preprocessing import PrivateBounds
from privfit.questions import (
    Count,
    CurveNorms,
    GradientAt,
    HessianAt,
    Magnitudes,
    Moments,
    Norms,
    SecondMoments,
)
from privfit.solvers import DPAGD, SGDMA, Adaptive, GradientDescent, Newton, ObjectivePerturbation

ROUNDING = 1.0 + 1e-5  # of a clipped gradient's norm

# Released without noise on it, by the proof O1: the minimiser itself.
UNBLURRED = {"objective-perturbation": ("coef_", "intercept_")}

# By how much one record may move what is blurred, where the data were opened under a theorem of its own. A
# tilt is drawn around zero; where an optimiser stopped is hidden by O2, whichever way neighbours went.
OPENED = {
    "objective-perturbation": {"laplace": 1.0, "gaussian": 0.0},
    "approximate-minima-perturbation": {"laplace": 1.0, "gaussian": np.inf},
    "sgd-adv": {"laplace": 1.0, "gaussian": 3.0 * ROUNDING},
    "sgd-ma": {"laplace": 1.0, "gaussian": 4.0 * ROUNDING},
}


def replay_on_all_tables(fit_of, dtype=np.float64, *, unblurred=(), opened=None):
    """Record a fit of the base table; force what it released on its neighbours, and on strange tables.

    `fit_of` takes a table and returns its fit. The record is returned.
    """
    original = run(fit_of(base_table()))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for name, table in neighbours(dtype).items():
        try:
            again = run(fit_of(table), original=original)
            assert_same(original, again, released_unblurred=unblurred)
            assert_paid_for(original, again, opened=opened)
        except AssertionError as difference:
            difference.add_note(f"on the table {name}")
            raise
    for table in strange_tables():
        assert_same(original, run(fit_of(table), original=original), released_unblurred=unblurred)
    return original


def replay(solver, **settings):
    return replay_on_all_tables(
        lambda table: fitting(solver, settings, table),
        np.float32 if settings["form"] == "float32" else np.float64,
        unblurred=UNBLURRED.get(solver.name, ()),
        opened=OPENED.get(solver.name),
    )


def named(settings):
    return ",".join(f"{name}={value}" for name, value in settings.items())


PLAIN = {"form": "dense", "loss": "logistic", "fit_intercept": True, "alpha": 0.0, "epsilon": 20.0}
FEW, MANY, ALL = covering_settings(2), covering_settings(3), all_settings()


@pytest.mark.parametrize("settings", FEW, ids=named)
@pytest.mark.parametrize("name", VARIANTS)
def test_neighbours_are_told_apart_by_nothing_but_what_was_released(name, settings):
    original = replay(VARIANTS[name], **settings)
    assert any(isinstance(event, Request) for event in original.tape.events), "nothing was asked"


@pytest.mark.slow
@pytest.mark.parametrize("settings", [s for s in MANY if s not in FEW], ids=named)
@pytest.mark.parametrize("name", VARIANTS)
def test_neighbours_are_told_apart_by_nothing_in_many_settings(name, settings):
    replay(VARIANTS[name], **settings)


@pytest.mark.deep
@pytest.mark.parametrize("name", VARIANTS)
def test_neighbours_are_told_apart_by_nothing_in_any_setting(name):
    for settings in ALL:
        replay(VARIANTS[name], **settings)


@pytest.mark.parametrize("settings", FEW, ids=named)
def test_neighbours_are_told_apart_by_nothing_without_delta(settings):
    replay(ObjectivePerturbation(), delta=0.0, **settings)


@pytest.mark.parametrize("epsilon", [0.5, 20.0, 2000.0])
def test_neighbours_are_told_apart_by_nothing_with_a_limit_of_passes(epsilon):
    replay(Adaptive(max_passes=14), **PLAIN | {"epsilon": epsilon})


@pytest.mark.parametrize("n_records", [None, 60])
@pytest.mark.parametrize(
    "solver", [DPAGD(splits=0.5), SGDMA(batch_size=1e6), Adaptive()], ids=lambda solver: solver.name
)
def test_neighbours_are_told_apart_by_no_warning_of_a_budget_that_buys_nothing(solver, n_records):
    settings = PLAIN | {"epsilon": 0.01, "form": "csr", "alpha": 0.05, "n_records": n_records}
    assert "BudgetWarning" in str(replay(solver, **settings).visible["warnings"])


@pytest.mark.parametrize(
    "solver", [Adaptive(), GradientDescent(), ObjectivePerturbation()], ids=lambda solver: solver.name
)
def test_neighbours_are_told_apart_by_no_warning_of_a_large_delta(solver):
    """1/delta lies between the number of records and that of a neighbour."""
    replay(solver, **PLAIN | {"delta": 1 / 60.5, "alpha": 0.05})


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_private_bounds_tell_neighbours_apart_by_nothing(epsilon):
    replay_on_all_tables(lambda table: lambda: PrivateBounds(epsilon, 1e-3).fit(table[0]))


# -- planted bugs: each of them passed every other test -----------------------------------------------------


def overhear(monkeypatch, kind):
    """Return a list to which every noise source of this kind adds what it is given."""
    heard, answer = [], getattr(Tape, kind)

    def overheard(self, given, *settings):
        heard.append(given)
        return answer(self, given, *settings)

    monkeypatch.setattr(Tape, kind, overheard)
    return heard


ASKED = [Count, Norms, CurveNorms, Magnitudes, Moments, GradientAt, SecondMoments, HessianAt]


@pytest.mark.parametrize("question", ASKED)
def test_an_exact_answer_after_a_paid_one_is_noticed(monkeypatch, question):
    """Among them: the exact number of records, and the median norm read off the exact histogram."""
    solver = Newton() if question in (SecondMoments, HessianAt) else Adaptive()
    replay(solver, **PLAIN)
    honest, heard = Curator.measure, overhear(monkeypatch, "gaussian")

    def leaky(self, asked, rho, **settings):
        answer = honest(self, asked, rho, **settings)
        exact = heard[-1].copy()
        return dataclasses.replace(answer, value=exact) if isinstance(asked, question) else answer

    monkeypatch.setattr(Curator, "measure", leaky)
    with pytest.raises(AssertionError, match="depends on the records"):
        replay(solver, **PLAIN)


def test_a_note_that_prints_the_exact_number_of_records_is_noticed(monkeypatch):
    heard = overhear(monkeypatch, "poisson_rows")

    class Talkative(SGDMA):
        def solve(self, curator):
            solution = super().solve(curator)
            return dataclasses.replace(solution, notes=(f"on samples of {heard[-1]} records",))

    replay(SGDMA(max_steps=8), **PLAIN)
    with pytest.raises(AssertionError, match="privacy_ depends on the records"):
        replay(Talkative(max_steps=8), **PLAIN)


@pytest.mark.parametrize("say", [print, logging.getLogger("privfit.solvers").debug, warnings.warn])
def test_an_exact_number_that_is_printed_logged_or_warned_of_is_noticed(monkeypatch, say):
    heard = overhear(monkeypatch, "gaussian")

    class Talkative(GradientDescent):
        def solve(self, curator):
            solution = super().solve(curator)
            say(f"the last gradient was {heard[-1][0]}")
            return solution

    with pytest.raises(AssertionError, match=r"(printed|logged|warnings) depends on the records"):
        replay(Talkative(steps=2), **PLAIN)


def test_noise_for_half_the_sensitivity_is_noticed(monkeypatch):
    replay(GradientDescent(steps=5), **PLAIN)
    sigma = gaussian.gaussian_sigma
    monkeypatch.setattr(gaussian, "gaussian_sigma", lambda sensitivity, rho: sigma(sensitivity, rho) / 2.0)
    with pytest.raises(AssertionError, match="is paid for"):
        replay(GradientDescent(steps=5), **PLAIN)
