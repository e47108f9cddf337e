"""Fits that belong together: those of one estimator object, of its clones, and all their refits.

So do the private scores of these fits, because a search that pays for them chooses by them.

A search over settings fits dozens of models to the same people and shows one. Each fit without a ledger
keeps its own promise, but whoever sees the result has seen what all of them released, and no statement may
look as if it had been one fit. The budgets of a family are added up here. That sum is bookkeeping: nobody
fixed it beforehand, and a loop may stop when it likes what it sees. A shared `Ledger` is what caps it.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Any

from privfit.accounting import Concentrated, Gaussian, Promise
from privfit.accounting.amounts import written_up


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
    scores : int or None
        How many private scores are among what was added up.
    """

    fits: int | None
    epsilon: float | None
    delta: float | None
    unknown: str = ""
    scores: int | None = 0

    @property
    def is_single(self) -> bool:
        """Whether nothing but one fit, or one score, has happened so far."""
        return self.fits is not None and self.scores is not None and self.fits + self.scores == 1

    def __str__(self) -> str:
        if self.epsilon is None or self.delta is None:
            return f"what this estimator, its clones and refits add up to is unknown, because {self.unknown}"
        if self.is_single:
            return (
                f"this was the only {'fit' if self.fits else 'score'} so far of this estimator and its clones"
            )
        total = f"epsilon = {written_up(self.epsilon)}, delta = {written_up(self.delta)}"
        return (
            f"the {self._counted()} of this estimator, its clones and refits add up to {total}; "
            "no account capped that"
        )

    def _counted(self) -> str:
        kinds = ((self.fits, "fit"), (self.scores, "score"))
        return " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in kinds if count)


class Family:
    """The fixed budgets of fits that belong together."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self._promises: list[Promise | None] = []
        self._scores = 0
        self._unknown = _PICKLED if elsewhere else ""
        self._process = os.getpid()
        self._lock = threading.Lock()

    def add(self, promise: Promise | None, *, unknown: str = "", is_score: bool = False) -> FamilyTotal:
        """Add a fit, or a score, whose budget is about to be used, and return what there is in all.

        `promise` is None for a fit without privacy; `unknown` says why no total can be stated from now on.
        """
        if self._process != os.getpid():  # a fork, in which another thread's lock would never be let go
            self._lock, self._process, self._unknown = threading.Lock(), os.getpid(), _PICKLED
        with self._lock:
            self._promises.append(promise)
            self._scores += is_score
            self._unknown = self._unknown or unknown
            return self._total()

    def _total(self) -> FamilyTotal:
        fits = len(self._promises) - self._scores
        if self._unknown:
            return FamilyTotal(None, None, None, self._unknown, None)
        if None in self._promises:
            return FamilyTotal(fits, math.inf, 1.0, scores=self._scores)
        added = _added([promise for promise in self._promises if promise is not None])
        return FamilyTotal(fits, *added, scores=self._scores)

    def __copy__(self) -> Family:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Family:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if not _is_hashed():  # whoever gets a pickle may fit where nobody here can count
            self._unknown = _PICKLED
        return _elsewhere, ()


_PICKLED = "one of them was pickled or forked, and may have been fitted elsewhere"


def _is_hashed() -> bool:
    """Tell whether joblib pickles in order to hash, as caching pipelines do; then nothing leaves."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != "joblib.hashing":
        frame = frame.f_back
    return frame is not None


def _elsewhere() -> Family:
    return Family(elsewhere=True)


def _added(promises: list[Promise]) -> tuple[float, float]:
    """Return an (epsilon, delta) that holds for all together: the better of two ways to add.

    Epsilons and deltas add up as they are. Prices in zCDP do, too, and are worth less when there are many;
    those of Gaussian noise alone are worth less still.
    """
    epsilons = [math.inf if promise.epsilon is None else promise.epsilon for promise in promises]
    deltas = [promise.delta or 0.0 for promise in promises]
    plain = _sum(epsilons), _sum(deltas)
    slack, free = _sum([promise.slack for promise in promises]), max(deltas)
    if free == 0.0 or len(promises) == 1:
        return plain
    rho, delta = _sum([promise.rho for promise in promises]), _sum([slack, free])
    if all(isinstance(promise, Gaussian) for promise in promises):
        return promises[0].worth(rho, 0.0, free), free  # the sum may be larger than any one promise
    return min(plain, (Concentrated(rho, slack).epsilon_at(delta), delta))


def _sum(amounts: list[float]) -> float:
    """Add up, rounded up where rounding can matter."""
    total = math.fsum(amounts)
    return math.nextafter(total, math.inf) if len(amounts) > 1 and total else total
