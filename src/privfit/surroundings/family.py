"""Families of fits: the fits of one estimator object, of its clones, and all refits.

The private scores of these fits belong to the family, too, because a search chooses by them. The private
scores of a public model form a family, and so do those of one scorer.

A search over settings fits dozens of models to the same people and shows one. Each fit without a ledger keeps
its own promise. But the result of the search depends on everything that all of them released, so no statement
may look as if there had been only one fit. The privacy budgets of a family are added up here. This total is
bookkeeping, because it was not fixed beforehand: a loop may stop when its results look good. Only a shared
`Ledger` limits the total.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
import threading
import weakref
from typing import Any

from privfit.accounting import Promise
from privfit.accounting.composition import FamilyTotal, composed


class Family:
    """The fixed privacy budgets of fits that belong together."""

    def __init__(self, *, unknown: str = "") -> None:
        self._promises: list[Promise | None] = []
        self._scores = 0
        self._unknown = unknown
        self._process = os.getpid()
        self._used_by_a_child = SharedFlag()
        self._lock = threading.Lock()

    def add(self, promise: Promise | None, *, unknown: str = "", is_score: bool = False) -> FamilyTotal:
        """Add a fit, or a score, before its privacy budget is used, and return the total.

        `promise` is None for a fit without privacy; `unknown` says why the total is unknown from now on.
        """
        if self._process != os.getpid():  # after a fork, a lock of another thread would never be released
            self._used_by_a_child.set()
            self._lock, self._process, self._unknown = threading.Lock(), os.getpid(), _PICKLED
        with self._lock:
            if self._used_by_a_child.is_set():
                self._unknown = _PICKLED
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
        promises = [promise for promise in self._promises if promise is not None]
        if len({promise.person_id for promise in promises}) > 1:
            return FamilyTotal(None, None, None, _MIXED, None)
        added = composed(promises)
        return FamilyTotal(fits, *added, scores=self._scores)

    def __copy__(self) -> Family:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Family:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        self._unknown = _PICKLED  # fits of a pickled copy cannot be counted here
        if self._process != os.getpid():
            self._used_by_a_child.set()
        return _elsewhere, ()


_MIXED = "some are about one record and others about all records of a person, or by another id"
_PICKLED = "one of them was pickled or forked, and may have been fitted elsewhere"


def _elsewhere() -> Family:
    return Family(unknown=_PICKLED)


# -- processes that are forked ------------------------------------------------------------------------------


class SharedFlag:
    """A byte that a process shares with its forks: if a child sets it, the parent sees it."""

    def __init__(self) -> None:
        place = next(_places)
        self._place = place % mmap.PAGESIZE
        # of its own pages, because a child counts on where its parent was; setdefault needs no lock
        key = (os.getpid(), place // mmap.PAGESIZE)
        self._page = _pages.get(key) or _pages.setdefault(key, mmap.mmap(-1, mmap.PAGESIZE))

    def set(self) -> None:
        """Set the flag in all of these processes."""
        self._page[self._place] = 1

    def is_set(self) -> bool:
        """Return whether one of these processes has set it."""
        return self._page[self._place] == 1


_places = itertools.count()
_pages: dict[tuple[int, int], mmap.mmap] = {}


# -- models that are public ---------------------------------------------------------------------------------


def family_of(model: Any) -> Family:
    """Return the family of all scores of a public model, which is identified by the object itself."""
    key = id(model)
    known = _of_models.get(key)
    if known is not None and known[0]() is model:
        return known[1]
    try:
        reference = weakref.ref(model, lambda gone: _forget(key, gone))
    except TypeError:  # without a weak reference, another object may get the same id unnoticed
        return Family(unknown="an object of this type cannot be distinguished from others")
    _of_models[key] = known = (reference, Family())
    return known[1]


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    known = _of_models.get(key)
    if known is not None and known[0] is gone:
        del _of_models[key]


_of_models: dict[int, tuple[weakref.ref[Any], Family]] = {}
