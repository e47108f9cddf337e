"""The account is exact, refuses in time, and stays one account however it is copied."""

import copy
import gc
import json
import math
import multiprocessing
import operator
import os
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import asdict
from fractions import Fraction

import joblib
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

from privfit.accounting import (
    BudgetExceeded,
    Concentrated,
    Direct,
    Gaussian,
    Ledger,
    epsilon_from_rho,
    rho_from_epsilon,
)
from privfit.accounting.amounts import four_digits_down
from privfit.accounting.promise import from_dict, to_dict

NOT_HERE = "not open in this process .* cannot spend"

many = settings(max_examples=150)
budgets = st.floats(1e-12, 1e3)


def fits(ledger, rho, delta=0.0):
    try:
        ledger.charge(rho, delta)
    except BudgetExceeded:
        return False
    return True


# -- exact sums ------------------------------------------------------------------------------------------


@many
@given(budget=budgets, shares=st.integers(1, 300))
def test_equal_shares_always_fit_and_one_more_never_does(budget, shares):
    ledger = Ledger(rho=budget)
    share = budget / shares
    assert all(fits(ledger, share) for _ in range(shares))
    assert not fits(ledger, share)
    assert ledger.spent <= budget
    assert len(ledger.entries) == shares


@many
@given(budget=st.floats(1e-12, 0.5), shares=st.integers(1, 100))
def test_equal_shares_of_delta_always_fit_and_one_more_never_does(budget, shares):
    ledger = Ledger(rho=1.0, delta=budget)
    share = budget / shares
    assert all(fits(ledger, 0.0, share) for _ in range(shares))
    assert not fits(ledger, 0.0, share)
    assert ledger.spent_delta <= budget


@many
@given(steps=st.integers(1, 2**20), n=st.integers(1, 200))
def test_n_equal_charges_are_one_charge_of_n(steps, n):
    price = steps * 2.0**-30  # n * price is exact
    one_by_one, at_once = (Ledger(epsilon=2.0, delta=1e-6) for _ in range(2))
    assume(n * price <= at_once.rho)
    at_once.charge(n * price, kind="gaussian")
    for _ in range(n):
        one_by_one.charge(price, kind="gaussian")
    assert one_by_one.spent == at_once.spent == n * price
    assert one_by_one.remaining == at_once.remaining
    assert one_by_one.spent_epsilon() == at_once.spent_epsilon()


@many
@given(budget=budgets, prices=st.lists(st.floats(0.0, 1.0), max_size=30))
def test_charging_what_remains_always_fits_and_leaves_nothing(budget, prices):
    ledger = Ledger(rho=budget)
    for price in prices:
        fits(ledger, price * budget / 8)
    ledger.charge(ledger.remaining)
    assert sum(Fraction(entry.rho) for entry in ledger.entries) <= Fraction(budget)
    assert ledger.remaining <= 2.0**-52 * budget  # what rounding `remaining` down held back


def test_a_total_one_float_beyond_the_budget_is_refused():
    ledger = Ledger(rho=1.0)
    ledger.charge(0.75)
    assert not fits(ledger, 0.25 + 2.0**-52)
    assert fits(ledger, 0.25)
    assert ledger.remaining == 0.0
    assert fits(ledger, 0.0)


def test_charges_too_small_for_floating_point_sums_are_not_lost():
    ledger = Ledger(rho=1.0)
    ledger.charge(0.5)
    for _ in range(64):
        ledger.charge(2.0**-55)
    assert ledger.spent == 0.5 + 2.0**-49
    ledger.charge(2.0**-60)
    assert ledger.spent == math.nextafter(0.5 + 2.0**-49, 1.0)  # rounded up, as remaining is rounded down
    assert ledger.remaining == 0.5 - 2.0**-49 - 2.0**-54


