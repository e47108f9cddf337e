"""What every registered solver must do, through the estimators; a new one is held to it by being registered.

That neighbours are told apart by nothing but what was released stands in test_solver_replay.py.
"""

import dataclasses
import math
import typing
from fractions import Fraction

import numpy as np
import pytest
from neighbours import MODELS, PRIVATE, VARIANTS
from replay import Request, noise_from, run
from scipy import sparse

from privfit.accounting import BudgetExceeded, Ledger
from privfit.mechanisms.noise import SeededNoise
from privfit.solvers import (
    DPAGD,
    SGDMA,
    SOLVERS,
    Adaptive,
    FrankWolfe,
    GradientDescent,
    ModernDPAGD,
    OutputPerturbation,
    PrivGene,
    SGDAdv,
    get_solver,
)
from privfit.solvers.dpagd import LineSearchDescent

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

LOSSES = {"logistic": lambda m: np.logaddexp(0.0, -m), "hinge": lambda m: np.maximum(1.0 - m, 0.0)}


def table(n=1000, seed=1):
    """Return records of norm 2 whose labels a linear model explains but for some noise; chance is 1/2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X *= 2.0 / np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X @ [2.0, -1.0, 0.5] + 0.5 * rng.logistic(size=n) > 0.0).astype(int)


def fit(solver, X, y, *, loss="logistic", seed=0, epsilon=1.0, delta=1e-6, **settings):
    model = MODELS[loss](epsilon, delta, solver=solver, classes=(0, 1), **settings)
    with noise_from(SeededNoise(seed)):
        return model.fit(X, y)


def weights(model):
    return np.append(model.coef_, model.intercept_)


# -- the two ends of the scale -------------------------------------------------------------------------------

# with so much noise that steps are affordable, where a solver would otherwise stand still
POOR = {"sgd-ma": SGDMA(max_steps=20, noise_multiplier=1e6)}


@pytest.mark.parametrize("loss", MODELS)
@pytest.mark.parametrize("name", VARIANTS)
def test_learns_nothing_as_the_budget_vanishes(name, loss):
    """A silent non-private path would keep its accuracy of .9. The mean of 30 runs, of standard error .05."""
    X, y = table()
    solver = POOR.get(name, VARIANTS[name])
    models = [fit(solver, X, y, loss=loss, seed=k, epsilon=1e-3, n_records=1000) for k in range(30)]
    assert all(weights(model).any() for model in models), "a model of zeros would learn nothing either"
    assert abs(np.mean([model.score(X, y) for model in models]) - 0.5) < 0.15


# what lets a solver come near the optimum, and how near in the mean loss; weights of zero are .5 above it
RICH = {
    "adaptive": (Adaptive(), 0.005),
    "dpagd": (DPAGD(C_grad=20.0, C_obj=20.0), 0.07),  # .018 on average, with a standard deviation of .01
    "dpagd-modern": (ModernDPAGD(C_grad=20.0), 0.005),
    "gradient-descent": (GradientDescent(clip=20.0), 0.005),
    "frank-wolfe": (FrankWolfe(radius=30.0), 0.01),
    "dpagd, samples": (DPAGD(batch_size=500, selection="gumbel"), 0.02),
    "dpagd, exponential": (DPAGD(selection="exponential"), 0.02),
    "output-perturbation": (OutputPerturbation(T=4000), 0.005),
    "output-perturbation, few steps": (OutputPerturbation(T=4000, radius=2.5), 0.005),
    "privgene": (PrivGene(population=20), 0.02),
    "privgene, authors": (PrivGene(variant="authors"), 0.02),
    "sgd-adv": (SGDAdv(steps=2000, step=0.5), 0.01),
    "sgd-ma": (SGDMA(max_steps=2000, step=0.5), 0.01),
}


@pytest.mark.parametrize("loss", MODELS)
@pytest.mark.parametrize("name", VARIANTS)
def test_approaches_the_optimum_as_the_budget_grows(name, loss):
    X, y = table()
    solver, tolerance = RICH.get(name, (VARIANTS[name], 0.005))
    # the prices of DP-AGD grow as epsilon^2 and its budget as epsilon, so at some point it buys nothing
    epsilon = 100.0 if isinstance(solver, DPAGD) else 1e6

    def mean_loss(model):
        return LOSSES[loss](np.where(y == 1, 1.0, -1.0) * model.decision_function(X)).mean()

    best = mean_loss(fit("nonprivate", X, y, loss=loss))
    assert best < 0.6 * LOSSES[loss](0.0)
    found = mean_loss(fit(solver, X, y, loss=loss, epsilon=epsilon, n_records=1000))
    assert found < best + tolerance


# -- the form of the table -----------------------------------------------------------------------------------

# dense and sparse sums may be rounded differently, which a long walk or a stopping rule magnifies
AGREEMENT = {"adaptive": 1e-4, "newton": 1e-5, "frank-wolfe": 1e-5, "nonprivate": 1e-3}


NEEDS_INTERCEPT = {"majority"}
FORMED = [
    (name, intercept)
    for name in sorted((SOLVERS.keys() | VARIANTS.keys()) - {"sufficient-statistics"})  # which takes numbers
    for intercept in (True, False)
    if intercept or name not in NEEDS_INTERCEPT
]


@pytest.mark.parametrize("loss", MODELS)
@pytest.mark.parametrize(("name", "intercept"), FORMED)
def test_sparse_and_dense_tables_give_the_same_model(name, loss, intercept):
    X, y = table(300)
    X[np.abs(X) < 0.7] = 0.0
    solver = VARIANTS.get(name, name)
    dense, csr = (
        weights(fit(solver, form(X), y, loss=loss, fit_intercept=intercept, alpha=0.01))
        for form in (np.asarray, sparse.csr_matrix)
    )
    rtol = AGREEMENT.get(name, 1e-7)
    np.testing.assert_allclose(csr, dense, rtol=rtol, atol=rtol)
    assert dense.any()


# -- the account ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [{}, {"n_records": 300}], ids=["n bought", "n declared"])
@pytest.mark.parametrize("epsilon", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("name", PRIVATE)
def test_no_more_is_spent_and_stated_than_was_promised(name, epsilon, public):
    model = fit(PRIVATE[name], *table(300), epsilon=epsilon, **public)
    spent = sum(Fraction(entry.rho) for entry in model.ledger_.entries)
    assert spent <= Fraction(model.ledger_.rho) * (1 + Fraction(1, 2**53))
    assert model.ledger_.remaining < model.ledger_.rho or not weights(model).any()
    assert model.privacy_.epsilon <= epsilon
    assert model.privacy_.delta <= 1e-6


@pytest.mark.parametrize("name", PRIVATE)
def test_a_ledger_with_too_little_left_refuses_before_anything_is_looked_at(name):
    X, y = table(300)
    ledger = Ledger(rho=1e-6, delta=1e-3)
    model = MODELS["logistic"](1.0, 1e-6, solver=PRIVATE[name], classes=(0, 1), ledger=ledger)
    refused = run(lambda: model.fit(X, y))
    assert refused.visible["refusal"].startswith(f"{BudgetExceeded.__name__}: ")
    assert not [event for event in refused.tape.events if isinstance(event, Request)]
    assert ledger.spent == 0.0


@pytest.mark.parametrize("name", PRIVATE)
def test_a_fit_whose_ledger_another_thread_empties_is_refused(name, monkeypatch):
    """Every solver derives its prices from what is left, which must not become a price of nothing."""
    X, y = table(300)
    ledger, portion = Ledger(rho=10.0, delta=0.1), Ledger.portion

    def portion_of_what_is_spent(*arguments, **settings):
        part = portion(*arguments, **settings)
        ledger.charge(ledger.remaining, ledger.remaining_delta, what="another thread's fit")
        return part

    monkeypatch.setattr(Ledger, "portion", portion_of_what_is_spent)
    model = MODELS["logistic"](1.0, 1e-6, solver=PRIVATE[name], classes=(0, 1), ledger=ledger)
    if isinstance(get_solver(PRIVATE[name]), LineSearchDescent):  # which ends where a charge does not fit
        assert not weights(model.fit(X, y)).any()
    else:
        with pytest.raises(BudgetExceeded):
            model.fit(X, y)
    assert [entry.what for entry in ledger.entries] == ["another thread's fit"]


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_impossible_without_delta_is_refused_before_it_is_charged(name):
    X, y = table(300)
    ledger = Ledger(rho=10.0, delta=0.1)
    model = MODELS["logistic"](1.0, 0.0, solver=PRIVATE[name], classes=(0, 1), ledger=ledger)
    tried = run(lambda: model.fit(X, y))
    if "refusal" in tried.visible:
        assert "delta" in tried.visible["refusal"]
        assert not tried.tape.events
        assert ledger.spent == 0.0
    else:
        assert name == "objective-perturbation", "pure privacy has a proof for this solver alone"


# -- randomness ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRIVATE)
def test_the_model_is_a_function_of_the_noise(name):
    X, y = table(300)
    first, again, other = (weights(fit(PRIVATE[name], X, y, seed=seed, epsilon=5.0)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# -- the configuration ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_a_solver_is_a_frozen_configuration_by_keyword_that_needs_no_settings(name):
    solver = get_solver(name)
    assert solver.name == name
    assert solver == type(solver)()
    assert hash(solver) == hash(type(solver)())
    assert all(field.kw_only for field in dataclasses.fields(solver))
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.anything = 1


def numeric_settings():
    for name, solver in sorted(SOLVERS.items()):
        hints = typing.get_type_hints(solver)
        for field in dataclasses.fields(solver):
            if {int, float} & {hints[field.name], *typing.get_args(hints[field.name])}:
                yield pytest.param(solver, field.name, id=f"{name}, {field.name}")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1])
@pytest.mark.parametrize(("solver", "setting"), list(numeric_settings()))
def test_a_number_that_makes_no_sense_is_refused_by_name(solver, setting, bad):
    with pytest.raises(ValueError, match=rf"\b{setting}\b"):
        solver(**{setting: bad})
