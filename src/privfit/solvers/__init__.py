"""Solvers: training algorithms. They ask a curator questions for a price, and never see the data."""

from privfit.solvers.adaptive import Adaptive
from privfit.solvers.approximate_minima import ApproximateMinimaPerturbation
from privfit.solvers.base import SOLVERS, BudgetWarning, Solution, Solver, Step, get_solver, register, require
from privfit.solvers.baselines import Majority, NonPrivate
from privfit.solvers.dpagd import DPAGD
from privfit.solvers.dpagd_modern import ModernDPAGD
from privfit.solvers.dpsgd import SGDMA, SGDAdv
from privfit.solvers.frank_wolfe import FrankWolfe
from privfit.solvers.gradient_descent import GradientDescent
from privfit.solvers.newton import Newton
from privfit.solvers.objective_perturbation import ObjectivePerturbation
from privfit.solvers.output_perturbation import OutputPerturbation
from privfit.solvers.privgene import PrivGene
from privfit.solvers.requirements import Facts
from privfit.solvers.sufficient_statistics import SufficientStatisticsSolver

__all__ = [
    "DPAGD",
    "SGDMA",
    "SOLVERS",
    "Adaptive",
    "ApproximateMinimaPerturbation",
    "BudgetWarning",
    "Facts",
    "FrankWolfe",
    "GradientDescent",
    "Majority",
    "ModernDPAGD",
    "Newton",
    "NonPrivate",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PrivGene",
    "SGDAdv",
    "Solution",
    "Solver",
    "Step",
    "SufficientStatisticsSolver",
    "get_solver",
    "register",
    "require",
]
