"""What a solver is, what it returns, and how it is found by name."""

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
from privfit.solvers.requirements import Facts, Requirement


@dataclass(frozen=True)
class Step:
    """What was released in one iteration, and what it cost.

    Attributes
    ----------
    iteration : int
        Which one, counted from 1.
    step : float
        The step size.
    rho_gradient, rho_selection : float
        What was paid for the gradient, and for choosing among candidates. Both are 0 where all iterations
        were paid for together.
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
    """The released weights, how they were reached, and what was decided.

    Parameters
    ----------
    w : array
        The weights, the intercept, if any, last.
    trace : tuple of Step
        The steps taken.
    notes : tuple of str
        What was decided, in words for the statement; facts that were released or are public.
    bounds : pair of arrays, optional
        Lowest and highest value of every column that the features were clipped to.
    unit_rows : bool
        Whether the weights are meant for rows scaled to norm 1, the intercept's column included.
    view : privfit.engine.view.View, optional
        The standardised features in which they were found, as a map of the clipped ones.
    total : float, optional
        The number of records or the sum of their weights, declared or bought.
    target_center, target_scale : float
        What targets that are numbers were measured from, and in which unit.
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
        What users call it.
    private : bool
        Whether it keeps a promise; False for references without privacy.
    requires : tuple of Requirement
        The public facts without which it refuses to begin.
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
            What a ledger for this solver has to keep; None if it promises nothing.
        """
        ...

    def solve(self, curator: Curator) -> Solution:
        """Ask questions until the privacy budget is spent or the work is done.

        Parameters
        ----------
        curator : Curator
            Answers for a price, paid from a ledger that keeps this solver's promise.

        Returns
        -------
        solution : Solution
            The weights and what else may be published about them.
        """
        ...


class BudgetWarning(UserWarning):
    """The privacy budget was too small to learn anything."""


SOLVERS: dict[str, type[Solver]] = {}

S = TypeVar("S", bound=Solver)


def register(solver: type[S]) -> type[S]:
    """Make a solver available under its name, and let it begin only where it has what it requires.

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
        If there is no such solver; the message lists those there are.

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
    """Tell for every private solver whether a ledger that keeps this promise can pay for it.

    Parameters
    ----------
    promise : Promise
        What the ledger promises.

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
    """Refuse what no solver, or this one, can do in view of these facts, and name the solvers that can.

    Parameters
    ----------
    solver : Solver
        The solver about to begin.
    facts : Facts or Curator
        What is public about the fit.

    Raises
    ------
    ValueError
        If the solver requires what is not there.
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
    if facts.in_parts and getattr(solver, "batch_size", None) is not None:
        raise ValueError(
            "Batches are drawn of a table in one place, not of one in parts; leave batch_size out."
        )
    check_passes(solver, facts)


def _missing(solver: Solver | type[Solver], facts: Facts | Curator) -> list[str]:
    return [needed.what for needed in solver.requires if not needed.holds(facts)]


def promise_nothing(*, epsilon: float | None = None, rho: float | None = None, delta: float) -> None:
    """Promise nothing, whatever epsilon is: for references without privacy."""


def warn_zero_model(curator: Curator, needed: float) -> None:
    """Tell the user that the privacy budget bought no step and how much one step needs."""
    warnings.warn(
        f"The privacy budget bought no step, so the model is zero: one step needs rho = {needed:.4g} "
        f"and {curator.remaining:.4g} was left; raise epsilon.",
        BudgetWarning,
        stacklevel=2,
    )
