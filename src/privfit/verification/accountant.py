"""An independent accountant: prices and promises by dp_accounting, and sums by exact fractions.

It uses none of privfit's own accounting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

TOLERANCE = 1e-6  # of an epsilon; two programs that are both right differ by less

_COARSE = 2.0**-4  # spacing of Renyi orders, in powers of two, in a first search and around its best order
_FINE = 2.0**-10


@dataclass(frozen=True)
class Budget:
    """The numbers of a promise as a file states them. None of them has been checked yet.

    Attributes
    ----------
    kind : {"gaussian", "concentrated", "direct"}
        What the budget pays for: Gaussian noise, anything with a price in zCDP, or one release.
    rho, slack : float
        The largest sum of the charges, in approximate zCDP.
    epsilon, delta : float or None
        The stated epsilon and delta of the budget.
    """

    kind: str
    rho: float
    slack: float
    epsilon: float | None
    delta: float | None

    @classmethod
    def written(cls, promise: dict[str, Any]) -> Budget:
        """Read the promise in a file.

        Parameters
        ----------
        promise : dict
            As a file has it.

        Returns
        -------
        budget : Budget
            Its numbers.

        Raises
        ------
        ValueError
            If a number is missing; the message completes a sentence about the promise.
        """
        kind, numbers = promise["kind"], {}
        for name in ("rho", "slack", "epsilon", "delta"):
            number = promise.get(name)
            if isinstance(number, bool) or not isinstance(number, int | float | None):
                raise ValueError(f"its {name} is not a number")
            numbers[name] = None if number is None else float(number)
        epsilon, delta = numbers["epsilon"], numbers["delta"]
        rho, slack = numbers["rho"], numbers["slack"] or 0.0
        if kind == "direct" and epsilon is not None:
            rho, slack = epsilon * epsilon / 2.0 * (1.0 + 2.0**-50), delta or 0.0
        if rho is None or rho <= 0.0 or (kind != "concentrated" and None in (epsilon, delta)):
            raise ValueError("a number of it is missing")
        return cls(kind, rho, slack, epsilon, delta)

    def worth(self) -> float:
        """Return the epsilon of the whole budget at its delta, computed by dp_accounting.

        Returns
        -------
        epsilon : float
            The epsilon; infinite if nothing can be promised at this delta. For a release with a proof of its
            own it is that of its theorem, which no accountant can compute from a price.
        """
        import numpy as np

        assert self.delta is not None
        if self.kind == "direct":
            return math.inf if self.epsilon is None else self.epsilon
        free = self.delta - self.slack
        if free <= 0.0:
            return math.inf
        epsilon_of = _epsilon_of_zcdp if self.kind == "concentrated" else _epsilon_of_gaussians
        try:
            with np.errstate(all="ignore"):
                epsilon = epsilon_of(self.rho, free)
        except (ArithmeticError, ValueError):  # a hostile file may have amounts that no accountant accepts
            return math.inf
        return math.inf if math.isnan(epsilon) else epsilon


def _epsilon_of_gaussians(rho: float, delta: float) -> float:
    """Return the epsilon of Gaussian noise of this price, exactly, by dp_accounting."""
    import dp_accounting  # imported late: it takes half a second

    return float(dp_accounting.get_epsilon_gaussian(1.0 / math.sqrt(2.0 * rho), delta))


def _epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the epsilon of rho-zCDP by dp_accounting's Renyi accountant, at the best of many orders."""
    import dp_accounting
    import numpy as np

    def best(exponents: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
        accountant = dp_accounting.rdp.RdpAccountant(1.0 + 2.0**exponents)
        accountant.compose(dp_accounting.ZCDpEvent(rho))
        epsilon, order = accountant.get_epsilon_and_optimal_order(delta)
        return float(epsilon), float(order)

    epsilon, order = best(np.arange(-6.0, 23.0, _COARSE))
    if order <= 1.0:  # no order is needed for an epsilon of 0
        return epsilon
    middle = math.log2(order - 1.0)
    return min(epsilon, best(np.arange(middle - _COARSE, middle + _COARSE, _FINE))[0])


def price_of(noise: str, sensitivity: float, scale: float) -> float:
    """Return the rho of noise: P1 for Gaussian noise, P3 for Gumbel noise and P2 for the others.

    Parameters
    ----------
    noise : {"gaussian", "gumbel", "laplace", "exponential"}
        The noise.
    sensitivity, scale : float
        The sensitivity of the sum or score that it hides, and the scale of the noise.

    Returns
    -------
    rho : float
        The price in zCDP.
    """
    ratio = Fraction(sensitivity) / Fraction(scale)
    return nearest(ratio * ratio / (8 if noise == "gumbel" else 2))


def exact_sum(amounts: Iterable[float]) -> Fraction:
    """Return a sum without rounding.

    Parameters
    ----------
    amounts : iterable of float
        The summands.

    Returns
    -------
    total : Fraction
        Their sum.
    """
    return sum(map(Fraction, amounts), Fraction(0))


def nearest(total: Fraction) -> float:
    """Return a sum as a float, to be shown.

    Parameters
    ----------
    total : Fraction
        The sum.

    Returns
    -------
    number : float
        The nearest float; infinite if the sum is too large.
    """
    try:
        return float(total)
    except OverflowError:
        return math.inf


def fits(total: Fraction, budget: float) -> bool:
    """Return whether a sum is within a budget; rounded shares of budget / T are accepted.

    Parameters
    ----------
    total : Fraction
        The sum.
    budget : float
        The budget.

    Returns
    -------
    fits : bool
        Whether it is at most the budget plus half a unit in the budget's last place.
    """
    return total <= Fraction(budget) * (1 + Fraction(1, 2**53))
