"""What a question costs: pure maths and bookkeeping."""

from privfit.accounting.ledger import BudgetExceeded, Ledger
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Promise
from privfit.accounting.stores import Entry
from privfit.accounting.zcdp import epsilon_from_rho, rho_from_epsilon

__all__ = [
    "BudgetExceeded",
    "Concentrated",
    "Direct",
    "Entry",
    "Gaussian",
    "Ledger",
    "Promise",
    "epsilon_from_rho",
    "rho_from_epsilon",
]
