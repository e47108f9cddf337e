"""What a question costs: pure maths and bookkeeping."""

from privfit.accounting.ledger import BudgetExceeded, Entry, Ledger
from privfit.accounting.promise import Concentrated, Direct, Promise
from privfit.accounting.zcdp import epsilon_from_rho, rho_from_epsilon

__all__ = [
    "BudgetExceeded",
    "Concentrated",
    "Direct",
    "Entry",
    "Ledger",
    "Promise",
    "epsilon_from_rho",
    "rho_from_epsilon",
]