class AccountsMachine(RuleBasedStateMachine):
    """Random charges on a tree of sub-accounts, held against a model in fractions."""

    accounts = Bundle("accounts")

    def __init__(self):
        super().__init__()
        self.root = Ledger(rho=1.0 / 3.0, delta=1e-6)
        self.parents = {self.root.identifier: None}
        self.ledgers = {self.root.identifier: self.root}
        self.paid = {self.root.identifier: (Fraction(0), Fraction(0))}

    def lineage(self, ledger):
        account = ledger.identifier
        while account is not None:
            yield account
            account = self.parents[account]

    def should_fit(self, ledger, rho, delta, ancestors=True):
        lineage = list(self.lineage(ledger))
        room = 1 + Fraction(1, 2**53)
        return all(
            self.paid[account][0] + Fraction(rho) <= Fraction(self.ledgers[account].rho) * room
            and self.paid[account][1] + Fraction(delta) <= Fraction(self.ledgers[account].delta) * room
            for account in (lineage if ancestors else lineage[:1])
        )

    def charge(self, ledger, rho, delta):
        expected = self.should_fit(ledger, rho, delta)
        assert fits(ledger, rho, delta) == expected
        if expected:
            for account in self.lineage(ledger):
                before = self.paid[account]
                self.paid[account] = (before[0] + Fraction(rho), before[1] + Fraction(delta))

    @rule(target=accounts)
    def top(self):
        return self.root

    @rule(target=accounts, ledger=accounts, share=st.floats(0.0, 1.2), delta_share=st.floats(0.0, 1.2))
    def portion(self, ledger, share, delta_share):
        rho, delta = share * ledger.rho, delta_share * ledger.delta
        if not self.should_fit(ledger, rho, delta, ancestors=False):
            with pytest.raises(BudgetExceeded, match="a portion needs"):
                ledger.portion(rho, delta)
            return ledger
        child = ledger.portion(rho, delta)
        self.parents[child.identifier] = ledger.identifier
        self.ledgers[child.identifier] = child
        self.paid[child.identifier] = (Fraction(0), Fraction(0))
        return child

    @rule(ledger=accounts, share=st.floats(0.0, 1.1), delta_share=st.floats(0.0, 1.1))
    def pay_some(self, ledger, share, delta_share):
        self.charge(ledger, share * ledger.rho, delta_share * ledger.delta)

    @rule(ledger=accounts, shares=st.integers(1, 50))
    def pay_equal_shares(self, ledger, shares):
        self.charge(ledger, ledger.rho / shares, ledger.delta / shares)

    @rule(ledger=accounts)
    def pay_all_that_remains(self, ledger):
        assert self.should_fit(ledger, ledger.remaining, ledger.remaining_delta)
        self.charge(ledger, ledger.remaining, ledger.remaining_delta)

    @rule(ledger=accounts)
    def pay_slightly_more_than_remains(self, ledger):
        self.charge(ledger, math.nextafter(ledger.remaining, math.inf) * (1 + 2.0**-50), 0.0)

    @invariant()
    def accounts_agree_with_the_model(self):
        for account, ledger in self.ledgers.items():
            rho, delta = self.paid[account]
            assert sum(Fraction(entry.rho) for entry in ledger.entries) == rho
            assert sum(Fraction(entry.delta) for entry in ledger.entries) == delta
            assert rho <= Fraction(ledger.rho) * (1 + Fraction(1, 2**53))
            assert min(rho, Fraction(ledger.rho)) <= Fraction(ledger.spent) <= Fraction(ledger.rho)
            assert Fraction(ledger.remaining) <= max(Fraction(ledger.rho) - rho, Fraction(0))


AccountsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestSubAccounts = AccountsMachine.TestCase


# -- refusal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [(0.7, 0.0), (0.1, 2e-6), (0.7, 2e-6)])
def test_refusal_leaves_the_account_unchanged(asked):
    ledger = Ledger(rho=1.0, delta=1e-6)
    ledger.charge(0.5, 5e-7, what="gradient")
    before = [*reading(ledger), ledger.entries, ledger.spent_delta]
    with pytest.raises(BudgetExceeded):
        ledger.charge(*asked)
    assert [*reading(ledger), ledger.entries, ledger.spent_delta] == before
    assert fits(ledger, 0.5, 5e-7)


