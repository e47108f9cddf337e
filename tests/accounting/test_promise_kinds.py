"""Which promise a ledger keeps, what it can pay for, and in which words it says so."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privfit import DPLinearRegression, DPLogisticRegression, metrics
from privfit.accounting import BudgetExceeded, Concentrated, Direct, Gaussian, Ledger
from privfit.preprocessing import PrivateBounds
from privfit.solvers import SOLVERS, get_solver
from privfit.solvers.base import solvers_paid_by

PRIVATE = sorted(name for name, solver in SOLVERS.items() if solver.private)

# a ledger of each kind, large enough for any fit below
LEDGERS = {
    "gaussian": lambda: Ledger(epsilon=5.0),
    "concentrated": lambda: Ledger(epsilon=5.0, promise="concentrated"),
    "concentrated, with a delta to spend": lambda: Ledger(rho=5.0, delta=1e-3),
    "direct": lambda: Ledger(epsilon=1.0, promise="direct"),
}


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/people.db"


# -- which promise a budget buys ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "promise"),
    [
        ({"epsilon": 1}, Gaussian.of(epsilon=1.0, delta=1e-6)),
        ({"epsilon": 1, "delta": 1e-8}, Gaussian.of(epsilon=1.0, delta=1e-8)),
        ({"epsilon": 1, "promise": "concentrated"}, Concentrated.of(epsilon=1.0, delta=1e-6)),
        ({"epsilon": 1, "promise": "direct"}, Direct(1.0, 1e-6)),
        ({"epsilon": 1, "delta": 0, "promise": "direct"}, Direct(1.0, 0.0)),
        ({"rho": 0.5}, Concentrated(0.5)),
        ({"rho": 0.5, "delta": 1e-6}, Concentrated(0.5, 1e-6)),
        ({"rho": 0.5, "promise": "gaussian"}, Gaussian.of(rho=0.5, delta=1e-6)),
    ],
)
def test_a_ledger_keeps_the_promise_that_its_budget_names(budget, promise, url):
    assert Ledger(**budget).promise == promise
    assert Ledger.open(url, dataset="census", **budget).promise == promise
    assert Ledger.open(url, dataset="census").promise == promise


def test_a_gaussian_ledger_named_by_rho_has_the_mu_of_its_price():
    assert Ledger(rho=0.5, promise="gaussian").promise.mu == pytest.approx(1.0)


def test_naming_a_conversion_chooses_zcdp_and_contradicts_any_other_promise():
    classic = Ledger(epsilon=1.0, conversion="classic").promise
    assert classic == Concentrated.of(epsilon=1.0, delta=1e-6, conversion="classic")
    with pytest.raises(ValueError, match="conversion= is about promise='concentrated', not 'gaussian'"):
        Ledger(epsilon=1.0, conversion="classic", promise="gaussian")


# -- a ledger that is there is taken in its own kind -------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "concentrated", "direct"])
def test_an_existing_ledger_is_taken_in_its_own_kind(kind, url):
    kept = Ledger.open(url, dataset="census", epsilon=1, delta=1e-5, promise=kind).promise
    for again in ({}, {"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}, {"delta": 1e-5}, {"promise": kind}):
        assert Ledger.open(url, dataset="census", **again).promise == kept
    other = "gaussian" if kind == "concentrated" else "concentrated"
    message = (
        f"The ledger of 'census' was opened with epsilon = 1.0, delta = 1e-05, promise = {kind!r}, not with "
        f"epsilon = 1, promise = {other!r}; leave that out to use it as it is."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Ledger.open(url, dataset="census", epsilon=1, promise=other)


def test_a_ledger_named_by_rho_is_found_by_it_whatever_its_kind(url):
    for kind in ("gaussian", "concentrated"):
        kept = Ledger.open(url, dataset=kind, rho=0.1, promise=kind).promise
        assert Ledger.open(url, dataset=kind, rho=0.1).promise == kept
        with pytest.raises(ValueError, match=r"not with rho = 0\.2; leave that out"):
            Ledger.open(url, dataset=kind, rho=0.2)


# -- what a ledger can pay for -----------------------------------------------------------------------------


def test_the_documented_list_of_what_a_gaussian_ledger_pays_for_is_that_of_the_solvers():
    """The docstring is read, so that a new solver has to be added to it."""
    paid = solvers_paid_by(Gaussian.of(epsilon=1.0, delta=1e-6))
    assert list(paid) == PRIVATE
    words = " ".join(Ledger.__doc__.split())
    pays, cannot = re.search(
        r"A Gaussian ledger pays for (.*?)\. It cannot pay for (.*?)\. A conc", words
    ).groups()
    for name in PRIVATE:
        mentioned = [bool(re.search(rf"(?<![\w-]){name}(?![\w-])", part)) for part in (pays, cannot)]
        assert mentioned == [paid[name], not paid[name]], name


@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("kind", LEDGERS)
def test_a_ledger_pays_for_a_solver_if_and_only_if_the_list_says_so(kind, name):
    ledger = LEDGERS[kind]()
    if name == "sufficient-statistics":  # which takes the squared loss alone
        model = DPLinearRegression(1.0, solver=name, ledger=ledger, n_records=200, target_bounds=(0.0, 1.0))
    else:
        model = DPLogisticRegression(1.0, solver=name, ledger=ledger, n_records=200)
    paid = solvers_paid_by(ledger.promise)
    if paid[name]:
        model.fit(*table())
        assert ledger.spent > 0.0 or not model.coef_.any()
        return
    with pytest.raises(ValueError, match="solvers that it pays for: ") as refusal:
        model.fit(*table())
    named = str(refusal.value).rstrip(".").split("solvers that it pays for: ")[1].split(", ")
    assert named == [other for other in paid if paid[other]]
    assert ledger.entries == ()


@pytest.mark.parametrize("kind", LEDGERS)
def test_scores_and_bounds_draw_on_every_ledger_but_a_direct_one(kind):
    X, y = table()
    model = DPLogisticRegression(1.0, classes=(0, 1)).fit(X, y)
    for buy in (
        lambda ledger: metrics.evaluate(model, X, y, rho=0.01, ledger=ledger),
        lambda ledger: PrivateBounds(rho=0.01, ledger=ledger).fit(X),
    ):
        ledger = LEDGERS[kind]()
        if kind != "direct":
            buy(ledger)
            assert ledger.spent == pytest.approx(0.01)
            continue
        with pytest.raises(
            ValueError, match=r"one release with a proof of its own, .*; it cannot pay for this"
        ):
            buy(ledger)


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_no_refusal_advises_another_ledger():
    """It would be a second privacy budget for the same people."""
    refusals = []
    for kind, make in LEDGERS.items():
        for charge in ({"rho": 1e-4}, {"rho": 1e-4, "delta": 1e-9}, {"rho": 99.0, "kind": "gaussian"}):
            ledger = make()
            try:
                ledger.charge(**charge)
            except (ValueError, BudgetExceeded) as refusal:
                refusals.append(str(refusal))
        for name in PRIVATE:
            try:
                DPLogisticRegression(60.0, solver=name, ledger=make()).fit(*table())
            except (ValueError, BudgetExceeded) as refusal:
                refusals.append(f"{kind}: {refusal}")
    assert len(refusals) > 40
    for refusal in refusals:
        assert not re.search(r"Ledger\(|open|another|raise", refusal), refusal


# -- in which words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ledger", [Ledger(epsilon=1.0), Ledger(rho=0.02), Ledger(rho=0.02, delta=1e-7)])
def test_a_ledger_says_epsilon_at_delta_and_rho_wherever_it_speaks(ledger):
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(9.0, kind="gaussian")
    for text in (ledger.statement(), repr(ledger), ledger._repr_html_(), str(refusal.value)):
        for word in (r"epsilon ?= ?[\d.]+", r"delta ?= ?[\d.e-]+", r"rho ?= ?[\d.]+"):
            assert re.search(word, text), text


def test_a_ledger_that_lasts_shows_its_promise_without_being_read(url):
    ledger = Ledger.open(url, dataset="census", epsilon=1)
    assert repr(ledger) == (
        f"<Ledger of 'census' at {url}: epsilon = 1 at delta = 1e-06 (rho = 0.02802), promise='gaussian'>"
    )


def test_statements_of_fits_and_scores_name_epsilon_delta_and_rho():
    X, y = table()
    ledger = Ledger(epsilon=2.0)
    model = DPLogisticRegression(rho=0.01, ledger=ledger, classes=(0, 1)).fit(X, y)
    scores = metrics.evaluate(model, X, y, epsilon=0.5)
    both = "epsilon = 2 at delta = 1e-06 (rho = 0.1006) in all"
    assert both in model.privacy_.text
    assert both in scores.privacy.text
    assert "Promise" in model.privacy_._repr_html_()
    assert "epsilon = 0.5751 at delta = 1e-06 (rho = 0.01)" in model.privacy_._repr_html_()
    for shown in (str(scores), scores._repr_html_()):
        assert "Price: epsilon = 0.5 at delta = 1e-06 (rho = 0.007" in shown


# -- how much more would fit -------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    epsilon=st.floats(1e-3, 20.0),
    delta=st.sampled_from([1e-12, 1e-8, 1e-6, 1e-3]),
    share=st.floats(0.0, 1.0),
    kind=st.sampled_from(["gaussian", "concentrated"]),
)
def test_the_epsilon_that_a_refusal_names_would_have_fitted(epsilon, delta, share, kind):
    ledger = Ledger(epsilon=epsilon, delta=delta, promise=kind)
    ledger.charge(share * ledger.rho, kind="gaussian")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(2.0 * ledger.rho, kind="gaussian")
    left = refusal.value.left
    assert 0.0 <= left <= epsilon
    worth = ledger.promise.worth(ledger.remaining, 0.0, delta)
    assert left >= worth * (1 - 1.1e-3)
    if left > 1e-3:
        ledger.portion(type(ledger.promise).of(epsilon=left, delta=delta))


def test_a_ledger_that_is_empty_says_that_nothing_fits():
    ledger = Ledger(epsilon=1.0)
    ledger.charge(ledger.rho, kind="gaussian")
    with pytest.raises(
        BudgetExceeded, match=r"epsilon = 0 \(rho = 0\) is left of epsilon = 1 .*; nothing more can be"
    ):
        ledger.charge(0.01, kind="gaussian")
    assert ledger.remaining_epsilon() == 0.0
    release = Ledger(epsilon=1.0, promise="direct")
    assert release.remaining_epsilon() == 1.0
    release.charge(release.rho, release.delta, kind="release")
    assert release.remaining_epsilon() == 0.0
    with pytest.raises(BudgetExceeded, match="nothing more can be asked for"):
        release.charge(release.rho, release.delta, kind="release")


def test_every_solver_declares_the_promise_it_needs_without_settings():
    for name in PRIVATE:
        promise = get_solver(name).promise(epsilon=1.0, delta=1e-6)
        assert promise is not None
        assert math.isfinite(promise.rho)
