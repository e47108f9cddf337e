"""The ledger: a privacy filter that refuses before anything is read.

A ledger holds a privacy budget that is fixed when it is opened. Every question about the data is charged
first; a charge that does not fit raises `BudgetExceeded` and nothing is looked at. Each price may depend on
everything released so far, and the total may not be passed. So the ledger is a filter, and its promise
holds for all that was ever answered under it: mu-Gaussian DP if all noise is Gaussian (P7), and
(rho, delta)-approximate zCDP for any questions (P5). That total is what is promised; what was spent of it by
some moment is bookkeeping.
"""

from __future__ import annotations

import uuid
import weakref
from dataclasses import asdict, replace
from typing import Any

from privfit.accounting.amounts import price, units
from privfit.accounting.budget import Budget, PromiseKind
from privfit.accounting.promise import Concentrated, Gaussian, Promise, from_dict, to_dict
from privfit.accounting.promises.kinds import Kind
from privfit.accounting.readable import ReadableLedger, lasts
from privfit.accounting.refusal import BudgetExceeded
from privfit.accounting.relation import check_unit
from privfit.accounting.reservation import Reservation, reserve
from privfit.accounting.stores import Entry, MemoryStore, Store
from privfit.accounting.stores.signing import signed
from privfit.accounting.zcdp import Conversion


class Ledger(ReadableLedger):
    """A privacy budget and the record of how it was spent.

    Parameters
    ----------
    rho : float, optional
        The total in zCDP, instead of `epsilon`. Without `promise` the ledger keeps zCDP's promise; with
        ``promise="gaussian"`` it keeps mu-Gaussian DP for mu = sqrt(2 rho).
    epsilon : float, optional
        The total as (epsilon, delta)-DP, converted to the rho it is worth: at delta = 1e-6 an epsilon of 1
        is worth rho = .0280 by a Gaussian promise and .0244 by zCDP's.
    delta : float, optional
        The delta of the promise, by default 1e-6. With `rho` and zCDP's promise: the failure probability that
        charges may use up, by default 0.
    promise : {"gaussian", "concentrated", "direct"}, optional
        What the ledger promises, and so what it pays for; by default "gaussian" with `epsilon` and
        "concentrated" with `rho`. See the notes.
    conversion : {"tight", "classic"}, optional
        How zCDP's promise converts `epsilon`, by default "tight". Naming one chooses
        ``promise="concentrated"``.
    person_id : str, optional
        The name of the id that tells people apart, if the ledger promises privacy to people, whatever number
        of records they have: it then pays for fits with ``rows_per_person`` whose schema's id, or whose
        ``groups``, have this name, and for nothing else. By default it promises privacy to records.

    Notes
    -----
    A Gaussian ledger pays for Gaussian noise alone: the solvers adaptive, gradient-descent, newton and
    sufficient-statistics, `PrivateBounds` and all scores. It cannot pay for noisy choices (the solvers
    dpagd, dpagd-modern, frank-wolfe and privgene), for output-perturbation, or for releases with a proof of
    their own (approximate-minima-perturbation, objective-perturbation, sgd-adv and sgd-ma). A concentrated
    ledger pays for any of them; for releases with a proof of their own only if it was opened with `rho` and
    a `delta` to spend. A direct ledger pays for one release with a proof of its own, of its whole privacy
    budget.

    Sums are exact: prices are added as integers, so T charges of rho / T always fit and one more
    never does. Copies (`copy`, `deepcopy`, `sklearn.clone`, unpickling in the same process) are the same
    ledger. In any other process a ledger can be read but refuses every charge, unless it is kept in a file or
    on a server (`Ledger.open`); then it is the same ledger there, too. All methods are thread-safe.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1.0)
    >>> entry = ledger.charge(ledger.rho / 4, what="mean age", kind="gaussian")
    >>> ledger.remaining / ledger.rho
    0.75
    >>> ledger.charge(ledger.rho, what="everything", kind="gaussian")
    Traceback (most recent call last):
    ...
    privfit.accounting.refusal.BudgetExceeded: everything needs epsilon = 1 (rho = 0.02801) at delta = ...
    """

    _parent: Ledger | None

    def __init__(
        self,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        promise: PromiseKind | None = None,
        conversion: Conversion | None = None,
        person_id: str | None = None,
    ) -> None:
        budget = Budget(
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            promise=promise,
            conversion=conversion,
            person_id=person_id,
        )
        self._become(uuid.uuid4().hex, budget.buy(), MemoryStore())
        _LEDGERS[self.identifier] = self

    @classmethod
    def keeping(cls, promise: Promise) -> Ledger:
        """Open a ledger in memory that keeps this promise.

        Parameters
        ----------
        promise : Promise
            What is promised of everything that is answered under the ledger.

        Returns
        -------
        ledger : Ledger
            Nothing of it is spent.
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
        promise: PromiseKind | None = None,
        person_id: str | None = None,
        timeout: float = 30.0,
    ) -> Ledger:
        """Open the ledger of a data set in a file or on a server, where it outlives the process.

        Every process that opens it draws on the same privacy budget (A1 – A3). A fit reserves its portion
        before the first look and gives back what it did not spend when it ends well; a process that is killed
        leaves all of its reservation spent.

        Parameters
        ----------
        url : str
            ``sqlite:///people.db``, made if it is not there and readable by its owner alone, or
            ``postgresql://user@host/database``. A password in it is used in this process and never shown or
            pickled; PGPASSWORD or ~/.pgpass reach workers, too.
        dataset : str
            Whose ledger it is; a store holds one for each data set.
        epsilon, delta, rho : float, optional
            The privacy budget, as for `Ledger`. A ledger that is there has to have been opened with the same
            one; what is left out is not compared.
        promise : {"gaussian", "concentrated", "direct"}, optional
            What a new ledger promises, and so what it pays for, as for `Ledger`: by default Gaussian noise
            alone, and no noisy choices, output perturbation or releases with a proof of their own. A ledger
            that is there keeps its own promise, and is refused if another one is named.
        person_id : str, optional
            The id of the people whom a new ledger makes its promise to, as for `Ledger`; by default it is
            made to records. It cannot be changed later. Ledgers of earlier versions are about records.
        timeout : float
            For how many seconds to wait for other processes.

        Returns
        -------
        ledger : Ledger
            The ledger.

        Raises
        ------
        LedgerError
            If the store cannot be reached, read or written.
        ValueError
            If the ledger was opened with another privacy budget or promise, or there is none and neither
            epsilon nor rho was named.
        """
        from privfit.accounting.lasting import open_store  # imported late: SQLAlchemy is slow

        asked = Budget(rho=rho, epsilon=epsilon, delta=delta, promise=promise, person_id=person_id)
        kept, store = open_store(url, timeout, dataset, asked)
        return _ledger(store.identifier, kept, store)

    def _become(
        self,
        identifier: str,
        promise: Promise,
        store: Store,
        *,
        parent: Ledger | None = None,
        reservation: Reservation | None = None,
    ) -> None:
        ReadableLedger.__init__(self, identifier, promise, store, parent=parent)
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
        person_id: str | None = None,
    ) -> Entry:
        """Pay for a question, or raise `BudgetExceeded` and leave the ledger as it was.

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
        person_id : str, optional
            The id of the people for whom this is the price, all records of a person being added or removed
            together; by default it is the price for one record. A ledger of another unit refuses.

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
            self._check(kind, rho, delta, what, person_id)
            if self._parent is not None:
                self._parent.charge(
                    rho, delta, what=what, mechanism=mechanism, kind=kind, person_id=person_id
                )
            entry = signed(self._store, what, mechanism, rho, delta)
            self._store.append(entry)
            return entry

    def portion(self, size: float | Promise, delta: float = 0.0, *, what: str = "a portion") -> Ledger:
        """Return a ledger of this size for a part of the work; what it pays, this ledger pays too.

        In memory nothing is set aside: the portion draws as it goes, and what it leaves unspent stays here.
        A ledger that lasts reserves all of it in one durable transaction, and `settle` gives back the
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
            The portion.

        Raises
        ------
        BudgetExceeded
            If the portion does not fit into what is left.
        """
        promise = size if isinstance(size, Promise) else self._part(price("rho", size), price("delta", delta))
        with self._store.exclusive():
            self._check(promise.kind, promise.rho, promise.slack, what, promise.person_id)
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
        """Return a promise of this size and of this ledger's kind."""
        if isinstance(self.promise, Gaussian):
            return replace(self.promise, rho=rho, epsilon=self.promise.worth(rho, 0.0, self.promise.delta))
        conversion = self.promise.conversion if isinstance(self.promise, Concentrated) else "tight"
        return Concentrated(rho, delta, conversion=conversion, person_id=self.promise.person_id)

    def _check(self, kind: Kind, rho: float, delta: float, what: str, person_id: str | None) -> None:
        check_unit(self.promise.person_id, person_id, what)
        self.promise.admit(kind, rho, delta)
        spent, ceilings = self._store.totals, self._ceilings
        if spent[0] + units(rho) > ceilings[0]:
            raise self._refusal(rho, what)
        if spent[1] + units(delta) > ceilings[1]:
            raise BudgetExceeded(delta, self.remaining_delta, self.delta, what, unit="delta")

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
        owner = f"the ledger of {self._reservation.owner.dataset!r}"
        return f"{text} All of it is reserved on {owner}, and spent there until it is settled."

    # -- one ledger, however it is copied -------------------------------------------------------------

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        promise = to_dict(self.promise)
        if lasts(self._store):
            database = self._store.database
            return _reopen, (self.identifier, promise, database.url, database.timeout, self._store.dataset)
        return _recall, (self.identifier, promise, [asdict(entry) for entry in self.entries])


