"""What a ledger promises, as a type: which theorem turns what may be spent into an epsilon.

A promise is fixed before the first look, and is what a statement quotes. What happened to be spent of it is
bookkeeping: it depends on the run, and no theorem speaks of a total that was not fixed beforehand.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from privfit.accounting.gdp import LARGEST_MU, epsilon_from_mu, mu_from_epsilon
from privfit.accounting.relation import About
from privfit.accounting.zcdp import (
    MAX_DELTA,
    Conversion,
    check_rho,
    epsilon_from_rho,
    epsilon_of_sum,
    pure_cost,
    rho_from_epsilon,
)

# What is charged for: Gaussian noise, anything with a price in zCDP, or a release with a theorem of its own.
Kind = Literal["gaussian", "concentrated", "release"]


def _check_worth(stated: float, worth: float) -> None:
    if not worth <= stated * (1.0 + 1e-9):
        raise ValueError(
            f"This privacy budget is worth epsilon = {worth:.6g}; epsilon = {stated!r} would be too little."
        )


@dataclass(frozen=True)
class Concentrated(About):
    """Any number of adaptive questions whose prices add up to (rho, slack)-approximate zCDP (P4, P5).

    Parameters
    ----------
    rho : float
        What charges may add up to.
    slack : float
        The probability that charges may set aside in all.
    epsilon, delta : float, optional
        What the whole promises as (epsilon, delta)-DP.
    conversion : {"tight", "classic"}
        The conversion between the two.
    person_id : str, optional
        The id of the people to whom it is promised; None: it is promised to records.
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
            _check_worth(self.epsilon, self.epsilon_at(self.delta))

    @classmethod
    def of(
        cls,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float,
        conversion: Conversion = "tight",
    ) -> Concentrated:
        """Promise (epsilon, delta)-DP by the largest rho that is worth it, or rho and what that is worth.

        Parameters
        ----------
        epsilon : float, optional
            The epsilon that is promised.
        rho : float, optional
            The rho to spend, instead of epsilon; one of the two is needed.
        delta : float
            The delta that is promised.
        conversion : {"tight", "classic"}
            How the one is converted into the other.

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
        """Refuse charges that this promise cannot pay for: none.

        Parameters
        ----------
        kind : {"concentrated", "gaussian", "release"}
            What is paid for.
        rho, delta : float
            The price.
        """

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
            0 if rho is 0.

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
        _check_worth(self.epsilon, worth)

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


@dataclass(frozen=True)
class Direct(About):
    """One release that is (epsilon, delta)-DP by a theorem of its own (P6).

    Its ledger is charged once and in full, because parts would compose, which the theorem does not cover.
    Beside others in a shared ledger it is (epsilon^2 / 2, delta)-approximately zCDP.

    Parameters
    ----------
    epsilon, delta : float
        What the theorem promises.
    person_id : str, optional
        The id of the people to whom it is promised; None: it is promised to records.
    """

    epsilon: float
    delta: float

    kind: ClassVar[Kind] = "release"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.delta <= MAX_DELTA:
            raise ValueError(f"delta must lie between 0 and {MAX_DELTA:g}, got {self.delta!r}.")
        pure_cost(self.epsilon)  # which refuses what is no epsilon

    @classmethod
    def of(cls, *, epsilon: float | None = None, rho: float | None = None, delta: float) -> Direct:
        """Promise (epsilon, delta)-DP, or what a price of rho buys: epsilon = sqrt(2 rho), rounded down.

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
        """Refuse charges for anything but one release of the whole.

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
            The same at every delta that is allowed.

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
        """Return the theorem's epsilon if the release was paid for, and 0 before.

        Parameters
        ----------
        rho, slack : float
            What was paid: all of the price, or nothing.
        delta : float
            At which delta, the theorem's or a larger one.

        Returns
        -------
        epsilon : float
            0 if rho is 0.
        """
        return self.epsilon_at(delta) if rho else 0.0


Promise = Concentrated | Gaussian | Direct

_KINDS: dict[str, type[Promise]] = {kind.__name__.lower(): kind for kind in (Concentrated, Gaussian, Direct)}


def name_of(promise: Promise) -> str:
    """Return the kind of a promise as ``promise=`` names it."""
    return type(promise).__name__.lower()


def to_dict(promise: Promise) -> dict[str, Any]:
    """Write a promise as plain numbers and strings, one about records as earlier versions wrote it."""
    said = {"kind": name_of(promise)} | asdict(promise)
    return said if promise.person_id is not None else {k: v for k, v in said.items() if k != "person_id"}


def from_dict(written: dict[str, Any]) -> Promise:
    """Read a promise that `to_dict` wrote."""
    return _KINDS[written["kind"]](**{name: value for name, value in written.items() if name != "kind"})