def test_refusal_by_an_ancestor_leaves_the_sub_account_unchanged():
    ledger = Ledger(rho=1.0)
    child = ledger.portion(0.8).portion(0.7)
    ledger.charge(0.5)
    with pytest.raises(BudgetExceeded) as refusal:
        child.charge(0.6)
    assert refusal.value.total in (0.8, 1.0)
    assert child.spent == 0.0
    assert child.entries == ()
    assert child.remaining == 0.5
    assert ledger.spent == 0.5


def test_refusal_names_what_was_asked_what_is_left_and_the_total():
    ledger = Ledger(rho=4e-3)
    ledger.charge(3e-3)
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(2e-3, what="the gradient")
    error = refusal.value
    assert (error.asked, error.total, error.unit, error.what) == (2e-3, 4e-3, "rho", "the gradient")
    assert error.left == ledger.remaining == pytest.approx(1e-3)
    asked, total = (f"{epsilon_from_rho(rho, 1e-6):.4g}" for rho in (2e-3, 4e-3))
    assert str(error) == (
        f"the gradient needs rho = 0.002 (epsilon = {asked}) at delta = 1e-06, and rho = 0.001 "
        f"(epsilon = {ledger.remaining_epsilon()}) is left of rho = 0.004 (epsilon = {total}); "
        "ask for no more than that."
    )
    assert isinstance(error, RuntimeError)


def test_refusal_for_want_of_delta_says_so():
    ledger = Ledger(rho=1.0, delta=1e-6)
    with pytest.raises(
        BudgetExceeded,
        match="this question needs delta = 2e-06, and delta = 1e-06 is left of delta = 1e-06; ask for no",
    ) as refusal:
        ledger.charge(0.1, 2e-6)
    assert (refusal.value.asked, refusal.value.left, refusal.value.total) == (2e-6, 1e-6, 1e-6)


@pytest.mark.parametrize("travel", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_refusal_survives_pickling_and_copying(travel):
    error = BudgetExceeded(0.5, 0.25, 1.0, "a step", "epsilon", (0.05, 0.0125, 0.2), 1e-6)
    there = travel(error)
    assert vars(there) == vars(error)
    assert (
        str(there)
        == str(error)
        == "a step needs epsilon = 0.5 (rho = 0.05) at delta = 1e-06, and epsilon = 0.25 (rho = 0.0125) is "
        "left of epsilon = 1 (rho = 0.2); ask for no more than that."
    )


@pytest.mark.parametrize("amount", [math.nan, math.inf, -math.inf, -1e-9])
def test_amounts_that_are_no_price_are_refused_and_not_booked(amount):
    ledger = Ledger(rho=1.0, delta=0.5)
    for spend in (ledger.charge, ledger.portion):
        with pytest.raises(ValueError, match="rho must be a non-negative finite number, got"):
            spend(amount)
        with pytest.raises(ValueError, match="delta must be a non-negative finite number, got"):
            spend(0.1, amount)
    assert ledger.entries == ()
    assert ledger.remaining == 1.0


def test_a_ledger_opens_with_exactly_one_kind_of_budget():
    for wrong in ({}, {"rho": 1.0, "epsilon": 1.0, "delta": 1e-6}):
        with pytest.raises(ValueError, match="exactly one of rho= and epsilon="):
            Ledger(**wrong)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"rho": 0.0}, "rho must be a positive finite number"),
        ({"rho": -1.0}, "rho must be a non-negative finite number"),
        ({"rho": math.nan}, "rho must be a non-negative finite number"),
        ({"rho": math.inf}, "rho must be a non-negative finite number"),
        ({"rho": 1.0, "delta": 1.0}, "delta must be below 1"),
        ({"rho": 1.0, "delta": math.nan}, "delta must be a non-negative finite number"),
        ({"epsilon": 0.0, "delta": 1e-6}, "epsilon must be a positive finite number"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta must lie between"),
        ({"epsilon": 1.0, "delta": 1e-6, "conversion": "best"}, "conversion must be one of"),
    ],
)
def test_an_impossible_budget_is_refused(budget, message):
    with pytest.raises(ValueError, match=message):
        Ledger(**budget)


