"""The privacy account: a filter that refuses before anything is read.

A ledger holds a budget in approximate zCDP, (rho, delta), fixed when it is opened. Every question about
the data is charged first; a charge that does not fit raises `BudgetExceeded` and nothing is looked at.
Because each price may depend on everything released so far and the total may not be passed, the ledger
is a zCDP filter, and all that was ever answered under it is (rho, delta)-zCDP together (P5). That total is
what is promised; what was spent of it by some moment is bookkeeping.
"""

from __future__ import annotations

import json
import math
import os
import threading
import uuid
import weakref
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, get_args

from privfit.accounting.promise import Concentrated, Promise, from_dict, to_dict
from privfit.accounting.zcdp import Conversion

# Amounts are added as integers, in units of which every float64, and every half ulp of one, is a multiple.
_UNIT = 2 ** (1074 + 53)


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


@dataclass(frozen=True)
class Entry:
    """One charge: what was asked, how it was blurred, what it cost, and on which day.

    Not at which second, because entries are published, and how long a question took may depend on the data.
    """

    what: str
    mechanism: str
    rho: float
    delta: float
    when: str


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
            self._open(uuid.uuid4().hex, Concentrated.of(epsilon=epsilon, delta=delta, conversion=conversion))
            return
        assert rho is not None
        budget, slack = _price("rho", rho), _price("delta", delta)
        if budget == 0.0:
            raise ValueError(f"rho must be a positive finite number, got {rho!r}.")
        if slack >= 1.0:
            raise ValueError(f"delta must be below 1, got {delta!r}.")
        if conversion not in get_args(Conversion):
            raise ValueError(f"conversion must be one of {get_args(Conversion)}, got {conversion!r}.")
        self._open(uuid.uuid4().hex, Concentrated(budget, slack, conversion=conversion))

    @classmethod
    def keeping(cls, promise: Promise) -> Ledger:
        """Open an account that keeps this promise."""
        ledger = cls.__new__(cls)
        ledger._open(uuid.uuid4().hex, promise)
        return ledger

    def _open(
        self,
        account: str,
        promise: Promise,
        *,
        parent: Ledger | None = None,
        live: bool = True,
    ) -> None:
        self.account = account
        self.promise = promise
        self.rho, self.delta = promise.rho, promise.slack
        self._parent = parent
        self._entries: list[Entry] = []
        self._spent = self._spent_delta = 0  # in units, as are the ceilings
        self._ceiling, self._ceiling_delta = _ceiling(self.rho), _ceiling(self.delta)
        self._lock = threading.RLock()
        self._pid: int | None = os.getpid() if live else None
        if live:
            _ACCOUNTS[account] = self

    # -- spending -----------------------------------------------------------------------------------

    def charge(self, rho: float, delta: float = 0.0, *, what: str = "", mechanism: str = "") -> Entry:
        """Pay for a question, or raise `BudgetExceeded` and leave the account as it was."""
        rho, delta = _price("rho", rho), _price("delta", delta)
        if self._pid != os.getpid():
            raise RuntimeError(
                "This ledger is a copy whose account is not open in this process (it was unpickled or "
                "forked), so it cannot spend; run the fits in one process (n_jobs=1), or open another ledger."
            )
        with self._lock:
            self._check(rho, delta, what)
            if self._parent is not None:
                self._parent.charge(rho, delta, what=what, mechanism=mechanism)
            entry = Entry(what, mechanism, rho, delta, datetime.now(UTC).date().isoformat())
            self._record(entry)
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
        """
        if isinstance(size, Promise):
            promise = size
        else:
            conversion = self.promise.conversion if isinstance(self.promise, Concentrated) else "tight"
            promise = Concentrated(_price("rho", size), _price("delta", delta), conversion=conversion)
        with self._lock:
            self._check(promise.rho, promise.slack, what)
            child = Ledger.__new__(Ledger)
            child._open(uuid.uuid4().hex, promise, parent=self)
            return child

    def _check(self, rho: float, delta: float, what: str) -> None:
        if not self.promise.divisible and (rho, delta) != (self.rho, self.delta):
            raise ValueError("This account pays for one release of all of it; open another for questions.")
        if self._spent + _units(rho) > self._ceiling:
            raise self._refusal(rho, what)
        if self._spent_delta + _units(delta) > self._ceiling_delta:
            raise BudgetExceeded(delta, self.remaining_delta, self.delta, what, unit="delta")

    def _refusal(self, rho: float, what: str) -> BudgetExceeded:
        """Answer in epsilon whoever opened the account with one."""
        amounts = rho, self.remaining, self.rho
        at = self.promise.delta
        if at is None or not self.promise.divisible:
            return BudgetExceeded(*amounts, what)
        asked, left, total = (self.promise.worth(amount, 0.0, at) for amount in amounts)
        return BudgetExceeded(asked, left, total, what, unit="epsilon")

    def _record(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._spent += _units(entry.rho)
        self._spent_delta += _units(entry.delta)

    # -- reading ------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, in order."""
        with self._lock:
            return tuple(self._entries)

    def spending(self) -> dict[str, float]:
        """Return the rho paid for each kind of question, in the order they were first asked."""
        paid: dict[str, int] = {}
        for entry in self.entries:
            paid[entry.what] = paid.get(entry.what, 0) + _units(entry.rho)
        return {what: rho / _UNIT for what, rho in paid.items()}

    @property
    def spent(self) -> float:
        """Rho paid so far, rounded up."""
        with self._lock:
            return min(_round_up(self._spent), self.rho)

    @property
    def remaining(self) -> float:
        """Rho that can still be paid, rounded down: charging it always fits."""
        with self._lock:
            left = _round_down(_units(self.rho) - self._spent)
            return left if self._parent is None else min(left, self._parent.remaining)

    @property
    def spent_delta(self) -> float:
        """Delta paid so far, rounded up."""
        with self._lock:
            return min(_round_up(self._spent_delta), self.delta)

    @property
    def remaining_delta(self) -> float:
        """Delta that can still be paid, rounded down."""
        with self._lock:
            left = _round_down(_units(self.delta) - self._spent_delta)
            return left if self._parent is None else min(left, self._parent.remaining_delta)

    def epsilon(self, delta: float | None = None) -> float:
        """Return the epsilon that is promised for all that is ever answered, spent or not, rounded up.

        Parameters
        ----------
        delta : float, optional
            At which delta; by default that of the promise.
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
        """
        at = self.promise.delta if delta is None else delta
        if at is None:
            raise ValueError("This account was opened with rho=; name the delta, spent_epsilon(delta=...).")
        with self._lock:
            return self.promise.worth(self.spent, self.spent_delta, at)

    def statement(self) -> str:
        """Say what is promised of all that is ever answered, and, as bookkeeping, what was spent of it."""
        with self._lock:
            promise = self.promise
            if promise.epsilon is not None:
                text = f"Promised for all answers together: epsilon = {promise.epsilon:.6g} at "
                text += f"delta = {promise.delta:g}"
            else:
                text = f"Promised for all answers together: rho = {self.rho:.6g}"
                if self.delta:
                    text += f" and delta = {self.delta:.3g}"
            charges = f"{len(self._entries)} charge{'' if len(self._entries) == 1 else 's'}"
            return f"{text}. Bookkeeping: {self.spent / self.rho:.1%} of that spent in {charges}."

    def __repr__(self) -> str:
        return (
            f"Ledger(rho={self.rho!r}, delta={self.delta!r}, spent={self.spent!r}, "
            f"entries={len(self._entries)})"
        )

    # -- one account, however it is copied ------------------------------------------------------------

    def to_json(self) -> str:
        """Write the account as JSON, to be carried on later with `from_json`."""
        with self._lock:
            return json.dumps(self._state(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Reopen a written account. While it is still open in this process, that very ledger is returned.

        The text is the account: whoever keeps two copies of it and spends from both spends twice.
        """
        state = json.loads(text)
        with _REOPENING:
            # a sub-account restored without the account it draws on would be a second budget
            return _ACCOUNTS.get(state["account"]) or _restore(state, live=not state["sub_account"])

    def _state(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "sub_account": self._parent is not None,
            "rho": self.rho,
            "delta": self.delta,
            "promise": to_dict(self.promise),
            "entries": [asdict(entry) for entry in self._entries],
        }

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            return _unpickle, (self._state(),)


_ACCOUNTS: weakref.WeakValueDictionary[str, Ledger] = weakref.WeakValueDictionary()
_REOPENING = threading.Lock()  # two threads that reopen one account must get one ledger


def _unpickle(state: dict[str, Any]) -> Ledger:
    """Find the account in this process, or rebuild it as a record that cannot spend."""
    ledger = _ACCOUNTS.get(state["account"])
    if ledger is not None and ledger._pid == os.getpid():
        return ledger
    return _restore(state, live=False)


def _restore(state: dict[str, Any], *, live: bool) -> Ledger:
    ledger = Ledger.__new__(Ledger)
    ledger._open(state["account"], from_dict(state["promise"]), live=live)
    for entry in state["entries"]:
        ledger._record(Entry(**entry))
    return ledger


def _renew_locks() -> None:
    """Replace locks that another thread may have held when this process was forked."""
    global _REOPENING
    _REOPENING = threading.Lock()
    for ledger in list(_ACCOUNTS.values()):
        ledger._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _price(name: str, value: float) -> float:
    value = float(value)
    if not (value >= 0.0 and math.isfinite(value)):
        raise ValueError(f"{name} must be a non-negative finite number, got {value!r}.")
    return value


def _units(amount: float) -> int:
    """Return an amount in units, exactly."""
    numerator, denominator = amount.as_integer_ratio()
    return numerator * (_UNIT // denominator)


def _ceiling(budget: float) -> int:
    """Return what charges may add up to.

    T shares of fl(budget / T) may add up to half an ulp more than the budget. They always fit; the noise
    margin of every mechanism (zcdp.NOISE_MARGIN) makes the true cost smaller than the price by far more.
    """
    budget_in_units = _units(budget)
    return budget_in_units + budget_in_units // 2**53


def _round_up(units: int) -> float:
    nearest = units / _UNIT
    return nearest if _units(nearest) >= units else math.nextafter(nearest, math.inf)


def _round_down(units: int) -> float:
    units = max(units, 0)
    nearest = units / _UNIT
    return nearest if _units(nearest) <= units else math.nextafter(nearest, 0.0)
