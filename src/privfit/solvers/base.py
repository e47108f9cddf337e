"""The protocol of solvers, the solution that they return, and the registry of their names."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privfit.accounting import Promise
from privfit.accounting.budget import DEFAULT_DELTA, pays_for
from privfit.curator import Curator
from privfit.solvers.passes import check_passes
from privfit.solvers.requirements import SAMPLES_OF_RECORDS, Facts, Requirement


@dataclass(frozen=True)
class Step:
    """The released numbers of one iteration, and their price.

    Attributes
    ----------
    iteration : int
        The number of the iteration, counted from 1.
    step : float
        The step size.
    rho_gradient, rho_selection : float
        The prices of the gradient and of choosing among candidates. Both are 0 if all iterations were paid
        for together.
    sigma : float
        Standard deviation of the noise on the gradient; 0 if none was asked for.
    """

    iteration: int
    step: float
    rho_gradient: float
    rho_selection: float
    sigma: float


@dataclass(frozen=True)
class Solution:
    """The released weights, the steps to them, and the decisions of the solver.

    Parameters
    ----------
    w : array
        The weights, the intercept, if any, last.
    trace : tuple of Step
        The steps taken.
    notes : tuple of str
        The decisions in words, for the statement. They follow from released or public facts.
    bounds : pair of arrays, optional
        The lowest and highest value of every column, to which the features were clipped.
    unit_rows : bool
        Whether the weights are for rows (x, 1) that are scaled to norm 1.
    view : privfit.engine.view.View, optional
        The map from clipped to standardised features, in which the solver worked.
    total : float, optional
        The number of records or the sum of their weights, declared or released.
    target_center, target_scale : float
        The zero and the unit of the targets in the fit, if targets are numbers.
    """

    w: NDArray[np.float64]
    trace: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    unit_rows: bool = False
    view: Any = None
    total: float | None = None
    target_center: float = 0.0
    target_scale: float = 1.0

    @property
    def n_iter(self) -> int:
        """Number of steps taken."""
        return len(self.trace)


@runtime_checkable
class Solver(Protocol):
    """A frozen, keyword-only configuration that turns a curator's answers into weights.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    private : bool
        Whether it is differentially private; False for references without privacy.
    requires : tuple of Requirement
        The public facts about the fit that it needs. If one is missing, it raises an error.
    """

    name: ClassVar[str]
    private: ClassVar[bool]
    requires: ClassVar[tuple[Requirement, ...]]

    def promise(
        self, *, epsilon: float | None = None, rho: float | None = None, delta: float
    ) -> Promise | None:
        """Return the promise that this solver keeps for such a budget.

        Parameters
        ----------
        epsilon : float, optional
            The epsilon asked for.
        rho : float, optional
            The privacy budget in zCDP instead of epsilon; one of the two is given.
        delta : float
            The delta asked for.

        Returns
        -------
        promise : Promise or None
            The promise that the ledger of this solver has to keep; None if the solver is not private.
        """
        ...

    def solve(self, curator: Curator) -> Solution:
        """Ask questions until the privacy budget is spent or the work is done.

        Parameters
        ----------
        curator : Curator
            The curator that answers questions for a price, which a ledger with this solver's promise pays.

        Returns
        -------
        solution : Solution
            The weights, with everything else about the fit that may be published.
        """
        ...


class BudgetWarning(UserWarning):
    """The privacy budget is too small to learn anything, or for standard errors."""


SOLVERS: dict[str, type[Solver]] = {}

S = TypeVar("S", bound=Solver)


def register(solver: type[S]) -> type[S]:
    """Register a solver under its name, and let its `solve` first check its requirements.

    Parameters
    ----------
    solver : type
        A class that implements `Solver`; this is its decorator.

    Returns
    -------
    solver : type
        The same class.
    """
    solve = solver.solve

    @functools.wraps(solve)
    def begin(self: Any, curator: Curator) -> Solution:
        require(self, curator)
        return solve(self, curator)

    setattr(solver, "solve", begin)  # noqa: B010  # mypy forbids assigning to a method by name
    SOLVERS[solver.name] = solver
    return solver


def get_solver(solver: str | Solver) -> Solver:
    """Return the solver of this name with its defaults, or the solver itself.

    Parameters
    ----------
    solver : str or Solver
        A name, or an object with its settings.

    Returns
    -------
    solver : Solver
        The object.

    Raises
    ------
    ValueError
        If there is no such solver; the message lists the existing ones.

    Examples
    --------
    >>> from privfit.solvers import get_solver
    >>> get_solver("gradient-descent")
    GradientDescent(steps=600, step=2.0, clip=2.0)
    """
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {sorted(SOLVERS)} or a solver object, got {solver!r}.")
        return SOLVERS[solver]()
    if isinstance(solver, type) or not isinstance(solver, Solver):
        raise ValueError(f"solver must be a name or a solver object with its settings, got {solver!r}.")
    return solver


def solvers_paid_by(promise: Promise) -> dict[str, bool]:
    """Return for every private solver whether a ledger with this promise can pay for it.

    Parameters
    ----------
    promise : Promise
        The promise of the ledger.

    Returns
    -------
    paid : dict
        Whether the ledger pays, by the solver's name; sorted.

    Examples
    --------
    >>> from privfit.accounting import Gaussian
    >>> paid = solvers_paid_by(Gaussian.of(epsilon=1.0, delta=1e-6))
    >>> [name for name in paid if paid[name]]
    ['adaptive', 'gradient-descent', 'newton', 'sufficient-statistics']
    """
    wanted = {
        name: SOLVERS[name]().promise(epsilon=1.0, delta=DEFAULT_DELTA)
        for name in sorted(SOLVERS)
        if SOLVERS[name].private
    }
    return {name: needed is not None and pays_for(promise, needed) for name, needed in wanted.items()}


def require(solver: Solver, facts: Facts | Curator) -> None:
    """Raise ValueError if a solver cannot do a fit; the message names the solvers that can.

    Parameters
    ----------
    solver : Solver
        The solver.
    facts : Facts or Curator
        The public facts about the fit.

    Raises
    ------
    ValueError
        If the fit does not meet a requirement of the solver.
    """
    if facts.loss.outputs > 1 and (facts.penalty.is_constraint or facts.penalty.start is not None):
        raise ValueError(
            "A constraint set or a start needs a model of two classes, of numbers or of counts; leave "
            "constraint= and start= out (monotone columns of a schema are a constraint), or join classes."
        )
    missing = _missing(solver, facts)
    if missing:
        able = [name for name, other in SOLVERS.items() if other.private and not _missing(other, facts)]
        raise ValueError(
            f"The solver {solver.name!r} needs {' and '.join(missing)}; "
            f"solvers that would do: {', '.join(sorted(able)) or 'none'}."
        )
    if getattr(solver, "batch_size", None) is not None and not SAMPLES_OF_RECORDS.holds(facts):
        raise ValueError(
            "Batches of people are drawn of a table in one place, not of one in parts; leave batch_size out."
        )
    check_passes(solver, facts)


def _missing(solver: Solver | type[Solver], facts: Facts | Curator) -> list[str]:
    return [needed.what for needed in solver.requires if not needed.holds(facts)]


def promise_nothing(*, epsilon: float | None = None, rho: float | None = None, delta: float) -> None:
    """Return None, because references without privacy promise nothing."""


def warn_zero_model(curator: Curator, needed: float) -> None:
    """Warn that the privacy budget is too small for a single step, and say how much one step needs."""
    warnings.warn(
        f"The privacy budget bought no step, so the model is zero: one step needs rho = {needed:.4g} "
        f"and {curator.remaining:.4g} was left; raise epsilon.",
        BudgetWarning,
        stacklevel=2,
    )