def test_an_exception_after_the_charge_leaves_the_charge_on_the_account():
    ledger = Ledger(rho=1.0)

    def look():
        ledger.charge(0.25, what="gradient")
        raise FloatingPointError("diverged")

    with pytest.raises(FloatingPointError, match="diverged"):
        look()
    assert ledger.spent == 0.25
    assert [entry.what for entry in ledger.entries] == ["gradient"]


# -- reading ---------------------------------------------------------------------------------------------


def test_an_entry_says_what_was_asked_how_and_when():
    ledger = Ledger(rho=1.0, delta=1e-6)
    entry = ledger.charge(0.25, 1e-7, what="gradient", mechanism="gaussian")
    assert ledger.entries == (entry,)
    assert (entry.what, entry.mechanism, entry.rho, entry.delta) == ("gradient", "gaussian", 0.25, 1e-7)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.when)  # a finer time would tell how long the look took
    with pytest.raises(AttributeError, match="cannot assign to field 'rho'"):
        entry.rho = 0.0


def test_a_budget_in_epsilon_is_worth_its_rho_and_has_no_delta_to_spend():
    ledger = Ledger(epsilon=0.8, delta=1e-8, promise="concentrated")
    assert ledger.rho == rho_from_epsilon(0.8, 1e-8, "tight")
    assert Ledger(epsilon=0.8, delta=1e-8, conversion="classic").rho == rho_from_epsilon(0.8, 1e-8, "classic")
    assert ledger.delta == ledger.remaining_delta == 0.0
    assert not fits(ledger, 0.0, 1e-12)


@settings(many, max_examples=40)
@given(epsilon=st.floats(0.01, 10.0), shares=st.integers(1, 60))
def test_the_promise_stays_and_its_bookkeeping_grows_towards_it(epsilon, shares):
    ledger = Ledger(epsilon=epsilon, delta=1e-8)
    spent = [ledger.spent_epsilon()]
    for _ in range(shares):
        ledger.charge(ledger.rho / shares, kind="gaussian")
        spent.append(ledger.spent_epsilon())
        assert ledger.epsilon() == epsilon
    assert spent[0] == 0.0
    assert spent == sorted(spent)
    assert epsilon * (1 - 1e-9) <= spent[-1] <= epsilon


def test_the_promise_can_be_stated_at_any_delta():
    ledger = Ledger(rho=1.0, conversion="classic")
    ledger.charge(0.125)
    assert ledger.epsilon(1e-6) == epsilon_from_rho(1.0, 1e-6, "classic")
    assert ledger.spent_epsilon(1e-9) == epsilon_from_rho(0.125, 1e-9, "classic")
    for nameless in (ledger.epsilon, ledger.spent_epsilon):
        with pytest.raises(ValueError, match=r"opened with rho=; name the delta"):
            nameless()


def test_epsilon_leaves_out_the_delta_that_charges_use_up():
    ledger = Ledger(rho=1.0, delta=7.5e-7)
    ledger.charge(0.125, 5e-7)
    assert ledger.epsilon(1e-6) >= epsilon_from_rho(1.0, 2.5e-7)
    assert ledger.epsilon(1e-6) == pytest.approx(epsilon_from_rho(1.0, 2.5e-7), rel=1e-12)
    assert ledger.spent_epsilon(1e-6) == pytest.approx(epsilon_from_rho(0.125, 5e-7), rel=1e-12)
    with pytest.raises(ValueError, match=r"must exceed the delta that charges use up, 7\.5e-07"):
        ledger.epsilon(7.5e-7)


