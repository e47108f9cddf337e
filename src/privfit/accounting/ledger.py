"""The privacy account: a filter that refuses before anything is read.

A ledger holds a budget in approximate zCDP, (rho, delta), fixed when it is opened. Every question about
the data is charged first; a charge that does not fit raises `BudgetExceeded` and nothing is looked at.
Because each price may depend on everything released so far and the total may not be passed, the ledger
is a zCDP filter, and all that was ever answered under it is (rho, delta)-zCDP together (P5). That total is
what is promised; what was spent of it by some moment is bookkeeping.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
import weakref
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, get_args

from privfit.accounting.amounts import (
    UNIT,
    ceiling,
    number,
    price,
    rounded_down,
    rounded_up,
    units,
    written_up,
)
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Kind, Promise, from_dict, to_dict
from privfit.accounting.stores import Entry, MemoryStore, Store
from privfit.accounting.zcdp import Conversion


class BudgetExceeded(RuntimeError):
    """A question was refused because its price does not fit into what is left.

    Attributes
    ----------
    asked, left, total : float
        The price, what was left and the whole budget, in `unit`.
    unit : {"rho", "epsilon", "delta"}
        "epsilon" for an account that was opened with one: what accounts of these sizes would promise at
        its delta. (Epsilons do not add up; they grow like the root of what does.) "delta" if that ran out.
    """

    def __init__(self, asked: float, left: float, total: float, what: str = "", unit: str = "rho") -> None:
        super().__init__(asked, left, total, what, unit)
        self.asked, self.left, self.total, self.what, self.unit = asked, left, total, what, unit

    def __str__(self) -> str:
        return (
            f"{self.what or 'this question'} needs {self.unit}={self.asked:.4g}, "
            f"{self.left:.4g} left of {self.total:.4g}; raise the budget or ask for less."
        )


class Ledger:
    """A privacy budget and the record of how it was spent.

    Parameters
    ----------
    rho : float, optional
        Total budget in zCDP. With `delta` > 0 the budget is approximate zCDP, (rho, delta).
    delta : float
        With `rho`: the failure probability that charges may use up. With `epsilon`: the delta of the
        promise, all of which goes into the conversion.
    epsilon : float, optional
        Total budget as (epsilon, delta)-DP, converted to the rho it is worth.
    conversion : {"tight", "classic"}
        How `epsilon` is converted.

    Notes
    -----
    Sums are exact: prices are added as integers, so T charges of budget / T always fit and one more
    never does. Copies (`copy`, `deepcopy`, `sklearn.clone`, unpickling in the same process) are the same
    account. In any other process a ledger can be read but refuses every charge. All methods are
    thread-safe.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1.0, delta=1e-6)
    >>> entry = ledger.charge(ledger.rho / 4, what="mean age")
    >>> ledger.remaining / ledger.rho
    0.75
    >>> ledger.charge(ledger.rho, what="everything")
    Traceback (most recent call last):
    ...
    privfit.accounting.ledger.BudgetExceeded: everything needs epsilon=1, 0.8574 left of 1; ...
    """

    def __init__(
        self,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        conversion: Conversion = "tight",
    ) -> None:
        if (rho is None) == (epsilon is None):
            raise ValueError("Open a ledger with either rho= or epsilon=, not both and not neither.")
        if epsilon is not None:
            epsilon, delta = number("epsilon", epsilon), number("delta", delta)
            self._open(uuid.uuid4().hex, Concentrated.of(epsilon=epsilon, delta=delta, conversion=conversion))
            return
        assert rho is not None
        budget, slack = price("rho", rho), price("delta", delta)
        if budget == 0.0:
            raise ValueError(f"rho must be a positive finite number, got {rho!r}.")
        if slack >= 1.0:
            raise ValueError(f"delta must be below 1, got {delta!r}.")
        if conversion not in get_args(Conversion):
            raise ValueError(f"conversion must be one of {get_args(Conversion)}, got {conversion!r}.")
        self._open(uuid.uuid4().hex, Concentrated(budget, slack, conversion=conversion))

    @classmethod
    def keeping(cls, promise: Promise) -> Ledger:
        """Open an account that keeps this promise.

        Parameters
        ----------
        promise : Promise
            What is promised of everything that is answered under the account.

        Returns
        -------
        ledger : Ledger
            The account, of which nothing is spent.
        """
        ledger = cls.__new__(cls)
        ledger._open(uuid.uuid4().hex, promise)
        return ledger

    def _open(
        self,
        account: str,
        promise: Promise,
        *,
        parent: Ledger | None = None,
        store: Store | None = None,
        known: bool = True,
    ) -> None:
        self.account = account
        self.promise = promise
        self.rho, self.delta = promise.rho, promise.slack
        self._parent = parent
        self._store: Store = MemoryStore() if store is None else store
        self._ceilings = ceiling(self.rho), ceiling(self.delta)
        if known:  # as the account itself, not as a record of it
            _ACCOUNTS[account] = self

    # -- spending -----------------------------------------------------------------------------------

    def charge(
        self,
        rho: float,
        delta: float = 0.0,
        *,
        what: str = "",
        mechanism: str = "",
        kind: Kind = "concentrated",
    ) -> Entry:
        """Pay for a question, or raise `BudgetExceeded` and leave the account as it was.

        Parameters
        ----------
        rho, delta : float
            The price in approximate zCDP.
        what, mechanism : str
            What is asked and how it is blurred, for the record.
        kind : {"concentrated", "gaussian", "release"}
            What is paid for: anything with a price in zCDP; Gaussian noise of this price, or what is as
            private (`gdp.pure_rho`); or a release with a theorem of its own. A `Gaussian` promise pays for
            the second alone, and a `Direct` one for the third.

        Returns
        -------
        entry : Entry
            The record of it.

        Raises
        ------
        BudgetExceeded
            If the price does not fit into what is left.
        """
        rho, delta = price("rho", rho), price("delta", delta)
        self._store.require_writable()
        with self._store.exclusive():
            self._check(kind, rho, delta, what)
            if self._parent is not None:
                self._parent.charge(rho, delta, what=what, mechanism=mechanism, kind=kind)
            entry = Entry(what, mechanism, rho, delta, datetime.now(UTC).date().isoformat())
            self._store.append(entry)
            return entry

    def portion(self, size: float | Promise, delta: float = 0.0, *, what: str = "a portion") -> Ledger:
        """Return a sub-account of this size; what it pays, this ledger pays too.

        Nothing is set aside: the portion draws as it goes, and what it leaves unspent stays here. It is
        refused at once if it would not fit now.

        Parameters
        ----------
        size : float or promise
            The portion's rho, or the promise that it is to keep.
        delta : float
            With a rho, the delta that the portion may use up.
        what : str
            What it is for, in the words of a refusal.

        Returns
        -------
        ledger : Ledger
            The sub-account.

        Raises
        ------
        BudgetExceeded
            If the portion does not fit into what is left.
        """
        promise = size if isinstance(size, Promise) else self._part(price("rho", size), price("delta", delta))
        with self._store.exclusive():
            self._check(promise.kind, promise.rho, promise.slack, what)
            child = Ledger.__new__(Ledger)
            child._open(uuid.uuid4().hex, promise, parent=self)
            return child

    def _part(self, rho: float, delta: float) -> Promise:
        """Return a promise of this size and of this account's kind."""
        if isinstance(self.promise, Gaussian):
            return replace(self.promise, rho=rho, epsilon=self.promise.worth(rho, 0.0, self.promise.delta))
        conversion = self.promise.conversion if isinstance(self.promise, Concentrated) else "tight"
        return Concentrated(rho, delta, conversion=conversion)

    def _check(self, kind: Kind, rho: float, delta: float, what: str) -> None:
        self.promise.admit(kind, rho, delta)
        spent, ceilings = self._store.totals, self._ceilings
        if spent[0] + units(rho) > ceilings[0]:
            raise self._refusal(rho, what)
        if spent[1] + units(delta) > ceilings[1]:
            raise BudgetExceeded(delta, self.remaining_delta, self.delta, what, unit="delta")

    def _refusal(self, rho: float, what: str) -> BudgetExceeded:
        """Answer in epsilon whoever opened the account with one."""
        amounts = rho, self.remaining, self.rho
        at = self.promise.delta
        if at is None or isinstance(self.promise, Direct):
            return BudgetExceeded(*amounts, what)
        asked, left, total = (self.promise.worth(amount, 0.0, at) for amount in amounts)
        return BudgetExceeded(asked, left, total, what, unit="epsilon")

    # -- reading ------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, in order."""
        return self._store.entries

    def spending(self) -> dict[str, float]:
        """Return the rho paid for each kind of question, in the order they were first asked.

        Returns
        -------
        paid : dict
            Rho by what was asked.
        """
        paid: dict[str, int] = {}
        for entry in self.entries:
            paid[entry.what] = paid.get(entry.what, 0) + units(entry.rho)
        return {what: rho / UNIT for what, rho in paid.items()}

    @property
    def spent(self) -> float:
        """Rho paid so far, rounded up."""
        return min(rounded_up(self._store.totals[0]), self.rho)

    @property
    def remaining(self) -> float:
        """Rho that can still be paid, rounded down: charging it always fits."""
        left = rounded_down(units(self.rho) - self._store.totals[0])
        return left if self._parent is None else min(left, self._parent.remaining)

    @property
    def spent_delta(self) -> float:
        """Delta paid so far, rounded up."""
        return min(rounded_up(self._store.totals[1]), self.delta)

    @property
    def remaining_delta(self) -> float:
        """Delta that can still be paid, rounded down."""
        left = rounded_down(units(self.delta) - self._store.totals[1])
        return left if self._parent is None else min(left, self._parent.remaining_delta)

    def epsilon(self, delta: float | None = None) -> float:
        """Return the epsilon that is promised for all that is ever answered, spent or not, rounded up.

        Parameters
        ----------
        delta : float, optional
            At which delta; by default that of the promise.

        Returns
        -------
        epsilon : float
            All answers together are (epsilon, delta)-DP.
        """
        if delta is not None:
            return self.promise.epsilon_at(delta)
        if self.promise.epsilon is None:
            raise ValueError("This account was opened with rho=; name the delta, epsilon(delta=...).")
        return self.promise.epsilon

    def spent_epsilon(self, delta: float | None = None) -> float:
        """Return what the charges so far would be worth, had exactly they been planned. Bookkeeping only.

        It is no promise: when to stop may have been decided by what was released, and a filter proves the
        total that was fixed beforehand (P5).

        Parameters
        ----------
        delta : float, optional
            At which delta; by default that of the promise.

        Returns
        -------
        epsilon : float
            The worth of what was spent; 0 if that is nothing.
        """
        at = self.promise.delta if delta is None else delta
        if at is None:
            raise ValueError("This account was opened with rho=; name the delta, spent_epsilon(delta=...).")
        with self._store.exclusive():
            return self.promise.worth(self.spent, self.spent_delta, at)

    def statement(self) -> str:
        """Say what is promised of all that is ever answered, and, as bookkeeping, what was spent of it.

        Returns
        -------
        text : str
            Two sentences.
        """
        with self._store.exclusive():
            promise = self.promise
            if promise.epsilon is not None:
                text = f"Promised for all answers together: epsilon = {written_up(promise.epsilon)} at "
                text += f"delta = {written_up(promise.delta or 0.0)}"
            else:
                text = f"Promised for all answers together: rho = {written_up(self.rho)}"
                if self.delta:
                    text += f" and delta = {written_up(self.delta)}"
            charges = f"{len(self.entries)} charge{'' if len(self.entries) == 1 else 's'}"
            share = self.spent / self.rho if self.rho else 0.0
            return f"{text}. Bookkeeping: {share:.1%} of that spent in {charges}."

    def __repr__(self) -> str:
        return (
            f"Ledger(rho={self.rho!r}, delta={self.delta!r}, spent={self.spent!r}, "
            f"entries={len(self.entries)})"
        )

    # -- one account, however it is copied ------------------------------------------------------------

    def to_json(self) -> str:
        """Write the account as JSON, to be carried on later with `from_json`.

        Returns
        -------
        text : str
            The promise and every charge so far.
        """
        with self._store.exclusive():
            return json.dumps(self._state(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Reopen a written account. While it is still open in this process, that very ledger is returned.

        The text is the account: whoever keeps two copies of it and spends from both spends twice.

        Parameters
        ----------
        text : str
            What `to_json` wrote.

        Returns
        -------
        ledger : Ledger
            The account. That of a sub-account can be read and refuses every charge, because without the
            account it drew on it would be a second budget.
        """
        state = json.loads(text)
        if not isinstance(state, dict) or not {"account", "promise", "entries"} <= state.keys():
            raise ValueError("This is not an account that Ledger.to_json wrote.")
        with _REOPENING:
            # a sub-account restored without the account it draws on would be a second budget
            return _ACCOUNTS.get(state["account"]) or _restore(state, writable=not state["sub_account"])

    def _state(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "sub_account": self._parent is not None,
            "rho": self.rho,
            "delta": self.delta,
            "promise": to_dict(self.promise),
            "entries": [asdict(entry) for entry in self.entries],
        }

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        with self._store.exclusive():
            return _unpickle, (self._state(),)


_ACCOUNTS: weakref.WeakValueDictionary[str, Ledger] = weakref.WeakValueDictionary()
_REOPENING = threading.Lock()  # two threads that reopen one account must get one ledger


def _unpickle(state: dict[str, Any]) -> Ledger:
    """Find the account in this process, or rebuild it as a record that cannot spend."""
    ledger = _ACCOUNTS.get(state["account"])
    return _restore(state, writable=False) if ledger is None else ledger


def _restore(state: dict[str, Any], *, writable: bool) -> Ledger:
    ledger = Ledger.__new__(Ledger)
    store = MemoryStore((Entry(**entry) for entry in state["entries"]), writable=writable)
    ledger._open(state["account"], from_dict(state["promise"]), store=store, known=writable)
    return ledger


def _renew_lock() -> None:
    """Replace the lock, which another thread may have held when this process was forked."""
    global _REOPENING
    _REOPENING = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
