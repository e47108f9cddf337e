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
from types import FrameType
from typing import Any

from privfit.accounting import Promise
from privfit.accounting.composition import FamilyTotal, composed


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
        added = composed([promise for promise in self._promises if promise is not None])
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
