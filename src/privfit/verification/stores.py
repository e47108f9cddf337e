"""Check that the ledger that paid holds the charge under the seal of the evidence."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privfit.accounting import BrokenChain, Entry, Ledger
from privfit.accounting.promise import to_dict
from privfit.verification.accountant import Budget, exact_sum
from privfit.verification.check import Check


def of_ledger(evidence: dict[str, Any] | None, ledger: Ledger | None) -> Check:
    """Check that a ledger's chain holds the charge; without a ledger, or a seal, say what is missing."""
    seal = None if evidence is None else evidence["seal"]
    if ledger is None:
        missing = "Whether the ledger holds the charge was not checked"
        if seal is None:
            return Check(
                "seal", None, f"{missing}: the file has no seal of a ledger in a file or on a server."
            )
        return Check("seal", None, f"{missing}: name the ledger's store to compare the seal.")
    if evidence is None or seal is None:
        return Check("seal", False, "The file has no seal, so nothing shows that a ledger has paid.")
    wrong = _wrong(evidence, seal, ledger)
    if wrong is not None:
        return Check("seal", False, wrong)
    return Check(
        "seal",
        True,
        f"The ledger of {ledger.dataset!r} holds the charge under the seal, and its chain is whole up to it.",
    )


def _wrong(evidence: dict[str, Any], seal: str, ledger: Ledger) -> str | None:
    """Return the first inconsistency as a sentence, or None."""
    origin = evidence["origin"]
    if (origin.get("dataset"), origin.get("ledger")) != (ledger.dataset, ledger.identifier):
        return "The evidence names another ledger than this one."
    if evidence["shared_ledger"] != to_dict(ledger.promise):
        return "The ledger promises something else than the evidence says of it."
    try:
        found, entries, budget = ledger.verify(seal), ledger.entries, Budget.written(evidence["promise"])
    except BrokenChain as error:
        return str(error)
    except ValueError as error:
        return f"The budget of the promise makes no sense: {error}."
    if not found.noted:
        return "The seal is that of a ledger before its first charge."
    paid = entries[found.noted - 1]
    if paid.settles is None and paid.mechanism != "reserved":
        return "The seal belongs to a charge that did not pay for a model or for scores."
    reserved = paid if paid.settles is None else entries[paid.settles - 1]
    if (reserved.rho, reserved.delta) != (budget.rho, budget.slack):
        return "The ledger set aside another amount than the evidence promises."
    return _wrong_sum(evidence, reserved, paid)


def _wrong_sum(evidence: dict[str, Any], reserved: Entry, paid: Entry) -> str | None:
    """Return in what the charges differ from what the ledger kept, or None.

    A release that was settled has paid for its charges and, by rounding, a unit in the last place more. One
    that was not has paid for all that was set aside.
    """
    charged = exact_sum(charge["rho"] for charge in evidence["charges"])
    kept = exact_sum([reserved.rho] if paid.settles is None else [reserved.rho, paid.rho])
    if kept < charged * (1 - 2**-52):
        return "The ledger was charged less than the charges of the evidence add up to."
    if paid.settles is not None and kept > charged + exact_sum([reserved.rho]) * Fraction(1, 2**52):
        return "The ledger was charged more than the charges of the evidence add up to, so some are missing."
    return None
