"""A sum of Gaussian noise, which is worth more than the same sum in zCDP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privfit.accounting.gdp import LARGEST_MU, epsilon_from_mu, mu_from_epsilon
from privfit.accounting.promises.kinds import Kind, check_worth
from privfit.accounting.relation import About
from privfit.accounting.zcdp import check_rho


@dataclass(frozen=True)
class Gaussian(About):
    """Any number of adaptive questions, all answered with Gaussian noise: mu-Gaussian DP, exactly (P7).

    Parameters
    ----------
    rho : float
        mu^2 / 2, what charges may add up to: the price of Gaussian noise is the same as in zCDP, and only
        what the sum is worth differs.
    epsilon, delta : float
        What the whole promises as (epsilon, delta)-DP.
    person_id : str, optional
        The id of the people to whom it is promised; None: it is promised to records.
    """

    rho: float
    epsilon: float
    delta: float

    kind: ClassVar[Kind] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        worth = self.epsilon_at(self.delta)
        if math.isfinite(worth):
            # an epsilon far below mu has fewer digits than mu; gdp leaves far more than that of delta unused
            worth -= 2.0**-30 * self.mu
        check_worth(self.epsilon, worth)

    @classmethod
    def of(cls, *, epsilon: float | None = None, rho: float | None = None, delta: float) -> Gaussian:
        """Promise (epsilon, delta)-DP by the largest mu that is worth it, or rho and what that is worth.

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
        promise : Gaussian
            The promise, with all its numbers.

        Examples
        --------
        >>> round(Gaussian.of(epsilon=1.0, delta=1e-6).rho, 4)
        0.028
        """
        if epsilon is not None:
            return cls(mu_from_epsilon(epsilon, delta) ** 2 / 2.0 * (1.0 - 2.0**-50), epsilon, delta)
        assert rho is not None
        check_rho(rho)
        return cls(rho, epsilon_from_mu(_mu(rho), delta), delta)

    @property
    def slack(self) -> float:
        """The delta that charges may use up: none, because approximate mechanisms are refused."""
        return 0.0

    def admit(self, kind: Kind, rho: float, delta: float) -> None:
        """Refuse charges for anything but Gaussian noise.

        Parameters
        ----------
        kind : {"concentrated", "gaussian", "release"}
            What is paid for.
        rho, delta : float
            The price.
        """
        if kind != "gaussian" or delta:
            raise ValueError(
                "This ledger keeps a Gaussian promise, which pays for Gaussian noise only; choose a solver "
                "that adds nothing else, or charge with kind='gaussian' what is Gaussian noise."
            )

    @property
    def mu(self) -> float:
        """How far apart the two unit Gaussians are that are as hard to tell as neighbours, rounded up."""
        return _mu(self.rho)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon such that the whole is (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float
            At which delta.

        Returns
        -------
        epsilon : float
            Rounded up.
        """
        return self.worth(self.rho, 0.0, delta)

    def worth(self, rho: float, slack: float, delta: float) -> float:
        """Return the epsilon of Gaussian noise of this price at this delta, rounded up.

        Parameters
        ----------
        rho : float
            The price.
        slack : float
            Always 0, because charges use up no delta.
        delta : float
            At which delta.

        Returns
        -------
        epsilon : float
            0 if rho is 0, infinite if nothing is promised for so much.
        """
        if not rho:
            return 0.0
        mu = _mu(rho)
        return epsilon_from_mu(mu, delta) if mu <= LARGEST_MU else math.inf


def _mu(rho: float) -> float:
    return math.sqrt(2.0 * rho) * (1.0 + 2.0**-50)
