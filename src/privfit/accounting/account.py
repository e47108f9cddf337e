"""What can be read off an account: what is promised of it, what was spent, and on what."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from privfit.accounting.amounts import UNIT, ceiling, rounded_down, rounded_up, units, written_up
from privfit.accounting.promise import Promise
from privfit.accounting.stores import Entry, Store

ENTRIES_SHOWN = 10  # by a notebook


class Account:
    """A promise, and a store that holds what was charged to it.

    Parameters
    ----------
    account : str
        What tells the account from all others.
    promise : Promise
        What is promised of everything that is answered under it.
    store : Store
        Where its entries are.
    parent : Account, optional
        The account that pays, too, whatever this one pays.
    """

    def __init__(
        self, account: str, promise: Promise, store: Store, *, parent: Account | None = None
    ) -> None:
        self.account = account
        self.promise = promise
        self.rho, self.delta = promise.rho, promise.slack
        self._store, self._parent = store, parent
        self._ceilings = ceiling(self.rho), ceiling(self.delta)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, in order; in an account that lasts also what was reserved and returned."""
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
        """Rho of this ledger that is not spent, rounded down, whatever is left of the one it is a portion of."""
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
        rho, slack = _added(self.entries)
        return self.promise.worth(min(rounded_up(rho), self.rho), min(rounded_up(slack), self.delta), at)

    def statement(self) -> str:
        """Say what is promised of all that is ever answered, and, as bookkeeping, what was spent of it.

        Returns
        -------
        text : str
            Two sentences.
        """
        promise = self.promise
        if promise.epsilon is not None:
            text = f"Promised for all answers together: epsilon = {written_up(promise.epsilon)} at "
            text += f"delta = {written_up(promise.delta or 0.0)}"
        else:
            text = f"Promised for all answers together: rho = {written_up(self.rho)}"
            if self.delta:
                text += f" and delta = {written_up(self.delta)}"
        entries = self.entries  # once, because others may be charging
        count = sum(entry.settles is None for entry in entries)
        share = min(_added(entries)[0] / units(self.rho), 1.0) if self.rho else 0.0
        charges = f"{count} charge{'' if count == 1 else 's'}"
        return f"{text}. Bookkeeping: {share:.1%} of that spent in {charges}."

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