def test_the_statement_quotes_the_promise_and_calls_the_rest_bookkeeping():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    promised = (
        "Promised for all answers together: epsilon = 1 at delta = 1e-06 (rho = 0.02802). Bookkeeping: "
    )
    assert ledger.statement() == f"{promised}0.0% of that spent in 0 charges."
    ledger.charge(ledger.rho / 4, kind="gaussian")
    assert ledger.statement() == f"{promised}25.0% of that spent in 1 charge."
    both = Ledger(rho=1.0, delta=1e-6)
    both.charge(0.5, 1e-6)
    assert both.statement() == (
        "Promised for all answers together: rho = 1 and delta = 1e-06 (epsilon = 7.767 at delta = 2e-06). "
        "Bookkeeping: 50.0% of that spent in 1 charge."
    )


def test_whoever_opened_an_account_with_epsilon_is_refused_in_epsilon():
    ledger = Ledger(epsilon=2.0, delta=1e-6)
    ledger.portion(Gaussian.of(epsilon=1.0, delta=1e-6)).charge(0.02, kind="gaussian")
    rho = Gaussian.of(epsilon=1.9, delta=1e-6).rho
    left = f"epsilon = {ledger.remaining_epsilon()} (rho = {four_digits_down(ledger.remaining)})"
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.portion(Gaussian.of(epsilon=1.9, delta=1e-6), what="this fit")
    assert str(refusal.value) == (
        f"this fit needs epsilon = 1.9 (rho = {rho:.4g}) at delta = 1e-06, and {left} is left of epsilon = 2 "
        f"(rho = {ledger.rho:.4g}); ask for no more than that."
    )
    assert refusal.value.unit == "epsilon"


# -- sub-accounts ----------------------------------------------------------------------------------------


def test_what_a_portion_pays_every_ledger_above_pays_too():
    ledger = Ledger(rho=1.0, delta=1e-6)
    middle = ledger.portion(0.5, 1e-6)
    bottom = middle.portion(0.25)
    entry = bottom.charge(0.125, what="deep down")
    assert [level.spent for level in (ledger, middle, bottom)] == [0.125] * 3
    assert ledger.entries[0].what == middle.entries[0].what == entry.what == "deep down"
    assert not fits(bottom, 0.25)
    assert not fits(bottom, 0.0, 1e-7)


def test_a_portion_sets_nothing_aside_and_portions_together_cannot_overspend():
    ledger = Ledger(rho=1.0)
    first, second = ledger.portion(0.75), ledger.portion(0.75)
    assert ledger.remaining == 1.0
    first.charge(0.75)
    assert second.remaining == 0.25
    with pytest.raises(BudgetExceeded, match=r"rho = 0\.25 \(epsilon = 3\.\d+\) is left of rho = 1 "):
        second.charge(0.5)
    second.charge(0.25)
    assert ledger.remaining == 0.0


def test_a_portion_that_does_not_fit_now_is_refused_at_once():
    ledger = Ledger(rho=1.0)
    ledger.charge(0.5)
    with pytest.raises(
        BudgetExceeded, match=r"a portion needs rho = 0\.75 .* rho = 0\.5 .* left of rho = 1 "
    ):
        ledger.portion(0.75)


def test_a_portion_may_be_sized_by_any_real_number():
    child = Ledger(rho=2.0).portion(np.float32(0.5))
    child.charge(1 / 4)
    assert json.dumps([child.rho, *map(asdict, child.entries)]).startswith("[0.5, ")


# -- copies ----------------------------------------------------------------------------------------------


class Model(ClassifierMixin, BaseEstimator):
    """An estimator that pays for its fit."""

    def __init__(self, ledger=None, rho=0.01, fails=False):
        self.ledger, self.rho, self.fails = ledger, rho, fails

    def fit(self, X, y):
        self.ledger.charge(self.rho, what="fit")
        if self.fails:
            raise FloatingPointError("diverged")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize(
    "travel",
    [
        copy.copy,
        copy.deepcopy,
        lambda ledger: pickle.loads(pickle.dumps(ledger)),
        lambda ledger: clone(Model(ledger)).ledger,
        lambda ledger: copy.deepcopy({"fold": [ledger]})["fold"][0],
    ],
    ids=["copy", "deepcopy", "pickle", "clone", "nested"],
)
def test_a_copy_in_this_process_is_the_same_account(travel):
    ledger = Ledger(rho=1.0)
    for account in (ledger, ledger.portion(1.0)):
        there = travel(account)
        there.charge(0.25)
        assert account.remaining == there.remaining
    assert ledger.spent == 0.5


