"""The promise of zero-concentrated differential privacy (zCDP)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privfit.accounting.promises.kinds import Kind, check_worth
from privfit.accounting.relation import About
from privfit.accounting.zcdp import Conversion, epsilon_from_rho, epsilon_of_sum, rho_from_epsilon


@dataclass(frozen=True)
class Concentrated(About):
    """Any number of adaptive questions whose prices add up to (rho, slack)-approximate zCDP (P4, P5).

    Parameters
    ----------
    rho : float
        What charges may add up to.
    slack : float
        The total failure probability (delta) that charges may use up.
    epsilon, delta : float, optional
        The same promise as (epsilon, delta)-DP.
    conversion : {"tight", "classic"}
        How rho is converted into epsilon.
    person_id : str, optional
        The id that tells people apart, if the promise is about people; None if it is about records.
    """

    rho: float
    slack: float = 0.0
    epsilon: float | None = None
    delta: float | None = None
    conversion: Conversion = "tight"

    kind: ClassVar[Kind] = "concentrated"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None and self.delta is not None:
            check_worth(self.epsilon, self.epsilon_at(self.delta))

    @classmethod
    def of(
        cls,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float,
        conversion: Conversion = "tight",
    ) -> Concentrated:
        """Return the promise with the largest rho that an epsilon buys, or with the epsilon of a given rho.

        Parameters
        ----------
        epsilon : float, optional
            The epsilon that is promised.
        rho : float, optional
            The rho to spend, instead of epsilon; one of the two is needed.
        delta : float
            The delta that is promised.
        conversion : {"tight", "classic"}
            How rho is converted into epsilon.

        Returns
        -------
        promise : Concentrated
            The promise, with all its numbers.

        Examples
        --------
        >>> round(Concentrated.of(epsilon=1.0, delta=1e-6).rho, 4)
        0.0244
        """
        if epsilon is not None:
            return cls(rho_from_epsilon(epsilon, delta, conversion), 0.0, epsilon, delta, conversion)
        assert rho is not None
        return cls(rho, 0.0, epsilon_from_rho(rho, delta, conversion), delta, conversion)

    def admit(self, kind: Kind, rho: float, delta: float) -> None:
        """Accept every charge, because zCDP composes charges of any kind.

        Parameters
        ----------
        kind : {"concentrated", "gaussian", "release"}
            What is paid for.
        rho, delta : float
            The price.
        """

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon such that all answers together are (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float
            At which delta.

        Returns
        -------
        epsilon : float
            Rounded up.
        """
        return self.worth(self.rho, self.slack, delta)

    def worth(self, rho: float, slack: float, delta: float) -> float:
        """Return the epsilon of (rho, slack)-approximate zCDP at this delta, rounded up.

        Parameters
        ----------
        rho, slack : float
            The amount.
        delta : float
            At which delta.

        Returns
        -------
        epsilon : float
            The epsilon, rounded up; 0 if rho is 0.

        Raises
        ------
        ValueError
            If delta does not exceed `slack`.
        """
        free = math.nextafter(delta - slack, 0.0) if slack else delta
        if free <= 0.0:
            raise ValueError(
                f"delta = {delta!r} must exceed the delta that charges use up, {slack!r}; name a larger one."
            )
        return epsilon_of_sum(rho, free, self.conversion) if rho else 0.0
