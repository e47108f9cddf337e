"""The promise of one release that has a privacy proof of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privfit.accounting.promises.kinds import Kind
from privfit.accounting.relation import About
from privfit.accounting.zcdp import MAX_DELTA, pure_cost


@dataclass(frozen=True)
class Direct(About):
    """One release that is (epsilon, delta)-DP by a theorem of its own (P6).

    Its ledger is charged once, for the whole privacy budget, because the theorem says nothing about several
    smaller releases. In a shared ledger, beside other charges, the release counts as
    (epsilon^2 / 2, delta)-approximate zCDP.

    Parameters
    ----------
    epsilon, delta : float
        The promise of the theorem.
    person_id : str, optional
        The id that tells people apart, if the promise is about people; None if it is about records.
    """

    epsilon: float
    delta: float

    kind: ClassVar[Kind] = "release"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.delta <= MAX_DELTA:
            raise ValueError(f"delta must lie between 0 and {MAX_DELTA:g}, got {self.delta!r}.")
        pure_cost(self.epsilon)  # raises ValueError unless epsilon is positive and finite

    @classmethod
    def of(cls, *, epsilon: float | None = None, rho: float | None = None, delta: float) -> Direct:
        """Return the promise of an epsilon, or of the epsilon = sqrt(2 rho), rounded down, that rho buys.

        Parameters
        ----------
        epsilon : float, optional
            The epsilon that is promised.
        rho : float, optional
            The rho to spend, instead of epsilon; one of the two is needed.
        delta : float
            The delta that is promised.

        Returns
        -------
        promise : Direct
            The promise, with all its numbers.
        """
        if epsilon is not None:
            return cls(epsilon, delta)
        assert rho is not None
        return cls(math.sqrt(2.0 * rho) * (1.0 - 2.0**-40), delta)

    @property
    def rho(self) -> float:
        """The price in a shared ledger."""
        return pure_cost(self.epsilon)

    @property
    def slack(self) -> float:
        """The delta of the price in a shared ledger."""
        return self.delta

    def admit(self, kind: Kind, rho: float, delta: float) -> None:
        """Refuse every charge but one release that costs the whole privacy budget.

        Parameters
        ----------
        kind : {"concentrated", "gaussian", "release"}
            What is paid for.
        rho, delta : float
            The price.
        """
        if kind != "release" or (rho, delta) != (self.rho, self.slack):
            raise ValueError(
                "This ledger pays for one release of its whole privacy budget and for nothing else; ask for "
                f"epsilon = {self.epsilon!r} and delta = {self.delta!r}."
            )

    def epsilon_at(self, delta: float) -> float:
        """Return the theorem's epsilon, at its own delta or a larger one.

        Parameters
        ----------
        delta : float
            At which delta.

        Returns
        -------
        epsilon : float
            The theorem's epsilon, which is the same for every allowed delta.

        Raises
        ------
        ValueError
            If delta is below the theorem's.
        """
        if delta < self.delta:
            raise ValueError(
                f"The release is private at delta = {self.delta!r}, not at {delta!r}; name that."
            )
        return self.epsilon

    def worth(self, rho: float, slack: float, delta: float) -> float:
        """Return the theorem's epsilon if the release was paid for, and 0 otherwise.

        Parameters
        ----------
        rho, slack : float
            The paid amount: the whole price, or nothing.
        delta : float
            At which delta, the theorem's or a larger one.

        Returns
        -------
        epsilon : float
            0 if rho is 0.
        """
        return self.epsilon_at(delta) if rho else 0.0
