"""The promise of Gaussian differential privacy.

For the same rho it has a smaller epsilon than zCDP's promise, because it covers Gaussian noise only.
"""

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
        What charges may add up to: mu^2 / 2. Gaussian noise has the same price as in zCDP; only the epsilon
        of the sum differs.
    epsilon, delta : float
        The same promise as (epsilon, delta)-DP.
    person_id : str, optional
        The id that tells people apart, if the promise is about people; None if it is about records.
    """

    rho: float
    epsilon: float
    delta: float

    kind: ClassVar[Kind] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        worth = self.epsilon_at(self.delta)
        if math.isfinite(worth):
            # If epsilon is far below mu, rounding mu changes more than the last digit of epsilon. `gdp`
            # leaves a larger part of delta unused than this allowance needs.
            worth -= 2.0**-30 * self.mu
        check_worth(self.epsilon, worth)

    @classmethod
    def of(cls, *, epsilon: float | None = None, rho: float | None = None, delta: float) -> Gaussian:
        """Return the promise with the largest mu that an epsilon buys, or with the epsilon of a given rho.

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
                "that adds nothing else, or pass kind='gaussian' if the noise is Gaussian."
            )

    @property
    def mu(self) -> float:
        """The mu of mu-GDP, rounded up.

        Neighbouring tables are as hard to tell apart as N(0, 1) and N(mu, 1).
        """
        return _mu(self.rho)

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
            0 if rho is 0; infinite if rho is so large that nothing is promised.
        """
        if not rho:
            return 0.0
        mu = _mu(rho)
        return epsilon_from_mu(mu, delta) if mu <= LARGEST_MU else math.inf


def _mu(rho: float) -> float:
    return math.sqrt(2.0 * rho) * (1.0 + 2.0**-50)
