"""What a solver cannot do is refused before anything is charged, and the refusal names those that can."""

import math

import numpy as np
import pytest

from privfit import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    Ledger,
    losses,
)
from privfit.losses import Loss
from privfit.losses.arithmetic import compilable
from privfit.solvers import SOLVERS

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(200, 3)), np.arange(200) % 2


@compilable
def squared_hinge_value(prediction, target):
    t = max(1.0 - target * prediction, 0.0)
    return t * t


@compilable
def squared_hinge_derivative(prediction, target):
    return -2.0 * target * max(1.0 - target * prediction, 0.0)


@compilable
def kinked_value(prediction, target):
    return max(-target * prediction, 0.0)


@compilable
def kinked_derivative(prediction, target):
    return -target if target * prediction < 0.0 else 0.0


SQUARED = Loss("squared_hinge", squared_hinge_value, squared_hinge_derivative, math.inf, 2.0)
KINKED = Loss("perceptron", kinked_value, kinked_derivative, 1.0, math.inf)


class SquaredHinge(DPLogisticRegression):
    _loss = "squared_hinge"


class Perceptron(DPLogisticRegression):
    _loss = "perceptron"


@pytest.fixture(autouse=True)
def _known_losses(monkeypatch):
    for loss in (SQUARED, KINKED):
        monkeypatch.setitem(losses.LOSSES, loss.name, loss)


UNBOUNDED = [
    "objective-perturbation",
    "approximate-minima-perturbation",
    "output-perturbation",
    "dpagd-modern",
]


@pytest.mark.parametrize("solver", [*UNBOUNDED, "privgene", "frank-wolfe"])
def test_a_loss_of_unbounded_slope_is_refused_before_any_charge(solver):
    ledger = Ledger(rho=10.0, delta=1e-5)
    with pytest.raises(
        ValueError, match=rf"The solver '{solver}' needs a loss whose slope is bounded"
    ) as refusal:
        SquaredHinge(solver=solver, ledger=ledger).fit(X, Y)
    able = str(refusal.value).split("solvers that would do: ")[1]
    assert able == "adaptive, dpagd, gradient-descent, newton, sgd-adv, sgd-ma."
    assert ledger.entries == ()


@pytest.mark.parametrize("solver", UNBOUNDED[:3])
def test_a_kink_that_has_no_rounded_version_is_refused_before_any_charge(solver):
    ledger = Ledger(rho=10.0, delta=1e-5)
    with pytest.raises(ValueError, match=rf"The solver '{solver}' needs a smooth loss, or the hinge"):
        Perceptron(solver=solver, ledger=ledger).fit(X, Y)
    assert ledger.entries == ()


@pytest.mark.parametrize("solver", ["approximate-minima-perturbation", "sgd-ma", "sgd-adv"])
def test_delta_zero_is_refused_by_those_who_need_one(solver):
    ledger = Ledger(rho=10.0)
    with pytest.raises(
        ValueError, match=r"needs a delta between 1e-15 and 0\.5; .* objective-perturbation"
    ) as refusal:
        DPLogisticRegression(delta=0.0, solver=solver, ledger=ledger).fit(X, Y)
    assert "adaptive" not in str(refusal.value)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    "solver",
    sorted(
        set(SOLVERS)
        - {*UNBOUNDED, "privgene", "frank-wolfe", "nonprivate", "majority", "sufficient-statistics"}
    ),
)
@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
def test_those_named_as_able_are(solver):
    model = SquaredHinge(20.0, solver=solver, noise="seeded", random_state=0).fit(X, Y)
    assert np.isfinite(model.coef_).all()


def test_a_refused_fit_does_not_count_in_its_family():
    model = SquaredHinge(solver="privgene")
    with pytest.raises(ValueError, match="bounded"):
        model.fit(X, Y)
    assert model.set_params(solver="adaptive").fit(X, Y).privacy_.family.fits == 1


@pytest.mark.parametrize("name", ["GradientDescent", "Adaptive", "ModernDPAGD"])
def test_solvers_whose_questions_compose_cannot_be_told_to_state_one_release(name):
    from privfit import solvers

    with pytest.raises(TypeError, match="unexpected keyword argument 'conversion'"):
        getattr(solvers, name)(conversion="direct")
    with pytest.raises(ValueError, match=r"conversion must be one of \('tight', 'classic'\)"):
        solvers.DPAGD(conversion="direct")


@pytest.mark.parametrize(
    "solver", ["objective-perturbation", "approximate-minima-perturbation", "output-perturbation"]
)
@pytest.mark.parametrize(
    "model", [DPLinearRegression, DPHuberRegressor, DPQuantileRegressor, DPPoissonRegressor]
)
def test_perturbed_objectives_and_outputs_refuse_numbers_before_a_charge(solver, model):
    """Slopes of both signs would double the delta of a perturbed objective."""
    ledger = Ledger(rho=10.0)
    with pytest.raises(ValueError, match=r"needs .*targets that are two labels"):
        model(solver=solver, ledger=ledger, target_bounds=(0.0, 1.0), alpha=0.1).fit(X, Y)
    assert ledger.entries == ()


def test_sufficient_statistics_refuse_other_losses_before_a_charge():
    ledger = Ledger(rho=10.0)
    for model in (DPLogisticRegression, DPHuberRegressor, DPPoissonRegressor):
        with pytest.raises(ValueError, match="needs the squared loss"):
            model(solver="sufficient-statistics", ledger=ledger).fit(X, Y)
    assert ledger.entries == ()
