"""The ledger: a privacy filter, which refuses a question before any record is read.

A ledger holds a privacy budget that is fixed when it is opened. Every question about the data is charged
before the data are read. If the charge does not fit, the ledger raises `BudgetExceeded` and no record is
read. Each price may depend on everything released so far, but the total may not exceed the privacy budget.
This is what the literature calls a privacy filter. Its promise covers all answers under the ledger:
mu-Gaussian DP if all noise is Gaussian (P7), and (rho, delta)-approximate zCDP for any questions (P5). The
promise is the whole privacy budget. How much of it has been spent at some moment is bookkeeping, and no
guarantee.
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
        The total as (epsilon, delta)-DP. It is converted to a rho: at delta = 1e-6, an epsilon of 1 buys
        rho = .0280 with a Gaussian promise, and rho = .0244 with zCDP's.
    delta : float, optional
        The delta of the promise, by default 1e-6. With `rho` and zCDP's promise: the failure probability that
        charges may use up, by default 0.
    promise : {"gaussian", "concentrated", "direct"}, optional
        What the ledger promises, which decides what it can pay for. By default "gaussian" with `epsilon`,
        and "concentrated" with `rho`. See the notes.
    conversion : {"tight", "classic"}, optional
        How zCDP's promise converts `epsilon`, by default "tight". If it is set, the promise is
        "concentrated".
    person_id : str, optional
        The name of the id that tells people apart. The ledger then promises privacy to people, however many
        records each of them has. It pays only for fits with ``rows_per_person`` whose schema's id, or whose
        ``groups``, have this name. By default the ledger promises privacy to records.

    Notes
    -----
    A Gaussian ledger pays for Gaussian noise alone: the solvers adaptive, gradient-descent, newton and
    sufficient-statistics, `PrivateBounds` and all scores. It cannot pay for noisy choices (the solvers
    dpagd, dpagd-modern, frank-wolfe and privgene), for output-perturbation, or for releases with a proof of
    their own (approximate-minima-perturbation, objective-perturbation, sgd-adv and sgd-ma). A concentrated
    ledger pays for any of them, but for releases with a proof of their own only if it was opened with `rho`
    and a `delta` to spend. A direct ledger pays for exactly one release with a proof of its own, which costs
    the whole privacy budget.

    Prices are added as integers, so sums are exact: T charges of rho / T always fit, and one more never does.
    Copies (`copy`, `deepcopy`, `sklearn.clone`, unpickling in the same process) are the same ledger. A ledger
    in memory can be read in other processes, but refuses every charge there. A ledger in a file or on a
    server (`Ledger.open`) is the same ledger in every process. All methods are thread-safe.

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
            The promise that covers all answers under the ledger.

        Returns
        -------
        ledger : Ledger
            A ledger of which nothing is spent yet.
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

        All processes that open it share one privacy budget (A1 – A3). A fit reserves its portion before it
        reads the data. When it ends without an error, it gives back what it did not spend. If its process is
        killed, the whole reservation stays spent.

        Parameters
        ----------
        url : str
            ``sqlite:///people.db`` or ``postgresql://user@host/database``. A SQLite file is created if it
            does not exist; only its owner can then read it. A password in the URL is used in this process
            and never shown or pickled, so worker processes do not get it. They do read PGPASSWORD and
            ~/.pgpass.
        dataset : str
            The name of the data set. A store holds one ledger for each data set.
        epsilon, delta, rho : float, optional
            The privacy budget, as for `Ledger`. If the ledger exists, these have to be the values that it was
            opened with; an argument that is left out is not compared.
        promise : {"gaussian", "concentrated", "direct"}, optional
            What a new ledger promises, which decides what it can pay for, as for `Ledger`. By default it pays
            for Gaussian noise alone: not for noisy choices, output perturbation or releases with a proof of
            their own. An existing ledger keeps its promise; naming another one raises an error.
        person_id : str, optional
            The id that tells people apart, if a new ledger is to promise privacy to people, as for `Ledger`;
            by default it promises privacy to records. It cannot be changed later. Ledgers of privfit 0.1 are
            about records.
        timeout : float
            How many seconds to wait for other processes.

        Returns
        -------
        ledger : Ledger
            The ledger.

        Raises
        ------
        LedgerError
            If the store cannot be reached, read or written.
        ValueError
            If the ledger was opened with another privacy budget or promise, or if there is no ledger and
            neither epsilon nor rho was given.
        """
        from privfit.accounting.lasting import open_store  # imported late: SQLAlchemy imports slowly

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
        self._seal = None if reservation is None else reservation.seal

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
        claim: str = "",
        noise: str = "",
        sensitivity: float | None = None,
        scale: float | None = None,
    ) -> Entry:
        """Pay for a question, or raise `BudgetExceeded` and leave the ledger as it was.

        Parameters
        ----------
        rho, delta : float
            The price in approximate zCDP.
        what, mechanism : str
            What is asked, and the mechanism that adds the noise. Both are recorded in the entry.
        kind : {"concentrated", "gaussian", "release"}
            What is paid for. "concentrated": anything with a price in zCDP. "gaussian": Gaussian noise of
            this price, or a mechanism that is as private (`gdp.pure_rho`). "release": a release with a
            theorem of its own. A `Gaussian` promise pays only for "gaussian", a `Direct` one only for
            "release".
        person_id : str, optional
            The id that tells people apart, if the price is for adding or removing all records of one person.
            By default it is the price for one record. A ledger whose promise is about another unit refuses.
        claim, noise : str
            The claim of docs/privacy.md that bounds the sensitivity, and the kind of noise, for the evidence.
        sensitivity, scale : float, optional
            The sensitivity, and the scale of the noise, for the evidence; see `Entry`.

        Returns
        -------
        entry : Entry
            The entry that was added to the ledger.

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
                    rho,
                    delta,
                    what=what,
                    mechanism=mechanism,
                    kind=kind,
                    person_id=person_id,
                    claim=claim,
                    noise=noise,
                    sensitivity=sensitivity,
                    scale=scale,
                )
            entry = replace(
                signed(self._store, what, mechanism, rho, delta),
                claim=claim,
                noise=noise,
                sensitivity=sensitivity,
                scale=scale,
            )
            self._store.append(entry)
            return entry

    def portion(self, size: float | Promise, delta: float = 0.0, *, what: str = "a portion") -> Ledger:
        """Return a ledger of this size for a part of the work. This ledger pays what the portion pays.

        A ledger in memory sets nothing aside: it pays each charge of the portion when it is made, and keeps
        what the portion does not spend. A ledger that lasts reserves the whole portion in one durable
        transaction, and `settle` gives back what was not spent. Both refuse a portion that does not fit into
        what is left now.

        Parameters
        ----------
        size : float or promise
            The portion's rho, or the promise that it is to keep.
        delta : float
            With a rho, the delta that the portion may use up.
        what : str
            What the portion is for, as it is named in an error message.

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
        """Give back what a portion reserved and did not spend. After that, the portion pays for nothing more.

        Call this after the last look, and only if nothing failed (A2). It does nothing if nothing was
        reserved, or if the portion was settled before.
        """
        with self._store.exclusive():
            if self._reservation is None or self._is_settled:
                return
            self._is_settled = True  # set first, so that nothing is charged after the amount is given back
            self._store.require_writable()
            self._seal = self._reservation.settle(self._store.totals)

    @property
    def seal(self) -> str | None:
        """The seal of the row by which a lasting ledger paid for this portion, or None for other ledgers.

        It is the row that settled the portion or, until then, the row that reserved it. The seal covers that
        row and all rows before it. It may be published: every row holds a random number, so nobody can guess
        what the rows say and test the guess against the seal.
        """
        return self._seal

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
        """Say what the ledger promises for all answers together and, as bookkeeping, how much was spent.

        Returns
        -------
        text : str
            Two sentences, and a third one for a portion that is reserved and not settled.
        """
        text = super().statement()
        if self._reservation is None or self._is_settled:
            return text
        owner = f"the ledger of {self._reservation.owner.dataset!r}"
        return f"{text} All of it is reserved on {owner}, and spent there until it is settled."

    # -- copies are the same ledger -------------------------------------------------------------------

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
    """Make a ledger; if it is `known`, unpickling a copy in this process returns the ledger itself."""
    ledger = Ledger.__new__(Ledger)
    ledger._become(identifier, promise, store, **origin)
    if known:
        _LEDGERS[identifier] = ledger
    return ledger


def _recall(identifier: str, promise: dict[str, Any], entries: list[dict[str, Any]]) -> Ledger:
    """Unpickle a ledger in memory: return it if it is in this process, or else a copy that cannot spend."""
    known = _LEDGERS.get(identifier)
    if known is not None:
        return known
    store = MemoryStore((Entry(**entry) for entry in entries), writable=False)
    return _ledger(identifier, from_dict(promise), store, known=False)


def _reopen(identifier: str, promise: dict[str, Any], url: str, timeout: float, dataset: str) -> Ledger:
    """Unpickle a ledger that lasts; it connects to its store when it is first used."""
    from privfit.accounting.lasting import Database, SqlStore  # imported late: SQLAlchemy imports slowly

    known = _LEDGERS.get(identifier)
    if known is not None:
        return known
    kept = from_dict(promise)
    return _ledger(identifier, kept, SqlStore(Database(url, timeout), dataset, identifier, kept))
