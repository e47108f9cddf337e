"""The base class of private fits: terms that are fixed before the data are read, and the statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from privfit.accounting import Concentrated, Gaussian, Ledger, LedgerError, Promise
from privfit.accounting.budget import in_words, pays_for
from privfit.accounting.composition import FamilyTotal
from privfit.accounting.promises.kinds import Kind
from privfit.accounting.relation import ONE_RECORD, Relation, check_unit
from privfit.accounting.zcdp import MIN_RHO
from privfit.estimators.people import assumption_of
from privfit.estimators.pickled import PickledForOneVersion
from privfit.estimators.statement import CHECKS_AND_REFUSALS, SEEDED, PrivacyStatement
from privfit.estimators.validation import check_number, shown
from privfit.leaks import (
    refuse_in_strict_mode,
    warn_caller,
    warn_of_large_delta,
    warn_of_large_epsilon,
)
from privfit.mechanisms.noise import NoiseSource, noise_source
from privfit.models.origin import Origin
from privfit.models.published import ONE_RECORD_EACH, versions_of_release
from privfit.models.receipt import Receipt
from privfit.remedies import remedy
from privfit.schema import Schema
from privfit.solvers.base import solvers_paid_by
from privfit.surroundings import Kin

# messages that say why a ledger cannot pay for a fit, by the kind of charge
_WHY_UNPAID: dict[Kind, str] = {
    "gaussian": "The ledger keeps a Gaussian promise, which pays for Gaussian noise only",
    "concentrated": "This release uses up a delta, and the ledger has none to spend",
    "release": "The ledger pays for one release with a proof of its own, of its whole privacy budget",
}


@dataclass(frozen=True)
class Terms:
    """What one fit may spend, what it promises, and the source of its noise.

    `promise` is what the fit may spend (None for nothing), and what it promises if it is `private`. `epsilon`
    and `delta` are those of the settings. `relation` says whether the promise is about records or people.
    """

    promise: Promise | None
    private: bool
    epsilon: float
    delta: float
    noise: NoiseSource
    relation: Relation

    @property
    def kept(self) -> Promise | None:
        """The promise of the fit; None without privacy."""
        return self.promise if self.private else None


class HiddenSeed(int):
    """A seed that is never displayed, because anybody who knows it can subtract the noise."""

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


class PrivateFit(Kin, PickledForOneVersion):
    """The settings epsilon, delta, rho, ledger, noise and random_state, and their meaning."""

    default_epsilon: ClassVar[float] = 1.0
    _subject: ClassVar[str] = "fit"  # what the privacy budget pays for, in messages

    epsilon: float | None
    delta: float
    rho: float | None
    ledger: Ledger | None
    noise: str
    random_state: Any

    # -- terms, before the data are read -----------------------------------------------------------------

    def _terms(
        self,
        promise: Callable[..., Promise | None],
        *,
        private: bool = True,
        n_records: int | None = None,
        relation: Relation = ONE_RECORD,
    ) -> Terms:
        """Check the settings and return the terms; nothing is opened or charged."""
        self._check_settings()
        if not private:
            refuse_in_strict_mode("models without privacy", "choose another solver")
        if self.ledger is None:
            refuse_in_strict_mode(
                f"a {self._subject} without a ledger",
                remedy("share one by ledger=Ledger(epsilon=..., delta=...)", "name one with --ledger"),
            )
        if self.noise == "seeded":
            refuse_in_strict_mode(
                "seeded noise, which anybody who knows the seed can remove", "set noise='secure'"
            )
        budget = {"epsilon": self._asked_epsilon} if self.rho is None else {"rho": self.rho}
        promised = promise(**budget, delta=self.delta)
        if self.ledger is not None and promised is not None:
            check_unit(self.ledger.promise.person_id, relation.person_id, self._purchase)
            promised = self._in_kind(promised, self.ledger.promise, budget)
        if promised is not None:
            promised = replace(promised, person_id=relation.person_id)
        epsilon = self._asked_epsilon if promised is None or promised.epsilon is None else promised.epsilon
        if private:
            warn_of_large_epsilon(epsilon, unit=relation.unit)
        if private and n_records is not None and relation.unit == "record":
            warn_of_large_delta(self.delta, n_records)
        return Terms(promised, private, epsilon, self.delta, self._noise_source(), relation)

    def _in_kind(self, promised: Promise, kept: Promise, budget: dict[str, float]) -> Promise:
        """Return the promise of a fit that a ledger with this promise pays for; raise if it cannot pay.

        A zCDP ledger pays for Gaussian noise, too; the fit's promise is then that of zCDP. A Gaussian ledger
        pays for nothing else. The error message names solvers that the ledger can pay for. It never advises
        another ledger, which would be a second privacy budget.
        """
        if not pays_for(kept, promised):
            fitting = [name for name, paid in solvers_paid_by(kept).items() if paid]
            solvers = f"solvers that it pays for: {', '.join(fitting)}"
            remedy = solvers if hasattr(self, "solver") else f"it cannot pay for {self._purchase}"
            raise ValueError(f"{_WHY_UNPAID[kept.kind]}; {remedy}.")
        if isinstance(kept, Concentrated) and isinstance(promised, Gaussian):
            return Concentrated.of(epsilon=budget.get("epsilon"), rho=budget.get("rho"), delta=promised.delta)
        return promised

    @property
    def _noun(self) -> str:
        """The name of the model in messages of Python and of commands."""
        raise NotImplementedError

    @property
    def _purchase(self) -> str:
        return f"this {self._subject} of {self._noun}"

    @property
    def _asked_epsilon(self) -> float:
        return self.default_epsilon if self.epsilon is None else self.epsilon

    def _check_settings(self) -> None:
        if self.rho is not None and self.epsilon is not None:
            raise ValueError("epsilon and rho are two ways to state one privacy budget; give one of them.")
        if self.rho is not None:
            check_number("rho", self.rho)
        check_number("epsilon", self._asked_epsilon)
        check_number("delta", self.delta, or_zero=True)
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise ValueError(f"ledger must be a privfit.Ledger or None, not {type(self.ledger).__name__}.")
        if not isinstance(self.noise, str) or self.noise not in ("secure", "seeded"):
            raise ValueError(f"noise must be 'secure' or 'seeded', got {shown(self.noise)}.")
        seed = self.random_state
        known = seed is None or isinstance(seed, Integral | np.random.Generator | np.random.RandomState)
        if not known or isinstance(seed, bool) or (isinstance(seed, Integral) and int(seed) < 0):
            raise ValueError(
                "random_state must be None, a non-negative integer or a numpy.random.Generator, "
                f"not {type(seed).__name__}."
            )

    def _noise_source(self) -> NoiseSource:
        if self.noise == "secure":
            if self.random_state is not None:
                warn_caller(
                    "random_state does not seed the noise, which is secure; for reproducible noise, set "
                    "noise='seeded' as well, and do not publish the model.",
                    UserWarning,
                )
            return noise_source(None)
        if self.random_state is None:
            raise ValueError("noise='seeded' needs a seed, random_state=0 for example.")
        return noise_source(self.random_state)

    # -- the ledger, which is opened after everything but the data has been checked -----------------------

    def _open_ledger(self, terms: Terms) -> Ledger:
        """Open a ledger for this fit, or a portion of the shared ledger (reserved if that ledger lasts)."""
        if terms.promise is None:  # a fit without privacy buys nothing
            return Ledger.keeping(Concentrated(MIN_RHO))
        if self.ledger is None:
            return Ledger.keeping(terms.promise)
        return self.ledger.portion(terms.promise, what=self._purchase)

    def _still_spent(self, ledger: Ledger) -> str:
        """Return what an interrupted fit has spent: with a lasting ledger, all that it reserved."""
        if self.ledger is None or self.ledger.dataset is None:
            return ledger.statement()
        owner = f"the ledger of {self.ledger.dataset!r}"
        return f"All that it reserved on {owner} stays spent: {in_words(ledger.promise)}."

    def _settle(self, ledger: Ledger) -> None:
        """Give back what a successful fit reserved and did not spend."""
        try:
            ledger.settle()
        except LedgerError as error:  # a warning only, so that a model that was paid for is not lost
            warn_caller(
                f"All that this fit reserved stays spent, because it cannot be settled. {error}", UserWarning
            )

    # -- the statement -----------------------------------------------------------------------------------

    def _state(
        self,
        terms: Terms,
        ledger: Ledger,
        family: FamilyTotal | None,
        assumptions: list[str],
        notes: tuple[str, ...] = (),
        subject: str = "model",
        schema: Schema | None = None,
        n_records: int | None = None,
    ) -> PrivacyStatement:
        """Return the statement of a finished fit: the promise that was fixed beforehand, and bookkeeping.

        Whether it is about people or about records depends on declarations alone, never on the records.
        """
        relation = terms.relation
        several = schema is not None and schema.identifier is not None
        one_each = [] if several else [ONE_RECORD_EACH]
        if relation.unit == "person":
            one_each = [assumption_of(relation)]
        common = [*one_each, "the columns and their order are public", CHECKS_AND_REFUSALS]
        seeded = [] if terms.noise.secure else [SEEDED]
        entries = ledger.entries
        return PrivacyStatement(
            terms.kept,
            (*common, *assumptions, *seeded),
            ledger.spending(),
            notes,
            subject=subject,
            ledger=None if self.ledger is None else self.ledger.promise,
            family=family,
            relation=relation.adjacency,
            records_per_person=relation.records_per_person if relation.unit == "person" else None,
            origin=Origin(
                dataset=None if self.ledger is None else self.ledger.dataset,
                ledger=None if self.ledger is None else self.ledger.identifier,
                day=entries[0].when if entries else None,
                records=None if n_records is None else int(n_records),
            ),
            receipt=Receipt(entries, terms.noise.secure, ledger.seal, versions_of_release()),
        )

    # -- the seed is never displayed or pickled -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; after a fit the seed is hidden when they are printed.

        Parameters
        ----------
        deep : bool
            Whether to include the settings of nested objects; printing and cloning do not.

        Returns
        -------
        params : dict
            Settings by name.
        """
        params: dict[str, Any] = super().get_params(deep)
        if not deep and isinstance(self.random_state, Integral) and self._is_fitted:
            params["random_state"] = HiddenSeed(self.random_state)
        return params

    def _get_params_html(self, deep: bool = True, *display: Any, **named: Any) -> Any:
        return super()._get_params_html(False, *display, **named)  # notebooks show this

    # -- notebooks: scikit-learn's diagram, with the privacy guarantee below it ----------------------------

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._promise_html()

    def _repr_mimebundle_(self, **wanted: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**wanted)
        return (
            shown | {"text/html": shown["text/html"] + self._promise_html()}
            if "text/html" in shown
            else shown
        )

    def _promise_html(self) -> str:
        return self.privacy_._repr_html_() if self._is_fitted else ""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"random_state": None} if self._is_fitted else state

    @property
    def _is_fitted(self) -> bool:
        return "privacy_" in self.__dict__