def test_a_grid_search_pays_for_every_fit():
    ledger = Ledger(rho=1.0)
    X, y = np.zeros((12, 1)), np.tile([0, 1], 6)
    search = GridSearchCV(Model(ledger), {"rho": [0.01, 0.02]}, cv=3, n_jobs=1).fit(X, y)
    assert len(ledger.entries) == 2 * 3 + 1
    assert ledger.spent == pytest.approx(3 * 0.01 + 3 * 0.02 + search.best_params_["rho"])


def test_failed_fits_of_a_grid_search_are_paid_for():
    ledger = Ledger(rho=1.0)
    X, y = np.zeros((12, 1)), np.tile([0, 1], 6)
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        GridSearchCV(Model(ledger, fails=True), {"rho": [0.01]}, cv=3, n_jobs=1).fit(X, y)
    assert len(ledger.entries) == 3


def test_a_pickle_that_outlives_its_account_cannot_spend():
    ledger = Ledger(rho=1.0)
    ledger.charge(0.25)
    data = pickle.dumps(ledger)
    del ledger
    gc.collect()
    there = pickle.loads(data)
    assert there.remaining == 0.75
    with pytest.raises(RuntimeError, match=NOT_HERE):
        there.charge(0.25)
    with pytest.raises(RuntimeError, match=NOT_HERE):
        there.portion(0.25).charge(0.125)


# -- other processes -------------------------------------------------------------------------------------


def in_a_fresh_process(code, stdin):
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=stdin,
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def in_a_fork(function, timeout=30.0):
    """Return what the function returns in a forked process, which must answer in time."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(function()))
    process.start()
    try:
        assert receiver.poll(timeout), "the forked process hangs"
        return receiver.recv()
    finally:
        process.kill()
        process.join()


def reading(ledger):
    return [ledger.identifier, ledger.rho, ledger.spent, ledger.remaining, len(ledger.entries)]


def reading_and_refusal(ledger):
    before = reading(ledger)
    try:
        ledger.charge(0.125)
    except RuntimeError as error:
        return [before, reading(ledger), str(error)]
    return [before, reading(ledger), "charged"]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def test_a_ledger_pickled_to_another_process_can_be_read_but_not_charged():
    ledger = Ledger(rho=1.0)
    ledger.charge(0.25, what="gradient")
    code = """
import json, pickle, sys
ledger = pickle.load(sys.stdin.buffer)
before = [ledger.identifier, ledger.rho, ledger.spent, ledger.remaining, len(ledger.entries)]
try:
    ledger.charge(0.125)
    outcome = "charged"
except RuntimeError as error:
    outcome = str(error)
