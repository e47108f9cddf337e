"""The privacy account: a filter that refuses before anything is read.

A ledger holds a budget in approximate zCDP, (rho, delta), fixed when it is opened. Every question about
the data is charged first; a charge that does not fit raises `BudgetExceeded` and nothing is looked at.
Because each price may depend on everything released so far and the total may not be passed, the ledger
is a zCDP filter, and all that was ever answered under it is (rho, delta)-zCDP together (P5).
"""

from __future__ import annotations

import json
import math
import os
import threading
import uuid
import weakref
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from privfit.accounting.zcdp import MIN_RHO, Conversion, epsilon_from_rho, rho_from_epsilon

# Amounts are added as integers, in units of which every float64, and every half ulp of one, is a multiple.
_UNIT = 2 ** (1074 + 53)


class BudgetExceeded(RuntimeError):
    """A question was refused because its price does not fit into what is left.

    Attributes
    ----------
    asked, left, total : float
        The price, what was left and the whole budget, in rho (in delta if that is what ran out).
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
    """One charge: what was asked, how it was blurred, what it cost, and when."""

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
    conversion : {"tight", "classic", "direct"}
        How `epsilon` is converted. A "direct" account holds (epsilon^2 / 2, delta) and pays for exactly one
        thing: a release of the whole that is (epsilon, delta)-DP by a proof of its own (P6).

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
            budget = rho_from_epsilon(epsilon, delta, conversion)
            spendable_delta = delta if conversion == "direct" else 0.0
        else:
            assert rho is not None
            budget, spendable_delta = _price("rho", rho), _price("delta", delta)
            if budget == 0.0:
                raise ValueError(f"rho must be a positive finite number, got {rho!r}.")
            if spendable_delta >= 1.0:
                raise ValueError(f"delta must be below 1, got {delta!r}.")
        self._open(
            uuid.uuid4().hex,
            budget,
            spendable_delta,
            {"epsilon": epsilon, "delta": delta, "conversion": conversion},
        )

    def _open(
        self,
        account: str,
        rho: float,
        delta: float,
        promise: dict[str, Any],
        *,
        parent: Ledger | None = None,
        live: bool = True,
    ) -> None:
        self.account = account
        self.rho, self.delta = rho, delta
        self._promise = promise
        self._parent = parent
        self._entries: list[Entry] = []
        self._spent = self._spent_delta = 0  # in units, as are the ceilings
        self._ceiling, self._ceiling_delta = _ceiling(rho), _ceiling(delta)
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
            entry = Entry(what, mechanism, rho, delta, datetime.now(UTC).isoformat(timespec="seconds"))
            self._record(entry)
            return entry

    def portion(self, rho: float, delta: float = 0.0) -> Ledger:
        """Return a sub-account of this size; what it pays, this ledger pays too.

        Nothing is set aside: the portion draws as it goes, and what it leaves unspent stays here. It is
        refused at once if it would not fit now.
        """
        rho, delta = _price("rho", rho), _price("delta", delta)
        with self._lock:
            self._check(rho, delta, "a sub-account")
            child = Ledger.__new__(Ledger)
            child._open(uuid.uuid4().hex, rho, delta, dict(self._promise, epsilon=None), parent=self)
            return child

    def _check(self, rho: float, delta: float, what: str) -> None:
        if self._is_direct and (rho, delta) != (self.rho, self.delta):
            # parts of it would compose, which its conversion does not account for
            raise ValueError("This account pays for one release of all of it; open another for questions.")
        if self._spent + _units(rho) > self._ceiling:
            raise BudgetExceeded(rho, self.remaining, self.rho, what)
        if self._spent_delta + _units(delta) > self._ceiling_delta:
            raise BudgetExceeded(delta, self.remaining_delta, self.delta, what, unit="delta")

    @property
    def _is_direct(self) -> bool:
        return self._promise["epsilon"] is not None and self._promise["conversion"] == "direct"

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
        """Return the epsilon of all spent so far at this delta (by default the promise's), rounded up."""
        delta = self._promise["delta"] if delta is None else delta
        with self._lock:
            if not self._entries:
                return 0.0
            if self._is_direct and delta >= self.delta:
                return float(self._promise["epsilon"])
            free = math.nextafter(delta - self.spent_delta, 0.0) if self.spent_delta else delta
            if free <= 0.0:
                raise ValueError(
                    f"delta={delta!r} must exceed the delta already spent, {self.spent_delta!r}; "
                    "name a larger one."
                )
            return epsilon_from_rho(max(self.spent, MIN_RHO), free, self._promise["conversion"])

    def statement(self) -> str:
        """Say in one sentence what was spent of what, and what that promises."""
        with self._lock:
            text = f"{self.spent:.6g} of rho = {self.rho:.6g} spent in {len(self._entries)} charges"
            if self.delta:
                text += f", and {self.spent_delta:.3g} of delta = {self.delta:.3g}"
            with suppress(ValueError):  # outside the range of the conversion there is no epsilon to name
                text += f"; at delta = {self._promise['delta']:g} that is epsilon = {self.epsilon():.6g}"
            return text + "."

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
            "promise": self._promise,
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
    ledger._open(state["account"], state["rho"], state["delta"], state["promise"], live=live)
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
