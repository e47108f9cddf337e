"""Algorithms: each asks a curator priced questions and never sees the data."""

from privfit.solvers.adaptive import Adaptive
from privfit.solvers.base import SOLVERS, BudgetWarning, Solution, Solver, Step, get_solver, register
from privfit.solvers.baselines import Majority, NonPrivate
from privfit.solvers.dpagd import DPAGD
from privfit.solvers.dpagd_modern import ModernDPAGD

__all__ = [
    "DPAGD",
    "SOLVERS",
    "Adaptive",
    "BudgetWarning",
    "Majority",
    "ModernDPAGD",
    "NonPrivate",
    "Solution",
    "Solver",
    "Step",
    "get_solver",
    "register",
]