print(json.dumps([before, ledger.spent, outcome]))
"""
    before, spent, outcome = in_a_fresh_process(code, pickle.dumps(ledger))
    assert before == reading(ledger)
    assert spent == 0.25
    assert re.search(NOT_HERE, outcome)
    assert ledger.remaining == 0.75
    assert fits(ledger, 0.75)


@needs_fork
@pytest.mark.parametrize("level", ["account", "sub-account", "sub-account opened in the fork"])
def test_a_forked_ledger_can_be_read_but_not_charged(level):
    ledger = Ledger(rho=1.0)
    ledger.charge(0.25)
    account = ledger if level == "account" else ledger.portion(0.5)
    probe = (lambda: reading_and_refusal(ledger.portion(0.5))) if "opened" in level else None
    before, after, outcome = in_a_fork(probe or (lambda: reading_and_refusal(account)))
    if probe is None:
        assert before == reading(account)
    assert after == before
    assert re.search(NOT_HERE, outcome)
    assert ledger.spent == 0.25
    assert fits(account, 0.5)


@needs_fork
def test_no_way_of_copying_opens_a_forked_account():
    ledger = Ledger(rho=1.0)
    data = pickle.dumps(ledger)

    def outcomes():
        copies = [copy.deepcopy(ledger), pickle.loads(data)]
        return [reading_and_refusal(there)[2] for there in copies]

    assert all(re.search(NOT_HERE, outcome) for outcome in in_a_fork(outcomes))


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_ledger_forked_in_the_middle_of_a_charge_can_be_read():
    ledger = Ledger(rho=1.0)
    held, done = threading.Event(), threading.Event()

    def hold():
        with ledger._store.exclusive():
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    try:
        assert in_a_fork(lambda: ledger.remaining, timeout=10.0) == 1.0
    finally:
        done.set()
        thread.join()


def test_joblib_workers_can_read_but_not_charge():
    ledger = Ledger(rho=1.0)
    ledger.charge(0.25)
    with joblib.parallel_backend("loky", n_jobs=2):
        seen = joblib.Parallel()(joblib.delayed(operator.attrgetter("spent"))(ledger) for _ in range(2))
        with pytest.raises(RuntimeError, match=NOT_HERE):
            joblib.Parallel()(joblib.delayed(Ledger.charge)(ledger, 0.125) for _ in range(2))
    assert seen == [0.25, 0.25]
    assert ledger.spent == 0.25


# -- threads ---------------------------------------------------------------------------------------------


@pytest.fixture
def restless():
    """Switch between threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def hammer(work, n_threads=8):
    """Run work(k) in threads that start together, and return what each returned."""
    results, barrier = [None] * n_threads, threading.Barrier(n_threads)

    def run(k):
        barrier.wait()
        results[k] = work(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.usefixtures("restless")
def test_threads_together_never_overspend_and_lose_no_entry():
    ledger = Ledger(rho=1.0 / 3.0)
    price = ledger.rho / 400
    paid = hammer(lambda k: sum(fits(ledger, price) for _ in range(100)))
    assert sum(paid) == len(ledger.entries) == 400
    assert sum(Fraction(entry.rho) for entry in ledger.entries) == 400 * Fraction(price)
    assert ledger.spent <= ledger.rho


@pytest.mark.usefixtures("restless")
def test_threads_on_sub_accounts_of_one_account_never_overspend_it():
    ledger = Ledger(rho=1.0)
    price = 1.0 / 256
    children = [ledger.portion(0.5) for _ in range(4)]
    paid = hammer(lambda k: sum(fits(children[k % 4], price) for _ in range(100)))
    assert sum(paid) == len(ledger.entries) == 256
    assert sum(len(child.entries) for child in children) == 256
    assert ledger.remaining == 0.0
    assert all(child.spent <= 0.5 for child in children)


# -- one release with a proof of its own (P6)


def test_a_direct_account_pays_for_one_whole_release_and_nothing_else():
    ledger = Ledger.keeping(Direct(0.8, 1e-6))
    assert ledger.rho == pytest.approx(0.32)
    assert ledger.delta == 1e-6
    for rho, delta in ((0.1, 0.0), (ledger.rho, 0.0), (ledger.rho / 2, 5e-7)):
        with pytest.raises(ValueError, match="one release of its whole privacy budget"):
            ledger.charge(rho, delta, kind="release")
    for kind in ("gaussian", "concentrated"):  # noise of that size has another theorem
        with pytest.raises(ValueError, match="one release of its whole privacy budget"):
            ledger.charge(ledger.rho, 1e-6, kind=kind)
    with pytest.raises(ValueError, match="one release of its whole privacy budget"):
        ledger.portion(0.1)
    assert ledger.spent_epsilon() == 0.0
    ledger.charge(ledger.rho, 1e-6, what="all", kind="release")
    assert ledger.spent_epsilon() == ledger.epsilon() == 0.8  # the theorem's own, not a conversion of rho
    assert ledger.epsilon(1e-3) == 0.8
    with pytest.raises(ValueError, match="private at delta = 1e-06, not at 1e-09"):
        ledger.epsilon(1e-9)  # the theorem says nothing about a smaller delta
    with pytest.raises(BudgetExceeded):
        ledger.charge(ledger.rho, 1e-6, kind="release")
    record = pickle.dumps(ledger)
    del ledger
    gc.collect()
    assert pickle.loads(record).epsilon() == 0.8


def test_a_direct_release_is_priced_as_approximate_zcdp_in_a_shared_account():
    """(epsilon, delta)-DP is (epsilon^2/2, delta)-approximate zCDP: what it adds to others is sound."""
    shared = Ledger(rho=1.0, delta=1e-5)
    release = shared.portion(Direct(1.0, 1e-6))
    release.charge(release.rho, 1e-6, kind="release")
    shared.charge(0.1)
    assert shared.spent == pytest.approx(0.6)
    assert shared.spent_epsilon(2e-5) == pytest.approx(epsilon_from_rho(0.6, 1.9e-5), rel=1e-9)
    with pytest.raises(BudgetExceeded, match="delta"):
        Ledger(epsilon=2.0, delta=1e-6, promise="concentrated").portion(0.01, 1e-6)


def test_a_direct_portion_of_a_shared_account_is_charged_whole_or_not_at_all():
    shared = Ledger(rho=1.0, delta=1e-5)
    release = shared.portion(Direct(1.0, 1e-6))
    for rho, delta in ((0.1, 0.0), (release.rho / 2, 5e-7)):
        with pytest.raises(ValueError, match="one release of its whole privacy budget"):
            release.charge(rho, delta, kind="release")
    assert shared.spent == 0.0


def test_no_composition_can_be_stated_as_one_release():
    """`direct` is the promise of a release with a theorem of its own, not a conversion."""
    for opening in ({"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}):
        with pytest.raises(
            ValueError, match=r"conversion must be one of \('tight', 'classic'\), got 'direct'"
        ):
            Ledger(**opening, conversion="direct")


@pytest.mark.parametrize(
    "promise", [Direct(0.8, 1e-6), Direct(1.0, 0.0), Concentrated.of(rho=0.3, delta=1e-6)]
)
def test_a_promise_survives_being_written(promise):
    assert from_dict(json.loads(json.dumps(to_dict(promise)))) == promise


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, -1e-9), (1.0, 0.6), (0.0, 1e-6), (math.inf, 1e-6)])
def test_a_direct_promise_of_impossible_numbers_is_refused(epsilon, delta):
    with pytest.raises(ValueError, match="must"):
        Direct(epsilon, delta)


