"""What a question costs: pure maths and bookkeeping."""

from privfit.accounting.ledger import Ledger
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Promise
from privfit.accounting.refusal import BudgetExceeded
from privfit.accounting.stores import AccountError, BrokenChain, Entry, LedgerError
from privfit.accounting.upkeep import change_promise, list_datasets, migrate
from privfit.accounting.zcdp import epsilon_from_rho, rho_from_epsilon

__all__ = [
    "AccountError",
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