_LEDGERS: weakref.WeakValueDictionary[str, Ledger] = weakref.WeakValueDictionary()


def _ledger(identifier: str, promise: Promise, store: Store, *, known: bool = True, **origin: Any) -> Ledger:
    """Make a ledger; if it is `known`, copies that are unpickled in this process are the ledger itself."""
    ledger = Ledger.__new__(Ledger)
    ledger._become(identifier, promise, store, **origin)
    if known:
        _LEDGERS[identifier] = ledger
    return ledger


def _recall(identifier: str, promise: dict[str, Any], entries: list[dict[str, Any]]) -> Ledger:
    """Unpickle a ledger in memory: find it in this process, or rebuild a record that cannot spend."""
    known = _LEDGERS.get(identifier)
    if known is not None:
        return known
    store = MemoryStore((Entry(**entry) for entry in entries), writable=False)
    return _ledger(identifier, from_dict(promise), store, known=False)


def _reopen(identifier: str, promise: dict[str, Any], url: str, timeout: float, dataset: str) -> Ledger:
    """Unpickle a ledger that lasts; its store is not connected to until it is used."""
    from privfit.accounting.lasting import Database, SqlStore  # imported late: SQLAlchemy is slow

    known = _LEDGERS.get(identifier)
    if known is not None:
        return known
    kept = from_dict(promise)
    return _ledger(identifier, kept, SqlStore(Database(url, timeout), dataset, identifier, kept))
