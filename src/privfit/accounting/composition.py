"""The sum of several promises about the same people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privfit.accounting.amounts import rounded_up, units, written_up
from privfit.accounting.promise import Gaussian, Promise
from privfit.accounting.zcdp import MIN_DELTA, epsilon_of_sum


def composed(promises: Sequence[Promise]) -> tuple[float, float]:
    """Return an (epsilon, delta) that holds for several promises together.

    Basic composition adds epsilons and deltas. Composition in zCDP adds rhos and converts their sum, which
    gives a smaller epsilon if there are many promises. If all of them are about Gaussian noise, the exact
    conversion gives a still smaller one. The smallest epsilon is returned.

    Parameters
    ----------
    promises : sequence of Promise
        The promise of each release, at least one.

    Returns
    -------
    epsilon, delta : float
        Rounded up. epsilon is infinite if one of the promises has no epsilon, if some are about records and
        others about people, or if the deltas add up to 1 or more, which promises nothing.
    """
    if len({promise.person_id for promise in promises}) > 1:
        return math.inf, 1.0  # their neighbouring tables differ, so they cannot be added
    epsilons = [math.inf if promise.epsilon is None else promise.epsilon for promise in promises]
    deltas = [promise.delta or 0.0 for promise in promises]
    ways = [(_sum(epsilons), _sum(deltas))]
    free = max(deltas)  # a conversion from zCDP may use up this delta, if it is large enough for a conversion
    if len(promises) > 1 and free >= MIN_DELTA:
        rho = _sum([promise.rho for promise in promises])
        if all(isinstance(promise, Gaussian) for promise in promises):
            return promises[0].worth(rho, 0.0, free), free  # `worth` accepts a sum above the largest rho
        ways.append((epsilon_of_sum(rho, free), _sum([free, *(promise.slack for promise in promises)])))
    return min(((epsilon, delta) for epsilon, delta in ways if delta < 1.0), default=(math.inf, 1.0))


def _sum(amounts: list[float]) -> float:
    """Add up exactly, and round up."""
    return math.inf if math.inf in amounts else rounded_up(sum(map(units, amounts)))


@dataclass(frozen=True)
class FamilyTotal:
    """The total of the fits of a family without a ledger. It is bookkeeping: no ledger limited it.

    Attributes
    ----------
    fits : int or None
        How many there were; None if some may have happened in another process.
    epsilon, delta : float or None
        The sum of their fixed privacy budgets; None if it is unknown.
    unknown : str
        The reason why the total is unknown, or an empty text.
    scores : int or None
        The number of private scores in the total.
    """

    fits: int | None
    epsilon: float | None
    delta: float | None
    unknown: str = ""
    scores: int | None = 0

    @property
    def is_single(self) -> bool:
        """Whether there was only one fit, or one score, so far."""
        return self.fits is not None and self.scores is not None and self.fits + self.scores == 1

    def __str__(self) -> str:
        if self.epsilon is None or self.delta is None:
            return f"the total of this estimator, its clones and refits is unknown, because {self.unknown}"
        if self.is_single:
            alone = (
                "fit so far of this estimator and its clones" if self.fits else "score so far of this model"
            )
            return f"this was the only {alone}"
        total = f"epsilon = {written_up(self.epsilon)}, delta = {written_up(self.delta)}"
        whose = "of this estimator, its clones and refits" if self.fits else "of this model or by this scorer"
        return f"the {self._counted()} {whose} add up to {total}; no ledger capped that"

    @property
    def size(self) -> float:
        """How many fits and scores there were; infinite if that is unknown."""
        return math.inf if self.fits is None or self.scores is None else self.fits + self.scores

    def _counted(self) -> str:
        kinds = ((self.fits, "fit"), (self.scores, "score"))
        return " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in kinds if count)
