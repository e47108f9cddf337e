"""Algorithms: each asks a curator priced questions and never sees the data."""

from privfit.solvers.base import SOLVERS, BudgetWarning, Solution, Solver, Step, get_solver, register
from privfit.solvers.baselines import Majority, NonPrivate
from privfit.solvers.dpagd import DPAGD

__all__ = [
    "DPAGD",
    "SOLVERS",
    "BudgetWarning",
    "Majority",
    "NonPrivate",
    "Solution",
    "Solver",
    "Step",
    "get_solver",
    "register",
]
