"""Ledgers for parts of the records, of which every record is in one alone."""

from __future__ import annotations

from privfit.accounting.ledger import Ledger


def ledgers_of_parts(ledger: Ledger, rho: float, count: int, *, what: str) -> tuple[Ledger, ...]:
    """Charge a ledger once, and return a ledger of the same size for each of several disjoint parts.

    The caller puts every record, or every person with all records, into one of the parts by a coin that does
    not depend on the records. Then the parts together cost what one of them may cost (Q36). All of it is
    charged here, before anything is looked at, whatever the parts spend of it later.

    Parameters
    ----------
    ledger : Ledger
        What pays.
    rho : float
        The price, and what each part may spend.
    count : int
        The number of parts.
    what : str
        What it is for, in the words of the ledger.

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
    )
    return tuple(Ledger.keeping(promise) for _ in range(count))
