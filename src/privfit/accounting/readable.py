"""What can be read from a ledger: what it promises, what was spent, and on what."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, TypeGuard

from privfit.accounting.amounts import UNIT, ceiling, four_digits_down, rounded_down, rounded_up, units
from privfit.accounting.budget import DEFAULT_DELTA, in_words
from privfit.accounting.promise import Direct, Promise, name_of
from privfit.accounting.refusal import BudgetExceeded
from privfit.accounting.stores import Entry, Store

if TYPE_CHECKING:
    from privfit.accounting.stores.chain import Seal
    from privfit.accounting.stores.sql import SqlStore

ENTRIES_SHOWN = 10  # by a notebook


class ReadableLedger:
    """A promise, and a store that holds what was charged to it.

    Parameters
    ----------
    identifier : str
        What tells the ledger from all others.
    promise : Promise
        What is promised of everything that is answered under it.
    store : Store
        Where its entries are.
    parent : ReadableLedger, optional
        The ledger that pays, too, whatever this one pays.
    """

    def __init__(
        self, identifier: str, promise: Promise, store: Store, *, parent: ReadableLedger | None = None
    ) -> None:
        self.identifier = identifier
        self.promise = promise
        self.rho, self.delta = promise.rho, promise.slack
        self._store, self._parent = store, parent
        self._ceilings = ceiling(self.rho), ceiling(self.delta)

    @property
    def account(self) -> str:
        """What `identifier` is, by its name in earlier versions."""
        return self.identifier

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, in order; in a ledger that lasts also what was reserved and returned."""
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
    def unspent(self) -> float:
        """Rho of this ledger that is not spent, rounded down; a ledger it is a portion of may have less."""
        return rounded_down(units(self.rho) - self._store.totals[0])

    @property
    def remaining(self) -> float:
        """Rho that can still be paid, rounded down: charging it always fits."""
        return self.unspent if self._parent is None else min(self.unspent, self._parent.remaining)

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
            raise ValueError("This ledger was opened with rho=; name the delta, epsilon(delta=...).")
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
            raise ValueError("This ledger was opened with rho=; name the delta, spent_epsilon(delta=...).")
        rho, slack = _added(self.entries)
        worth = self.promise.worth(min(rounded_up(rho), self.rho), min(rounded_up(slack), self.delta), at)
        # what is rounded up twice could exceed by its last digits what was promised
        return worth if at != self.promise.delta else min(worth, self.epsilon())

    def remaining_epsilon(self, delta: float | None = None) -> float:
        """Return the epsilon of one more fit that would take all that is left, rounded down to four digits.

        Parameters
        ----------
        delta : float, optional
            The delta of the fit; by default that of the promise, or 1e-6 if the ledger was opened with rho.

        Returns
        -------
        epsilon : float
            A fit of this ledger's kind that asks for it fits.
        """
        if isinstance(self.promise, Direct):  # one release of all of it
            return 0.0 if self.spent else self.promise.epsilon
        at = (DEFAULT_DELTA if self.promise.delta is None else self.promise.delta) if delta is None else delta
        if not self.spent and at == self.promise.delta and self.promise.epsilon is not None:
            return self.promise.epsilon
        # a little less, because what is left is worth an epsilon that is rounded up
        return four_digits_down(self.promise.worth(self.remaining, 0.0, at) * (1.0 - 1e-9))

    def _refusal(self, rho: float, what: str) -> BudgetExceeded:
        """Answer in epsilon and rho, first in the one that the ledger was opened with."""
        rhos = rho, self.remaining, self.rho
        if isinstance(self.promise, Direct):
            return BudgetExceeded(*rhos, what)
        at = DEFAULT_DELTA if self.promise.delta is None else self.promise.delta
        asked, total = (self.promise.worth(amount, 0.0, at) for amount in (rho, self.rho))
        epsilons = asked, self.remaining_epsilon(at), total
        if self.promise.epsilon is None:
            return BudgetExceeded(*rhos, what, "rho", epsilons, at)
        return BudgetExceeded(*epsilons, what, "epsilon", rhos, at)

    def statement(self) -> str:
        """Say what is promised of all that is ever answered, and, as bookkeeping, what was spent of it.

        Returns
        -------
        text : str
            Two sentences.
        """
        text = f"Promised for all answers together: {in_words(self.promise)}"
        entries = self.entries  # once, because others may be charging
        count = sum(entry.settles is None for entry in entries)
        share = min(_added(entries)[0] / units(self.rho), 1.0) if self.rho else 0.0
        charges = f"{count} charge{'' if count == 1 else 's'}"
        return f"{text}. Bookkeeping: {share:.1%} of that spent in {charges}."

    # -- a ledger that lasts ----------------------------------------------------------------------------

    @property
    def dataset(self) -> str | None:
        """The data set whose ledger this is, if it is kept in a file or on a server."""
        return self._store.dataset if lasts(self._store) else None

    @property
    def url(self) -> str | None:
        """Where the ledger is kept, without any password."""
        return self._store.database.url if lasts(self._store) else None

    def verify(self, seal: str | None = None) -> Seal:
        """Check every entry of a ledger that lasts: its seal, the sums, the total, the settlements.

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
        if not lasts(self._store):
            raise ValueError("A ledger in memory has no chain to verify; use Ledger.open to keep one.")
        return self._store.check(seal)

    def __repr__(self) -> str:
        promised = f"{in_words(self.promise)}, promise={name_of(self.promise)!r}"
        if lasts(self._store):  # not what was spent, because looking that up may fail
            return f"<Ledger of {self.dataset!r} at {self.url}: {promised}>"
        return f"<Ledger: {promised}; rho = {self.spent:.4g} spent in {len(self.entries)} entries>"

    def _repr_html_(self) -> str:
        """Show a notebook the statement and the last entries, without who made them."""
        try:
            entries, left, words = self.entries, self.remaining, self.statement()
        except OSError as error:  # the store cannot be reached
            return f"<p>{escape(repr(self))}: {escape(str(error))}</p>"
        rows = "".join(
            f"<tr><td>{escape(entry.what)}</td><td>{escape(entry.mechanism)}</td><td>{entry.rho:.4g}</td></tr>"
            for entry in entries[-ENTRIES_SHOWN:]
        )
        earlier = max(len(entries) - ENTRIES_SHOWN, 0)
        caption = f"The last entries; {earlier:,} more came before" if earlier else "All entries"
        head = '<th scope="col">what</th><th scope="col">how</th><th scope="col">rho</th>'
        return (
            f"<p>{escape(words)}</p>"
            f"<table><caption>{caption}. rho left: {left:.4g} of {self.rho:.4g}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )


def _added(entries: Iterable[Entry]) -> tuple[int, int]:
    amounts = [(units(entry.rho), units(entry.delta)) for entry in entries]
    return sum(rho for rho, _ in amounts), sum(delta for _, delta in amounts)


def lasts(store: Store) -> TypeGuard[SqlStore]:
    """Tell whether a store is in a file or on a server."""
    return store.lasting
