"""The privacy account: a filter that refuses before anything is read.

A ledger holds a budget in approximate zCDP, (rho, delta), fixed when it is opened. Every question about
the data is charged first; a charge that does not fit raises `BudgetExceeded` and nothing is looked at.
Because each price may depend on everything released so far and the total may not be passed, the ledger
is a zCDP filter, and all that was ever answered under it is (rho, delta)-zCDP together (P5). That total is
what is promised; what was spent of it by some moment is bookkeeping.
"""

from __future__ import annotations

import uuid
import weakref
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from privfit.accounting.account import Account
from privfit.accounting.amounts import price, units
from privfit.accounting.budget import PromiseKind, promise_of
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Kind, Promise, from_dict, to_dict
from privfit.accounting.refusal import BudgetExceeded
from privfit.accounting.reservation import Reservation, reserve
from privfit.accounting.stores import Entry, MemoryStore, Store
from privfit.accounting.stores.signing import signed
from privfit.accounting.zcdp import Conversion

if TYPE_CHECKING:
    from privfit.accounting.stores.chain import Seal
    from privfit.accounting.stores.sql import SqlStore


class Ledger(Account):
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
    account. In any other process a ledger can be read but refuses every charge, unless its account is kept
    in a file or on a server (`Ledger.open`); then it is the same account there, too. All methods are
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
    privfit.accounting.refusal.BudgetExceeded: everything needs epsilon=1, 0.8574 left of 1; ...
    """

    _parent: Ledger | None

    def __init__(
        self,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        conversion: Conversion = "tight",
    ) -> None:
        promise = promise_of(rho=rho, epsilon=epsilon, delta=delta, conversion=conversion)
        self._become(uuid.uuid4().hex, promise, MemoryStore())
        _ACCOUNTS[self.account] = self

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
        return _ledger(uuid.uuid4().hex, promise, MemoryStore())

    @classmethod
    def open(
        cls,
        url: str,
        *,
        dataset: str,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        promise: PromiseKind = "concentrated",
        timeout: float = 30.0,
    ) -> Ledger:
        """Open the account of a data set in a file or on a server, where it outlives the process.

        Every process that opens it draws on the same budget (A1 – A3). A fit reserves its portion before the
        first look and gives back what it did not spend when it ends well; a process that is killed leaves
        all of its reservation spent.

        Parameters
        ----------
        url : str
            ``sqlite:///people.db``, made if it is not there and readable by its owner alone, or
            ``postgresql://user@host/database``. A password in it is used in this process and never shown or
            pickled; PGPASSWORD or ~/.pgpass reach workers, too.
        dataset : str
            Whose account it is; a store holds one for each data set.
        epsilon, delta, rho : float, optional
            The budget, as for `Ledger`. An account that is there has to have been opened with the same one;
            left out, it is taken as it is.
        promise : {"concentrated", "gaussian", "direct"}
            What the account promises: any questions, Gaussian noise alone, or one release with a theorem of
            its own. The last two are named by epsilon.
        timeout : float
            For how many seconds to wait for other processes.

        Returns
        -------
        ledger : Ledger
            The account.

        Raises
        ------
        AccountError
            If the store cannot be reached, read or written.
        ValueError
            If the account was opened with another budget, or there is none and no budget was named.
        """
        from privfit.accounting.lasting import open_store  # late: it brings SQLAlchemy

        asked = None
        if (epsilon, delta, rho) != (None, None, None):
            asked = promise_of(promise, rho=rho, epsilon=epsilon, delta=0.0 if delta is None else delta)
        kept, store = open_store(url, timeout, dataset, asked)
        return _ledger(store.account, kept, store)

    def _become(
        self,
        account: str,
        promise: Promise,
        store: Store,
        *,
        parent: Ledger | None = None,
        reservation: Reservation | None = None,
    ) -> None:
        Account.__init__(self, account, promise, store, parent=parent)
        self._reservation, self._is_settled = reservation, False

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
            if self._is_settled:
                raise RuntimeError("This portion was settled and pays for nothing more; take another one.")
            self._check(kind, rho, delta, what)
            if self._parent is not None:
                self._parent.charge(rho, delta, what=what, mechanism=mechanism, kind=kind)
            entry = signed(self._store, what, mechanism, rho, delta)
            self._store.append(entry)
            return entry

    def portion(self, size: float | Promise, delta: float = 0.0, *, what: str = "a portion") -> Ledger:
        """Return a sub-account of this size; what it pays, this ledger pays too.

        In memory nothing is set aside: the portion draws as it goes, and what it leaves unspent stays here.
        An account that lasts reserves all of it in one durable transaction, and `settle` gives back the
        rest. Either way it is refused at once if it does not fit now.

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
            name = uuid.uuid4().hex
            if not self._store.lasting:
                return _ledger(name, promise, MemoryStore(), parent=self)
            return _ledger(name, promise, MemoryStore(), reservation=reserve(self, promise, what))

    def settle(self) -> None:
        """Give back what a portion reserved and did not spend; it pays for nothing more after that.

        To be called when the last look has been taken and nothing failed (A2). Does nothing where nothing was
        reserved, and nothing the second time.
        """
        with self._store.exclusive():
            if self._reservation is None or self._is_settled:
                return
            self._is_settled = True  # first, because a look after a settlement would not be paid for
            self._store.require_writable()
            self._reservation.settle(self._store.totals)

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

    def statement(self) -> str:
        """Say what is promised of all that is ever answered, and, as bookkeeping, what was spent of it.

        Returns
        -------
        text : str
            Two sentences, and a third one of a portion that is reserved and not settled.
        """
        text = super().statement()
        if self._reservation is None or self._is_settled:
            return text
        account = f"the account of {self._reservation.owner.dataset!r}"
        return f"{text} All of it is reserved on {account}, and spent there until it is settled."

    # -- an account that lasts --------------------------------------------------------------------------

    @property
    def dataset(self) -> str | None:
        """Of which data set this is the account, if it is kept in a file or on a server."""
        return self._store.dataset if _lasts(self._store) else None

    @property
    def url(self) -> str | None:
        """Where the account is kept, without any password."""
        return self._store.database.url if _lasts(self._store) else None

    def verify(self, seal: str | None = None) -> Seal:
        """Check every entry of a ledger that lasts: its seal, the sums, the budget, the settlements.

        The entries alone show that none was changed, inserted or removed between others. They cannot show
        that the last ones were removed, or that all were written anew, which whoever owns the store can do.

        Parameters
        ----------
        seal : str, optional
            What an earlier call returned, noted down elsewhere. That it is still there shows that nothing up
            to it was removed or written anew.

        Returns
        -------
        seal : Seal
            The seal of the last entry, a string to note down elsewhere. Its `entries` says how many entries
            were checked, its `shows` what that shows and what it cannot.

        Raises
        ------
        BrokenChain
            If an entry is not what was written; the sentence says which.
        """
        if not _lasts(self._store):
            raise ValueError("An account in memory has no chain to verify; use Ledger.open to keep one.")
        return self._store.check(seal)

    def __repr__(self) -> str:
        if _lasts(self._store):  # not what was spent, because looking that up may fail
            return (
                f"Ledger(dataset={self.dataset!r}, url={self.url!r}, rho={self.rho!r}, delta={self.delta!r})"
            )
        return (
            f"Ledger(rho={self.rho!r}, delta={self.delta!r}, spent={self.spent!r}, "
            f"entries={len(self.entries)})"
        )

    # -- one account, however it is copied ------------------------------------------------------------

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        promise = to_dict(self.promise)
        if _lasts(self._store):
            database = self._store.database
            return _reopen, (self.account, promise, database.url, database.timeout, self._store.dataset)
        return _recall, (self.account, promise, [asdict(entry) for entry in self.entries])


