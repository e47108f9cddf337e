"""Fits that belong together: those of one estimator object, of its clones, and all their refits.

A search over settings fits dozens of models to the same people and shows one. Each fit without a ledger
keeps its own promise, but whoever sees the result has seen what all of them released, and no statement may
look as if it had been one fit. The budgets of a family are added up here. That sum is bookkeeping: nobody
fixed it beforehand, and a loop may stop when it likes what it sees. A shared `Ledger` is what caps it.
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from typing import Any

from privfit.accounting import Concentrated, Promise


@dataclass(frozen=True)
class FamilyTotal:
    """What the fits of a family without a ledger add up to, as bookkeeping.

    Attributes
    ----------
    fits : int or None
        How many there were; None if some may have happened elsewhere.
    epsilon, delta : float or None
        What their fixed budgets add up to; None if that is unknown.
    unknown : str
        Why it is unknown, if it is.
    """

    fits: int | None
    epsilon: float | None
    delta: float | None
    unknown: str = ""

    def __str__(self) -> str:
        if self.epsilon is None or self.delta is None:
            return f"what this estimator, its clones and refits add up to is unknown, because {self.unknown}"
        if self.fits == 1:
            return "this was the only fit so far of this estimator and its clones"
        total = f"epsilon = {self.epsilon:.4g}, delta = {self.delta:.3g}"
        return (
            f"the {self.fits} fits of this estimator, its clones and refits add up to {total}; "
            "no account capped that"
        )


class Family:
    """The fixed budgets of fits that belong together."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self._promises: list[Promise | None] = []
        self._elsewhere = elsewhere
        self._repeated = False
        self._pid = os.getpid()
        self._lock = threading.Lock()

    def add(self, promise: Promise | None, *, repeated: bool = False) -> FamilyTotal:
        """Add a fit whose budget is about to be used, and return what there is in all.

        `promise` is None for a fit without privacy; `repeated` says that it sees some records several times.
        """
        with self._lock:
            self._promises.append(promise)
            self._repeated |= repeated
            return self._total()

    def _total(self) -> FamilyTotal:
        fits = len(self._promises)
        if self._repeated:
            return FamilyTotal(
                fits,
                None,
                None,
                "records were drawn with repetition, so one person may weigh several times in a fit",
            )
        if self._elsewhere or self._pid != os.getpid():
            return FamilyTotal(None, None, None, "some of them may have been fitted in another process")
        if None in self._promises:
            return FamilyTotal(fits, math.inf, 1.0)
        return FamilyTotal(fits, *_added([promise for promise in self._promises if promise is not None]))

    def __copy__(self) -> Family:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Family:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        self._elsewhere = True  # whoever gets the pickle may fit where nobody here can count
        return _elsewhere, ()


def _elsewhere() -> Family:
    return Family(elsewhere=True)


def _added(promises: list[Promise]) -> tuple[float, float]:
    """Return an (epsilon, delta) that holds for all together: the better of two ways to add.

    Epsilons and deltas add up as they are. Prices in zCDP do, too, and are worth less when there are many.
    """
    epsilons = [promise.epsilon for promise in promises if promise.epsilon is not None]
    deltas = [promise.delta for promise in promises if promise.delta is not None]
    plain = _sum(epsilons), _sum(deltas)
    slack, free = _sum([promise.slack for promise in promises]), max(deltas)
    if free == 0.0 or len(promises) == 1:
        return plain
    rho, delta = _sum([promise.rho for promise in promises]), _sum([slack, free])
    return min(plain, (Concentrated(rho, slack).epsilon_at(delta), delta))


def _sum(amounts: list[float]) -> float:
    """Add up, rounded up where rounding can matter."""
    total = math.fsum(amounts)
    return math.nextafter(total, math.inf) if len(amounts) > 1 and total else total
