"""What every private fit shares: terms fixed before the data are looked at, and a statement afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from privfit.accounting import Concentrated, Ledger, Promise
from privfit.accounting.zcdp import MIN_RHO
from privfit.estimators.family import Family, FamilyTotal
from privfit.estimators.pipelines import drawn_with_repetition
from privfit.estimators.statement import SEEDED, PrivacyStatement
from privfit.estimators.validation import check_number
from privfit.leaks import WeakPromiseWarning, refuse_in_strict_mode, uncovered
from privfit.mechanisms.noise import NoiseSource, noise_source

LARGEST_EPSILON = 20.0  # odds may change by e^20, half a billion: whoever asks for more should know it


@dataclass(frozen=True)
class Terms:
    """What one fit may spend, what it promises, and where its noise comes from.

    `promise` is what it may spend, None for nothing, and is kept unless the fit is not `private`. `epsilon`
    and `delta` are those it was asked for.
    """

    promise: Promise | None
    private: bool
    epsilon: float
    delta: float
    noise: NoiseSource


class HiddenSeed(int):
    """A seed that is shown nowhere, because whoever knows it can subtract the noise."""

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


class PrivateFit(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The settings epsilon, delta, rho, ledger, noise and random_state, and what they mean."""

    default_epsilon: ClassVar[float] = 1.0

    epsilon: float | None
    delta: float
    rho: float | None
    ledger: Ledger | None
    noise: str
    random_state: Any

    # -- terms, before the data are looked at ------------------------------------------------------------

    def _terms(
        self, promise: Callable[..., Promise | None], *, private: bool = True, n_records: int | None = None
    ) -> Terms:
        """Check the settings and return what they promise; nothing is opened or charged."""
        self._check_settings()
        if not private:
            refuse_in_strict_mode("models without privacy", "choose another solver")
        if self.ledger is None:
            refuse_in_strict_mode(
                "a fit without an account", "share one by ledger=Ledger(epsilon=..., delta=...)"
            )
        if self.noise == "seeded":
            refuse_in_strict_mode(
                "seeded noise, which whoever knows the seed can remove", "set noise='secure'"
            )
        if self.rho is not None:
            promised = promise(rho=self.rho, delta=self.delta)
        else:
            promised = promise(epsilon=self._asked_epsilon, delta=self.delta)
        epsilon = self._asked_epsilon if promised is None or promised.epsilon is None else promised.epsilon
        if private:
            _warn_of_weak_promises(epsilon, self.delta, n_records)
        return Terms(promised, private, epsilon, self.delta, self._noise_source())

    @property
    def _asked_epsilon(self) -> float:
        return self.default_epsilon if self.epsilon is None else self.epsilon

    def _check_settings(self) -> None:
        if self.rho is not None and self.epsilon is not None:
            raise ValueError("epsilon and rho are two ways to name one budget; give one of them.")
        if self.rho is not None:
            check_number("rho", self.rho)
        check_number("epsilon", self._asked_epsilon)
        check_number("delta", self.delta, or_zero=True)
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise ValueError(f"ledger must be a privfit.Ledger or None, not {type(self.ledger).__name__}.")
        if self.noise not in ("secure", "seeded"):
            raise ValueError(f"noise must be 'secure' or 'seeded', got {self.noise!r}.")
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
                warnings.warn(
                    "random_state does not seed the noise, which is secure; for reproducible noise, of which "
                    "nothing may be published, say noise='seeded' as well.",
                    UserWarning,
                    stacklevel=4,
                )
            return noise_source(None)
        if self.random_state is None:
            raise ValueError("noise='seeded' needs a seed, random_state=0 for example.")
        return noise_source(self.random_state)

    # -- the account, opened when nothing but the looks is left to do -------------------------------------

    def _open_account(self, terms: Terms) -> Ledger:
        """Open an account for this fit, or a portion of the shared one. Nothing is charged."""
        if terms.promise is None:  # nothing can be bought, and nothing has to be
            return Ledger.keeping(Concentrated(MIN_RHO))
        if self.ledger is None:
            return Ledger.keeping(terms.promise)
        return self.ledger.portion(terms.promise, what=f"this fit of {type(self).__name__}")

    def _join_family(self, terms: Terms) -> FamilyTotal | None:
        """Count a fit that is about to begin, unless a shared account does, and say what they add up to."""
        if self.ledger is not None:
            return None
        repeated = drawn_with_repetition()
        total = self._own_family.add(terms.promise if terms.private else None, repeated=repeated)
        if terms.private and (repeated or total.fits != 1):
            uncovered(
                f"Beware: {total}. Share an account between fits, ledger=Ledger(epsilon=..., delta=...), or "
                "construct a new estimator for other people's data."
            )
        return total

    @property
    def _own_family(self) -> Family:
        family: Family = self.__dict__.setdefault("_family", Family())
        return family

    def __sklearn_clone__(self) -> Any:
        """Clone as ever; the clone belongs to the same family of fits."""
        clone = super().__sklearn_clone__()
        clone._family = self._own_family
        return clone

    # -- the statement -----------------------------------------------------------------------------------

    def _state(
        self,
        terms: Terms,
        ledger: Ledger,
        family: FamilyTotal | None,
        assumptions: list[str],
        notes: tuple[str, ...] = (),
        subject: str = "model",
    ) -> PrivacyStatement:
        """Return the statement of a finished fit: what was fixed beforehand, and bookkeeping."""
        common = ["each person has at most one record", "the columns and their order are public"]
        if family is not None and family.epsilon is None and family.fits is not None:
            common[0] += ", and no record was drawn twice, which resampling with repetition does not keep"
        seeded = [] if terms.noise.secure else [SEEDED]
        return PrivacyStatement(
            terms.promise if terms.private else None,
            (*common, *assumptions, *seeded),
            ledger.spending(),
            notes,
            subject=subject,
            account=None if self.ledger is None else self.ledger.promise,
            family=family,
        )

    # -- a seed stays where it was set --------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; those of a fitted estimator print without the seed.

        Parameters
        ----------
        deep : bool
            Whether to include the settings of settings; printing and cloning ask without.

        Returns
        -------
        params : dict
            Settings by name.
        """
        params: dict[str, Any] = super().get_params(deep)
        if not deep and isinstance(self.random_state, Integral) and self._is_fitted:
            params["random_state"] = HiddenSeed(self.random_state)
        return params

    def _get_params_html(self, deep: bool = True, **display: Any) -> Any:
        return super()._get_params_html(deep=False, **display)  # what notebooks show

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"random_state": None} if self._is_fitted else state

    @property
    def _is_fitted(self) -> bool:
        return "privacy_" in self.__dict__


def _warn_of_weak_promises(epsilon: float, delta: float, n_records: int | None) -> None:
    if epsilon > LARGEST_EPSILON:
        weak = f"epsilon={epsilon:.4g} lets the odds about a person change by a factor of e^{epsilon:.4g}"
    elif n_records is not None and delta > 1.0 / n_records:
        weak = f"delta={delta:g} is above 1/n_records, which allows giving some people's records away"
    else:
        return
    warnings.warn(f"{weak}; that is hardly a promise. Lower it.", WeakPromiseWarning, stacklevel=4)
