"""Privacy accounting: what each question costs, what charges add up to, and the ledgers that keep them."""

from typing import Any

from privfit.accounting.ledger import Ledger
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Promise
from privfit.accounting.refusal import BudgetExceeded
from privfit.accounting.stores import BrokenChain, Entry, LedgerError
from privfit.accounting.upkeep import change_promise, list_datasets, migrate
from privfit.accounting.zcdp import epsilon_from_rho, rho_from_epsilon
from privfit.leaks import warn_of_earlier_name

__all__ = [
    "BrokenChain",
    "BudgetExceeded",
    "Concentrated",
    "Direct",
    "Entry",
    "Gaussian",
    "Ledger",
    "LedgerError",
    "Promise",
    "change_promise",
    "epsilon_from_rho",
    "list_datasets",
    "migrate",
    "rho_from_epsilon",
]


def __getattr__(name: str) -> Any:
    """Return an object by the name that it had in privfit 0.1."""
    if name == "AccountError":
        warn_of_earlier_name("AccountError", "LedgerError")
        return LedgerError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
