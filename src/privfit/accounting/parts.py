"""Ledgers for disjoint parts of the records."""

from __future__ import annotations

from privfit.accounting.ledger import Ledger


def ledgers_of_parts(ledger: Ledger, rho: float, count: int, *, what: str) -> tuple[Ledger, ...]:
    """Charge a ledger once, and return a ledger of the same size for each of several disjoint parts.

    The caller assigns every record, or every person with all their records, to one part at random and
    independently of the data. Then all parts together cost no more than one of them may cost (Q36: parallel
    composition). The whole price is charged here, before any record is read. It stays charged even if the
    parts spend less.

    Parameters
    ----------
    ledger : Ledger
        The ledger that pays.
    rho : float
        The price, which is also the amount that each part may spend.
    count : int
        The number of parts.
    what : str
        What the parts are for, in the words of the ledger's entry.

    Returns
    -------
    ledgers : tuple of Ledger
        One for each part, in memory; they keep the kind of promise that `ledger` keeps.

    Raises
    ------
    BudgetExceeded
        If the price does not fit into what is left.
    """
    promise = ledger._part(rho, 0.0)
    ledger.charge(
        rho,
        what=what,
        mechanism=f"{count} disjoint parts of the records",
        kind=promise.kind,
        person_id=promise.person_id,
        claim="Q36",
    )
    return tuple(Ledger.keeping(promise) for _ in range(count))