_ACCOUNTS: weakref.WeakValueDictionary[str, Ledger] = weakref.WeakValueDictionary()


def _ledger(account: str, promise: Promise, store: Store, *, known: bool = True, **origin: Any) -> Ledger:
    """Make a ledger; unless it is but a record of its account, copies of it in this process are found."""
    ledger = Ledger.__new__(Ledger)
    ledger._become(account, promise, store, **origin)
    if known:
        _ACCOUNTS[account] = ledger
    return ledger


def _recall(account: str, promise: dict[str, Any], entries: list[dict[str, Any]]) -> Ledger:
    """Unpickle an account in memory: find it in this process, or rebuild a record that cannot spend."""
    known = _ACCOUNTS.get(account)
    if known is not None:
        return known
    store = MemoryStore((Entry(**entry) for entry in entries), writable=False)
    return _ledger(account, from_dict(promise), store, known=False)


def _reopen(account: str, promise: dict[str, Any], url: str, timeout: float, dataset: str) -> Ledger:
    """Unpickle an account that lasts; its store is not connected to until it is used."""
    from privfit.accounting.lasting import Database, SqlStore  # late: it brings SQLAlchemy

    known = _ACCOUNTS.get(account)
    if known is not None:
        return known
    kept = from_dict(promise)
    return _ledger(account, kept, SqlStore(Database(url, timeout), dataset, account, kept))


def _lasts(store: Store) -> TypeGuard[SqlStore]:
    return store.lasting
