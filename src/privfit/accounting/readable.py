"""The readable part of a ledger: its promise, and how much was spent on what."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, TypeGuard

from privfit.accounting.amounts import UNIT, ceiling, four_digits_down, rounded_down, rounded_up, units
from privfit.accounting.budget import DEFAULT_DELTA, in_words
from privfit.accounting.promise import Direct, Promise, name_of
from privfit.accounting.refusal import BudgetExceeded
from privfit.accounting.stores import Entry, Store
from privfit.leaks import warn_of_earlier_name

if TYPE_CHECKING:
    from privfit.accounting.stores.chain import Seal
    from privfit.accounting.stores.sql import SqlStore

ENTRIES_SHOWN = 10  # number of entries in the table that a notebook displays


class ReadableLedger:
    """A promise, and the store that holds its charges.

    Parameters
    ----------
    identifier : str
        A unique id of the ledger.
    promise : Promise
        The promise that covers all answers under the ledger.
    store : Store
        The store that holds the ledger's entries.
    parent : ReadableLedger, optional
        The ledger of which this one is a portion. It pays everything that this one pays.
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
        """The same as `identifier`, which was called `account` in privfit 0.1; to be removed in 0.3."""
        warn_of_earlier_name("Ledger.account", "identifier")
        return self.identifier

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, in order; in a ledger that lasts also reservations and what they gave back."""
        return self._store.entries

    def spending(self) -> dict[str, float]:
        """Return the rho paid for each kind of question, in the order they were first asked.

        Returns
        -------
        paid : dict
            The rho for each text in `Entry.what`.
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
        """Rho of this ledger that is not spent, rounded down; its parent ledger may have less left."""
        return rounded_down(units(self.rho) - self._store.totals[0])

    @property
    def remaining(self) -> float:
        """Rho that can still be charged, rounded down, so that charging this amount always fits."""
        return self.unspent if self._parent is None else min(self.unspent, self._parent.remaining)

    @property
    def spent_delta(self) -> float:
        """Delta paid so far, rounded up."""
        return min(rounded_up(self._store.totals[1]), self.delta)

    @property
    def remaining_delta(self) -> float:
        """Delta that can still be charged, rounded down."""
        left = rounded_down(units(self.delta) - self._store.totals[1])
        return left if self._parent is None else min(left, self._parent.remaining_delta)

    def epsilon(self, delta: float | None = None) -> float:
        """Return the epsilon that is promised for all answers together, however much is spent, rounded up.

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
        """Return the epsilon of the charges so far. This is bookkeeping, and no guarantee.

        It would be a guarantee only if exactly these charges had been planned beforehand. But released values
        may have decided when to stop, and the theorem about filters covers only the total that was fixed
        before the first charge (P5).

        Parameters
        ----------
        delta : float, optional
            At which delta; by default that of the promise.

        Returns
        -------
        epsilon : float
            The epsilon of what was spent; 0 if nothing was.
        """
        at = self.promise.delta if delta is None else delta
        if at is None:
            raise ValueError("This ledger was opened with rho=; name the delta, spent_epsilon(delta=...).")
        rho, slack = _added(self.entries)
        worth = self.promise.worth(min(rounded_up(rho), self.rho), min(rounded_up(slack), self.delta), at)
        # rounding up twice could make this exceed the promised epsilon in the last digits
        return worth if at != self.promise.delta else min(worth, self.epsilon())

    def remaining_epsilon(self, delta: float | None = None) -> float:
        """Return the epsilon of one more fit that would spend all that is left, rounded down to four digits.

        Parameters
        ----------
        delta : float, optional
            The delta of the fit; by default that of the promise, or 1e-6 if the ledger was opened with rho.

        Returns
        -------
        epsilon : float
            A fit with this epsilon, and with this ledger's kind of promise, is not refused.
        """
        if isinstance(self.promise, Direct):  # it pays for one release, which costs all of it
            return 0.0 if self.spent else self.promise.epsilon
        at = (DEFAULT_DELTA if self.promise.delta is None else self.promise.delta) if delta is None else delta
        if not self.spent and at == self.promise.delta and self.promise.epsilon is not None:
            return self.promise.epsilon
        # a little less, because `worth` rounds up
        return four_digits_down(self.promise.worth(self.remaining, 0.0, at) * (1.0 - 1e-9))

    def _refusal(self, rho: float, what: str) -> BudgetExceeded:
        """Return the error that refuses a charge; amounts are first in the unit that opened the ledger."""
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
        """Say what the ledger promises for all answers together and, as bookkeeping, how much was spent.

        Returns
        -------
        text : str
            Two sentences.
        """
        text = f"Promised for all answers together: {in_words(self.promise)}"
        entries = self.entries  # read once, because another process may add entries
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

        The check finds entries that were changed or inserted, or removed from between others. Without a seal
        that was noted elsewhere, it cannot find that the last entries were removed or that all of them were
        written anew. The owner of the store could do that.

        Parameters
        ----------
        seal : str, optional
            A seal that an earlier call returned and that was noted elsewhere. If the chain still holds the
            seal, no entry up to it was removed or written anew.

        Returns
        -------
        seal : Seal
            The seal of the last entry, a string to note elsewhere. Its attribute `entries` says how many
            entries were checked, and `shows` says in words what the check shows and what it cannot show.

        Raises
        ------
        BrokenChain
            If an entry is not as privfit wrote it; the message says which one.
        """
        if not lasts(self._store):
            raise ValueError("A ledger in memory has no chain to verify; use Ledger.open to keep one.")
        return self._store.check(seal)

    def __repr__(self) -> str:
        promised = f"{in_words(self.promise)}, promise={name_of(self.promise)!r}"
        if lasts(self._store):  # without what was spent, because the store may be out of reach
            return f"<Ledger of {self.dataset!r} at {self.url}: {promised}>"
        return f"<Ledger: {promised}; rho = {self.spent:.4g} spent in {len(self.entries)} entries>"

    def _repr_html_(self) -> str:
        """Return the statement and the last entries as HTML, without the names of users."""
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
    """Return whether a store is in a file or on a server."""
    return store.lasting
