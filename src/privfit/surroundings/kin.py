"""Clones and copies of an estimator inherit its family, and strict mode."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, Self

from sklearn.base import BaseEstimator

from privfit.accounting import Ledger, Promise
from privfit.accounting.composition import FamilyTotal
from privfit.leaks import is_strict, is_switched_off, strict, uncovered
from privfit.remedies import remedy
from privfit.surroundings.family import Family


class Kin(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """An estimator whose fits, and those of all its copies, are counted together."""

    ledger: Ledger | None

    @property
    def _own_family(self) -> Family:
        family: Family | None = self.__dict__.get("_family")
        return self.__dict__.setdefault("_family", Family()) if family is None else family

    @property
    def _families(self) -> tuple[Family, ...]:
        """All families that a fit counts in."""
        return (self._own_family,)

    def _join_family(
        self, promise: Promise | None, *, unknown: str = "", is_score: bool = False
    ) -> FamilyTotal | None:
        """Count a fit before it begins, unless a shared ledger counts it, and return the total.

        `promise` is None for a fit without privacy; `unknown` says why the total is unknown from now on.
        """
        if self.ledger is not None:
            return None
        totals = [family.add(promise, unknown=unknown, is_score=is_score) for family in self._families]
        total = max(totals, key=lambda total: total.size)
        if promise is not None and not total.is_single:
            uncovered(
                f"Beware: {total}. Share a ledger between fits, "
                + remedy("ledger=Ledger(epsilon=..., delta=...)", "by --ledger")
                + ", or construct a new estimator for other people's data."
            )
        return total

    @property
    def _must_be_strict(self) -> bool:
        made_strict: bool = self.__dict__.get("_made_in_strict_mode", False)
        return is_strict() or (made_strict and not is_switched_off())

    def _as_strictly_as_made(self) -> AbstractContextManager[None]:
        """Return a context in strict mode if strict mode was on when this estimator was cloned or pickled."""
        return strict() if self._must_be_strict else nullcontext()

    # -- copies -------------------------------------------------------------------------------------------

    def _kinship(self) -> dict[str, Any]:
        """Return what copies inherit: the family, and whether they must be fitted in strict mode."""
        return {"_family": self._own_family, "_made_in_strict_mode": self._must_be_strict}

    def __sklearn_clone__(self) -> Any:
        """Clone as usual; the clone belongs to the same family of fits."""
        clone = super().__sklearn_clone__()
        clone.__dict__.update(self._kinship())
        return clone

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), **self._kinship()}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))  # pickling would drop the seed
        copied.__dict__.update(deepcopy(self.__dict__ | self._kinship(), memo))
        return copied