@pytest.mark.parametrize(
    "opening", [{"rho": "a"}, {"rho": True}, {"rho": 1.0, "delta": "a"}, {"rho": 10**400}]
)
def test_what_is_no_number_opens_no_account(opening):
    with pytest.raises(ValueError, match=r"must be a (non-negative finite )?number"):
        Ledger(**opening)
    with pytest.raises(ValueError, match="epsilon must be a number, not str"):
        Ledger(epsilon="1", delta=1e-6)


def test_a_sum_beyond_the_largest_budget_is_not_stated_too_small():
    assert Ledger(rho=5000.0).epsilon(delta=1e-6) > 5000.0
    assert Concentrated(1200.0).epsilon_at(1e-6) > epsilon_from_rho(1000.0, 1e-6)


def test_a_promise_cannot_state_less_than_it_is_worth():
    for wrong in (lambda: Concentrated(0.5, 0.0, 0.01, 1e-6), lambda: Gaussian(0.5, 0.01, 1e-6)):
        with pytest.raises(ValueError, match=r"worth epsilon = .*; epsilon = 0\.01 would be too little"):
            wrong()


def test_an_empty_portion_can_be_stated():
    assert "0.0% of that spent" in Ledger(rho=1.0).portion(0.0).statement()


def test_statements_never_round_a_promise_down():
    assert "epsilon = 1.001 at" in Ledger(epsilon=1.00000049, delta=1e-6).statement()


@given(rho=st.floats(1e-9, 1e3))
@many
def test_a_direct_promise_named_by_rho_costs_no_more(rho):
    assert rho * (1 - 1e-9) < Direct.of(rho=rho, delta=1e-6).rho <= rho
